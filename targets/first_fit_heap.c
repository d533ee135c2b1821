#include "targets/private/first_fit_heap.h"
#include "targets/private/option.h"

#include <stdio.h>
#include <string.h>

static void host_free(struct first_fit_heap *heap, void *memory, size_t bytes)
{
    heap->device.host_free(heap->device.context, memory, bytes);
}

void first_fit_drop(struct first_fit_heap *heap, struct first_fit_node *node)
{
    while (node->waits != NULL) {
        struct first_fit_wait *wait = node->waits;
        node->waits = wait->next;
        host_free(heap, wait, sizeof *wait);
        heap->wait_count--;
    }
    host_free(heap, node, sizeof *node);
}

void first_fit_clear(struct first_fit_heap *heap)
{
    struct first_fit_node **const lists[] = {&heap->highest, &heap->evicted};
    for (size_t i = 0; i < 2; i++) {
        while (*lists[i] != NULL) {
            struct first_fit_node *node = *lists[i];
            *lists[i] = node->below;
            first_fit_drop(heap, node);
        }
    }
}

uint64_t first_fit_free_bytes(const struct first_fit_heap *heap)
{
    return heap->capacity_bytes - heap->stats.bytes_in_use - heap->reserved_bytes;
}

uint64_t first_fit_largest_hole_bytes(const struct first_fit_heap *heap)
{
    uint64_t largest = 0;
    uint64_t top = heap->capacity_bytes;
    for (const struct first_fit_node *node = heap->highest; node != NULL; node = node->below) {
        const uint64_t end = node->address + node->size_bytes;
        largest = top - end > largest ? top - end : largest;
        top = node->address;
    }
    return top - heap->reserved_bytes > largest ? top - heap->reserved_bytes : largest;
}

uint64_t first_fit_reservable_bytes(const struct first_fit_heap *heap)
{
    uint64_t lowest = heap->capacity_bytes;
    for (const struct first_fit_node *node = heap->highest; node != NULL; node = node->below) {
        lowest = node->address;
    }
    return lowest;
}

void first_fit_unlink(struct first_fit_heap *heap, struct first_fit_node *node)
{
    *(node->above != NULL ? &node->above->below : &heap->highest) = node->below;
    if (node->below != NULL) {
        node->below->above = node->above;
    }
    heap->stats.num_allocs--;
    heap->stats.bytes_in_use -= node->size_bytes;
}

void first_fit_poll(struct first_fit_heap *heap, struct first_fit_node *node)
{
    for (struct first_fit_wait **link = &node->waits; *link != NULL;) {
        struct first_fit_wait *wait = *link;
        if (!heap->device.event_done(heap->device.context, wait->event)) {
            link = &wait->next;
            continue;
        }
        *link = wait->next;
        host_free(heap, wait, sizeof *wait);
        heap->wait_count--;
    }
}

void first_fit_settle(struct first_fit_heap *heap, struct first_fit_node *node)
{
    if (node->is_dying && node->waits == NULL && node->hold_count == 0) {
        first_fit_unlink(heap, node);
        first_fit_drop(heap, node);
    }
}

void first_fit_collect(struct first_fit_heap *heap)
{
    const uint64_t completed = heap->device.completed_count(heap->device.context);
    if (heap->wait_count == 0 || completed == heap->completed_count) {
        heap->completed_count = completed;
        return;
    }
    heap->completed_count = completed;
    heap->reserved_bytes = 0;
    struct first_fit_node *below = NULL;
    for (struct first_fit_node *node = heap->highest; node != NULL; node = below) {
        below = node->below;
        first_fit_poll(heap, node);
        if (node->kind == BLOCK_PROGRAM && node->waits != NULL &&
            node->stack_bytes > heap->reserved_bytes) {
            heap->reserved_bytes = node->stack_bytes;
        }
        first_fit_settle(heap, node);
    }
}

bool first_fit_add_wait(struct first_fit_heap *heap, struct first_fit_node *node, uint64_t event)
{
    if (event == 0 || heap->device.event_done(heap->device.context, event)) {
        return true;
    }
    struct first_fit_wait *wait = heap->device.host_alloc(heap->device.context, sizeof *wait);
    if (wait == NULL) {
        return false;
    }
    *wait = (struct first_fit_wait){.next = node->waits, .event = event};
    node->waits = wait;
    heap->wait_count++;
    return true;
}

bool first_fit_find_place(const struct first_fit_heap *heap, const struct first_fit_wanted *wanted,
                          uint64_t *address, struct first_fit_node **above)
{
    const uint64_t size = wanted->size_bytes;
    const uint64_t floor = wanted->floor_bytes;
    const uint64_t header = wanted->header_bytes;
    uint64_t top = heap->capacity_bytes;
    *above = NULL;
    for (struct first_fit_node *node = heap->highest;; node = node->below) {
        const uint64_t end = node == NULL ? 0 : node->address + node->size_bytes;
        const uint64_t bottom = end > floor ? end : floor;
        const uint64_t aligned = size <= top ? (top - size + header) & ~(wanted->align_bytes - 1)
                                             : 0;
        if (size <= top && aligned >= header + bottom) {
            *address = aligned - header;
            return true;
        }
        if (node == NULL || node->address <= floor) {
            return false;
        }
        top = node->address;
        *above = node;
    }
}

void first_fit_link(struct first_fit_heap *heap, struct first_fit_node *node,
                    struct first_fit_node *above)
{
    node->above = above;
    node->below = above != NULL ? above->below : heap->highest;
    *(above != NULL ? &above->below : &heap->highest) = node;
    if (node->below != NULL) {
        node->below->above = node;
    }
    count_block(&heap->stats, node->size_bytes);
}

struct first_fit_node *first_fit_add(struct first_fit_heap *heap, const struct first_fit_node *like,
                                     uint64_t address, struct first_fit_node *above)
{
    struct first_fit_node *node = heap->device.host_alloc(heap->device.context, sizeof *node);
    if (node == NULL) {
        return NULL;
    }
    *node = *like;
    node->address = address;
    first_fit_link(heap, node, above);
    return node;
}

enum target_result first_fit_place(struct first_fit_heap *heap,
                                   const struct first_fit_wanted *wanted,
                                   struct first_fit_node **out)
{
    uint64_t address = 0;
    struct first_fit_node *above = NULL;
    if (!first_fit_find_place(heap, wanted, &address, &above)) {
        return TARGET_NO_MEMORY;
    }
    struct first_fit_node like = wanted->like;
    like.size_bytes = wanted->size_bytes;
    *out = first_fit_add(heap, &like, address, above);
    return *out == NULL ? TARGET_FAILED : TARGET_OK;
}

uint64_t first_fit_in_granules(const struct first_fit_heap *heap, uint64_t bytes)
{
    return (bytes + (heap->granule_bytes - 1)) & ~(heap->granule_bytes - 1);
}

void first_fit_begin_steps(struct first_fit_heap *heap)
{
    heap->call_count++;
}

/* --- queued frees --- */

/* Returns the pending event that keeps the dying block where it is; NULL: waiting cannot end it. */
static struct first_fit_wait *find_wait(const struct first_fit_heap *heap,
                                        const struct first_fit_node *node)
{
    if (!node->is_dying || node->hold_count > 0) {
        return NULL;
    }
    for (const struct first_fit_wait *wait = node->waits; wait != NULL; wait = wait->next) {
        if (wait->vain_in_call == heap->call_count) {
            return NULL;
        }
    }
    return node->waits;
}

static bool drain_one(struct first_fit_heap *heap)
{
    for (struct first_fit_node *node = heap->highest; node != NULL; node = node->below) {
        struct first_fit_wait *wait = find_wait(heap, node);
        if (wait == NULL) {
            continue;
        }
        if (heap->device.event_wait(heap->device.context, wait->event) == DEVICE_OK) {
            return true;
        }
        wait->vain_in_call = heap->call_count;
    }
    return false;
}

/* --- programs --- */

static bool is_evictable(const struct first_fit_heap *heap, const struct first_fit_node *node)
{
    return node->kind == BLOCK_PROGRAM && !node->is_dying && node->waits == NULL &&
           node->vain_in_call != heap->call_count;
}

static bool evict_one(struct first_fit_heap *heap)
{
    for (struct first_fit_node *node = heap->highest; node != NULL; node = node->below) {
        if (!is_evictable(heap, node)) {
            continue;
        }
        if (heap->device.unload(heap->device.context, node->program) == DEVICE_OK) {
            first_fit_unlink(heap, node);
            node->above = NULL;
            node->below = heap->evicted;
            node->is_evicted = true;
            heap->evicted = node;
            return true;
        }
        node->vain_in_call = heap->call_count;
    }
    return false;
}

/* Any call of the device may take time, in which events complete. */
bool first_fit_step(struct first_fit_heap *heap, bool may_evict)
{
    const uint64_t completed = heap->completed_count;
    const bool has_stepped = drain_one(heap) || (may_evict && evict_one(heap));
    first_fit_collect(heap);
    return has_stepped || heap->completed_count != completed;
}

static void take_from_evicted(struct first_fit_heap *heap, struct first_fit_node *program)
{
    struct first_fit_node **link = &heap->evicted;
    while (*link != program) {
        link = &(*link)->below;
    }
    *link = program->below;
    program->below = NULL;
    program->is_evicted = false;
}

bool first_fit_bring_back(struct first_fit_heap *heap, struct first_fit_node *program,
                          uint64_t event, uint64_t address, struct first_fit_node *above)
{
    if (!first_fit_add_wait(heap, program, event)) {
        return false;
    }
    take_from_evicted(heap, program);
    program->address = address;
    first_fit_link(heap, program, above);
    return true;
}

void first_fit_forget(struct first_fit_heap *heap, struct first_fit_node *program)
{
    take_from_evicted(heap, program);
    first_fit_drop(heap, program);
}

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
