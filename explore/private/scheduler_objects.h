/* The objects of a run: found by address, numbered in the order of first use. */
#ifndef EXPLORE_PRIVATE_SCHEDULER_OBJECTS_H
#define EXPLORE_PRIVATE_SCHEDULER_OBJECTS_H

#include "explore/scheduler.h"

enum { OBJECT_CHUNK_COUNT = 256, OBJECT_CHUNK_COUNT_MAX = 4096 };

/* Zero is a valid start.  An object never moves: its fields are gates. */
struct object_table {
    struct object *chunks[OBJECT_CHUNK_COUNT_MAX];
    uint32_t count;
    uint32_t *places; /* place_count of them, a power of two: index + 1 of an object, of this
                         generation */
    uint32_t *generations;
    uint32_t place_count, generation;
};
struct object *object_table_find(struct object_table *table, const void *address, const char *kind);
void object_table_forget(struct object_table *table, const void *address);
struct object *object_table_at(const struct object_table *table, uint32_t number);
/* A new run: nothing is known. */
void object_table_clear(struct object_table *table);
void object_table_deinit(struct object_table *table);

#endif
