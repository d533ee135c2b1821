#include "formats/common/tags.h"

#include "harness/base/hash.h"

#include <string.h>

static const char name_of_others[] = "other";

void tag_print(const char *name, size_t length, char text[SETUP_NAME_BYTES])
{
    length = length < SETUP_NAME_BYTES ? length : SETUP_NAME_BYTES - 1;
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)name[i];
        text[i] = c < 0x20 || c >= 0x7F || c == '"' || c == '\\' ? '_' : (char)c;
    }
    text[length] = '\0';
}

uint8_t tag_find(const struct setup *setup, unsigned first, unsigned last, const char *text)
{
    for (unsigned tag = first; tag <= last; tag++) {
        if (strcmp(setup->tags[tag], text) == 0) {
            return (uint8_t)tag;
        }
    }
    return 0;
}

uint8_t tag_by_rank(void *context, size_t rank, const char *name)
{
    struct setup *setup = context;
    if (rank < TAG_OWN_COUNT_MAX) {
        const uint8_t tag = (uint8_t)(rank + 1);
        setup_set_tag(setup, tag, name);
        return tag;
    }
    if (rank == TAG_OWN_COUNT_MAX) {
        setup_set_tag(setup, TAG_OTHER, name_of_others);
    }
    return TAG_OTHER;
}

void tags_name_used(struct setup *setup, const struct op_list *ops, const char *const *names,
                    uint8_t count)
{
    bool is_used[OP_TAG_COUNT] = {false};
    for (size_t i = 0; i < ops->count; i++) {
        is_used[ops->ops[i].tag] = true;
    }
    for (uint8_t tag = 1; tag <= count; tag++) {
        if (is_used[tag]) {
            setup_set_tag(setup, tag, names[tag - 1]);
        }
    }
}

/* Returns where the name stands, or belongs.  Ends: at most half of the places are taken. */
static uint8_t *find_place(struct tag_table *table, const struct setup *setup, const char *text)
{
    const size_t mask = sizeof table->places - 1;
    size_t place = (size_t)hash_string(HASH_START, text) & mask;
    while (table->places[place] != 0 && strcmp(setup->tags[table->places[place]], text) != 0) {
        place = (place + 1) & mask;
    }
    return &table->places[place];
}

uint8_t tag_table_add(struct tag_table *table, struct setup *setup, const char *name, size_t length)
{
    char text[SETUP_NAME_BYTES];
    if (length == 0) {
        return 0;
    }
    tag_print(name, length, text);
    uint8_t *place = find_place(table, setup, text);
    if (*place != 0) {
        return *place;
    }
    if (table->count == TAG_OWN_COUNT_MAX) {
        setup_set_tag(setup, TAG_OTHER, name_of_others);
        return TAG_OTHER;
    }
    *place = ++table->count;
    setup_set_tag(setup, table->count, text);
    return table->count;
}
