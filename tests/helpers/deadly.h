/* Planted targets that must be run in a process of their own: they end it, never return, or leave
 * memory behind that no harness gives back. */
#ifndef TESTS_HELPERS_DEADLY_H
#define TESTS_HELPERS_DEADLY_H

#include "harness/target.h"

#include <stdbool.h>
#include <string.h>

static inline bool is_deadly(const struct target *target)
{
    return target->breaks != NULL &&
           (strcmp(target->breaks, "crash") == 0 || strcmp(target->name, "plant_hang_spin") == 0 ||
            strcmp(target->name, "plant_host_memory_leak") == 0);
}

#endif
