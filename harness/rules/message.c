
#include "harness/base/check.h"
#include "harness/base/size.h"
#include "harness/rules/private/families.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text_reader {
    const char *at;
    const char **lacking;
    char *reason;
    size_t reason_bytes;
};

static bool report_missing(struct text_reader *reader, const char *what, const char *want)
{
    snprintf(reader->reason, reader->reason_bytes, "the error text lacks %s '%s' at '%.60s'", what,
             want, reader->at);
    *reader->lacking = strstr(what, "size") != NULL || strstr(what, "region") != NULL ? "numbers"
                                                                                      : "words";
    return false;
}

static bool skip_if(struct text_reader *reader, const char *text)
{
    const char *at = reader->at;
    while (*text != '\0' && *at == *text) {
        at++;
        text++;
    }
    if (*text != '\0') {
        return false;
    }
    reader->at = at;
    return true;
}

static bool skip_words(struct text_reader *reader, const char *text)
{
    return skip_if(reader, text) || report_missing(reader, "the words", text);
}

static bool skip_size(struct text_reader *reader, const char *name, uint64_t size_bytes)
{
    char text[SIZE_TEXT_BYTES];
    size_print_field(size_bytes, text);
    return skip_if(reader, text) || report_missing(reader, name, text);
}

static const char units[] = "BKMGTPE";

/* Returns where the unit of a printed size is; NULL: there is no size.  strtod alone would take
 * signs, spaces, exponents, "nan". */
static const char *find_unit(const char *text)
{
    const size_t digits = strspn(text, "0123456789");
    const char *end = text + digits;
    if (*end == '.') {
        end += 1 + strspn(end + 1, "0123456789");
    }
    return digits > 0 && *end != '\0' && strchr(units, *end) != NULL ? end : NULL;
}

/* A size; is_open: any. */
static bool skip_size_or_any(struct text_reader *reader, const char *name, uint64_t size_bytes,
                             bool is_open)
{
    const char *unit = is_open ? find_unit(reader->at) : NULL;
    if (unit == NULL) {
        return skip_size(reader, name, size_bytes);
    }
    reader->at = unit + 1;
    return true;
}

/* A printed size as bytes, in 1/100 of its unit: enough to hold it against bounds. */
static bool skip_size_between(struct text_reader *reader, uint64_t low_bytes, uint64_t high_bytes)
{
    const char *end = find_unit(reader->at);
    if (end == NULL) {
        return report_missing(reader, "a size before", "reservable");
    }
    const char *unit = strchr(units, *end);
    const double value = strtod(reader->at, NULL);
    double scale = 1;
    for (const char *c = units; c < unit; c++) {
        scale *= 1024;
    }
    const double rounding = scale * (*end == 'K' ? 0.06 : 0.006) + 1024;
    if (value * scale < (double)low_bytes - rounding ||
        value * scale > (double)high_bytes + rounding) {
        return report_missing(reader, "the right size before", "reservable");
    }
    reader->at = end + 1;
    return true;
}

static bool read_allocate(struct text_reader *reader, const struct message_expected *expected)
{
    if (!skip_size(reader, "the requested size", expected->requested_bytes) ||
        !skip_words(reader, ". That was not possible. There are ") ||
        !skip_size_or_any(reader, "the free size", expected->free_bytes, expected->is_free_open) ||
        !skip_words(reader, " free.")) {
        return false;
    }
    const bool has_sentence = skip_if(
        reader, " Due to fragmentation, the largest contiguous region of free memory is ");
    if (!has_sentence) {
        return !expected->has_fragmentation ||
               report_missing(reader, "the sentence that begins with", "Due to fragmentation");
    }
    return skip_size_or_any(reader, "the largest region", expected->largest_hole_bytes,
                            expected->is_hole_open) &&
           skip_words(reader, ".");
}

static bool read_reserve(struct text_reader *reader, const struct message_expected *expected)
{
    if (!skip_size(reader, "the requested size", expected->stack_bytes) ||
        !skip_words(reader, " at the bottom of memory. That was not possible. There are ") ||
        !skip_size_or_any(reader, "the free size", expected->free_bytes, expected->is_free_open) ||
        !skip_words(reader, " free, ") ||
        !skip_size_or_any(reader, "the reserved size", expected->reserved_bytes,
                          expected->is_reserved_open) ||
        !skip_words(reader, " reserved, and ")) {
        return false;
    }
    const bool is_exact = !expected->is_reservable_open &&
                          expected->reservable_low_bytes == expected->reservable_high_bytes;
    const bool is_right = is_exact ? skip_size(reader, "the reservable size",
                                               expected->reservable_low_bytes)
                                   : skip_size_between(reader, expected->reservable_low_bytes,
                                                       expected->reservable_high_bytes);
    return is_right && skip_words(reader, " reservable.");
}

static bool skip_number(struct text_reader *reader)
{
    const size_t digits = strspn(reader->at, "0123456789");
    reader->at += digits;
    return digits > 0;
}

/* "; (0x0x1_HBM0)" or nothing. */
static bool read_end(struct text_reader *reader)
{
    if (skip_if(reader, "; (") &&
        !(skip_number(reader) && skip_if(reader, "x") && skip_number(reader) &&
          skip_if(reader, "x") && skip_number(reader) && skip_if(reader, "_HBM") &&
          skip_number(reader) && skip_if(reader, ")"))) {
        return report_missing(reader, "a coordinate like", "(0x0x0_HBM0)");
    }
    return *reader->at == '\0' ||
           report_missing(reader, "the end after the coordinate or", "free.");
}

bool message_is_right(const char *text, const struct message_expected *expected,
                      const char **lacking, char *reason, size_t reason_bytes)
{
    struct text_reader reader = {text, lacking, reason, reason_bytes};
    if (!skip_words(&reader, "RESOURCE_EXHAUSTED: ")) {
        return false;
    }
    skip_if(&reader, expected->is_program ? "E0101: RuntimeProgramAllocationFailure:\n"
                                          : "E0100: RuntimeBufferAllocationFailure:\n");
    if (!expected->is_program) {
        skip_if(&reader, "Error allocating device buffer: ");
        return skip_words(&reader, "Attempting to allocate ") && read_allocate(&reader, expected) &&
               read_end(&reader);
    }
    if (!skip_words(&reader, "Error loading program")) {
        return false;
    }
    const char *attempt = skip_if(&reader, " '") ? "': Attempting to " : ": Attempting to ";
    const char *after_name = strstr(reader.at, attempt);
    if (after_name == NULL || (attempt[0] == ':' && after_name != reader.at)) {
        return report_missing(&reader, "the words", attempt);
    }
    reader.at = after_name + strlen(attempt);
    if (skip_if(&reader, "allocate ")) {
        return (expected->requested_bytes > 0 ||
                report_missing(&reader, "the only possible attempt,", "reserve")) &&
               read_allocate(&reader, expected) && read_end(&reader);
    }
    return skip_words(&reader, "reserve ") &&
           (expected->stack_bytes > 0 ||
            report_missing(&reader, "the only possible attempt,", "allocate")) &&
           read_reserve(&reader, expected) && read_end(&reader);
}

/* --- texts --- */

/* An answer FAILED says why, unless there was no host memory to say it with. */
static bool judge_failure_text(const struct rule_evidence *evidence)
{
    const uint32_t fired = device_faults_fired(evidence->host->device);
    const bool is_excused = (fired & 1u << FAULT_HOST_MEMORY) != 0;
    return is_excused || evidence->judge->message[0] != '\0' ||
           evidence_break_as(
               evidence, RULE_MESSAGE, "empty text of a failure",
               "the call failed with an empty error text, though no host memory was refused");
}

/* A number of the text is that of a counter: where the contract leaves the counter open, it leaves
 * the number open.  What others of the process have taken is in none that the model knows. */
static void open_numbers(const struct target_contract *contract, struct message_expected *expected)
{
    const uint8_t *counting = contract->counting;
    const bool is_shared = contract->limit == TARGET_LIMIT_PROCESS;
    expected->is_reserved_open = counting[TARGET_COUNTER_BYTES_RESERVED] != TARGET_COUNT_EXACT;
    expected->is_free_open = is_shared || expected->is_reserved_open ||
                             counting[TARGET_COUNTER_BYTES_IN_USE] != TARGET_COUNT_EXACT ||
                             counting[TARGET_COUNTER_BYTES_LIMIT] != TARGET_COUNT_EXACT;
    expected->is_hole_open = is_shared || counting[TARGET_COUNTER_LARGEST_FREE_BLOCK_BYTES] !=
                                              TARGET_COUNT_EXACT;
    expected->has_fragmentation = expected->has_fragmentation && !expected->is_free_open;
    if (is_shared) {
        expected->is_reservable_open = true;
        expected->reservable_low_bytes = 0;
        expected->reservable_high_bytes = UINT64_MAX;
    }
}

/* The text follows the grammar, and its numbers are the model's. */
static bool judge_numbers(const struct rule_evidence *evidence)
{
    const struct judge *judge = evidence->judge;
    const struct host *host = evidence->host;
    const struct call *call = evidence->call;
    const struct oom_bounds reservable = oom_reservable(&judge->oom);
    const struct model *model = host->model;
    const bool is_program = judge->oom.request.class == REQUEST_PROGRAM;
    const struct block *program = call->slot == SLOT_NONE ? NULL : model_block(model, call->slot);
    const uint64_t requested = judge->oom.request.asked_bytes;
    struct message_expected expected = {
        .is_program = is_program,
        .requested_bytes = requested,
        .stack_bytes = program != NULL ? program->stack_requested_bytes : call->op.stack_bytes,
        .free_bytes = model_free_bytes(model),
        .reserved_bytes = model_reserved_bytes(model),
        .reservable_low_bytes = reservable.low_bytes,
        .reservable_high_bytes = reservable.high_bytes,
        .largest_hole_bytes = model_largest_hole_bytes(model),
        .has_fragmentation = host->contract.defrag == DEFRAG_NONE &&
                             model_free_bytes(model) >= requested,
    };
    open_numbers(&host->contract, &expected);
    char reason[160];
    const char *lacking = NULL;
    if (message_is_right(judge->message, &expected, &lacking, reason, sizeof reason)) {
        return true;
    }
    return evidence_break_as(evidence, RULE_MESSAGE, lacking, "%s", reason);
}

bool rules_judge_message(const struct rule_evidence *evidence)
{
    if (evidence->call->result == TARGET_FAILED) {
        return judge_failure_text(evidence);
    }
    if (evidence->judge->message[0] == '\0') {
        return evidence_break_as(evidence, RULE_MESSAGE, "empty text",
                                 "an out-of-memory without an error text");
    }
    return !evidence->has_numbers || !evidence->host->contract.documented_messages ||
           judge_numbers(evidence);
}
