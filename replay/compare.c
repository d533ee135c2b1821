#include "replay/private/replay_parts.h"

#include "harness/base/json.h"
#include "harness/base/search.h"
#include "harness/model/model.h"
#include "harness/op/ops_file.h"

#include <inttypes.h>
#include <string.h>

static const char *const answer_names[] = {"granted", "out of memory", "refused", "skipped",
                                           "not run"};
static const char *const kind_names[SAID_KIND_COUNT] = {[SAID_FAILED] = "request",
                                                        [SAID_IN_USE_BYTES] = "in use",
                                                        [SAID_FREE_BYTES] = "free",
                                                        [SAID_PEAK_BYTES] = "peak",
                                                        [SAID_LARGEST_HOLE_BYTES] = "largest hole",
                                                        [SAID_ADDRESS] = "address"};

void compare_init(struct compare *compare, const struct recording *recording)
{
    *compare = (struct compare){.recording = recording, .last_op = OP_NONE, .first_op = OP_NONE};
}

static void add_difference(struct compare *compare, uint32_t op, enum said_kind kind, uint64_t log,
                           uint64_t run)
{
    if (op < compare->first_op) {
        compare->first_op = op;
    }
    if (compare->shown_count < COMPARE_SHOWN_MAX) {
        compare->shown[compare->shown_count++] = (struct compare_difference){
            .op = op, .kind = kind, .log = log, .run = run};
    }
}

/* The first of what is said of that op, or of a later one. */
static size_t find_logged(const struct recording *recording, uint32_t op)
{
    size_t first;
    SEARCH_FIRST(first, 0, recording->said_count, recording->said[first].op >= op);
    return first;
}

/* Returns the log's answer to a request: granted, unless the log says that it failed. */
static enum log_answer find_logged_answer(const struct recording *recording, uint32_t op)
{
    for (size_t i = find_logged(recording, op);
         i < recording->said_count && recording->said[i].op == op; i++) {
        if (recording->said[i].kind == SAID_FAILED) {
            return COMPARE_FAILED;
        }
    }
    return COMPARE_GRANTED;
}

static bool is_request(const struct op *op)
{
    const struct op_kind_info *info = op_kind_info((enum op_kind)op->kind);
    return info->makes_block || info->makes_program || op->kind == OP_EXECUTE;
}

static enum log_answer find_seen_answer(const struct observation *seen)
{
    if (seen->skipped != 0) {
        return COMPARE_SKIPPED;
    }
    return seen->result == TARGET_OK          ? COMPARE_GRANTED
           : seen->result == TARGET_NO_MEMORY ? COMPARE_FAILED
                                              : COMPARE_REFUSED;
}

static void compare_request(struct compare *compare, const struct op *op, uint32_t number,
                            enum log_answer run)
{
    const enum log_answer log = find_logged_answer(compare->recording, number);
    if (!is_request(op)) {
        return;
    }
    compare->requests++;
    if (log != run) {
        compare->requests_differ++;
        add_difference(compare, number, SAID_FAILED, log, run);
    }
}

/* Finds the run's value for a byte count of the log. */
static uint64_t find_seen_value(const struct compare *compare, const struct run *run, uint8_t host,
                                enum said_kind kind)
{
    const struct model *model = run_model(run, host);
    switch (kind) {
    case SAID_IN_USE_BYTES:
        return model_in_use_without(model, OP_TAG_COUNT);
    case SAID_FREE_BYTES:
        return model_free_bytes(model);
    case SAID_PEAK_BYTES:
        return compare->peak_bytes[host];
    case SAID_LARGEST_HOLE_BYTES:
        return model_largest_hole_bytes(model);
    default:
        return run_observation(run)->address;
    }
}

static void compare_values(struct compare *compare, const struct run *run, uint8_t host,
                           uint32_t number)
{
    const struct recording *recording = compare->recording;
    const struct observation *seen = run_observation(run);
    for (size_t i = find_logged(recording, number);
         i < recording->said_count && recording->said[i].op == number; i++) {
        const struct said *said = &recording->said[i];
        const bool has_place = seen->skipped == 0 && seen->result == TARGET_OK;
        if (said->kind == SAID_FAILED || said->kind == SAID_STEP ||
            (said->kind == SAID_ADDRESS && !has_place)) {
            continue;
        }
        const uint64_t value = find_seen_value(compare, run, host, said->kind);
        compare->values++;
        if (value != said->value) {
            compare->values_differ++;
            add_difference(compare, number, said->kind, said->value, value);
        }
    }
}

void compare_take(struct compare *compare, const struct run *run)
{
    const struct observation *seen = run_observation(run);
    if (seen->op >= compare->recording->ops.count || seen->op == compare->last_op) {
        return;
    }
    const struct op *op = &compare->recording->ops.ops[seen->op];
    /* Those that the job's allocator can know of: memory that an import retired was never its own.
     */
    const uint64_t in_use_bytes = model_in_use_without(run_model(run, op->host), OP_TAG_COUNT);
    compare->last_op = seen->op;
    compare->ops++;
    if (in_use_bytes > compare->peak_bytes[op->host]) {
        compare->peak_bytes[op->host] = in_use_bytes;
    }
    compare_request(compare, op, seen->op, find_seen_answer(seen));
    compare_values(compare, run, op->host, seen->op);
}

/* Ops of one lane end in their order, so that those behind the last one were not reached; of
 * several lanes only the count is known. */
void compare_end(struct compare *compare)
{
    const struct op_list *ops = &compare->recording->ops;
    uint64_t switches = 0;
    for (size_t i = 0; i < ops->count; i++) {
        switches += ops->ops[i].kind == OP_SWITCH;
    }
    if (compare->ops + switches >= ops->count) {
        return;
    }
    for (size_t i = compare->last_op == OP_NONE ? 0 : compare->last_op + (size_t)1; i < ops->count;
         i++) {
        compare_request(compare, &ops->ops[i], (uint32_t)i, COMPARE_NOT_RUN);
    }
}

/* --- saying it --- */

static void append_value(struct writing *text, enum said_kind kind, uint64_t value)
{
    if (kind == SAID_FAILED) {
        writing_append(text, answer_names[value]);
    } else if (kind == SAID_ADDRESS) {
        writing_append_format(text, "0x%" PRIx64, value);
    } else {
        writing_append_number(text, value);
    }
}

static void append_difference(const struct compare *compare,
                              const struct compare_difference *difference, struct writing *text)
{
    char op[OP_TEXT_BYTES];
    writing_append_format(text, "op %lu: %s: %s: ", (unsigned long)difference->op,
                          op_print(&compare->recording->ops.ops[difference->op], op),
                          kind_names[difference->kind]);
    append_value(text, difference->kind, difference->log);
    writing_append(text, " in the log, ");
    append_value(text, difference->kind, difference->run);
    writing_append(text, " in the run\n");
}

void compare_text(const struct compare *compare, struct writing *text)
{
    const uint64_t differ_count = compare->requests_differ + compare->values_differ;
    for (size_t i = 0; i < compare->shown_count; i++) {
        append_difference(compare, &compare->shown[i], text);
    }
    if (differ_count > compare->shown_count) {
        writing_append_format(text, "%" PRIu64 " more differences are not shown\n",
                              (differ_count - compare->shown_count));
    }
    writing_append_format(text,
                          "compared with the log: %" PRIu64 " of %" PRIu64 " requests and %" PRIu64
                          " of %" PRIu64 " byte counts agree",
                          (compare->requests - compare->requests_differ), compare->requests,
                          (compare->values - compare->values_differ), compare->values);
    if (differ_count > 0) {
        writing_append_format(text, "; the first difference is at op %lu",
                              (unsigned long)compare->first_op);
    }
    writing_append(text, "\n");
}

static void json_difference(const struct compare_difference *difference, struct writing *text)
{
    const bool is_answer = difference->kind == SAID_FAILED;
    json_nest(text, NULL, '{');
    json_add_number(text, "op", difference->op);
    json_add_string(text, "what", kind_names[difference->kind]);
    if (is_answer) {
        json_add_string(text, "log", answer_names[difference->log]);
        json_add_string(text, "run", answer_names[difference->run]);
    } else {
        json_add_number(text, "log", difference->log);
        json_add_number(text, "run", difference->run);
    }
    json_unnest(text, '}');
}

void compare_json(const struct compare *compare, struct writing *text)
{
    json_open(text, "compare");
    json_add_number(text, "requests", compare->requests);
    json_add_number(text, "requests_differ", compare->requests_differ);
    json_add_number(text, "values", compare->values);
    json_add_number(text, "values_differ", compare->values_differ);
    if (compare->first_op != OP_NONE) {
        json_add_number(text, "first_op", compare->first_op);
    }
    json_nest(text, "differences", '[');
    for (size_t i = 0; i < compare->shown_count; i++) {
        json_difference(&compare->shown[i], text);
    }
    json_unnest(text, ']');
    json_close(text);
}
