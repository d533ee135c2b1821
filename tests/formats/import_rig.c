#include "tests/formats/import_rig.h"

#include "formats/common/stacks.h"
#include "formats/common/text.h"
#include "harness/base/random.h"
#include "harness/op/ops_file.h"
#include "harness/run/run.h"
#include "harness/trial/trial_run.h"
#include "targets/targets.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct import import;
struct import_error refusal;

static const struct import_options with_stacks = {.with_stacks = true};

void setup_import(void)
{
    import_init(&import);
    refusal = (struct import_error){0};
}

void teardown_import(void)
{
    import_deinit(&import);
}

void load(const char *path, const char *format)
{
    char text[4096 + IMPORT_REASON_BYTES];
    const enum import_result result = import_file(path, format, NULL, &import, &refusal);
    ck_assert_msg(result == IMPORT_OK, "%s", import_error_print(path, &refusal, text, sizeof text));
}

void load_recognised(const char *path, const char *format)
{
    load(path, "auto");
    ck_assert_str_eq(import.format->name, format);
}

enum import_result import_bytes(const char *bytes, size_t length, const char *format)
{
    char *copy = malloc(length + (length == 0 ? 1 : 0));
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, length);
    refusal = (struct import_error){0};
    const enum import_result result = import_text(copy, length, format, &with_stacks, &import,
                                                  &refusal);
    free(copy);
    if (result != IMPORT_OK) {
        ck_assert_uint_eq(import.ops.count, 0);
        ck_assert(refusal.reason[0] != '\0' && strchr(refusal.reason, '\n') == NULL);
        ck_assert_uint_le(refusal.line, length + 1);
        return result;
    }
    ck_assert_ptr_nonnull(import.format);
    ck_assert(import.ops.count > 0 || strcmp(import.format->name, "ops") == 0);
    ck_assert(import.stacks != NULL || strcmp(format, "torch_snapshot") != 0);
    if (import.stacks != NULL) {
        free(stacks_by_op(import.stacks, import.ops.count));
    }
    return result;
}

uint64_t damage(const char *bytes, size_t length, const char *format, uint64_t rounds)
{
    static const char likely[] = "\0\n\r\t ,.:;\"'0129-xBKMGTP()[]{}=%\\\xFF";
    char *damaged = malloc(length);
    uint64_t imported = 0;
    ck_assert_ptr_nonnull(damaged);
    for (uint64_t round = 0; round < rounds; round++) {
        struct random random;
        random_init(&random, round);
        memcpy(damaged, bytes, length);
        for (uint64_t left = random_between(&random, 1, 4); left > 0; left--) {
            damaged[random_below(&random, length)] =
                random_chance(&random, 1, 2) ? (char)random_bits(&random)
                                             : likely[random_below(&random, sizeof likely - 1)];
        }
        imported += import_bytes(damaged, length, format) == IMPORT_OK;
    }
    free(damaged);
    return imported;
}

char *file_bytes(const char *path, size_t *length)
{
    struct text text;
    ck_assert_msg(text_read(path, IMPORT_BYTES_MAX, &text, &refusal) == IMPORT_OK, "%s: %s", path,
                  refusal.reason);
    char *bytes = malloc(text.length + 1);
    ck_assert_ptr_nonnull(bytes);
    memcpy(bytes, text.bytes, text.length);
    bytes[text.length] = '\0';
    *length = text.length;
    text_deinit(&text);
    return bytes;
}

char *ops_text(void)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    char op[OP_TEXT_BYTES];
    for (size_t i = 0; i < import.ops.count; i++) {
        fprintf(stream, "%s\n", op_print(&import.ops.ops[i], op));
    }
    fclose(stream);
    return text;
}

void assert_ops(const char *expected)
{
    char *text = ops_text();
    ck_assert_str_eq(text, expected);
    free(text);
}

uint64_t replay(void)
{
    struct trial trial;
    char reason[RUN_REASON_BYTES] = "";
    ck_assert_msg(trial_replay(&target_hbm, &import.setup, &import.ops, NULL, &trial, reason), "%s",
                  reason);
    ck_assert_msg(trial.first.kind == VERDICT_NONE, "op %u: %s: %s", trial.first.op,
                  verdict_name(trial.first.kind), trial.first.reason);
    ck_assert_uint_eq(trial.totals.skipped, 0);
    const uint64_t ooms = trial.totals.ooms;
    trial_deinit(&trial);
    return ooms;
}
