#include "campaign/plan/trace_options.h"

#include "campaign/base/message.h"
#include "harness/base/option.h"
#include "harness/base/size.h"

#include <stdio.h>
#include <string.h>

enum { WORD_BYTES = TRACE_PATH_BYTES + 32, WRONG_BYTES = 512 };
static const char blanks[] = " \t";

/* The last complaint. */
static char wrong[WRONG_BYTES];

void trace_vary_init(struct trace_vary *vary)
{
    *vary = (struct trace_vary){.format = "auto",
                                .interleave = "self",
                                .repeat_count_max = 3,
                                .skew_ns = UINT64_C(1000000000),
                                .percents = {50, 200},
                                .percent_count = 2};
}

static const char *set_scale(void *base, const char *value)
{
    struct trace_vary *vary = base;
    vary->percent_count = 0;
    for (const char *at = value;; at++) {
        const size_t length = strcspn(at, ",");
        uint64_t percent;
        if (!number_parse(at, length, &percent) || percent < 1 || percent > VARIATION_PERCENT_MAX) {
            return "is not a list of percentages from 1 to 10000, such as 50,200";
        }
        if (vary->percent_count == VARIATION_PERCENT_COUNT_MAX) {
            return "lists more than 8 percentages";
        }
        vary->percents[vary->percent_count++] = (uint16_t)percent;
        at += length;
        if (*at == '\0') {
            return NULL;
        }
    }
}

static const char *set_text(char *to, size_t to_bytes, const char *value)
{
    if (value[0] == '\0') {
        return "is empty";
    }
    return (size_t)snprintf(to, to_bytes, "%s", value) < to_bytes ? NULL : "is too long";
}

static const char *set_interleave(void *base, const char *value)
{
    struct trace_vary *vary = base;
    return set_text(vary->interleave, sizeof vary->interleave, value);
}

static const char *set_format(void *base, const char *value)
{
    struct trace_vary *vary = base;
    return set_text(vary->format, sizeof vary->format, value);
}

static const struct option_row keys[] = {
    {.name = "amplify",
     .kind = OPTION_NUMBER,
     OPTION_AT(struct trace_vary, repeat_count_max),
     .least = 1,
     .most = VARIATION_REPEAT_COUNT_MAX,
     .wrong = "is not a number from 1 (never repeated) to 1000"},
    {.name = "interleave", .set = set_interleave},
    {.name = "scale", .set = set_scale},
    {.name = "skew",
     .kind = OPTION_DURATION,
     OPTION_AT(struct trace_vary, skew_ns),
     .most = UINT64_C(3600) * 1000000000,
     .wrong = "is not a duration from 0s to 1h, such as 250ms"},
    {.name = "format", .set = set_format}};
enum { KEY_COUNT = sizeof keys / sizeof keys[0] };

static const char *complain_unknown(const char *key)
{
    const char *names[KEY_COUNT];
    for (size_t i = 0; i < KEY_COUNT; i++) {
        names[i] = keys[i].name;
    }
    const char *near = message_nearest(key, names, KEY_COUNT);
    if (near != NULL) {
        snprintf(wrong, sizeof wrong, "has the unknown key '%.64s'; did you mean '%s'?", key, near);
    } else {
        snprintf(
            wrong, sizeof wrong,
            "has the unknown key '%.64s'; valid keys: amplify, interleave, scale, skew, format",
            key);
    }
    return wrong;
}

/* "KEY=VALUE"; the bits of the keys that were seen. */
static const char *set_word(struct trace_vary *vary, char *word, uint32_t *seen)
{
    char *equals = strchr(word, '=');
    if (equals == NULL) {
        snprintf(wrong, sizeof wrong, "is not none, nor a list of KEY=VALUE: '%.64s'", word);
        return wrong;
    }
    *equals = '\0';
    const struct option_row *row = option_find(keys, KEY_COUNT, word);
    if (row == NULL) {
        return complain_unknown(word);
    }
    const uint32_t bit = UINT32_C(1) << (row - keys);
    const char *complaint = (*seen & bit) != 0 ? "appears twice"
                                               : option_set(row, vary, equals + 1);
    *seen |= bit;
    if (complaint == NULL) {
        return NULL;
    }
    snprintf(wrong, sizeof wrong, "is wrong: %s '%.64s' %s", row->name, equals + 1, complaint);
    return wrong;
}

static void vary_nothing(struct trace_vary *vary)
{
    vary->repeat_count_max = 1;
    vary->percent_count = 0;
    snprintf(vary->interleave, sizeof vary->interleave, "none");
}

const char *trace_vary_parse(const char *text, struct trace_vary *vary)
{
    struct trace_vary parsed;
    char word[WORD_BYTES];
    uint32_t seen = 0;
    trace_vary_init(&parsed);
    text += strspn(text, blanks);
    if (strcmp(text, "none") == 0) {
        vary_nothing(&parsed);
        *vary = parsed;
        return NULL;
    }
    if (text[0] == '\0') {
        return "is empty; give none, or KEY=VALUE as in amplify=3";
    }
    while (text[0] != '\0') {
        const size_t length = strcspn(text, blanks);
        if (length >= sizeof word) {
            return "has a word of more than 1,000 bytes";
        }
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        const char *complaint = set_word(&parsed, word, &seen);
        if (complaint != NULL) {
            return complaint;
        }
        text += length;
        text += strspn(text, blanks);
    }
    *vary = parsed;
    return NULL;
}

bool trace_vary_names_file(const struct trace_vary *vary)
{
    return strcmp(vary->interleave, "self") != 0 && strcmp(vary->interleave, "none") != 0;
}
