#include "scenarios/private/eviction_cases.h"

#include "scenarios/private/parts.h"

enum { EXECUTION_NS = 1000000 };

/* Returns all of the device but parts of 1/32 of it, plus what a trial draws on top; at least one
 * granule. */
static uint64_t draw_all_but(const struct model *model, struct random *random, uint64_t parts)
{
    const uint64_t extra = random_below(random, device_part(model, 1, 64) + 1);
    const uint64_t reserved_bytes = device_part(model, parts, 32) + extra;
    const uint64_t capacity = model_capacity_bytes(model);
    return whole_granules(model, capacity > reserved_bytes ? capacity - reserved_bytes : 0);
}

/* Two programs fill the device; a buffer needs the room of one.  The one used longest ago goes, the
 * other stays and executes without being loaded again. */
static void happy_evict(struct op_queue *queue, struct random *random, const struct model *model,
                        uint8_t tag)
{
    const uint64_t half = device_part(model, 15, 32);
    const uint32_t first = op_queue_add(queue, build_load(half, 0, tag));
    const uint32_t second = op_queue_add(queue, build_load(half, 0, tag));
    const bool swaps = random_chance(random, 1, 2);
    op_queue_add(queue, build_delayed(OP_EXECUTE, swaps ? second : first, EXECUTION_NS));
    op_queue_add(queue, build_advance(2 * EXECUTION_NS));
    op_queue_add(queue, build_delayed(OP_EXECUTE, swaps ? first : second, EXECUTION_NS));
    op_queue_add(queue, build_advance(2 * EXECUTION_NS));
    op_queue_add(
        queue, build_request(OP_ALLOC, device_part(model, random_between(random, 2, 15), 32), tag));
    op_queue_add(queue, build_delayed(OP_EXECUTE, swaps ? first : second, EXECUTION_NS));
    op_queue_add(queue, build_delayed(OP_EXECUTE, swaps ? second : first, EXECUTION_NS));
}

/* Requests while all that fills the device is busy: refused.  It is granted once that is idle. */
static void all_pinned_evict(struct op_queue *queue, struct random *random,
                             const struct model *model, uint8_t tag)
{
    const uint32_t program = op_queue_add(queue,
                                          build_load(draw_all_but(model, random, 1), 0, tag));
    const uint32_t execution = op_queue_add(queue, build_delayed(OP_EXECUTE, program, DELAY_NEVER));
    const uint64_t size = device_part(model, 2, 32);
    op_queue_add(queue, build_request(OP_ALLOC, size, tag));
    op_queue_add(queue, build_request(OP_OUTPUT, size, tag));
    op_queue_add(queue, build_complete(execution));
    op_queue_add(queue, build_request(OP_ALLOC, size, tag));
}

/* A busy program, a held buffer and an idle program: only the last may go. */
static void allowed_only_evict(struct op_queue *queue, struct random *random,
                               const struct model *model, uint8_t tag)
{
    const uint32_t busy = op_queue_add(queue, build_load(device_part(model, 8, 32), 0, tag));
    const uint32_t held = op_queue_add(queue,
                                       build_request(OP_ALLOC, device_part(model, 6, 32), tag));
    const uint32_t idle = op_queue_add(queue, build_load(device_part(model, 12, 32), 0, tag));
    const uint32_t execution = op_queue_add(queue, build_delayed(OP_EXECUTE, busy, DELAY_NEVER));
    op_queue_add(queue, build_on(OP_HOLD, held));
    op_queue_add(
        queue, build_request(OP_ALLOC, device_part(model, random_between(random, 7, 17), 32), tag));
    op_queue_add(queue, build_request(OP_ALLOC, device_part(model, 18, 32), tag));
    op_queue_add(queue, build_delayed(OP_EXECUTE, idle, EXECUTION_NS));
    op_queue_add(queue, build_complete(execution));
    op_queue_add(queue, build_on(OP_RELEASE, held));
}

/* The large block is deleted already but its work is not done: waiting for it is enough, and the
 * idle program need not go. */
static void deleted_evict(struct op_queue *queue, struct random *random, const struct model *model,
                          uint8_t tag)
{
    const uint32_t idle = op_queue_add(queue, build_load(device_part(model, 2, 32), 0, tag));
    const uint32_t large = op_queue_add(
        queue, build_request(OP_ALLOC, draw_all_but(model, random, 3), tag));
    op_queue_add(queue, build_delayed(OP_FREE_AFTER, large, EXECUTION_NS));
    op_queue_add(queue, build_request(OP_ALLOC, device_part(model, 4, 32), tag));
    op_queue_add(queue, build_delayed(OP_EXECUTE, idle, EXECUTION_NS));
}

/* There is nowhere to evict to: the device refuses the unload.  The victim stays what it was. */
static void busy_domain_evict(struct op_queue *queue, struct random *random,
                              const struct model *model, uint8_t tag)
{
    const uint32_t program = op_queue_add(queue,
                                          build_load(draw_all_but(model, random, 1), 0, tag));
    struct op fault = op_make(OP_FAULT);
    fault.tag = FAULT_UNLOAD;
    fault.size_bytes = 1;
    op_queue_add(queue, fault);
    op_queue_add(queue, build_request(OP_ALLOC, device_part(model, 2, 32), tag));
    op_queue_add(queue, build_delayed(OP_EXECUTE, program, EXECUTION_NS));
    op_queue_add(queue, build_advance(2 * EXECUTION_NS));
    op_queue_add(queue, build_request(OP_ALLOC, device_part(model, 2, 32), tag));
}

/* The victim loses its contents for good and has to be made anew when it is used again. */
static void evict_gutting(struct op_queue *queue, struct random *random, const struct model *model,
                          uint8_t tag)
{
    const uint64_t image = draw_all_but(model, random, 1);
    const uint32_t program = op_queue_add(queue, build_load(image, device_part(model, 1, 64), tag));
    const uint32_t buffer = op_queue_add(queue,
                                         build_request(OP_ALLOC, device_part(model, 2, 32), tag));
    op_queue_add(queue, build_delayed(OP_EXECUTE, program,
                                      EXECUTION_NS)); /* E0101: loaded before, no longer does */
    op_queue_add(queue, build_on(OP_FREE, buffer));
    op_queue_add(queue, build_delayed(OP_EXECUTE, program, EXECUTION_NS));
    op_queue_add(queue, build_advance(2 * EXECUTION_NS));
    op_queue_add(queue, build_request(OP_ALLOC, device_part(model, 2, 32), tag));
    op_queue_add(queue, build_on(OP_UNLOAD, program));
}

/* Making room for one needs room made for another: a program evicts a program, a buffer evicts that
 * one, and the first comes back. */
static void recursive_evict(struct op_queue *queue, struct random *random,
                            const struct model *model, uint8_t tag)
{
    const uint64_t stack = device_part(model, 1, 32);
    const uint32_t first = op_queue_add(queue, build_load(device_part(model, 28, 32), stack, tag));
    const uint32_t second = op_queue_add(
        queue, build_load(device_part(model, random_between(random, 4, 28), 32), stack, tag));
    const uint32_t buffer = op_queue_add(queue,
                                         build_request(OP_ALLOC, device_part(model, 3, 32), tag));
    op_queue_add(queue, build_delayed(OP_EXECUTE, first, EXECUTION_NS));
    op_queue_add(queue, build_delayed(OP_EXECUTE, second, EXECUTION_NS));
    op_queue_add(queue, build_request(OP_ALLOC, device_part(model, 28, 32), tag));
    op_queue_add(queue, build_on(OP_FREE, buffer));
    op_queue_add(queue, build_advance(2 * EXECUTION_NS));
    op_queue_add(queue, build_delayed(OP_EXECUTE, first, EXECUTION_NS));
}

const struct eviction_case eviction_cases[EVICTION_CASE_COUNT] = {
    {"happy_evict", happy_evict},
    {"all_pinned_evict", all_pinned_evict},
    {"allowed_only_evict", allowed_only_evict},
    {"deleted_evict", deleted_evict},
    {"busy_domain_evict", busy_domain_evict},
    {"evict_gutting", evict_gutting},
    {"recursive_evict", recursive_evict},
};
