#include "tests/formats/profile_imports.h"

#include "harness/run/run.h"
#include "harness/trial/trial_run.h"
#include "targets/targets.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void profile_assert_cuts_are_said(const char *path, const char *format, size_t recognised_min)
{
    size_t length = 0;
    uint64_t cut_count = 0;
    char *bytes = file_bytes(path, &length);
    for (size_t cut = 1; cut < length; cut++) {
        const enum import_result result = import_bytes(bytes, cut, format);
        ck_assert_msg(result == IMPORT_OK || result == IMPORT_INCOMPLETE, "%s cut at %zu: %s", path,
                      cut, refusal.reason);
        cut_count += result == IMPORT_INCOMPLETE;
        const struct format *recognised = format_recognise(bytes, cut);
        ck_assert_msg(cut < recognised_min ||
                          (recognised != NULL && strcmp(recognised->name, format) == 0),
                      "%s cut at %zu is not recognised", path, cut);
    }
    ck_assert_uint_gt(cut_count, length / 2);
    free(bytes);
}

void profile_assert_damage_is_survived(const char *path, const char *format, uint64_t rounds)
{
    size_t length = 0;
    char *bytes = file_bytes(path, &length);
    const uint64_t imported = damage(bytes, length, format, rounds);
    ck_assert_uint_gt(imported, 0);
    ck_assert_uint_lt(imported, rounds);
    free(bytes);
}

/* --- replay --- */

struct comparison {
    size_t next; /* of import.said */
    uint64_t retired_bytes[OP_HOST_COUNT_MAX];
    uint64_t peak_bytes[OP_HOST_COUNT_MAX];
    uint64_t count;
};

static void compare_observation(void *context, const struct run *run, const struct verdict *verdict)
{
    struct comparison *comparison = context;
    const struct observation *seen = run_observation(run);
    (void)verdict;
    if (seen->op >= import.ops.count) {
        return; /* the end of the run frees what is left */
    }
    const struct op *op = &import.ops.ops[seen->op];
    ck_assert_msg(seen->skipped == 0 && seen->result == TARGET_OK,
                  "op %" PRIu32 " is skipped or refused", seen->op);
    comparison->retired_bytes[op->host] += op->kind == OP_RETIRE ? op->size_bytes : 0;
    const uint64_t in_use = seen->bytes_in_use - comparison->retired_bytes[op->host];
    uint64_t *peak = &comparison->peak_bytes[op->host];
    *peak = in_use > *peak ? in_use : *peak;
    for (; comparison->next < import.said_count && import.said[comparison->next].op == seen->op;
         comparison->next++) {
        const struct said *said = &import.said[comparison->next];
        ck_assert(said->kind == SAID_IN_USE_BYTES || said->kind == SAID_PEAK_BYTES);
        ck_assert_msg(said->value == (said->kind == SAID_PEAK_BYTES ? *peak : in_use),
                      "op %" PRIu32 ": %" PRIu64 " is said, and %" PRIu64
                      " are in use, at most %" PRIu64,
                      seen->op, said->value, in_use, *peak);
        comparison->count++;
    }
}

uint64_t profile_assert_replay(void)
{
    struct comparison comparison = {0};
    struct trial trial;
    char reason[RUN_REASON_BYTES] = "";
    const struct run_listener listener = {.context = &comparison, .judged = compare_observation};
    ck_assert_msg(trial_replay(&target_hbm, &import.setup, &import.ops, &listener, &trial, reason),
                  "%s", reason);
    ck_assert_msg(trial.first.kind == VERDICT_NONE, "%s: %s", verdict_name(trial.first.kind),
                  trial.first.reason);
    ck_assert_uint_eq(trial.totals.ooms, 0);
    ck_assert_uint_eq(comparison.count, import.said_count);
    trial_deinit(&trial);
    return comparison.count;
}
