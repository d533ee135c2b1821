#include "tests/formats/profile_imports.h"

#include "formats/common/text.h"
#include "harness/base/random.h"
#include "harness/op/ops_file.h"
#include "harness/run/run.h"
#include "harness/trial/trial_run.h"
#include "targets/targets.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct import profile_import;
struct import_error profile_error;

void profile_setup(void)
{
    import_init(&profile_import);
    profile_error = (struct import_error){0};
}

void profile_teardown(void)
{
    import_deinit(&profile_import);
}

void profile_load(const char *path, const char *format)
{
    char text[4096 + IMPORT_REASON_BYTES];
    const enum import_result result = import_file(path, "auto", NULL, &profile_import,
                                                  &profile_error);
    ck_assert_msg(result == IMPORT_OK, "%s",
                  import_error_print(path, &profile_error, text, sizeof text));
    ck_assert_str_eq(profile_import.format->name, format);
}

static void read_whole(const char *path, struct text *text)
{
    ck_assert_msg(text_read(path, (size_t)1 << 24, text, &profile_error) == IMPORT_OK, "%s: %s",
                  path, profile_error.reason);
}

void profile_assert_ops(const char *expected)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    char op[OP_TEXT_BYTES];
    for (size_t i = 0; i < profile_import.ops.count; i++) {
        fprintf(stream, "%s\n", op_print(&profile_import.ops.ops[i], op));
    }
    fclose(stream);
    ck_assert_str_eq(text, expected);
    free(text);
}

static const struct import_options with_stacks = {.with_stacks = true};

void profile_assert_cuts_are_said(const char *path, const char *format, size_t recognised_min)
{
    struct text text;
    uint64_t cut_count = 0;
    read_whole(path, &text);
    for (size_t length = 1; length < text.length; length++) {
        char *copy = malloc(length); /* so that a read beyond the cut is seen */
        memcpy(copy, text.bytes, length);
        const enum import_result result = import_text(copy, length, format, &with_stacks,
                                                      &profile_import, &profile_error);
        ck_assert_msg(result == IMPORT_OK || result == IMPORT_INCOMPLETE, "%s cut at %zu: %s", path,
                      length, profile_error.reason);
        cut_count += result == IMPORT_INCOMPLETE;
        const struct format *recognised = format_recognise(copy, length);
        ck_assert_msg(length < recognised_min ||
                          (recognised != NULL && strcmp(recognised->name, format) == 0),
                      "%s cut at %zu is not recognised", path, length);
        free(copy);
    }
    ck_assert_uint_gt(cut_count, text.length / 2);
    text_deinit(&text);
}

void profile_assert_damage_is_survived(const char *path, const char *format, uint64_t seeds)
{
    struct text text;
    uint64_t refused = 0;
    read_whole(path, &text);
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct random random;
        char *copy = malloc(text.length);
        memcpy(copy, text.bytes, text.length);
        random_init(&random, seed);
        const uint64_t changes = 1 + random_below(&random, 4);
        for (uint64_t i = 0; i < changes; i++) {
            copy[random_below(&random, text.length)] ^= (char)(1u << random_below(&random, 8));
        }
        profile_error.reason[0] = '\0';
        const enum import_result result = import_text(copy, text.length, format, &with_stacks,
                                                      &profile_import, &profile_error);
        ck_assert(result == IMPORT_OK || profile_error.reason[0] != '\0');
        ck_assert(result != IMPORT_OK || profile_import.ops.count > 0);
        refused += result != IMPORT_OK;
        free(copy);
    }
    ck_assert_uint_gt(refused, 0);
    ck_assert_uint_lt(refused, seeds);
    text_deinit(&text);
}

/* --- replay --- */

struct comparison {
    size_t next; /* of profile_import.said */
    uint64_t retired_bytes[OP_HOST_COUNT_MAX];
    uint64_t peak_bytes[OP_HOST_COUNT_MAX];
    uint64_t count;
};

static void compare_observation(void *context, const struct run *run, const struct verdict *verdict)
{
    struct comparison *comparison = context;
    const struct observation *seen = run_observation(run);
    (void)verdict;
    if (seen->op >= profile_import.ops.count) {
        return; /* the end of the run frees what is left */
    }
    const struct op *op = &profile_import.ops.ops[seen->op];
    ck_assert_msg(seen->skipped == 0 && seen->result == TARGET_OK,
                  "op %" PRIu32 " is skipped or refused", seen->op);
    comparison->retired_bytes[op->host] += op->kind == OP_RETIRE ? op->size_bytes : 0;
    const uint64_t in_use = seen->bytes_in_use - comparison->retired_bytes[op->host];
    uint64_t *peak = &comparison->peak_bytes[op->host];
    *peak = in_use > *peak ? in_use : *peak;
    for (; comparison->next < profile_import.said_count &&
           profile_import.said[comparison->next].op == seen->op;
         comparison->next++) {
        const struct said *said = &profile_import.said[comparison->next];
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
    ck_assert_msg(trial_replay(target_find("hbm"), &profile_import.setup, &profile_import.ops,
                               &listener, &trial, reason),
                  "%s", reason);
    ck_assert_msg(trial.first.kind == VERDICT_NONE, "%s: %s", verdict_name(trial.first.kind),
                  trial.first.reason);
    ck_assert_uint_eq(trial.totals.ooms, 0);
    ck_assert_uint_eq(comparison.count, profile_import.said_count);
    trial_deinit(&trial);
    return comparison.count;
}
