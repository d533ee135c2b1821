#include "tests/formats/import_checks.h"

#include "formats/common/text.h"
#include "harness/base/random.h"
#include "harness/op/ops_file.h"
#include "harness/run/run.h"
#include "harness/trial/trial_run.h"
#include "targets/targets.h"
#include "tests/helpers/draws.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *import_checks_read(const char *path, size_t *length)
{
    struct text text;
    struct import_error error = {0};
    ck_assert_msg(text_read(path, IMPORT_BYTES_MAX, &text, &error) == IMPORT_OK, "%s: %s", path,
                  error.reason);
    char *copy = malloc(text.length + 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, text.bytes, text.length);
    *length = text.length;
    text_deinit(&text);
    return realloc(copy, *length);
}

/* Either it is imported, or refused in one line with a place in the text. */
static void import_any(const char *text, size_t length, const char *format, struct import *import)
{
    struct import_error error = {0};
    char *copy = malloc(length == 0 ? 1 : length);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, text, length);
    (void)format_recognise(copy, length);
    if (import_text(copy, length, format, NULL, import, &error) == IMPORT_OK) {
        ck_assert_uint_gt(import->ops.count, 0);
    } else {
        ck_assert_uint_gt(strlen(error.reason), 0);
        ck_assert_ptr_null(strchr(error.reason, '\n'));
        ck_assert_uint_le(error.line, length + 1);
    }
    free(copy);
}

static void import_prefixes(const char *text, size_t length, const char *format,
                            struct import *import)
{
    for (size_t cut = 0; cut < length; cut += draws_period()) {
        import_any(text, cut, format, import);
    }
}

static void import_damaged(const char *text, size_t length, const char *format, uint64_t rounds,
                           struct import *import)
{
    static const char likely[] = "0123456789,.:-\n\r \0x";
    char *damaged = malloc(length);
    ck_assert_ptr_nonnull(damaged);
    for (uint64_t round = 0; round < draws_count(rounds, 1); round++) {
        struct random random;
        random_init(&random, round);
        memcpy(damaged, text, length);
        for (uint64_t left = random_between(&random, 1, 4); left > 0; left--) {
            const char byte = random_chance(&random, 1, 2)
                                  ? (char)random_below(&random, 256)
                                  : likely[random_below(&random, sizeof likely)];
            damaged[random_below(&random, length)] = byte;
        }
        import_any(damaged, length, format, import);
    }
    free(damaged);
}

uint64_t import_checks_replay(const struct import *import)
{
    struct trial trial;
    char reason[RUN_REASON_BYTES] = "";
    ck_assert_msg(trial_replay(&target_hbm, &import->setup, &import->ops, NULL, &trial, reason),
                  "%s", reason);
    const uint64_t ooms = trial.totals.ooms;
    ck_assert_msg(trial.first.kind == VERDICT_NONE, "op %u: %s: %s", trial.first.op,
                  verdict_name(trial.first.kind), trial.first.reason);
    trial_deinit(&trial);
    return ooms;
}

void import_checks_file(const char *path, const char *format, const struct import_options *options,
                        struct import *import)
{
    struct import_error error = {0};
    char text[4096 + IMPORT_REASON_BYTES];
    ck_assert_msg(import_file(path, "auto", options, import, &error) == IMPORT_OK, "%s",
                  import_error_print(path, &error, text, sizeof text));
    ck_assert_str_eq(import->format->name, format);
}

/* The path of corpus/field/NAME, and the format that its folder is named for. */
struct field_file {
    char path[4096], format[64];
};

static struct field_file find_field_file(const char *name)
{
    struct field_file file;
    snprintf(file.path, sizeof file.path, HBMSTRESS_SOURCE_DIR "/corpus/field/%s", name);
    snprintf(file.format, sizeof file.format, "%.*s", (int)strcspn(name, "/"), name);
    return file;
}

void import_checks_field_damage(const char *name, uint64_t rounds, struct import *import)
{
    const struct field_file file = find_field_file(name);
    size_t length = 0;
    char *text = import_checks_read(file.path, &length);
    import_prefixes(text, length, file.format, import);
    import_damaged(text, length, file.format, rounds, import);
    free(text);
}
