/* A record as data for the scripts of the page. */
#include "harness/base/check.h"
#include "harness/base/json.h"
#include "page/run_record.h"
#include "present/page/page.h"
#include "present/say.h"
#include "recording/recording.h"
#include "recording/step_axis.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_COUNT_MAX = 1500000, POINT_COUNT_MAX = 4000 };
/* The limits of blocks and ops together, before Base64: 28 MB on the page. */
enum { STREAM_BYTES_MAX = 21000000, BLOCK_BYTES_MIN = 3000000 };
enum { NEAR_TURNS = 500, NEAR_FAILURE_COUNT = 8 };

/* --- streams --- */

static void append_unsigned(struct writing *stream, uint64_t number)
{
    char bytes[10];
    size_t count = 0;
    while (number >= 128) {
        bytes[count++] = (char)(number | 128);
        number >>= 7;
    }
    bytes[count++] = (char)number;
    writing_append_bytes(stream, bytes, count);
}

/* 0, -1, 1, -2, 2 ... are 0, 1, 2, 3, 4. */
static void append_difference(struct writing *stream, uint64_t now, uint64_t before)
{
    append_unsigned(stream, now >= before ? (now - before) << 1 : ((before - now) << 1) - 1);
}

static void append_stream(struct writing *json, const char *name, struct writing *stream)
{
    writing_append_format(json, ",\"%s\":", name);
    page_append_base64(json, stream->bytes, stream->length);
    writing_deinit(stream);
}

/* Addresses and sizes are multiples of the granule, where the target keeps to it. */
static uint64_t find_unit(const struct run_record *record)
{
    uint64_t all = record->setup.granule_bytes;
    for (size_t i = 0; i < record->block_count; i++) {
        all |= record->blocks[i].address | record->blocks[i].size_bytes;
    }
    for (size_t i = 0; i < record->mark_count; i++) {
        all |= record->marks[i].from | record->marks[i].to | record->marks[i].size_bytes;
    }
    for (uint32_t i = 0; i < record->op_count; i++) {
        all |= record->ops[i].makes_block ? record->ops[i].address : 0;
    }
    return all == 0 ? 1 : all & (0 - all);
}

static uint64_t count_blocks(const struct run_record *record)
{
    uint64_t count = 0;
    for (size_t i = 0; i < record->block_count; i++) {
        count += record->blocks[i].begin < record->blocks[i].end &&
                 record->blocks[i].begin < record->op_count;
    }
    return count;
}

static void write_blocks(const struct run_record *record, uint64_t unit, struct writing *stream)
{
    uint32_t begin = 0;
    uint64_t address = 0;
    for (size_t i = 0; i < record->block_count; i++) {
        const struct record_block *block = &record->blocks[i];
        const uint32_t end = block->end == RECORD_OPEN ? record->op_count : block->end;
        if (block->begin >= end) {
            continue;
        }
        append_unsigned(stream, block->begin - begin);
        append_unsigned(stream, end - block->begin);
        append_difference(stream, block->address / unit, address / unit);
        append_unsigned(stream, block->size_bytes / unit);
        append_unsigned(stream, block->state);
        append_unsigned(stream, block->tag);
        append_unsigned(stream, block->begin - block->maker);
        append_unsigned(stream, block->host);
        begin = block->begin;
        address = block->address;
    }
}

static void write_ops(const struct run_record *record, uint64_t unit, struct writing *stream)
{
    uint64_t now_ns[OP_HOST_COUNT_MAX] = {0};
    for (uint32_t i = 0; i < record->op_count; i++) {
        const struct record_op *op = &record->ops[i];
        const bool has_ref = op->ref != RECORD_NONE && op->ref < i;
        append_unsigned(stream, op->kind);
        append_unsigned(stream, op->lane);
        append_unsigned(stream, op->host);
        append_unsigned(stream, op->result);
        append_unsigned(stream, op->size_bytes);
        append_unsigned(stream, has_ref ? i - op->ref : 0);
        append_unsigned(stream, op->tag);
        append_unsigned(stream, op->makes_block ? op->address / unit + 1 : 0);
        append_unsigned(stream, op->now_ns > now_ns[op->host] ? op->now_ns - now_ns[op->host] : 0);
        now_ns[op->host] = op->now_ns > now_ns[op->host] ? op->now_ns : now_ns[op->host];
    }
}

static void write_numbers(const struct run_record *record, struct writing *stream)
{
    uint32_t before = 0;
    for (uint32_t i = 0; i < record->op_count; i++) {
        append_difference(stream, record->ops[i].op, before);
        before = record->ops[i].op;
    }
}

static void write_marks(const struct run_record *record, uint64_t unit, struct writing *stream)
{
    uint32_t turn = 0;
    for (size_t i = 0; i < record->mark_count; i++) {
        const struct record_mark *mark = &record->marks[i];
        append_unsigned(stream, mark->turn - turn);
        append_unsigned(stream, mark->kind);
        append_unsigned(stream, mark->host);
        append_unsigned(stream, mark->maker == RECORD_NONE ? 0 : (uint64_t)mark->maker + 1);
        append_unsigned(stream, mark->from / unit);
        append_unsigned(stream, mark->to / unit);
        append_unsigned(stream, mark->size_bytes / unit);
        turn = mark->turn;
    }
}

/* Drops blocks until they have room on the page; *of: how many there were. */
static void write_fitting_blocks(struct run_record *record, uint64_t unit, size_t room_bytes,
                                 struct writing *stream, uint64_t *of)
{
    *of = count_blocks(record) + record->left_out_count;
    if (!record->has_places) {
        record->block_count = 0; /* there is no map of them */
    }
    if (record->block_count > BLOCK_COUNT_MAX) {
        run_record_thin(record, BLOCK_COUNT_MAX);
    }
    write_blocks(record, unit, stream);
    while (stream->length > room_bytes && record->block_count > 0) {
        const double share = (double)room_bytes / (double)stream->length;
        writing_clear(stream);
        run_record_thin(record, (size_t)((double)record->block_count * share * 0.98));
        write_blocks(record, unit, stream);
    }
}

static void append_streams(struct run_record *record, struct writing *json)
{
    struct writing ops = {0}, blocks = {0}, numbers = {0}, marks = {0};
    const uint64_t unit = find_unit(record);
    uint64_t of;
    write_ops(record, unit, &ops);
    write_marks(record, unit, &marks);
    const size_t taken = ops.length + marks.length + BLOCK_BYTES_MIN;
    const size_t room = BLOCK_BYTES_MIN + (taken < STREAM_BYTES_MAX ? STREAM_BYTES_MAX - taken : 0);
    write_fitting_blocks(record, unit, room, &blocks, &of);
    say_json(json, "unit:%" PRIu64 " shown:{blocks:%" PRIu64 " of:%" PRIu64 "}", unit,
             count_blocks(record), of);
    append_stream(json, "blocks", &blocks);
    append_stream(json, "ops", &ops);
    if (record->has_lanes) {
        write_numbers(record, &numbers);
        append_stream(json, "opNumbers", &numbers);
    }
    append_stream(json, "marks", &marks);
}

/* --- names --- */

static void append_names(struct writing *json)
{
    static const char *const results[RECORD_RESULT_COUNT] = {"ok", "out of memory", "invalid",
                                                             "failed", "skipped"};
    json_nest(json, "kinds", '[');
    for (int i = 0; i < OP_KIND_COUNT; i++) {
        json_add_string(json, NULL, op_kind_info((enum op_kind)i)->name);
    }
    json_unnest(json, ']');
    json_nest(json, "results", '[');
    for (int i = 0; i < RECORD_RESULT_COUNT; i++) {
        json_add_string(json, NULL, results[i]);
    }
    json_unnest(json, ']');
    json_nest(json, "states", '[');
    for (int i = 0; i < RECORD_STATE_COUNT; i++) {
        json_add_string(json, NULL, record_state_name((enum record_state)i));
    }
    json_unnest(json, ']');
}

/* Appends the tags up to the last one that some op has. */
static void append_tags(const struct run_record *record, struct writing *json)
{
    char name[SETUP_NAME_BYTES];
    bool is_used[OP_TAG_COUNT] = {false};
    unsigned count = 1;
    for (uint32_t i = 0; i < record->op_count; i++) {
        is_used[record->ops[i].tag] = true;
        count = record->ops[i].tag >= count ? record->ops[i].tag + 1u : count;
    }
    json_nest(json, "tags", '[');
    for (unsigned tag = 0; tag < count; tag++) {
        const bool is_none = !is_used[tag] || (tag == 0 && record->setup.tags[0][0] == '\0');
        json_add_string(json, NULL,
                        is_none ? "" : setup_tag_name(&record->setup, (uint8_t)tag, name));
    }
    json_unnest(json, ']');
}

static void append_hosts(const struct run_record *record, const struct recording *recording,
                         struct writing *json)
{
    char name[DEVICE_NAME_BYTES];
    json_nest(json, "hosts", '[');
    for (uint32_t i = 0; i < record->setup.host_count; i++) {
        say_json(json, "{name:%s capacity:%" PRIu64 "}", device_name(recording, i, name),
                 record->capacity_bytes[i] > 0 ? record->capacity_bytes[i]
                                               : record->setup.capacity_bytes);
    }
    json_unnest(json, ']');
}

/* --- failures --- */

static void append_failure(const struct record_failure *failure, struct writing *json)
{
    const struct verdict *verdict = &failure->verdict;
    const bool has_rule = verdict->kind == VERDICT_BROKEN || verdict->kind == VERDICT_PREMATURE;
    say_json(json,
             "{op:%u host:%u requested:%" PRIu64 " align:%" PRIu64 " isOom:%d verdict:%s rule:%s "
             "reason:%s message:%s free:%" PRIu64 " largestHole:%" PRIu64 " holes:[",
             failure->turn, failure->host, failure->requested_bytes, failure->align_bytes,
             failure->is_oom,
             verdict->kind == VERDICT_NONE ? "not judged" : verdict_name(verdict->kind),
             has_rule ? rule_info(verdict->rule)->name : "",
             failure->is_judged ? verdict->reason : "not judged: a block was in host memory",
             failure->message, failure->free_bytes, failure->largest_hole_bytes);
    for (size_t i = 0; i < failure->hole_count; i++) {
        say_json(json, "[%" PRIu64 " %" PRIu64 "]", failure->holes[i].address,
                 failure->holes[i].size_bytes);
    }
    say_json(json, "]}");
}

static void append_failures(const struct run_record *record, struct writing *json)
{
    say_json(json, "failureCount:%" PRIu64 " failures:[",
             record->failure_count + record->failure_left_out_count);
    for (size_t i = 0; i < record->failure_count; i++) {
        append_failure(&record->failures[i], json);
    }
    json_unnest(json, ']');
}

/* --- curves --- */

/* One host's points, ascending by turn: each stands for the turns since the point before. */
enum { CURVE_COUNT = 7 };
static const char *const curve_names[CURVE_COUNT] = {"x",      "inUse", "reserved", "largestHole",
                                                     "queued", "free",  "programs"};

static bool is_near_failure(const struct run_record *record, uint32_t turn)
{
    for (size_t i = 0; i < record->failure_count && i < NEAR_FAILURE_COUNT; i++) {
        const uint32_t at = record->failures[i].turn;
        if (turn + NEAR_TURNS >= at && turn <= at + NEAR_TURNS) {
            return true;
        }
    }
    return false;
}

static uint32_t count_turns(const struct run_record *record, uint32_t host)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < record->op_count; i++) {
        count += record->ops[i].host == host;
    }
    return count;
}

/* Chooses every interval-th turn of the host, every one near a failure, and its last one; returns
 * how many. */
static size_t choose_points(const struct run_record *record, uint32_t host, uint32_t turn_count,
                            uint64_t (*points)[CURVE_COUNT])
{
    const uint32_t interval = 1 + turn_count / (POINT_COUNT_MAX - POINT_COUNT_MAX / 8);
    uint32_t seen = 0, waited = 0;
    uint64_t most = 0, least = UINT64_MAX;
    size_t count = 0;
    for (uint32_t i = 0; i < record->op_count; i++) {
        const struct record_op *op = &record->ops[i];
        if (op->host != host) {
            continue;
        }
        most = op->in_use_bytes > most ? op->in_use_bytes : most;
        least = op->largest_hole_bytes < least ? op->largest_hole_bytes : least;
        seen++;
        if (++waited < interval && seen < turn_count && !is_near_failure(record, i)) {
            continue;
        }
        const uint64_t point[CURVE_COUNT] = {i,
                                             most,
                                             op->reserved_bytes,
                                             least,
                                             op->queued_bytes,
                                             op->free_bytes,
                                             op->program_count};
        memcpy(points[count++], point, sizeof point);
        waited = 0;
        most = 0;
        least = UINT64_MAX;
    }
    return count;
}

static void append_curves(const struct run_record *record, struct writing *json)
{
    json_nest(json, "curves", '[');
    for (uint32_t host = 0; host < record->setup.host_count; host++) {
        const uint32_t turn_count = count_turns(record, host);
        uint64_t(*points)[CURVE_COUNT] = calloc((size_t)turn_count + 1, sizeof *points);
        CHECK(points != NULL);
        const size_t count = choose_points(record, host, turn_count, points);
        say_json(json, "{host:%u", host);
        for (unsigned kind = 0; kind < CURVE_COUNT; kind++) {
            json_nest(json, curve_names[kind], '[');
            for (size_t i = 0; i < count; i++) {
                json_add_number(json, NULL, points[i][kind]);
            }
            json_unnest(json, ']');
        }
        json_unnest(json, '}');
        free(points);
    }
    json_unnest(json, ']');
}

/* --- growth and steps --- */

static void append_numbers(struct writing *json, const char *key, const uint64_t *numbers,
                           size_t count)
{
    json_nest(json, key, '[');
    for (size_t i = 0; i < count; i++) {
        json_add_number(json, NULL, numbers[i]);
    }
    json_unnest(json, ']');
}

static void append_growth(const struct run_record *record, struct writing *json)
{
    char name[SETUP_NAME_BYTES];
    json_nest(json, "growth", '[');
    for (size_t i = 0; i < record->growth_count; i++) {
        const struct record_growth *growth = &record->growth[i];
        say_json(json, "{tag:%s host:%u", setup_tag_name(&record->setup, growth->tag, name),
                 growth->host);
        append_numbers(json, "x", growth->first_op, growth->count);
        append_numbers(json, "bytes", growth->floor_bytes, growth->count);
        if (growth->has_trend) {
            json_nest(json, "trend", '{');
            writing_append_format(json, "\"slope\":%.3f", growth->trend.slope_bytes);
            say_json(json, "from:%" PRIu64 " to:%" PRIu64 " at:%" PRIu64 "}",
                     growth->trend.first_op, growth->trend.end_op, growth->trend.at_bytes);
        }
        json_unnest(json, '}');
    }
    json_unnest(json, ']');
}

/* Appends the steps.  In a list with lanes steps are not matched with turns. */
static void append_steps(const struct run_record *record, const struct step_axis *steps,
                         struct writing *json)
{
    size_t count = 0;
    while (!record->has_lanes && count < steps->count && steps->ops[count] < record->op_count) {
        count++;
    }
    say_json(json, "steps:{ops:[");
    for (size_t i = 0; i < count; i++) {
        json_add_number(json, NULL, steps->ops[i]);
    }
    json_unnest(json, ']');
    append_numbers(json, "numbers", steps->numbers, count);
    say_json(json, "isSaid:%d}", steps->is_said);
}

/* --- who holds memory --- */

static void append_holders(const struct run_record *record, const struct stacks *stacks,
                           struct writing *json)
{
    struct run_holders holders;
    uint32_t host;
    const uint32_t peak = run_record_peak(record, &host);
    run_holders_take(record, peak, host, &holders);
    say_json(json, "flameOp:%u flameHost:%u", peak == RECORD_NONE ? 0 : peak, host);
    run_holders_append_flame(&holders, &record->setup, json);
    if (stacks != NULL && stacks->op_count > 0) {
        run_stacks_append(record, stacks, peak, host, json);
        json_add_string(json, "flameStacksNote", run_stacks_note(stacks));
    }
}

void run_data_append(struct run_record *record, const struct recording *recording,
                     const struct step_axis *steps, const char *title, struct writing *json)
{
    writing_append(json, "{");
    json_add_string(json, "title", title);
    append_hosts(record, recording, json);
    json_add_number(json, "opCount", record->op_count);
    append_names(json);
    append_tags(record, json);
    append_holders(record, recording->stacks, json); /* of all blocks */
    append_streams(record, json);
    append_failures(record, json);
    append_curves(record, json);
    append_growth(record, json);
    append_steps(record, steps, json);
    writing_append(json, "}");
}
