#include "recording/repeat.h"

#include "harness/base/check.h"
#include "harness/base/shell.h"
#include "harness/op/rounding.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void repeat_word(struct writing *text, const char *word)
{
    char *quoted = malloc(SHELL_WORD_BYTES(strlen(word)));
    CHECK(quoted != NULL);
    writing_append(text, " ");
    writing_append_visible(text, shell_word(word, quoted));
    free(quoted);
}

void repeat_option(struct writing *text, const char *name, const char *value)
{
    if (value == NULL) {
        return;
    }
    writing_append_format(text, " %s", name);
    repeat_word(text, value);
}

void repeat_number(struct writing *text, const char *name, uint64_t value)
{
    if (value != 0) {
        writing_append_format(text, " %s %" PRIu64, name, value);
    }
}

void repeat_setup(struct writing *text, const struct run_options *options)
{
    repeat_option(text, "--target", options->target);
    for (uint32_t i = 0; i < options->option_count; i++) {
        char option[sizeof options->options[i].key + sizeof options->options[i].value];
        snprintf(option, sizeof option, "%s=%s", options->options[i].key,
                 options->options[i].value);
        repeat_option(text, "--target-option", option);
    }
    repeat_option(text, "--chip", options->chip);
    repeat_number(text, "--capacity", options->capacity_bytes);
    repeat_number(text, "--hosts", options->host_count);
    if (options->has_regret_max) {
        writing_append_format(text, " --regret-max %" PRIu64, options->regret_max);
    }
    if (options->has_rounding) {
        char rounding[ROUNDING_TEXT_BYTES];
        rounding_print(&options->rounding, rounding);
        repeat_option(text, "--rounding", rounding);
    }
}
