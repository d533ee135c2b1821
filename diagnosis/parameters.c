/* Parameters of remedies that are a tag, or a value of an option of the target. */
#include "diagnosis/private/variant.h"
#include "harness/base/target_option.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* --- tags --- */

static bool has_double(const struct setup *setup, uint64_t tag)
{
    for (uint64_t other = 0; other < OP_TAG_COUNT; other++) {
        if (other != tag && strcmp(setup->tags[other], setup->tags[tag]) == 0) {
            return true;
        }
    }
    return false;
}

void remedy_tag_label(const struct setup *setup, uint64_t tag, const char *reserved,
                      char text[REMEDY_LABEL_BYTES])
{
    const char *name = setup->tags[tag];
    char word[SETUP_NAME_BYTES - 8] = "";
    size_t length = 0;
    bool is_word = name[0] != '\0' && (reserved == NULL || strcmp(name, reserved) != 0) &&
                   !has_double(setup, tag);
    for (; name[length] != '\0' && length < sizeof word - 1; length++) {
        const unsigned char c = (unsigned char)name[length];
        const bool is_plain = isalnum(c) || c == '.' || c == '-' || c == '_';
        word[length] = is_plain ? (char)c : '_';
        is_word = is_word && is_plain;
    }
    word[length] = '\0';
    if (is_word && name[length] == '\0') {
        snprintf(text, REMEDY_LABEL_BYTES, "%s", word);
    } else {
        snprintf(text, REMEDY_LABEL_BYTES, "%s.tag%u", word, (unsigned)(uint8_t)tag);
    }
}

void remedy_tag_parameter_label(const struct remedy_case *given, uint64_t parameter,
                                char text[REMEDY_LABEL_BYTES])
{
    remedy_tag_label(given->setup, parameter, NULL, text);
}

static size_t count_before(const uint64_t scores[OP_TAG_COUNT], unsigned tag)
{
    size_t before = 0;
    for (unsigned other = 0; other < OP_TAG_COUNT; other++) {
        before += scores[other] > scores[tag] || (scores[other] == scores[tag] && other < tag);
    }
    return before;
}

bool remedy_tag_ranked(const struct remedy_case *given, const uint64_t scores[OP_TAG_COUNT],
                       size_t index, uint64_t *tag)
{
    if (given->has_tag) {
        *tag = given->tag;
        return index == 0 && scores[given->tag] > 0;
    }
    for (unsigned i = 0; i < OP_TAG_COUNT; i++) {
        if (scores[i] > 0 && count_before(scores, i) == index) {
            *tag = i;
            return true;
        }
    }
    return false;
}

/* --- options --- */

static bool refuse_option(const struct remedy_case *given, const char *key,
                          char note[REMEDY_NOTE_BYTES])
{
    if (target_has_option(given->target, key)) {
        return false;
    }
    snprintf(note, REMEDY_NOTE_BYTES, "target %.64s has no option %s", given->target->name, key);
    return true;
}

bool remedy_option_parameter(const struct remedy_case *given, const char *key, size_t count,
                             size_t current, size_t index, uint64_t *parameter,
                             char note[REMEDY_NOTE_BYTES])
{
    if (refuse_option(given, key, note)) {
        return false;
    }
    *parameter = index + (index >= current);
    return *parameter < count;
}

bool remedy_option_apply(const struct remedy_case *given, const char *key, const char *value,
                         struct remedy_result *result)
{
    op_list_copy(&result->ops, given->ops);
    snprintf(result->note, sizeof result->note, "target option %s=%s", key, value);
    if (setup_set_option(&result->setup, key, value)) {
        return true;
    }
    snprintf(result->note, sizeof result->note,
             "the setup already has %d options, the most that it can hold", SETUP_OPTION_COUNT_MAX);
    return false;
}

static const char *const flag_values[] = {"no", "yes"};

bool remedy_flag_parameter(const struct remedy_case *given, const char *key, bool current,
                           size_t index, uint64_t *parameter, char note[REMEDY_NOTE_BYTES])
{
    return remedy_option_parameter(given, key, 2, current, index, parameter, note);
}

void remedy_flag_label(const struct remedy_case *given, uint64_t parameter,
                       char text[REMEDY_LABEL_BYTES])
{
    (void)given;
    snprintf(text, REMEDY_LABEL_BYTES, "%s", flag_values[parameter]);
}

bool remedy_flag_apply(const struct remedy_case *given, const char *key, uint64_t parameter,
                       struct remedy_result *result)
{
    return remedy_option_apply(given, key, flag_values[parameter], result);
}
