#include "diagnosis/private/remedy_tags.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

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
