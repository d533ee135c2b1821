#include "targets/targets.h"

#include "targets/adapters/adapters.h"

#include <string.h>

#define PLANT(file, name, ...) extern const struct target plant_##name;
#include "targets/plants/list.h"
#undef PLANT
#define TOY_PLANT(name) extern const struct target plant_##name;
#include "targets/plants/toys.h"
#undef TOY_PLANT

const struct target *const targets[] = {
#define TARGET(name) &target_##name,
#include "targets/list.h"
#undef TARGET
#define PLANT(file, name, ...) &plant_##name,
#include "targets/plants/list.h"
#undef PLANT
#define TOY_PLANT(name) &plant_##name,
#include "targets/plants/toys.h"
#undef TOY_PLANT
    NULL,
};

const struct target *const *const target_tables[] = {targets,        races,    segments_plants,
                                                     caching_plants, adapters, NULL};

static const struct target *find_in(const struct target *const *table, const char *name)
{
    for (size_t i = 0; table[i] != NULL; i++) {
        if (strcmp(table[i]->name, name) == 0) {
            return table[i];
        }
    }
    return NULL;
}

const struct target *target_find(const char *name)
{
    const struct target *found = NULL;
    for (size_t i = 0; found == NULL && target_tables[i] != NULL; i++) {
        found = find_in(target_tables[i], name);
    }
    return found;
}
