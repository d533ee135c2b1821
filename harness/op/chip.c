#include "harness/op/chip.h"

#include <string.h>

#define MEBIBYTES(count) ((uint64_t)(count) << 20)
#define GIBIBYTES(count) ((uint64_t)(count) << 30)

static const struct chip v2 = {"v2", GIBIBYTES(8) - MEBIBYTES(530),
                               "per core; 8 GiB less the 530 MiB printed as reserved (7.48G)"};
static const struct chip v3 = {"v3", GIBIBYTES(16) - MEBIBYTES(530),
                               "per core; 16 GiB less the 530 MiB printed as reserved (15.48G)"};
static const struct chip v4 = {"v4", UINT64_C(33014413312),
                               "bytes_limit seen in public counters (30.75G)"};
static const struct chip v5e = {"v5e", UINT64_C(16909332480),
                                "bytes_limit seen in public counters (15.75G)"};
/* 95.74 * 2^30 rounded down to a multiple of 16 KiB, the largest granule that is run. */
static const struct chip v5p = {"v5p", UINT64_C(102800031744),
                                "printed as 95.74G; exact bytes not public"};
static const struct chip v6e = {"v6e", UINT64_C(33550237696),
                                "capacity in a public memory profile (31.25G)"};
static const struct chip v7x = {"v7x", MEBIBYTES(97024), "per core; 94.75 GiB"};

const struct chip *const chips[] = {&v2, &v3, &v4, &v5e, &v5p, &v6e, &v7x, NULL};

const struct chip *chip_find(const char *name)
{
    for (size_t i = 0; chips[i] != NULL; i++) {
        if (strcmp(chips[i]->name, name) == 0) {
            return chips[i];
        }
    }
    return NULL;
}
