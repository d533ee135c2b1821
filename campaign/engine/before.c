#include "campaign/engine/before.h"

#include "campaign/base/message.h"
#include "campaign/base/repro.h"
#include "harness/base/check.h"
#include "harness/base/shell.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void before_path(const char *directory, const char *base, uint64_t number,
                 char path[FILE_PATH_BYTES])
{
    snprintf(path, FILE_PATH_BYTES, "%.3700s/repros/%.256s.before-%" PRIu64 ".ops", directory, base,
             number);
}

static void append_word(struct writing *text, const char *path)
{
    char word[SHELL_WORD_BYTES(FILE_PATH_BYTES)];
    writing_append(text, shell_word(path, word));
}

void before_append_replay(struct writing *text, const char *directory, const char *base,
                          uint64_t count)
{
    char path[FILE_PATH_BYTES];
    snprintf(path, sizeof path, "%.3800s/repros/%.256s.ops", directory, base);
    writing_append(text, "hbmstress replay ");
    append_word(text, path);
    for (uint64_t i = 1; i <= count; i++) {
        before_path(directory, base, i, path);
        writing_append(text, " --after ");
        append_word(text, path);
    }
}

struct report_repeats before_report(const char *directory, const char *base, uint64_t count,
                                    bool is_unrepeated)
{
    char path[FILE_PATH_BYTES];
    const char **after = count == 0 ? NULL : calloc(count, sizeof *after);
    CHECK(count == 0 || after != NULL);
    for (uint64_t i = 0; i < count; i++) {
        before_path(directory, base, i + 1, path);
        after[i] = strdup(path);
        CHECK(after[i] != NULL);
    }
    return (struct report_repeats){
        .after = after, .after_count = count, .is_unrepeated = is_unrepeated};
}

void before_free_report(const struct report_repeats *repeats)
{
    for (size_t i = 0; i < repeats->after_count; i++) {
        free((char *)repeats->after[i]);
    }
    free((void *)repeats->after);
}

bool before_write(const char *directory, const char *base, const struct earlier *earlier)
{
    char path[FILE_PATH_BYTES], headline[96];
    bool is_written = true;
    for (size_t i = 0; i < earlier->count && is_written; i++) {
        before_path(directory, base, i + 1, path);
        snprintf(headline, sizeof headline, "the list %zu of %zu that must run before the repro",
                 i + 1, earlier->count);
        const struct repro repro = {.setup = &earlier->lists[i]->setup,
                                    .ops = &earlier->lists[i]->ops,
                                    .headline = headline,
                                    .is_unforced = true};
        is_written = repro_write(path, &repro) == EXIT_KEPT;
    }
    return is_written;
}

void before_forget(const char *directory, const char *base, uint64_t count)
{
    char path[FILE_PATH_BYTES];
    for (uint64_t i = 1; i <= count; i++) {
        before_path(directory, base, i, path);
        (void)unlink(path);
    }
}
