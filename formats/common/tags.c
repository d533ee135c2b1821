#include "formats/common/tags.h"

#include "harness/base/array.h"
#include "harness/base/hash.h"
#include "harness/base/order.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
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

/* --- names --- */

void name_table_deinit(struct name_table *table)
{
    free(table->names);
    free(table->slots.slots);
    *table = (struct name_table){0};
}

/* Hashes a name.  The place of a name in the table decides nothing but time. */
static uint64_t hash_name(const char *text, size_t length, uint64_t seed)
{
    const uint64_t start = HASH_START + seed * UINT64_C(0x9E3779B97F4A7C15);
    const uint64_t hash = hash_bytes(start, text, length);
    return hash ^ hash >> 32;
}

static void copy_without_nul(char *to, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        to[i] = text[i] == '\0' ? '_' : text[i];
    }
    to[length] = '\0';
}

void name_keep(const char *text, size_t length, char *to, size_t room)
{
    size_t used = 0;
    size_t kept = length;
    if (length >= room) {
        used = (size_t)snprintf(to, room, "#%016" PRIx64, hash_name(text, length, 0));
        kept = room - 1 - used;
    }
    copy_without_nul(to + used, text + length - kept, kept);
}

/* Long names keep their end, from the beginning of a UTF-8 character on; a NUL would end the name.
 */
static void shorten_name(const char *text, size_t length, char name[SETUP_NAME_BYTES])
{
    size_t used = 0;
    if (length >= SETUP_NAME_BYTES) {
        size_t kept = SETUP_NAME_BYTES - 1 - 3;
        while (kept > 0 && ((unsigned char)text[length - kept] & 0xC0) == 0x80) {
            kept--;
        }
        memcpy(name, "...", 3);
        used = 3;
        text += length - kept;
        length = kept;
    }
    copy_without_nul(name + used, text, length);
}

static uint64_t hash_of_name(const void *thing, uint64_t seed)
{
    const struct name *name = thing;
    return hash_name(name->text, strlen(name->text), seed) + name->whole;
}

static bool is_same_name(const void *a, const void *b)
{
    const struct name *x = a;
    const struct name *y = b;
    return x->whole == y->whole && strcmp(x->text, y->text) == 0;
}

static uint32_t add_name(struct name_table *table, const struct name *name)
{
    static const struct slots_kind kind = {sizeof *name, hash_of_name, is_same_name};
    uint32_t *slot = slots_find(&table->slots, &kind, table->names, 0, table->count, name);
    if (*slot == 0) {
        CHECK(table->count < UINT32_MAX);
        ARRAY_ADD(table->names, table->count, table->room) = *name;
        *slot = (uint32_t)table->count;
    }
    return *slot - 1;
}

uint32_t name_table_add(struct name_table *table, const char *text, size_t length)
{
    struct name name = {0};
    shorten_name(text, length, name.text);
    return add_name(table, &name);
}

uint32_t name_table_add_whole(struct name_table *table, const char *text, size_t length)
{
    struct name name = {.whole = hash_name(text, length, 0)};
    shorten_name(text, length, name.text);
    return add_name(table, &name);
}

void name_table_weigh(struct name_table *table, uint32_t index, uint64_t bytes)
{
    CHECK(index < table->count);
    uint64_t *sum = &table->names[index].bytes;
    *sum = *sum + bytes < *sum ? UINT64_MAX : *sum + bytes;
}

/* The elements that qsort sorts: it passes no table to the comparison. */
struct ranked {
    uint64_t bytes;
    uint32_t index;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *left = a;
    const struct ranked *right = b;
    return compare_places(right->bytes, left->index, left->bytes, right->index);
}

uint8_t *name_table_give_tags(const struct name_table *table, tag_giver *give, void *context)
{
    struct ranked *ranked = calloc(table->count + 1, sizeof *ranked);
    uint8_t *tags = calloc(table->count + 1, 1);
    CHECK(ranked != NULL && tags != NULL);
    for (size_t i = 0; i < table->count; i++) {
        ranked[i] = (struct ranked){table->names[i].bytes, (uint32_t)i};
    }
    qsort(ranked, table->count, sizeof *ranked, compare_ranked);
    for (size_t i = 0; i < table->count && ranked[i].bytes > 0; i++) {
        tags[ranked[i].index] = give(context, i, table->names[ranked[i].index].text);
    }
    free(ranked);
    return tags;
}
