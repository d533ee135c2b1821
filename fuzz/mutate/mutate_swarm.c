#include "fuzz/mutate/mutate_draw.h"

#include "harness/generate/generate.h"

enum { SWARM_OPS_MIN = 8, SWARM_OPS_MAX = 120, FIT_ONE_IN = 12 };
/* One swarm in so many asks for edges of what a size can be, and in it one request in so many. */
enum { EDGE_SWARM_ONE_IN = 8, EDGE_ONE_IN = 8 };

/* Estimates how full the device would be if every request were granted and every free took the mean
 * block: it steers a swarm towards a full device without a target that could say. */
struct tally {
    uint64_t in_use_bytes, block_count;
};

/* The properties that all ops of one swarm share. */
struct swarm {
    struct generate generate;
    bool has_edge_sizes; /* of what a size can be */
    uint8_t host;        /* of most of them */
};

static bool is_full(const struct editing *editing, const struct generate *generate,
                    const struct tally *tally)
{
    return tally->in_use_bytes >=
           editing->input->setup.capacity_bytes / 100 * generate->fill_percent;
}

static enum op_kind draw_swarm_kind(const struct editing *editing, const struct generate *generate,
                                    const struct tally *tally)
{
    struct random *random = editing->random;
    const enum op_kind kind = (enum op_kind)random_weighted(random, generate->weights,
                                                            OP_KIND_COUNT);
    const bool is_request = kind == OP_ALLOC || kind == OP_OUTPUT || kind == OP_LOAD;
    const bool is_free = kind == OP_FREE || kind == OP_FREE_AFTER || kind == OP_UNLOAD;
    if (is_request && is_full(editing, generate, tally) && random_chance(random, 4, 5)) {
        return generate->weights[OP_FREE] > 0 ? OP_FREE : OP_FREE_AFTER;
    }
    if (is_free && !is_full(editing, generate, tally) && random_chance(random, 3, 4)) {
        return generate->weights[OP_ALLOC] > 0 ? OP_ALLOC : OP_OUTPUT;
    }
    return kind;
}

static uint64_t draw_class_size(const struct editing *editing, const struct generate *generate)
{
    uint32_t weights[GENERATE_SIZE_CLASS_COUNT];
    for (int i = 0; i < GENERATE_SIZE_CLASS_COUNT; i++) {
        weights[i] = generate->sizes[i].low_bytes == 0 ? 0 : generate->sizes[i].weight;
    }
    const uint32_t i = random_weighted(editing->random, weights, GENERATE_SIZE_CLASS_COUNT);
    const struct setup *setup = &editing->input->setup;
    const uint64_t unit = draw_unit_bytes(setup);
    const uint64_t low = generate->sizes[i].low_bytes;
    const uint64_t size = random_log_uniform(editing->random, low, generate->sizes[i].high_bytes);
    const bool is_odd = random_chance(editing->random, 1, 4); /* no multiple of the granule */
    return draw_short_size(setup, is_odd ? size : (size + unit - 1) / unit * unit);
}

static void set_sizes(const struct editing *editing, const struct swarm *swarm, struct op *op)
{
    struct random *random = editing->random;
    const struct generate *generate = &swarm->generate;
    const bool is_fit = random_chance(random, 1, FIT_ONE_IN);
    op->align_log2 = random_chance(random, generate->align_percent, 100) ? op->align_log2 : 0;
    op->tag = (uint8_t)(op->tag % generate->tag_count);
    if (is_fit != ((op->flags & OP_FITTED) != 0)) {
        struct op fitted = *op;
        draw_fit(random, &fitted);
        op->flags ^= OP_FITTED;
        op->size_bytes = is_fit ? fitted.size_bytes : op->size_bytes;
    }
    if (!is_fit) {
        const bool is_edge = swarm->has_edge_sizes && random_chance(random, 1, EDGE_ONE_IN);
        op->size_bytes = is_edge ? draw_edge_size(editing) : draw_class_size(editing, generate);
    }
    op->stack_bytes = op->kind == OP_LOAD && random_chance(random, 3, 4)
                          ? draw_class_size(editing, generate)
                          : 0;
}

static void set_delay(struct random *random, const struct generate *generate, struct op *op)
{
    const uint64_t low = generate->delay_low_ns < 1 ? 1 : generate->delay_low_ns;
    const uint64_t high = generate->delay_high_ns < low ? low : generate->delay_high_ns;
    op->delay_ns = draw_short_delay(random_log_uniform(random, low, high));
    if (op->kind != OP_ADVANCE && random_chance(random, generate->never_percent, 100)) {
        op->delay_ns = DELAY_NEVER;
    }
}

static bool is_granted(const struct editing *editing, const struct op *op)
{
    return draw_makes_block(op) && op->kind != OP_DONATE && (op->flags & OP_FITTED) == 0 &&
           op->size_bytes <= editing->input->setup.capacity_bytes;
}

static void count_op(const struct editing *editing, struct tally *tally, const struct op *op)
{
    if (is_granted(editing, op)) {
        tally->in_use_bytes += op->size_bytes;
        tally->block_count++;
    } else if ((op->kind == OP_FREE || op->kind == OP_FREE_AFTER) && tally->block_count > 0) {
        tally->in_use_bytes -= tally->in_use_bytes / tally->block_count;
        tally->block_count--;
    }
}

static void add_op(struct editing *editing, const struct swarm *swarm, struct tally *tally)
{
    const struct generate *generate = &swarm->generate;
    struct op *op = block_draw(editing, draw_swarm_kind(editing, generate, tally));
    const struct op_kind_info *info = op_kind_info((enum op_kind)op->kind);
    op->host = random_chance(editing->random, 1, 8) ? op->host : swarm->host;
    if (info->can_be_fitted) {
        set_sizes(editing, swarm, op);
    } else if (info->has_delay && op->event == OP_NONE && op->kind != OP_FAULT) {
        set_delay(editing->random, generate, op);
    }
    count_op(editing, tally, op);
}

/* A run of ops with weights, sizes and delays of its own, which leave much out: that reaches states
 * that runs with a bit of everything never do (harness/generate/generate.h).  What was there before
 * it is as full as its requests say: to play it first and draw against its state was measured to
 * find no more, and would run an allocator that may crash in the engine's own process. */
static bool draw_swarm(struct editing *editing)
{
    struct random *random = editing->random;
    const struct setup *setup = &editing->input->setup;
    const struct op_list *ops = &editing->input->ops;
    const size_t at = draw_place(editing);
    const uint32_t all = (UINT32_C(1) << OP_KIND_COUNT) - 1;
    const struct generate_limits limits = {.allowed_kinds = random_chance(random, 1, 4) ? all : 0};
    struct swarm swarm = {.has_edge_sizes = random_chance(random, 1, EDGE_SWARM_ONE_IN),
                          .host = (uint8_t)random_below(random, setup->host_count)};
    generate_init(&swarm.generate, random, setup->capacity_bytes, draw_unit_bytes(setup), &limits);
    struct tally tally = {0};
    for (size_t i = 0; i < at; i++) {
        count_op(editing, &tally, &ops->ops[i]);
    }
    for (size_t left = (size_t)random_log_uniform(random, SWARM_OPS_MIN, SWARM_OPS_MAX); left > 0;
         left--) {
        add_op(editing, &swarm, &tally);
    }
    return block_insert(editing, at);
}

enum { BLOCKS_MIN = 4, BLOCKS_MAX = 64, STEP_MAX = 5 };

/* Appends equal requests, about count of them, which together take the whole device, or one part in
 * `parts` of it. */
static size_t block_equal(struct editing *editing, size_t count, uint64_t parts)
{
    const struct setup *setup = &editing->input->setup;
    const uint64_t all = draw_capacity_units(setup) / parts;
    const uint64_t units = all / count == 0 ? 1 : all / count;
    const uint64_t fitting = all / units < 2 * count ? all / units : 2 * count;
    const struct op like = draw_op(editing, OP_ALLOC); /* its host and lane */
    for (uint64_t i = 0; i < fitting; i++) {
        struct op *op = block_add(editing, OP_ALLOC);
        op->size_bytes = draw_short_size(setup, units * draw_unit_bytes(setup));
        op->host = like.host;
        op->lane = like.lane;
    }
    return (size_t)fitting;
}

/* The device fills up with equal blocks. */
static bool fill_heap(struct editing *editing)
{
    (void)block_equal(editing, (size_t)random_log_uniform(editing->random, BLOCKS_MIN, BLOCKS_MAX),
                      1);
    return block_insert(editing, draw_place(editing));
}

/* Draws how the teeth of a comb go: most simply they are freed; or each behind an event of its own,
 * or they stay and the others are freed around them, held. */
static enum op_kind draw_tooth(struct random *random)
{
    static const uint8_t kinds[] = {OP_FREE, OP_FREE, OP_FREE, OP_FREE_AFTER, OP_HOLD, OP_USE};
    return (enum op_kind)kinds[random_below(random, sizeof kinds)];
}

/* Equal blocks side by side, every so-manieth of which is freed, held or used: holes none of which
 * is large. */
static bool comb_heap(struct editing *editing)
{
    struct random *random = editing->random;
    const size_t at = draw_place(editing);
    const size_t wanted = (size_t)random_log_uniform(random, BLOCKS_MIN, BLOCKS_MAX);
    const size_t count = block_equal(editing, wanted, random_between(random, 1, 2));
    const size_t step = (size_t)random_between(random, 2, STEP_MAX);
    const enum op_kind kind = draw_tooth(random);
    const uint64_t delay = kind == OP_FREE_AFTER || kind == OP_USE ? draw_delay(random) : 0;
    if (count == 0) {
        return false;
    }
    const struct op like = editing->block.ops[0];
    for (size_t i = (size_t)random_below(random, step); i < count; i += step) {
        struct op *op = block_add(editing, kind);
        op->ref = (uint32_t)(at + i);
        op->delay_ns = delay;
        op->host = like.host;
        op->lane = like.lane;
    }
    return block_insert(editing, at);
}

const struct edit swarm_edits[] = {
    {"fill", 3, fill_heap}, {"comb", 5, comb_heap}, {"swarm", 40, draw_swarm}, {0}};
