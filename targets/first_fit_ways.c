#include "targets/private/first_fit_ways.h"

#include <stdio.h>
#include <string.h>

/* Every so many looks the counters catch up, as those of allocators with caches of each thread. */
enum { LOOKS_PER_UPDATE = 16 };
/* Others of the process have a quarter of the device in one of so many microseconds. */
enum { OTHERS_SHARE = 4, OTHERS_PERIOD_US = 4, NS_PER_US = 1000 };

void first_fit_ways_init(struct first_fit_ways *ways)
{
    *ways = (struct first_fit_ways){.declares = true};
}

/* --- the contract --- */

void first_fit_ways_declare(const struct first_fit_ways *ways, struct target_contract *contract)
{
    contract->drains = contract->drains || ways->steps;
    contract->evicts = contract->evicts || ways->steps;
    if (!ways->declares) {
        return;
    }
    memset(contract->counting, (int)ways->counting, sizeof contract->counting);
    contract->limit = ways->limit;
    contract->counts_owners = ways->owners;
    contract->cost = (struct target_cost){.calls = ways->cost, .accesses = ways->cost};
    contract->order_binds = contract->evicts_until_fits = ways->steps;
}

/* --- the process --- */

bool first_fit_is_taken(const struct first_fit_ways *ways, const struct first_fit_heap *heap,
                        uint64_t size_bytes)
{
    if (ways->limit != TARGET_LIMIT_PROCESS) {
        return false;
    }
    const uint64_t now_us = heap->device.clock_ns(heap->device.context) / NS_PER_US;
    const uint64_t others = now_us % OTHERS_PERIOD_US == 0 ? heap->capacity_bytes / OTHERS_SHARE
                                                           : 0;
    const uint64_t free_bytes = first_fit_free_bytes(heap);
    return others > 0 && (others >= free_bytes || size_bytes > free_bytes - others);
}

/* --- counters --- */

static void count_owners(const struct first_fit_heap *heap, bool evicts, struct target_stats *stats)
{
    stats->free_bytes = first_fit_free_bytes(heap);
    stats->held_bytes = heap->reserved_bytes;
    for (const struct first_fit_node *node = heap->highest; node != NULL; node = node->below) {
        const bool is_held = node->is_dying || node->hold_count > 0 || node->waits != NULL ||
                             node->kind == BLOCK_RETIRED;
        const bool may_go = evicts && node->kind == BLOCK_PROGRAM;
        *(is_held  ? &stats->held_bytes
          : may_go ? &stats->evictable_bytes
                   : &stats->used_bytes) += node->size_bytes;
    }
}

static void raise_to(uint64_t *shown, uint64_t value)
{
    *shown = value > *shown ? value : *shown;
}

/* Still counts the memory that was freed since the last update. */
static void raise_shown(struct target_stats *shown, const struct target_stats *now)
{
    raise_to(&shown->num_allocs, now->num_allocs);
    raise_to(&shown->bytes_in_use, now->bytes_in_use);
    raise_to(&shown->peak_bytes_in_use, now->peak_bytes_in_use);
    raise_to(&shown->largest_alloc_size, now->largest_alloc_size);
    raise_to(&shown->bytes_reserved, now->bytes_reserved);
    raise_to(&shown->peak_bytes_reserved, now->peak_bytes_reserved);
    raise_to(&shown->largest_free_block_bytes, now->largest_free_block_bytes);
}

void first_fit_show(struct first_fit_ways *ways, const struct first_fit_heap *heap, bool evicts,
                    struct target_stats *stats)
{
    if (ways->counting == TARGET_COUNT_ABSENT) {
        *stats = (struct target_stats){.num_allocs = 0};
    } else if (ways->counting != TARGET_COUNT_EXACT) {
        if (ways->look_count++ % LOOKS_PER_UPDATE == 0) {
            ways->shown = *stats;
        } else if (ways->counting == TARGET_COUNT_AT_MOST) {
            raise_shown(&ways->shown, stats);
        }
        *stats = ways->shown;
    }
    if (ways->owners) {
        count_owners(heap, evicts, stats);
    }
}
