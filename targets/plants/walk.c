#include "targets/plants/private/plant.h"

size_t walk_find_latest(const struct plant *plant, size_t count_max)
{
    size_t latest = 0;
    uint64_t most = 0;
    for (size_t i = 0; i < plant->block_count && i < count_max; i++) {
        const struct plant_block *block = &plant->blocks[i];
        const uint64_t used = block->event + block->hold_count + block->forgotten_hold_count +
                              block->forgotten_use_count;
        latest = used > most ? i : latest;
        most = used > most ? used : most;
    }
    return latest;
}
