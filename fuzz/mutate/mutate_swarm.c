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
        const struct fit fit = draw_fit(random);
        op->flags ^= OP_FITTED;
        op->size_bytes = is_fit ? fit_pack(&fit) : op->size_bytes;
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

const struct edit swarm_edits[] = {{"swarm", 40, draw_swarm}, {0}};
