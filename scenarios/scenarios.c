#include "scenarios/scenarios.h"

#include <string.h>

const struct scenario *const scenarios[] = {
    &fragmentation_storm, &queued_free_race, &eviction_pressure, &host_skew,        &training_step,
    &recompilation_churn, &slow_leak,        &exact_edge,        &defrag_published, &late_program,
    NULL,
};

const struct scenario *scenario_find(const char *name)
{
    for (size_t i = 0; scenarios[i] != NULL; i++) {
        if (strcmp(scenarios[i]->name, name) == 0) {
            return scenarios[i];
        }
    }
    return NULL;
}

enum { NAME_BYTES = 64 };

static size_t smallest(size_t a, size_t b, size_t c)
{
    const size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* Edits (insert, delete, replace) between the first NAME_BYTES characters of two names: the algorithm of
 * Wagner and Fischer (1974), one row at a time. */
static size_t edit_distance(const char *from, const char *to)
{
    const size_t from_length = strnlen(from, NAME_BYTES);
    const size_t to_length = strnlen(to, NAME_BYTES);
    size_t row[NAME_BYTES + 1];
    for (size_t j = 0; j <= to_length; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= from_length; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= to_length; j++) {
            const size_t above = row[j];
            row[j] = smallest(above + 1, row[j - 1] + 1, diagonal + (from[i - 1] != to[j - 1]));
            diagonal = above;
        }
    }
    return row[to_length];
}

const struct scenario *scenario_nearest(const char *name)
{
    const struct scenario *nearest = scenarios[0];
    for (size_t i = 1; scenarios[i] != NULL; i++) {
        if (edit_distance(name, scenarios[i]->name) < edit_distance(name, nearest->name)) {
            nearest = scenarios[i];
        }
    }
    return nearest;
}
