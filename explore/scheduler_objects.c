#include "explore/private/scheduler_state.h"

#include "explore/private/check.h"

#include <stdlib.h>
#include <string.h>

enum { PLACE_COUNT_FIRST = 1024 };

static uint32_t find_object_place(const struct object_table *table, const void *address)
{
    const uint64_t mixed = (uint64_t)(uintptr_t)address * UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)(mixed >> 32) & (table->place_count - 1);
}

struct object *object_table_at(const struct object_table *table, uint32_t number)
{
    EXPLORE_CHECK(number >= 1);
    EXPLORE_CHECK(number <= table->count);
    const uint32_t index = number - 1;
    return &table->chunks[index / OBJECT_CHUNK_COUNT][index % OBJECT_CHUNK_COUNT];
}

static void put_object(struct object_table *table, const void *address, uint32_t number)
{
    EXPLORE_CHECK(number <= table->count);
    EXPLORE_CHECK(table->count < table->place_count);
    uint32_t place = find_object_place(table, address);
    while (table->generations[place] == table->generation) {
        place = (place + 1) & (table->place_count - 1);
    }
    table->generations[place] = table->generation;
    table->places[place] = number;
}

/* Grows the table: at most half of the places are taken. */
static void grow_table(struct object_table *table)
{
    if (table->place_count > table->count * 2) {
        return;
    }
    free(table->places);
    free(table->generations);
    table->place_count = table->place_count == 0 ? PLACE_COUNT_FIRST : table->place_count * 2;
    table->places = calloc(table->place_count, sizeof *table->places);
    table->generations = calloc(table->place_count, sizeof *table->generations);
    EXPLORE_CHECK(table->places != NULL);
    EXPLORE_CHECK(table->generations != NULL);
    table->generation = 1;
    for (uint32_t number = 1; number <= table->count; number++) {
        const struct object *object = object_table_at(table, number);
        if (object->address != NULL) {
            put_object(table, object->address, number);
        }
    }
    EXPLORE_CHECK(table->count < table->place_count);
}

static struct object *add_object(struct object_table *table, const void *address, const char *kind)
{
    grow_table(table);
    const uint32_t chunk = table->count / OBJECT_CHUNK_COUNT;
    EXPLORE_CHECK(chunk < OBJECT_CHUNK_COUNT_MAX);
    if (table->chunks[chunk] == NULL) {
        table->chunks[chunk] = calloc(OBJECT_CHUNK_COUNT, sizeof(struct object));
        EXPLORE_CHECK(table->chunks[chunk] != NULL);
    }
    const uint32_t number = ++table->count;
    struct object *object = object_table_at(table, number);
    *object = (struct object){.address = address, .number = number, .kind = kind};
    put_object(table, address, number);
    return object;
}

static struct object *find_object(const struct object_table *table, const void *address)
{
    if (table->place_count == 0) {
        return NULL;
    }
    for (uint32_t place = find_object_place(table, address);
         table->generations[place] == table->generation;
         place = (place + 1) & (table->place_count - 1)) {
        struct object *object = object_table_at(table, table->places[place]);
        if (object->address == address) {
            return object;
        }
    }
    return NULL;
}

/* Each object has its number, and is found by its address; no more than half of the places are
 * taken. */
static bool object_table_invariants_hold(const struct object_table *table)
{
    for (uint32_t number = 1; number <= table->count; number++) {
        const struct object *object = object_table_at(table, number);
        if (object->number != number ||
            (object->address != NULL && find_object(table, object->address) != object)) {
            return false;
        }
    }
    return table->count * 2 <= table->place_count;
}

struct object *object_table_find(struct object_table *table, const void *address, const char *kind)
{
    struct object *object = find_object(table, address);
    if (object == NULL) {
        return add_object(table, address, kind);
    }
    EXPLORE_CHECK(object->address == address);
    EXPLORE_CHECK(object->number <= table->count);
    object->kind = object->kind == NULL ? kind : object->kind;
    return object;
}

void object_table_forget(struct object_table *table, const void *address)
{
    struct object *object = find_object(table, address);
    if (object != NULL) {
        object->address = NULL;
    }
}

void object_table_clear(struct object_table *table)
{
    EXPLORE_CHECK(table->count <= OBJECT_CHUNK_COUNT * OBJECT_CHUNK_COUNT_MAX);
    EXPLORE_CHECK_COSTLY(object_table_invariants_hold(table));
    table->count = 0;
    if (++table->generation == 0 && table->place_count > 0) {
        memset(table->generations, 0, table->place_count * sizeof *table->generations);
        table->generation = 1;
    }
    EXPLORE_CHECK(table->place_count == 0 || table->generation != 0);
}

void object_table_deinit(struct object_table *table)
{
    EXPLORE_CHECK(table->count <= OBJECT_CHUNK_COUNT * OBJECT_CHUNK_COUNT_MAX);
    for (size_t i = 0; i < OBJECT_CHUNK_COUNT_MAX && table->chunks[i] != NULL; i++) {
        free(table->chunks[i]);
    }
    free(table->places);
    free(table->generations);
    *table = (struct object_table){0};
}
