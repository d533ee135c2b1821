#include "harness/base/array.h"
#include "harness/base/order.h"
#include "harness/base/search.h"
#include "harness/rules/private/families.h"

#include <stdlib.h>

/* Up to so many blocks, all are looked at each time. */
enum { ALL_LOOKED_COUNT_MAX = 512 };

/* --- when --- */

static bool is_sole_call(const struct judge *judge, const struct host *host,
                         const struct call *call)
{
    return !judge->is_overlapping && host->clients == NULL && call->result == TARGET_OK &&
           judge_is_request(&call->op) && !model_is_asleep(host->model);
}

static bool has_plain_places(const struct host *host)
{
    return host->contract.defrag != DEFRAG_NONE && host->contract.placement == PLACEMENT_RANGES &&
           model_absent_count(host->model) == 0 && !device_had_fault(host->device);
}

static bool has_plain_calls(const struct host *host)
{
    EACH_DEVICE_CALL(host->device, made) {
        const enum device_call_kind kind = made->kind;
        if (made->result != DEVICE_OK ||
            (kind != DEVICE_CALL_COPY && kind != DEVICE_CALL_STAGE_OUT &&
             kind != DEVICE_CALL_STAGE_IN && kind != DEVICE_CALL_WAIT)) {
            return false;
        }
    }
    return true;
}

/* --- which --- */

static void reserve_met(struct judge_places *places, size_t count)
{
    if (count <= places->met_capacity) {
        return;
    }
    const size_t capacity = places->met_capacity = count * 2;
    places->met = array_resized(places->met, capacity * sizeof *places->met);
    places->met_slots = array_resized(places->met_slots, capacity * sizeof *places->met_slots);
    places->met_addresses = array_resized(places->met_addresses,
                                          capacity * sizeof *places->met_addresses);
}

static void meet_range(struct judge_places *places, const struct model *model, uint64_t start,
                       uint64_t bytes, size_t *count)
{
    struct span span;
    EACH_SPAN_IN(model_map(model), start, start + bytes, &span) {
        reserve_met(places, *count + 1);
        places->met[(*count)++] = (struct judge_met){span.start, (uint32_t)span.owner};
    }
}

static int compare_met(const void *a, const void *b)
{
    return compare_numbers(((const struct judge_met *)a)->from,
                           ((const struct judge_met *)b)->from);
}

/* The blocks that were before the op where a call read or wrote, ascending. */
static size_t find_met(struct judge_places *places, const struct host *host)
{
    size_t met_count = 0;
    EACH_DEVICE_CALL(host->device, made) {
        const enum device_call_kind kind = made->kind;
        if (kind == DEVICE_CALL_COPY || kind == DEVICE_CALL_STAGE_OUT) {
            meet_range(places, host->model, made->from, made->bytes, &met_count);
        }
        if (kind == DEVICE_CALL_COPY || kind == DEVICE_CALL_STAGE_IN) {
            meet_range(places, host->model, made->to, made->bytes, &met_count);
        }
    }
    if (met_count == 0) {
        return 0;
    }
    qsort(places->met, met_count, sizeof *places->met, compare_met);
    size_t count = 1;
    for (size_t i = 1; i < met_count; i++) {
        if (places->met[i].from != places->met[count - 1].from) {
            places->met[count++] = places->met[i];
        }
    }
    return count;
}

/* --- where --- */

/* Asks what the rules on a move ask: those that judge_places() judges one by one. */
static bool is_sound_move(const struct host *host, const struct block *block, uint64_t address)
{
    const uint64_t capacity = model_capacity_bytes(host->model);
    return block_is_movable(block) && block->size_bytes <= capacity &&
           address <= capacity - block->size_bytes &&
           address >= model_reserved_bytes(host->model) &&
           (address + host->contract.header_bytes) % block->align_bytes == 0;
}

static bool find_places(struct judge *judge, const struct host *host, const struct call *call,
                        size_t count)
{
    struct judge_places *places = &judge->places;
    for (size_t i = 0; i < count; i++) {
        struct target_block at;
        const uint32_t slot = places->met[i].slot;
        const struct block *block = model_block(host->model, slot);
        if (judge_find_place(judge, host, call, slot, &at) != PLACE_DEVICE ||
            (at.size_bytes != 0 && at.size_bytes != block->size_bytes) ||
            (at.address != block->address && !is_sound_move(host, block, at.address)) ||
            !device_holds(host->device, at.address, block->requested_bytes, slot)) {
            return false;
        }
        places->met_slots[i] = slot;
        places->met_addresses[i] = at.address;
    }
    return true;
}

/* Nothing but what was met lay between the places of the block. */
static bool passes_met_alone(const struct judge_places *places, const struct host *host,
                             size_t count, size_t i)
{
    struct span span;
    const struct block *block = model_block(host->model, places->met_slots[i]);
    const uint64_t to = places->met_addresses[i];
    const uint64_t end = (to > block->address ? to : block->address) + block->size_bytes;
    EACH_SPAN_IN(model_map(host->model), to < block->address ? to : block->address, end, &span) {
        size_t at;
        SEARCH_FIRST(at, 0, count, places->met[at].from >= span.start);
        if (at == count || places->met[at].from != span.start) {
            return false;
        }
    }
    return true;
}

static bool keeps_order(const struct judge_places *places, const struct host *host, size_t count)
{
    if (host->contract.defrag != DEFRAG_SLIDE) {
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        if ((i > 0 && places->met_addresses[i] < places->met_addresses[i - 1]) ||
            !passes_met_alone(places, host, count, i)) {
            return false;
        }
    }
    return true;
}

bool judge_moves(struct judge *judge, struct host *host, const struct call *call)
{
    struct judge_places *places = &judge->places;
    const size_t block_count = model_map(host->model)->count;
    uint64_t *looked_count = &judge->looked_counts[host->index];
    if (block_count <= ALL_LOOKED_COUNT_MAX || !is_sole_call(judge, host, call) ||
        !has_plain_places(host) || !has_plain_calls(host)) {
        return false;
    }
    const size_t count = find_met(places, host);
    if (count == 0 || *looked_count + count > block_count ||
        !find_places(judge, host, call, count) || !keeps_order(places, host, count) ||
        !model_relocate_some(host->model, places->met_slots, places->met_addresses, count)) {
        return false;
    }
    *looked_count += count;
    device_settle_moved(host->device);
    for (size_t i = 0; i < count; i++) {
        const uint32_t slot = places->met_slots[i];
        device_stamp(host->device, places->met_addresses[i],
                     model_block(host->model, slot)->requested_bytes, slot);
    }
    return true;
}
