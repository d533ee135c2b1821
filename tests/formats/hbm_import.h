/* What the tests of the two reports share: an import of a file of our own, and a replay of what
 * came out. */
#ifndef TESTS_FORMATS_HBM_IMPORT_H
#define TESTS_FORMATS_HBM_IMPORT_H

#include "formats/formats.h"
#include "harness/base/random.h"
#include "harness/op/ops_file.h"
#include "harness/run/run.h"
#include "harness/trial/trial_run.h"
#include "targets/targets.h"
#include "tests/formats/import_fixture.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Imports in memory of its own, so that a read beyond the text is seen. */
static enum import_result import_bytes(const char *bytes, size_t length, const char *format)
{
    char *copy = malloc(length + (length == 0 ? 1 : 0));
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, length);
    error = (struct import_error){0};
    const enum import_result result = import_text(copy, length, format, NULL, &import, &error);
    free(copy);
    if (result != IMPORT_OK) {
        ck_assert_uint_eq(import.ops.count, 0);
        ck_assert(error.reason[0] != '\0' && strchr(error.reason, '\n') == NULL);
    }
    return result;
}

static void assert_ops(const char *name, const char *expected)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    char op[OP_TEXT_BYTES];
    for (size_t i = 0; i < import.ops.count; i++) {
        fprintf(stream, "%s\n", op_print(&import.ops.ops[i], op));
    }
    fclose(stream);
    ck_assert_msg(strcmp(text, expected) == 0, "%s: got\n%s", name, text);
    free(text);
}

/* What the last op of a replay came to. */
struct replayed {
    struct run_totals totals;
    struct verdict oom; /* the last out-of-memory */
    uint32_t result;    /* of the last op, enum target_result */
    uint64_t in_use_bytes;
    size_t op_count;
    char message[OBSERVATION_MESSAGE_BYTES];
};

static void note_op(void *context, const struct run *run, const struct verdict *verdict)
{
    struct replayed *replayed = context;
    const struct observation *seen = run_observation(run);
    if (seen->op >= replayed->op_count) {
        return; /* the end of the run, which frees everything */
    }
    replayed->result = seen->result;
    replayed->in_use_bytes = seen->bytes_in_use;
    if (verdict->kind != VERDICT_NONE) {
        replayed->oom = *verdict;
        snprintf(replayed->message, sizeof replayed->message, "%s", run_message(run));
    }
}

/* Runs the ops; every promise must be kept. */
static void replay(const char *name, struct replayed *replayed)
{
    const struct run_listener listener = {.context = replayed, .judged = note_op};
    struct trial trial;
    char reason[RUN_REASON_BYTES] = "";
    *replayed = (struct replayed){.op_count = import.ops.count};
    ck_assert_msg(
        trial_replay(target_find("hbm"), &import.setup, &import.ops, &listener, &trial, reason),
        "%s: %s", name, reason);
    ck_assert_msg(trial.first.kind == VERDICT_NONE, "%s: %s", name, trial.first.reason);
    replayed->totals = trial.totals;
    trial_deinit(&trial);
}

/* Any bytes in place of some of a file's: imports, or is refused, and never more. */
static void damage(const char *bytes, size_t length, uint64_t seed, int rounds)
{
    static const char likely[] = "\0\n\r\t ,.:;\"'0129-xBKMGTP()[]{}=%\\\xFF";
    struct random random;
    random_init(&random, seed);
    for (int i = 0; i < rounds; i++) {
        char *copy = malloc(length);
        ck_assert_ptr_nonnull(copy);
        memcpy(copy, bytes, length);
        for (uint64_t count = random_between(&random, 1, 4); count > 0; count--) {
            copy[random_below(&random, length)] = likely[random_below(&random, sizeof likely - 1)];
        }
        (void)import_bytes(copy, length, "auto");
        free(copy);
    }
}

#endif
