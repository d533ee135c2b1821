#include "measure/fixed_places.h"

#include "harness/base/align.h"
#include "harness/base/check.h"
#include "measure/private/placing.h"

#include <stdlib.h>
#include <string.h>

void placing_offer(struct placing *placing, uint64_t bytes)
{
    CHECK(bytes >= placing->at_least_bytes);
    if (bytes < placing->best_bytes) {
        placing->best_bytes = bytes;
        memcpy(placing->best, placing->starts, placing->count * sizeof *placing->best);
    }
}

bool placing_is_over(const struct placing *placing)
{
    return placing->best_bytes == placing->at_least_bytes || placing->work == 0;
}

uint64_t placing_start(const struct life *life, uint64_t from)
{
    return align_up(from + life->header_bytes, life->align_bytes) - life->header_bytes;
}

bool placing_spend(struct placing *placing, uint64_t work)
{
    const bool is_enough = work <= placing->work;
    placing->work -= is_enough ? work : placing->work;
    return is_enough;
}

static uint64_t *make_starts(size_t count)
{
    uint64_t *starts = calloc(count + 1, sizeof *starts);
    CHECK(starts != NULL);
    return starts;
}

void fixed_places_find(const struct lives *lives, uint64_t at_least_bytes, uint64_t work,
                       struct fixed_places *places)
{
    struct placing placing = {.lives = lives->lives,
                              .count = lives->count,
                              .at_least_bytes = at_least_bytes,
                              .work = work,
                              .best_bytes = UINT64_MAX,
                              .best = make_starts(lives->count),
                              .starts = make_starts(lives->count)};
    placing_sweep(&placing);
    if (!placing_is_over(&placing)) {
        placing_orders(&placing);
    }
    free(placing.starts);
    *places = (struct fixed_places){placing.best_bytes, placing.best,
                                    placing.best_bytes == at_least_bytes};
    if (placing.best_bytes == UINT64_MAX || lives->count == 0) {
        fixed_places_deinit(places);
    }
}

void fixed_places_deinit(struct fixed_places *places)
{
    free(places->starts);
    *places = (struct fixed_places){0};
}
