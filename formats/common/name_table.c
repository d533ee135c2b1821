#include "formats/common/name_table.h"

#include "formats/common/hash_seed.h"
#include "harness/base/array.h"
#include "harness/base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 512: a table that is half full has no such probe by chance, with up to 2^32 names. */
enum { SLOT_COUNT_MIN = 64, PROBE_COUNT_MAX = 512 };

void name_table_deinit(struct name_table *table)
{
    free(table->names);
    free(table->slots);
    *table = (struct name_table){0};
}

/* Where names fall in the table decides nothing but time. */
static uint64_t hash_name(const char *text, size_t length, uint64_t seed)
{
    const uint64_t start = HASH_START + seed * UINT64_C(0x9E3779B97F4A7C15);
    const uint64_t hash = hash_bytes(start, text, length);
    return hash ^ hash >> 32;
}

static void copy_without_nul(char *to, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        to[i] = text[i];
        if (text[i] == '\0') {
            to[i] = '_';
        }
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

/* Where the name stands, or the empty slot where it belongs; NULL: the probe is too long. */
static uint32_t *find_slot(const struct name_table *table, const struct name *name)
{
    const size_t mask = table->slot_count - 1;
    size_t i = (size_t)(hash_name(name->text, strlen(name->text), table->seed) + name->whole) &
               mask;
    for (int probes = 0; probes < PROBE_COUNT_MAX; probes++, i = (i + 1) & mask) {
        const struct name *known = table->slots[i] == 0 ? NULL : &table->names[table->slots[i] - 1];
        if (known == NULL ||
            (known->whole == name->whole && strcmp(known->text, name->text) == 0)) {
            return &table->slots[i];
        }
    }
    return NULL;
}

/* False: with this seed a probe is too long. */
static bool fill_slots(struct name_table *table)
{
    memset(table->slots, 0, table->slot_count * sizeof *table->slots);
    for (size_t i = 0; i < table->count; i++) {
        uint32_t *slot = find_slot(table, &table->names[i]);
        if (slot == NULL) {
            return false;
        }
        *slot = (uint32_t)i + 1;
    }
    return true;
}

static void hash_anew(struct name_table *table)
{
    while (!fill_slots(table)) {
        table->seed = hash_seed_draw();
    }
}

static uint32_t *find_slot_with_room(struct name_table *table, const struct name *name)
{
    if (2 * (table->count + 1) > table->slot_count) {
        table->slot_count = table->slot_count == 0 ? SLOT_COUNT_MIN : table->slot_count * 2;
        table->slots = array_resized(table->slots, table->slot_count * sizeof *table->slots);
        hash_anew(table);
    }
    uint32_t *slot = find_slot(table, name);
    while (slot == NULL) {
        table->seed = hash_seed_draw();
        hash_anew(table);
        slot = find_slot(table, name);
    }
    return slot;
}

static uint32_t add_name(struct name_table *table, const struct name *name)
{
    uint32_t *slot = find_slot_with_room(table, name);
    if (*slot == 0) {
        CHECK(table->count < UINT32_MAX);
        table->names = array_grown(table->names, table->count, &table->room, sizeof *table->names);
        table->names[table->count] = *name;
        *slot = (uint32_t)++table->count;
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

/* What qsort sorts: it hands no table on. */
struct ranked {
    uint64_t bytes;
    uint32_t index;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *left = a;
    const struct ranked *right = b;
    if (left->bytes != right->bytes) {
        return left->bytes > right->bytes ? -1 : 1;
    }
    return left->index < right->index ? -1 : left->index > right->index;
}

void name_table_rank(const struct name_table *table, uint32_t *order)
{
    if (table->count == 0) {
        return;
    }
    struct ranked *ranked = calloc(table->count, sizeof *ranked);
    CHECK(ranked != NULL);
    for (size_t i = 0; i < table->count; i++) {
        ranked[i] = (struct ranked){table->names[i].bytes, (uint32_t)i};
    }
    qsort(ranked, table->count, sizeof *ranked, compare_ranked);
    for (size_t i = 0; i < table->count; i++) {
        order[i] = ranked[i].index;
    }
    free(ranked);
}
