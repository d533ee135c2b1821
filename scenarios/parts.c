#include "scenarios/private/parts.h"

#include "harness/base/check.h"

#include <string.h>

/* --- the device --- */

/* 16: with a granule of a page such a device still has two. */
enum { GRANULE_LARGEST_BYTES = 16384, GRANULE_DEFAULT_BYTES = 512, UNKNOWN_GRANULES_MIN = 16 };

/* Targets whose options are those of the reference allocator. */
static bool target_has_options(const struct setup *setup)
{
    return strcmp(setup->target, "hbm") == 0 || strncmp(setup->target, "plant_", 6) == 0;
}

/* A chip's own capacity, a small one where single blocks matter, or anything from 64 KiB to 96 GiB.
 */
static uint64_t draw_capacity(struct random *random, const struct device_options *options,
                              uint64_t granule_bytes)
{
    const struct chip *chip = chip_find(options->chip);
    CHECK(chip != NULL);
    const uint64_t low = options->granules_min == 0 ? 1 : options->granules_min;
    const uint64_t way = random_below(random, 16);
    uint64_t capacity = way == 0 ? random_between(random, low, low + 64) * granule_bytes
                        : way <= 4
                            ? chip->capacity_bytes
                            : random_log_uniform(random, UINT64_C(64) << 10, UINT64_C(96) << 30);
    const uint64_t unit = capacity >= GRANULE_LARGEST_BYTES ? GRANULE_LARGEST_BYTES : granule_bytes;
    capacity -= capacity % unit;
    return capacity < low * granule_bytes ? low * granule_bytes : capacity;
}

/* Whole granules; where nobody here knows the target's granule, a power of two, which is a multiple
 * of any granule that fits in it. */
static uint64_t draw_small_capacity(struct random *random, const struct device_options *options,
                                    uint64_t granule_bytes, bool is_granule_known)
{
    const uint64_t low = options->granules_min > DEVICE_SMALL_GRANULES_MIN
                             ? options->granules_min
                             : DEVICE_SMALL_GRANULES_MIN;
    const uint64_t high = low > DEVICE_SMALL_GRANULES_MAX ? low : DEVICE_SMALL_GRANULES_MAX;
    const uint64_t granules = random_log_uniform(random, low, high);
    if (is_granule_known) {
        return granules * granule_bytes;
    }
    uint64_t power = UNKNOWN_GRANULES_MIN;
    while (power < granules) {
        power *= 2;
    }
    return power * granule_bytes;
}

static void draw_granule(struct random *random, struct setup *setup, bool capacity_is_free)
{
    static const uint64_t granules[] = {128, 512, 1024, GRANULE_LARGEST_BYTES};
    const bool is_drawn = random_chance(random, 1, 3);
    const uint64_t granule = granules[random_below(random, 4)];
    if (!is_drawn || setup->granule_bytes != 0 || setup_option(setup, "granule") != NULL) {
        return;
    }
    if (capacity_is_free || (setup->capacity_bytes != 0 && setup->capacity_bytes % granule == 0)) {
        setup->granule_bytes = granule;
    }
}

/* option is left alone when the user has set it; the draw is made either way, so that setting one
 * option does not change the rest of the trial. */
static void set_unless_fixed(struct setup *setup, const char *option, const char *value)
{
    if (setup_option(setup, option) == NULL) {
        (void)setup_set_option(setup, option, value);
    }
}

static void draw_options(struct random *random, struct setup *setup,
                         const struct device_options *options)
{
    static const char *const contracts[] = {"none", "slide", "repack"};
    static const char *const orders[] = {"drain,defragment,evict", "drain,evict,defragment",
                                         "defragment,drain,evict", "defragment,evict,drain",
                                         "evict,drain,defragment", "evict,defragment,drain"};
    const uint32_t contract_weights[] = {options->must_defragment ? 0 : 2, 3, 3};
    set_unless_fixed(setup, "defrag", contracts[random_weighted(random, contract_weights, 3)]);
    const bool reorders = random_chance(random, 1, 4);
    const char *order = orders[random_below(random, 6)];
    if (reorders) {
        set_unless_fixed(setup, "order", order);
    }
    if (random_chance(random, 1, 3) || options->must_evict_for_programs) {
        set_unless_fixed(setup, "program_evicts_program", "yes");
    }
}

void device_draw(struct random *random, struct setup *setup, bool capacity_is_free,
                 const struct device_options *options)
{
    const bool has_options = target_has_options(setup);
    if (has_options) {
        draw_granule(random, setup, capacity_is_free);
        draw_options(random, setup, options);
    }
    if (capacity_is_free) {
        const uint64_t granule = setup->granule_bytes != 0 ? setup->granule_bytes
                                                           : GRANULE_DEFAULT_BYTES;
        const bool is_small = options->is_small || setup->capacity_bytes == 0;
        setup->capacity_bytes = is_small
                                    ? draw_small_capacity(random, options, granule, has_options)
                                    : draw_capacity(random, options, granule);
        setup->chip[0] = '\0';
    }
}

/* --- the way back --- */

bool clear_next(const struct scenario_view *view, uint8_t host, bool keep_programs, struct op *op)
{
    const struct model *model = view->hosts[host];
    const size_t live_count = model_live_count(model);
    if (live_count > 0) {
        const struct block *block = model_live(model, live_count - 1);
        *op = build_on(block->hold_count > 0 ? OP_RELEASE : OP_FREE, block->op);
    } else if (!keep_programs && model_program_count(model) > 0) {
        *op = build_on(OP_UNLOAD, model_program(model, 0)->op);
    } else if (model_event_count(model) > 0) {
        *op = build_complete(model_event_op(model, 0));
    } else {
        return false;
    }
    op->host = host;
    return true;
}

bool clear_hosts_next(const struct scenario_view *view, struct op *op)
{
    for (uint32_t host = 0; host < view->host_count; host++) {
        if (clear_next(view, (uint8_t)host, false, op)) {
            return true;
        }
    }
    return false;
}

/* --- a queue of ops --- */

void op_queue_clear(struct op_queue *queue)
{
    queue->count = 0;
    queue->next = 0;
}

uint32_t op_queue_add(struct op_queue *queue, struct op op)
{
    if (queue->count >= OP_QUEUE_COUNT_MAX) {
        return OP_NONE;
    }
    queue->ops[queue->count] = op;
    return OP_QUEUE_ENTRY(queue->count++);
}

uint32_t op_queue_add_on(struct op_queue *queue, uint8_t host, struct op op)
{
    op.host = host;
    return op_queue_add(queue, op);
}

/* Returns the op that a name stands for now, or OP_NONE for an entry that was dropped. */
static uint32_t resolve_name(const struct op_queue *queue, uint32_t name)
{
    if (name == OP_NONE || (name & OP_QUEUE_ENTRY(0)) == 0) {
        return name;
    }
    const uint32_t index = name & ~OP_QUEUE_ENTRY(0);
    return index < queue->next ? queue->numbers[index] : OP_NONE;
}

/* True if the op's references are still there.  An event that is done is gone from no list a
 * scenario can see; such an op acts, and means "at once". */
static bool may_act(const struct op *op, bool awaited, const struct scenario_view *view)
{
    const struct op_kind_info *info = op_kind_info((enum op_kind)op->kind);
    if (op->host >= view->host_count) {
        return false;
    }
    if (awaited && op->event == OP_NONE) {
        return false;
    }
    /* A release may name a block that is freed already, and that only this release ends. */
    return !(info->has_block || info->has_program) || op->kind == OP_RELEASE ||
           model_find(view->hosts[op->host], op->ref) != NULL;
}

bool op_queue_next(struct op_queue *queue, const struct scenario_view *view, struct op *op)
{
    while (queue->next < queue->count) {
        struct op candidate = queue->ops[queue->next];
        const bool awaited = candidate.event != OP_NONE;
        candidate.ref = resolve_name(queue, candidate.ref);
        candidate.event = resolve_name(queue, candidate.event);
        const bool acts = may_act(&candidate, awaited, view);
        queue->numbers[queue->next++] = acts ? view->op_number : OP_NONE;
        if (acts) {
            *op = candidate;
            return true;
        }
    }
    op_queue_clear(queue);
    return false;
}

/* --- a walk --- */

static uint32_t find_common_factor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static uint32_t draw_stride(struct random *random, uint32_t length)
{
    uint32_t stride = 1 + (uint32_t)random_below(random, length);
    while (find_common_factor(stride, length) != 1) { /* ends at a multiple of length plus one */
        stride++;
    }
    return stride;
}

void op_walk_begin(struct op_walk *walk, struct random *random, uint32_t first, uint32_t end,
                   enum op_walk_order order)
{
    const uint32_t count = end > first ? end - first : 0;
    /* An odd length, so that steps of two come by every number. */
    *walk = (struct op_walk){.first = first, .length = count == 0 ? 0 : count | 1, .stride = 1};
    if (count == 0) {
        return;
    }
    if (order == OP_WALK_BACKWARD) {
        walk->start = walk->stride = walk->length - 1;
    } else if (order == OP_WALK_ALTERNATING) {
        walk->stride = 2;
    } else if (order == OP_WALK_SHUFFLED) {
        walk->stride = draw_stride(random, walk->length);
        walk->start = (uint32_t)random_below(random, walk->length);
    }
}

bool op_walk_next(struct op_walk *walk, uint32_t *number)
{
    if (walk->index >= walk->length) {
        return false;
    }
    const uint64_t at = walk->start + (uint64_t)walk->index * walk->stride;
    *number = walk->first + (uint32_t)(at % walk->length);
    walk->index++;
    return true;
}

void op_walk_begin_any(struct op_walk *walk, struct random *random, uint32_t first, uint32_t end)
{
    const enum op_walk_order order = (enum op_walk_order)random_below(random, OP_WALK_ORDER_COUNT);
    op_walk_begin(walk, random, first, end, order);
}

bool op_walk_next_made(struct op_walk *walk, const struct model *model, uint32_t *number)
{
    while (op_walk_next(walk, number)) {
        if (has_made(model, *number)) {
            return true;
        }
    }
    return false;
}
