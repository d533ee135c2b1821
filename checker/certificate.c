#include "checker/private/check.h"
#include "checker/private/history.h"
#include "checker/private/text.h"
#include "checker/private/within.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool check_require(struct check *check, bool is_true, const char *format, ...)
{
    va_list arguments;
    if (!is_true && check->result == CERTIFICATE_VALID) {
        check->result = CERTIFICATE_REFUTED;
        va_start(arguments, format);
        vsnprintf(check->reason, CERTIFICATE_REASON_BYTES, format, arguments);
        va_end(arguments);
    }
    return is_true;
}

bool check_unpack(struct check *check, json_t *json, const char *what, const char *format, ...)
{
    json_error_t error;
    va_list arguments;
    va_start(arguments, format);
    const bool is_read = json_vunpack_ex(json, &error, JSON_STRICT, format, arguments) == 0;
    va_end(arguments);
    if (!check_require(check, is_read, "%s: a member is missing, unknown, or of the wrong type",
                       what)) {
        check->result = CERTIFICATE_UNREADABLE;
    }
    return is_read;
}

bool check_is_array(struct check *check, json_t *json, const char *what)
{
    const bool is_array = json_typeof(json) == JSON_ARRAY;
    if (!check_require(check, is_array, "%s: this is not an array", what)) {
        check->result = CERTIFICATE_UNREADABLE;
    }
    return is_array;
}

size_t check_find_word(struct check *check, const char *what, const char *text, const char *words)
{
    size_t index = 0, length;
    for (const char *at = words; *at != '\0'; at += length + (at[length] == '|'), index++) {
        length = strcspn(at, "|");
        if (strlen(text) == length && strncmp(text, at, length) == 0) {
            return index;
        }
    }
    check_require(check, false, "%s is not one of %s", what, words);
    return 0;
}

bool check_has_memory(struct check *check, bool is_there)
{
    if (!check_require(check, is_there, "no memory")) {
        check->result = CERTIFICATE_UNREADABLE;
    }
    return is_there;
}

void check_proof_of(struct check *check, const char *claim)
{
    enum { PLAN, BUDGET, STACK, SPANS, SUM = 9 };
    static void (*const checks[])(struct check *) = {
        check_plan,   check_budget, check_stack, check_spans,    check_rounding,
        check_search, check_table,  check_fills, check_patterns, check_sum};
    if (!check_unpack(check, check->proof, "proof", "{s:s*}", "kind", &check->kind)) {
        return;
    }
    const size_t kind = check_find_word(check, "proof.kind", check->kind,
                                        "plan|budget|stack|spans|rounding|search|table|fills|"
                                        "patterns|sum");
    check->blocks[check->block_count].address = check->capacity;
    state_set_time(check, check->time);
    check_require(check,
                  check_find_word(check, "claim", claim, "premature|unknown|justified") ==
                      LEAST(kind, STACK),
                  "proof: its kind does not prove this claim");
    check_require(check, kind == PLAN || (kind == SUM) == (check->placement != RANGES),
                  "proof: its kind does not match the placement");
    if (check->placement != RANGES) {
        if (check->result == CERTIFICATE_VALID) {
            checks[kind](check);
        }
        return;
    }
    check_require(check, kind == PLAN || state_find_spans(check) == (kind != STACK),
                  "proof: its kind does not match whether the stack fits");
    check_require(check,
                  kind == PLAN || kind == STACK || (check->defrag == REPACK) == (kind != SPANS),
                  "proof: its kind does not match the contract");
    if (check->result == CERTIFICATE_VALID) {
        checks[kind](check);
    }
}

static void check_proof(struct check *check)
{
    const json_t *kind = json_object_get(check->proof, "kind");
    if (json_is_string(kind) && strcmp(json_string_value(kind), "assumed") == 0) {
        check_assumed(check);
    } else {
        check_proof_of(check, check->claim);
    }
}

/* Returns what a history shows of a certificate that is right. */
static const char *name_comparison(const struct certificate_history *history)
{
    if (history == NULL) {
        return "";
    }
    if (!history->has_log) {
        return "; the op is that of the list";
    }
    return history->list.has_lanes ? "; the op is that of the list, whose lanes overlap"
                                   : "; the state is that of the list and its observations";
}

enum certificate_result certificate_check_within(const char *text, size_t length,
                                                 const struct certificate_history *history,
                                                 uint64_t pattern_steps_max,
                                                 char reason[CERTIFICATE_REASON_BYTES])
{
    struct check check = {
        .result = CERTIFICATE_VALID, .reason = reason, .pattern_steps_max = pattern_steps_max};
    json_error_t error;
    check.root = json_read(text, length, &error);
    check_require(&check, check.root != NULL, "line %d, column %d: this is not JSON", error.line,
                  error.column);
    document_read(&check, check.root);
    if (check.result == CERTIFICATE_VALID && history != NULL) {
        named_compare(&check, history);
    }
    if (check.result == CERTIFICATE_VALID) {
        possible_require(&check);
    }
    if (check.result == CERTIFICATE_VALID) {
        check_proof(&check);
    }
    if (check.result == CERTIFICATE_VALID) {
        snprintf(reason, CERTIFICATE_REASON_BYTES, "%s, %s%s", check.claim, check.kind,
                 name_comparison(history));
    }
    free(check.blocks);
    free(check.items);
    free(check.regions.ranges);
    json_decref(check.root);
    return check.result;
}

enum certificate_result certificate_check_with(const char *text, size_t length,
                                               const struct certificate_history *history,
                                               char reason[CERTIFICATE_REASON_BYTES])
{
    return certificate_check_within(text, length, history, PATTERN_STEPS_MAX, reason);
}
