/* Defines the defects of one file, which includes this after its functions: its own rows of
 * targets/plants/list.h become defects, those of the other files nothing.  The file says which it
 * is by `#define PLANT_IN_<file> PLANT_HERE`. */
#ifndef TARGETS_PLANTS_PRIVATE_DEFINE_H
#define TARGETS_PLANTS_PRIVATE_DEFINE_H

#include "targets/plants/private/plant.h"

#define DEFINE_PLANT(noun, rule, text, ...)               \
    extern const struct plant_defect plant_defect_##noun; \
    const struct plant_defect plant_defect_##noun = {__VA_ARGS__};
#define SKIP_PLANT(...)

/* The comma makes DEFINE_PLANT the second of the three; without it SKIP_PLANT is. */
#define PLANT_HERE ~,
#define CHOOSE_PLANT(...) CHOOSE_SECOND(__VA_ARGS__)
#define CHOOSE_SECOND(first, second, ...) second
#define PLANT(file, ...) CHOOSE_PLANT(PLANT_IN_##file DEFINE_PLANT, SKIP_PLANT, )(__VA_ARGS__)
#include "targets/plants/list.h"
#undef PLANT

#endif
