/* Reads the log of what a target answered: a head, then a line for each op. */
#include "checker/private/history.h"
#include "checker/private/text.h"

#include <stdlib.h>
#include <string.h>

static const char defrag_names[] = "none|slide|repack";
static const char placement_names[] = "ranges|hidden|pages";
static const char answer_names[] = "ok|no_memory|invalid|failed|skipped";
static const char refused_names[] = "copy|wait|unload|host_memory|region";
static const json_int_t granule_max = 1 << 30;

struct log_reader {
    struct log *log;
    const struct list *list;
    struct lines *lines;
};

static struct text_word make_word(const char *text)
{
    return (struct text_word){text, strlen(text)};
}

/* The members of an object or array by jansson's format, and no others. */
static bool unpack(struct log_reader *reader, json_t *json, const char *what, const char *format,
                   ...)
{
    json_error_t error;
    va_list arguments;
    va_start(arguments, format);
    const bool is_read = json_vunpack_ex(json, &error, JSON_STRICT, format, arguments) == 0;
    va_end(arguments);
    return is_read || lines_fail(reader->lines,
                                 "%s: a member is missing, unknown, or of the wrong type", what);
}

/* --- the head --- */

static bool read_promise(struct log_reader *reader, size_t host, json_t *json)
{
    struct promise *promise = &reader->log->promises[host];
    const char *rounding, *defrag, *placement = NULL;
    json_int_t granule, header = 0, step = 0;
    if (!unpack(reader, json, "hosts", "{s:I,s:s,s:s,s:b,s:b,s:b,s?s,s?I,s?b,s?b,s?I,s?b,s?b}",
                "granule", &granule, "rounding", &rounding, "defrag", &defrag, "drains",
                &promise->drains, "evicts", &promise->evicts, "program_evicts_program",
                &promise->program_evicts_program, "placement", &placement, "header", &header,
                "aligns_naturally", &promise->aligns_naturally, "trims", &promise->trims, "step",
                &step, "stream_ordered", &promise->stream_ordered, "records", &promise->records)) {
        return false;
    }
    promise->grows = json_object_get(json, "step") != NULL;
    promise->step = (uint64_t)step;
    if (promise->grows != (json_object_get(json, "trims") != NULL) || step < 0) {
        return lines_fail(reader->lines, "hosts: trims or step is missing or negative");
    }
    promise->placement = placement == NULL ? 0 : word_find(make_word(placement), placement_names);
    promise->header = (uint64_t)header;
    if (promise->placement < 0 || header < 0 ||
        (placement == NULL) != (json_object_get(json, "header") == NULL)) {
        return lines_fail(reader->lines, "hosts: placement or header is wrong");
    }
    promise->granule = (uint64_t)granule;
    promise->defrag = word_find(make_word(defrag), defrag_names);
    return (granule > 0 && granule <= granule_max && (granule & (granule - 1)) == 0 &&
            promise->defrag >= 0 && rounding_read(make_word(rounding), &promise->rounding)) ||
           lines_fail(reader->lines, "hosts: granule, rounding or defrag is wrong");
}

static bool read_head(struct log_reader *reader, json_t *json)
{
    const struct list *list = reader->list;
    const char *format, *target;
    json_int_t version, capacity;
    json_t *options, *hosts;
    if (!unpack(reader, json, "the head", "{s:s,s:I,s:s,s:o,s:I,s:o}", "format", &format, "version",
                &version, "target", &target, "options", &options, "capacity", &capacity, "hosts",
                &hosts)) {
        return false;
    }
    if (strcmp(format, "hbmstress-observations") != 0 || version != 1) {
        return lines_fail(reader->lines, "the format or version is wrong");
    }
    if (!word_is(list->target, target) || !list_has_options(list, options) || capacity < 0 ||
        (uint64_t)capacity != list->capacity || json_array_size(hosts) != list->host_count) {
        return lines_fail(reader->lines,
                          "target, options, capacity or hosts are not those of the list");
    }
    for (size_t i = 0; i < list->host_count; i++) {
        if (!read_promise(reader, i, json_array_get(hosts, i))) {
            return false;
        }
    }
    return true;
}

/* --- the line of an op --- */

static bool read_time(const char *text, bool may_be_never, uint64_t *time)
{
    if (may_be_never && strcmp(text, "never") == 0) {
        *time = NEVER_NS;
        return true;
    }
    return word_number(make_word(text), NEVER_NS - 1, time);
}

/* True if the op has what changes, on the host of this line: events are of all hosts. */
static bool may_change(const struct log_reader *reader, const struct change *change)
{
    const struct list_op *ops = reader->list->ops, *op = &ops[change->op];
    if (change->kind == CHANGE_DONE || change->kind == CHANGE_DUE) {
        return op_makes_event(op);
    }
    return op->host == ops[reader->log->line_count].host &&
           (change->kind == CHANGE_EVICTED ? op->kind == OP_LOAD : op_makes_block(op));
}

static bool put_change(struct log_reader *reader, struct change change)
{
    struct log *log = reader->log;
    struct change *changes = array_with_room(log->changes, log->change_count, &log->change_capacity,
                                             sizeof *changes);
    if (changes == NULL) {
        return lines_fail(reader->lines, "no memory");
    }
    log->changes = changes;
    changes[log->change_count++] = change;
    return true;
}

static bool add_change(struct log_reader *reader, const char *name, struct change change,
                       json_int_t op)
{
    change.op = (uint32_t)op;
    if ((uint64_t)op > reader->log->line_count || !may_change(reader, &change)) {
        return lines_fail(reader->lines, "%s: op %lld has nothing of the kind on this host", name,
                          (long long)op);
    }
    return put_change(reader, change);
}

/* Adds a region, only where the host's target grows. */
static bool add_region(struct log_reader *reader, const char *name, const struct change *change)
{
    const struct log *log = reader->log;
    const struct promise *promise = &log->promises[reader->list->ops[log->line_count].host];
    if (!promise->grows || change->value >= change->end || change->end > INT64_MAX) {
        return lines_fail(reader->lines, "%s: this is no region, or the target does not grow",
                          name);
    }
    return put_change(reader, *change);
}

static bool read_given(struct log_reader *reader, json_t *json)
{
    json_int_t start;
    return unpack(reader, json, "given", "I", &start) &&
           add_region(reader, "given",
                      &(struct change){.kind = CHANGE_GIVEN,
                                       .value = (uint64_t)start,
                                       .end = (uint64_t)start + 1});
}

static bool read_taken(struct log_reader *reader, json_t *json)
{
    json_int_t start, end;
    return unpack(reader, json, "taken", "[I,I]", &start, &end) &&
           add_region(reader, "taken",
                      &(struct change){
                          .kind = CHANGE_TAKEN, .value = (uint64_t)start, .end = (uint64_t)end});
}

static bool read_moved(struct log_reader *reader, json_t *json)
{
    json_int_t op, address;
    return unpack(reader, json, "moved", "[I,I]", &op, &address) &&
           (address >= -1 || lines_fail(reader->lines, "moved: the address is negative")) &&
           add_change(
               reader, "moved",
               (struct change){.kind = CHANGE_MOVED,
                               .value = address < 0 ? IN_HOST_MEMORY_ADDRESS : (uint64_t)address},
               op);
}

static bool read_evicted(struct log_reader *reader, json_t *json)
{
    json_int_t op;
    return unpack(reader, json, "evicted", "I", &op) &&
           add_change(reader, "evicted", (struct change){.kind = CHANGE_EVICTED}, op);
}

static bool read_done(struct log_reader *reader, json_t *json)
{
    json_int_t op;
    return unpack(reader, json, "done", "I", &op) &&
           add_change(reader, "done", (struct change){.kind = CHANGE_DONE}, op);
}

static bool read_due(struct log_reader *reader, json_t *json)
{
    struct change change = {.kind = CHANGE_DUE};
    const char *time;
    json_int_t op;
    return unpack(reader, json, "due", "[I,s]", &op, &time) &&
           (read_time(time, true, &change.value) ||
            lines_fail(reader->lines, "due: this is not a time")) &&
           add_change(reader, "due", change, op);
}

static bool read_refused(struct log_reader *reader, json_t *json)
{
    const char *name;
    if (!unpack(reader, json, "refused", "s", &name)) {
        return false;
    }
    const int call = word_find(make_word(name), refused_names);
    reader->log->lines[reader->log->line_count].refused |= (uint8_t)(call < 0 ? 0 : 1 << call);
    return call >= 0 || lines_fail(reader->lines, "refused: not one of %s", refused_names);
}

static bool read_each(struct log_reader *reader, json_t *array,
                      bool (*read)(struct log_reader *reader, json_t *json))
{
    bool is_good = array == NULL || json_typeof(array) == JSON_ARRAY ||
                   lines_fail(reader->lines, "a member is not an array");
    for (size_t i = 0; is_good && i < json_array_size(array); i++) {
        is_good = read(reader, json_array_get(array, i));
    }
    return is_good;
}

static bool has_place(const struct list_op *op, uint8_t answer)
{
    return answer == ANSWER_OK &&
           (op->kind == OP_ALLOC || op->kind == OP_OUTPUT || op->kind == OP_LOAD ||
            op->kind == OP_DONATE || op->kind == OP_EXECUTE);
}

/* The line has address and size whenever it may. */
static bool read_place(struct log_reader *reader, json_t *json, struct observed *seen)
{
    const json_t *address = json_object_get(json, "address"), *size = json_object_get(json, "size");
    if (!has_place(&reader->list->ops[reader->log->line_count], seen->answer)) {
        return (address == NULL && size == NULL) ||
               lines_fail(reader->lines, "this answer has no address and no size");
    }
    seen->address = (uint64_t)json_integer_value(address);
    seen->size = (uint64_t)json_integer_value(size);
    return (address != NULL && size != NULL && seen->address <= INT64_MAX &&
            seen->size <= INT64_MAX) ||
           lines_fail(reader->lines, "address or size is missing or negative");
}

static bool read_op(struct log_reader *reader, json_t *json)
{
    struct observed *seen = &reader->log->lines[reader->log->line_count];
    json_t *moved = NULL, *evicted = NULL, *done = NULL, *due = NULL, *refused = NULL;
    json_t *given = NULL, *taken = NULL;
    json_int_t op, address, size; /* the last two are read by read_place */
    const char *answer, *now;
    *seen = (struct observed){0};
    if (!unpack(reader, json, "the op", "{s:I,s:s,s:s,s?I,s?I,s?o,s?o,s?o,s?o,s?o,s?o,s?o}", "op",
                &op, "answer", &answer, "now", &now, "address", &address, "size", &size, "moved",
                &moved, "evicted", &evicted, "given", &given, "taken", &taken, "done", &done, "due",
                &due, "refused", &refused)) {
        return false;
    }
    if (op != (json_int_t)reader->log->line_count) {
        return lines_fail(reader->lines, "the op is %lld, not %zu", (long long)op,
                          reader->log->line_count);
    }
    const int index = word_find(make_word(answer), answer_names);
    seen->answer = (uint8_t)index;
    if (index < 0 || !read_time(now, false, &seen->now)) {
        return lines_fail(reader->lines, "answer or now is wrong");
    }
    return read_place(reader, json, seen) && read_each(reader, moved, read_moved) &&
           read_each(reader, evicted, read_evicted) && read_each(reader, given, read_given) &&
           read_each(reader, taken, read_taken) && read_each(reader, done, read_done) &&
           read_each(reader, due, read_due) && read_each(reader, refused, read_refused);
}

static bool add_op(struct log_reader *reader, json_t *json)
{
    struct log *log = reader->log;
    if (reader->list->has_lanes) {
        return lines_fail(reader->lines, "the list has lanes, but the log has lines of ops");
    }
    if (log->line_count == reader->list->op_count) {
        return lines_fail(reader->lines, "the list has no op %zu", log->line_count);
    }
    struct observed *lines = array_with_room(log->lines, log->line_count, &log->line_capacity,
                                             sizeof *lines);
    if (lines == NULL) {
        return lines_fail(reader->lines, "no memory");
    }
    log->lines = lines;
    if (!read_op(reader, json)) {
        return false;
    }
    lines[log->line_count++].change_end = log->change_count;
    return true;
}

static bool read_line(struct log_reader *reader)
{
    const struct text_word line = reader->lines->line;
    json_error_t error;
    json_t *json = json_read(line.text, line.length, &error);
    const bool is_good = json == NULL ? lines_fail(reader->lines, "column %d: this is not JSON",
                                                   error.column)
                         : reader->lines->number == 1 ? read_head(reader, json)
                                                      : add_op(reader, json);
    json_decref(json);
    return is_good;
}

bool log_read(struct log *log, const struct list *list, struct lines *lines)
{
    struct log_reader reader = {.log = log, .list = list, .lines = lines};
    bool is_good = lines_next(lines) || lines_fail(lines, "the log has no head");
    /* A last line without its newline was still being written. */
    for (bool is_left = true; is_good && is_left; is_left = lines_next(lines)) {
        is_good = read_line(&reader);
    }
    return is_good;
}

void log_deinit(struct log *log)
{
    free(log->lines);
    free(log->changes);
}
