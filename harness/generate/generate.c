#include "harness/generate/generate.h"

#include "harness/base/check.h"
#include "harness/model/model.h"
#include "harness/op/fit.h"

static_assert(sizeof(struct generate) <= 512, "a generator fits in a scenario's state");

enum {
    SIZE_SHIFT_MAX = 40,
    PROBE_COUNT = 16, /* blocks looked at to find one that is held */
    PENDING_MAX = 48, /* more pending events than this add no new kind of state */
    TIGHT_COUNT_MAX =
        14, /* live blocks among which a fit without any slack can be decided at once */
};

/* The weights before a trial's own draw.  Requests and frees are half of all ops, because they make
 * the layouts in which the others matter. */
static const uint32_t weights_before[OP_KIND_COUNT] = {
    [OP_ALLOC] = 240,   [OP_OUTPUT] = 80,  [OP_FREE] = 160,   [OP_FREE_AFTER] = 100,
    [OP_USE] = 80,      [OP_HOLD] = 20,    [OP_RELEASE] = 24, [OP_DONATE] = 30,
    [OP_LOAD] = 30,     [OP_UNLOAD] = 12,  [OP_EXECUTE] = 60, [OP_DEFRAGMENT] = 4,
    [OP_COMPLETE] = 40, [OP_ADVANCE] = 60, [OP_TOUCH] = 20,   [OP_REPORT] = 10,
    [OP_FAULT] = 8,
};

bool generate_draws(enum op_kind kind)
{
    return kind < OP_KIND_COUNT && weights_before[kind] > 0;
}

static uint64_t at_least(uint64_t value, uint64_t low)
{
    return value < low ? low : value;
}

static uint64_t at_most(uint64_t value, uint64_t high)
{
    return value > high ? high : value;
}

static uint32_t log2_floor(uint64_t value)
{
    return value == 0 ? 0 : 63u - (uint32_t)__builtin_clzll(value);
}

/* --- what is drawn once per trial --- */

static uint32_t percent_of(const struct generate_limits *limits, unsigned kind)
{
    return limits->weights == NULL ? 100 : limits->weights[kind];
}

static bool kind_is_allowed(const struct generate_limits *limits, unsigned kind)
{
    const bool is_allowed = limits->allowed_kinds == 0 ? kind != OP_FAULT
                                                       : (limits->allowed_kinds >> kind & 1u) != 0;
    return is_allowed && percent_of(limits, kind) > 0;
}

/* When chance switched both off: one of them is needed, unless neither is allowed. */
static void need_one_of(struct generate *generate, const struct generate_limits *limits,
                        enum op_kind first, enum op_kind second)
{
    if (generate->weights[first] + generate->weights[second] == 0) {
        const enum op_kind kind = kind_is_allowed(limits, first) ? first : second;
        generate->weights[kind] = kind_is_allowed(limits, kind) ? weights_before[first] : 0;
    }
}

/* Rounded up: only 0 percent is never. */
static void scale_weights(struct generate *generate, const struct generate_limits *limits)
{
    for (unsigned kind = 0; kind < OP_KIND_COUNT; kind++) {
        generate->weights[kind] = (generate->weights[kind] * percent_of(limits, kind) + 99) / 100;
        generate->never_kinds |= percent_of(limits, kind) == 0 ? 1u << kind : 0;
    }
}

/* Each kind is off in one trial of four; the others' weights differ by up to a factor of 16. */
static void draw_weights(struct generate *generate, struct random *random,
                         const struct generate_limits *limits)
{
    for (unsigned kind = 0; kind < OP_KIND_COUNT; kind++) {
        if (!generate_draws((enum op_kind)kind)) {
            continue; /* no scenario draws it: what is drawn for the others does not depend on it */
        }
        const uint32_t shift = (uint32_t)random_below(random, 5);
        const bool is_on = !random_chance(random, 1, 4);
        generate->weights[kind] = is_on && kind_is_allowed(limits, kind)
                                      ? (weights_before[kind] << shift) / 4
                                      : 0;
    }
    need_one_of(generate, limits, OP_ALLOC, OP_OUTPUT);
    need_one_of(generate, limits, OP_FREE, OP_FREE_AFTER);
    /* Without an end to them uses and executions would pin ever more of the device. */
    need_one_of(generate, limits, OP_ADVANCE, OP_COMPLETE);
    if (generate->weights[OP_HOLD] > 0 && generate->weights[OP_RELEASE] == 0) {
        generate->weights[OP_RELEASE] = kind_is_allowed(limits, OP_RELEASE)
                                            ? generate->weights[OP_HOLD]
                                            : 0;
    }
    scale_weights(generate, limits);
}

/* So many blocks at a time: mostly 20 to 400, now and then a handful or a few thousand. */
static uint64_t draw_block_count(struct random *random)
{
    static const struct {
        uint64_t low, high;
    } ranges[] = {{2, 16}, {20, 100}, {20, 400}, {50, 400}, {400, 4000}};
    const uint32_t weights[] = {2, 5, 5, 4, 1};
    const uint32_t i = random_weighted(random, weights, 5);
    return random_log_uniform(random, ranges[i].low, ranges[i].high);
}

/* A few classes around the mean size: exact ones, which make equal holes, and ranges. */
static void draw_sizes(struct generate *generate, struct random *random, uint64_t mean_bytes,
                       uint64_t granule_bytes, uint64_t size_max_bytes)
{
    const uint32_t class_count = 1 + (uint32_t)random_below(random, GENERATE_SIZE_CLASS_COUNT);
    const bool all_exact = random_chance(random, 1, 4);
    for (uint32_t i = 0; i < class_count; i++) {
        const uint64_t down = random_below(random, 5);
        const uint64_t up = random_below(random, 3);
        const uint64_t center = at_most(at_least((mean_bytes << up) >> down, 1), size_max_bytes);
        const uint64_t exact = at_most(at_least(center / granule_bytes, 1) * granule_bytes,
                                       size_max_bytes);
        const bool is_exact = all_exact || random_chance(random, 1, 3);
        generate->sizes[i].low_bytes = is_exact ? exact
                                                : at_least(center >> random_below(random, 4), 1);
        generate->sizes[i].high_bytes = is_exact ? exact
                                                 : at_least(at_most(center * 2, size_max_bytes),
                                                            generate->sizes[i].low_bytes);
        /* Large sizes are drawn less often, so that they do not crowd out the small ones. */
        generate->sizes[i].weight = 1 + (uint32_t)((4u << down) >> up);
    }
}

static void draw_delays(struct generate *generate, struct random *random, bool no_lost_events)
{
    generate->delay_low_ns = random_log_uniform(random, 1000, UINT64_C(10000000));
    generate->delay_high_ns = generate->delay_low_ns << random_below(random, 11);
    const bool loses = !no_lost_events && generate->weights[OP_COMPLETE] > 0 &&
                       random_chance(random, 1, 4);
    generate->never_percent = loses ? 1 + (uint32_t)random_below(random, 15) : 0;
}

void generate_init(struct generate *generate, struct random *random, uint64_t capacity_bytes,
                   uint64_t granule_bytes, const struct generate_limits *limits)
{
    CHECK(capacity_bytes >= 1);
    CHECK(granule_bytes >= 1);
    *generate = (struct generate){0};
    draw_weights(generate, random, limits);
    const uint64_t half = at_least(capacity_bytes / 2, 1);
    const uint64_t size_max = at_least(
        at_most(limits->size_max_bytes == 0 ? half : limits->size_max_bytes, UINT64_C(1)
                                                                                 << SIZE_SHIFT_MAX),
        1);
    draw_sizes(generate, random, at_least(capacity_bytes / draw_block_count(random), 1),
               granule_bytes, size_max);
    draw_delays(generate, random, limits->no_lost_events);
    /* Above 100 only refused requests say that the device is full. */
    generate->fill_percent = (uint32_t)random_between(random, 70, 115);
    generate->align_percent = random_chance(random, 1, 5) ? 1 + (uint32_t)random_below(random, 25)
                                                          : 0;
    generate->program_count_max = 1 + (uint32_t)random_below(random,
                                                             random_chance(random, 1, 4) ? 16 : 5);
    generate->tag_count = (uint8_t)(1 + random_below(random, 12));
}

/* --- sizes --- */

static const struct block *any_block(struct random *random, const struct model *model)
{
    const size_t count = model_live_count(model);
    return count == 0 ? NULL : model_live(model, (size_t)random_below(random, count));
}

/* True if many blocks would have to be repacked.  If some of many blocks are unmovable, a request
 * for nearly all that is free asks for a packing without slack, which neither allocator nor judge
 * can decide in reasonable time.  Such requests are made only among few blocks, with all blocks
 * movable, or under contracts that decide them at once. */
static bool has_many_blocks_to_repack(const struct model *model)
{
    return model_contract(model)->defrag == DEFRAG_REPACK &&
           model_live_count(model) > TIGHT_COUNT_MAX;
}

static bool is_hard_to_pack(const struct model *model)
{
    return has_many_blocks_to_repack(model) && model_event_count(model) > 0;
}

/* The size, or one that can be decided: far below what is free, or more than will ever be.  In a
 * device that is nearly full even a small request asks for a packing almost without slack; one
 * granule fits in any hole. */
static uint64_t decidable_size(const struct model *model, uint64_t size_bytes)
{
    const uint64_t free_bytes = model_free_bytes(model);
    const bool is_nearly_full = free_bytes < model_capacity_bytes(model) / 32;
    if (!is_hard_to_pack(model) || (size_bytes <= free_bytes / 4 && !is_nearly_full)) {
        return size_bytes;
    }
    if (model_dying_count(model) == 0 && model_program_count(model) == 0) {
        return free_bytes + model_granule_bytes(model);
    }
    return is_nearly_full ? model_granule_bytes(model) : at_least(free_bytes / 4, 1);
}

uint64_t generate_interesting_size(struct random *random, const struct model *model)
{
    static const struct fit fits[] = {{FIT_HOLE, 0, 0},  {FIT_HOLE, 0, 1}, {FIT_HOLE, 0, -1},
                                      {FIT_FREE, 0, 0},  {FIT_FREE, 0, 1}, {FIT_HALF, 0, 0},
                                      {FIT_FREE, 0, -1}, {FIT_BLOCK, 0, 0}};
    struct fit fit = fits[random_below(random, sizeof fits / sizeof fits[0])];
    const size_t count = model_live_count(model);
    if (fit_has_index((enum fit_kind)fit.kind) && count > 0) {
        fit.index = (uint32_t)random_below(random, count);
    }
    return decidable_size(model, fit_bytes(&fit, model));
}

static uint64_t draw_size(const struct generate *generate, struct random *random,
                          const struct model *model)
{
    if (random_chance(random, 1, 20)) {
        return generate_interesting_size(random, model);
    }
    uint32_t weights[GENERATE_SIZE_CLASS_COUNT];
    uint64_t sum = 0;
    for (int i = 0; i < GENERATE_SIZE_CLASS_COUNT; i++) {
        weights[i] = generate->sizes[i].low_bytes == 0 ? 0 : generate->sizes[i].weight;
        sum += weights[i];
    }
    if (sum == 0) {
        return model_granule_bytes(model);
    }
    const uint32_t i = random_weighted(random, weights, GENERATE_SIZE_CLASS_COUNT);
    const uint64_t low = generate->sizes[i].low_bytes;
    return decidable_size(
        model, random_log_uniform(random, low, at_least(generate->sizes[i].high_bytes, low)));
}

/* True if few blocks fill the device, whatever class they are drawn from. */
static bool makes_few_blocks(const struct generate *generate, const struct model *model)
{
    for (int i = 0; i < GENERATE_SIZE_CLASS_COUNT; i++) {
        const uint64_t low = generate->sizes[i].low_bytes;
        if (low > 0 && low < model_capacity_bytes(model) / TIGHT_COUNT_MAX) {
            return false;
        }
    }
    return model_live_count(model) <= TIGHT_COUNT_MAX;
}

static uint8_t draw_align_log2(const struct generate *generate, struct random *random,
                               const struct model *model)
{
    if (!random_chance(random, generate->align_percent, 100) ||
        (model_contract(model)->defrag == DEFRAG_REPACK && !makes_few_blocks(generate, model))) {
        return 0; /* alignments and many blocks together are as hard to pack */
    }
    const uint32_t low = log2_floor(model_granule_bytes(model)) + 1;
    const uint32_t high = (uint32_t)at_most(log2_floor(model_capacity_bytes(model)),
                                            OP_ALIGN_LOG2_MAX);
    return low >= high ? 0 : (uint8_t)random_between(random, low, high);
}

static uint64_t draw_delay(const struct generate *generate, struct random *random,
                           const struct model *model)
{
    if (random_chance(random, generate->never_percent, 100) && !has_many_blocks_to_repack(model)) {
        return DELAY_NEVER;
    }
    return random_log_uniform(
        random, at_least(generate->delay_low_ns, 1),
        at_least(generate->delay_high_ns, at_least(generate->delay_low_ns, 1)));
}

/* --- ops: each maker gives false when its kind does not apply in this state --- */

struct maker {
    struct generate *generate;
    struct random *random;
    const struct model *model;
};

/* Now and then a size that can never be: it must be refused at once, in whatever state. */
static uint64_t request_size(const struct maker *maker)
{
    static const uint64_t impossible[] = {0, (UINT64_C(1) << 63) + 1, UINT64_MAX,
                                          UINT64_C(1) << 62};
    if (random_chance(maker->random, 1, 200)) {
        return impossible[random_below(maker->random, 4)];
    }
    return draw_size(maker->generate, maker->random, maker->model);
}

static void make_request(const struct maker *maker, enum op_kind kind, struct op *op)
{
    *op = op_make(kind);
    op->size_bytes = request_size(maker);
    op->align_log2 = draw_align_log2(maker->generate, maker->random, maker->model);
    op->tag = (uint8_t)random_below(maker->random, at_least(maker->generate->tag_count, 1));
    if (random_chance(maker->random, 1, 8)) { /* what a shape is before its padding */
        op->unpadded_bytes = op->size_bytes == 0 ? 0
                                                 : at_least(op->size_bytes - op->size_bytes / 4, 1);
    }
}

/* An op of that kind on the block or program; false: there is none. */
static bool make_on(enum op_kind kind, const struct block *block, struct op *op)
{
    if (block == NULL) {
        return false;
    }
    *op = op_make(kind);
    op->ref = block->op;
    return true;
}

/* A held block is released rather than freed: freed while held it would stay for the whole trial.
 */
static bool make_free(const struct maker *maker, enum op_kind kind, struct op *op)
{
    const struct block *block = any_block(maker->random, maker->model);
    if (block == NULL) {
        return false;
    }
    const bool is_held = block->hold_count > 0 && !random_chance(maker->random, 1, 64);
    return make_on(is_held ? OP_RELEASE : kind, block, op);
}

/* Sets when an op's event ends: one that is pending already, or an own one after a delay. */
static void set_event(const struct maker *maker, struct op *op)
{
    const size_t count = model_event_count(maker->model);
    if (count > 0 && (count >= PENDING_MAX || random_chance(maker->random, 1, 3))) {
        op->event = model_event_op(maker->model, (size_t)random_below(maker->random, count));
        return;
    }
    op->delay_ns = draw_delay(maker->generate, maker->random, maker->model);
}

static bool make_free_after(const struct maker *maker, struct op *op)
{
    if (!model_contract(maker->model)->queues_frees) {
        return make_free(maker, OP_FREE, op);
    }
    if (!make_free(maker, OP_FREE_AFTER, op)) {
        return false;
    }
    if (op->kind == OP_FREE_AFTER) {
        set_event(maker, op);
    }
    return true;
}

static bool make_use(const struct maker *maker, struct op *op)
{
    if (!make_on(OP_USE, any_block(maker->random, maker->model), op)) {
        return false;
    }
    set_event(maker, op);
    return true;
}

static const struct block *held_block(const struct maker *maker)
{
    for (int i = 0; i < PROBE_COUNT; i++) {
        const struct block *block = any_block(maker->random, maker->model);
        if (block != NULL && block->hold_count > 0) {
            return block;
        }
    }
    return NULL;
}

/* Holds few blocks at a time: many spans of unmovable blocks make judging slow, not better. */
static bool make_hold(const struct maker *maker, struct op *op)
{
    const struct block *block = any_block(maker->random, maker->model);
    const struct block *held = held_block(maker);
    if (block == NULL || (held == NULL && has_many_blocks_to_repack(maker->model))) {
        return false;
    }
    return held == NULL ? make_on(OP_HOLD, block, op) : make_on(OP_RELEASE, held, op);
}

static bool make_donate(const struct maker *maker, struct op *op)
{
    const struct block *block = any_block(maker->random, maker->model);
    if (block == NULL || block->hold_count > 0) {
        return false;
    }
    (void)make_on(OP_DONATE, block, op);
    op->tag = (uint8_t)random_below(maker->random, at_least(maker->generate->tag_count, 1));
    op->size_bytes = random_chance(maker->random, 1, 4)
                         ? random_between(maker->random, 1, at_least(block->size_bytes, 1))
                         : at_least(block->requested_bytes, 1);
    return op->size_bytes <= block->size_bytes;
}

static const struct block *any_program(const struct maker *maker)
{
    const size_t count = model_program_count(maker->model);
    return count == 0 ? NULL
                      : model_program(maker->model, (size_t)random_below(maker->random, count));
}

static bool make_load(const struct maker *maker, struct op *op)
{
    if (!model_contract(maker->model)->programs) {
        return false;
    }
    if (model_program_count(maker->model) >= maker->generate->program_count_max) {
        return make_on(OP_UNLOAD, any_program(maker), op);
    }
    *op = op_make(OP_LOAD);
    op->size_bytes = draw_size(maker->generate, maker->random, maker->model);
    op->tag = (uint8_t)random_below(maker->random, at_least(maker->generate->tag_count, 1));
    if (!random_chance(maker->random, 1, 4)) {
        const uint64_t stack = draw_size(maker->generate, maker->random, maker->model);
        op->stack_bytes = is_hard_to_pack(maker->model) ? stack
                                                        : stack << random_below(maker->random, 3);
    }
    return true;
}

static bool make_execute(const struct maker *maker, struct op *op)
{
    const struct block *program = any_program(maker);
    if (program == NULL) {
        return make_load(maker, op);
    }
    if (is_hard_to_pack(maker->model) &&
        (program->state == BLOCK_GONE ||
         program->stack_bytes > model_free_bytes(maker->model) / 4)) {
        return false;
    }
    (void)make_on(OP_EXECUTE, program, op);
    op->delay_ns = draw_delay(maker->generate, maker->random, maker->model);
    return true;
}

static void make_advance(const struct maker *maker, struct op *op)
{
    *op = op_make(OP_ADVANCE);
    op->delay_ns = random_log_uniform(
        maker->random, at_least(maker->generate->delay_low_ns, 1),
        at_least(maker->generate->delay_high_ns, maker->generate->delay_low_ns + 1));
}

static bool make_complete(const struct maker *maker, struct op *op)
{
    const size_t count = model_event_count(maker->model);
    if (count == 0) {
        return false;
    }
    *op = op_make(OP_COMPLETE);
    op->event = model_event_op(maker->model, (size_t)random_below(maker->random, count));
    return true;
}

static void make_fault(const struct maker *maker, struct op *op)
{
    *op = op_make(OP_FAULT);
    op->tag = (uint8_t)random_below(maker->random, FAULT_CALL_COUNT);
    op->size_bytes = 1 + random_below(maker->random, 4);
}

static bool make_op(const struct maker *maker, enum op_kind kind, struct op *op)
{
    switch (kind) {
    case OP_FREE:
        return make_free(maker, kind, op);
    case OP_FREE_AFTER:
        return make_free_after(maker, op);
    case OP_USE:
        return make_use(maker, op);
    case OP_HOLD:
        return make_hold(maker, op);
    case OP_RELEASE:
        return make_on(kind, held_block(maker), op);
    case OP_DONATE:
        return make_donate(maker, op);
    case OP_LOAD:
        return make_load(maker, op);
    case OP_UNLOAD:
        return make_on(kind, any_program(maker), op);
    case OP_EXECUTE:
        return make_execute(maker, op);
    case OP_DEFRAGMENT:
        *op = op_make(kind);
        return model_contract(maker->model)->defrag != DEFRAG_NONE;
    case OP_COMPLETE:
        return make_complete(maker, op);
    case OP_ADVANCE:
        make_advance(maker, op);
        return true;
    case OP_TOUCH:
        return make_on(kind, any_block(maker->random, maker->model), op);
    case OP_REPORT:
        *op = op_make(kind);
        return true;
    case OP_FAULT:
        make_fault(maker, op);
        return true;
    default:
        make_request(maker, kind, op);
        return true;
    }
}

/* --- the next op --- */

static bool is_full(const struct generate *generate, const struct model *model)
{
    const uint64_t percent_bytes = at_least(model_capacity_bytes(model) / 100, 1);
    return (model_in_use_bytes(model) + model_reserved_bytes(model)) / percent_bytes >=
           generate->fill_percent;
}

static enum op_kind draw_free_kind(const struct generate *generate, struct random *random)
{
    const uint32_t weights[2] = {generate->weights[OP_FREE], generate->weights[OP_FREE_AFTER]};
    return weights[0] + weights[1] == 0 || random_weighted(random, weights, 2) == 0 ? OP_FREE
                                                                                    : OP_FREE_AFTER;
}

static enum op_kind draw_request_kind(const struct generate *generate)
{
    return generate->weights[OP_ALLOC] > 0 || generate->weights[OP_OUTPUT] == 0 ? OP_ALLOC
                                                                                : OP_OUTPUT;
}

/* Draws a kind, and steers towards the trial's fill: a device that is never full is never judged.
 */
static enum op_kind draw_kind(const struct generate *generate, struct random *random,
                              const struct model *model)
{
    enum op_kind kind = (enum op_kind)random_weighted(random, generate->weights, OP_KIND_COUNT);
    const bool is_request = kind == OP_ALLOC || kind == OP_OUTPUT || kind == OP_LOAD;
    const bool is_free = kind == OP_FREE || kind == OP_FREE_AFTER || kind == OP_UNLOAD;
    const bool was_refused = model_last_result(model) == TARGET_NO_MEMORY;
    if (is_request && (was_refused ? random_chance(random, 3, 4) : is_full(generate, model))) {
        kind = random_chance(random, 4, 5) ? draw_free_kind(generate, random) : kind;
    } else if (is_free && !was_refused && !is_full(generate, model) &&
               random_chance(random, 3, 4)) {
        kind = draw_request_kind(generate);
    }
    return kind;
}

struct op generate_next(struct generate *generate, struct random *random, const struct model *model,
                        uint8_t host)
{
    const struct maker maker = {generate, random, model};
    struct op op;
    if (!make_op(&maker, draw_kind(generate, random, model), &op) ||
        (generate->never_kinds >> op.kind & 1u) != 0) {
        make_request(&maker, draw_request_kind(generate), &op);
    }
    op.host = host;
    return op;
}
