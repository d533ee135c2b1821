#include "harness/oracle/relations.h"

#include "harness/base/check.h"

/* A tenth of a second: a question that took little may be harder in another order. */
static const uint64_t nodes_least = UINT64_C(1) << 18;

const char *relation_words(enum relation relation)
{
    static const char *const words[RELATION_COUNT] = {
        [RELATION_NONE] = "as it is",
        [RELATION_RENAMED] = "when its blocks are renamed",
        [RELATION_DOUBLED] = "when all its sizes are doubled",
        [RELATION_PERMUTED] = "when its spans are permuted",
        [RELATION_RESIZED] = "when its request is resized",
    };
    CHECK(relation < RELATION_COUNT);
    return words[relation];
}

void relations_deinit(struct relations *relations)
{
    oom_deinit(&relations->other);
    reach_deinit(&relations->reach);
}

static struct oom *copy_state(struct relations *relations, const struct oom *oom)
{
    oom_copy(&relations->other, oom);
    return &relations->other;
}

/* Returns how many blocks have a place; the others come after them. */
static size_t count_placed(const struct oom *oom)
{
    size_t count = oom->block_count;
    while (count > 0 && oom_block_is_absent(&oom->blocks[count - 1])) {
        count--;
    }
    return count;
}

/* --- names --- */

static uint32_t rename_op(uint32_t op)
{
    return op == OP_NONE ? OP_NONE : OP_NONE - 1 - op;
}

static const struct oom *make_renamed(struct relations *relations, const struct oom *oom)
{
    struct oom *other = copy_state(relations, oom);
    const size_t placed_count = count_placed(oom);
    other->request.own_op = rename_op(oom->request.own_op);
    for (size_t i = placed_count; i < oom->block_count; i++) {
        other->blocks[i] = oom->blocks[oom->block_count - 1 - (i - placed_count)];
    }
    for (size_t i = 0; i < other->block_count; i++) {
        other->blocks[i].op = rename_op(other->blocks[i].op);
    }
    return other;
}

/* --- sizes --- */

/* Doubles bytes.  A size that is too large to double exceeds the device before and after. */
static uint64_t double_bytes(uint64_t bytes)
{
    return bytes > UINT64_MAX / 2 ? UINT64_MAX : bytes * 2;
}

static void double_regions(struct oom *oom)
{
    oom->region_align_bytes = double_bytes(oom->region_align_bytes);
    oom->promised.step_bytes = double_bytes(oom->promised.step_bytes);
    for (size_t i = 0; i < oom->region_count; i++) {
        oom->regions[i].address = double_bytes(oom->regions[i].address);
        oom->regions[i].size_bytes = double_bytes(oom->regions[i].size_bytes);
    }
}

static const struct oom *make_doubled(struct relations *relations, const struct oom *oom)
{
    if (oom->capacity_bytes > UINT64_MAX / 8 || oom->request.align_bytes > UINT64_MAX / 8) {
        return NULL;
    }
    struct oom *other = copy_state(relations, oom);
    struct oom_request *request = &other->request;
    other->capacity_bytes = double_bytes(oom->capacity_bytes);
    other->granule_bytes = double_bytes(oom->granule_bytes);
    other->header_bytes = double_bytes(oom->header_bytes);
    request->size_bytes = double_bytes(request->size_bytes);
    request->asked_bytes = double_bytes(request->asked_bytes);
    request->asked_align_bytes = double_bytes(request->asked_align_bytes);
    request->align_bytes = double_bytes(request->align_bytes);
    request->stack_bytes = double_bytes(request->stack_bytes);
    double_regions(other);
    for (size_t i = 0; i < other->block_count; i++) {
        struct oom_block *block = &other->blocks[i];
        block->address = oom_block_is_absent(block) ? OOM_IN_HOST_MEMORY
                                                    : double_bytes(block->address);
        block->size_bytes = double_bytes(block->size_bytes);
        block->surplus_bytes = double_bytes(block->surplus_bytes);
        block->align_bytes = double_bytes(block->align_bytes);
        block->stack_bytes = double_bytes(block->stack_bytes);
    }
    return other;
}

/* Returns how much the request changes: 1 to 128 granules, for the same request always the same. */
static uint64_t choose_step(const struct oom *oom)
{
    return oom->granule_bytes << (oom->request.size_bytes / oom->granule_bytes) % 8;
}

static const struct oom *make_larger(struct relations *relations, const struct oom *oom)
{
    const struct oom_request *request = &oom->request;
    const bool has_stack = request->class == REQUEST_PROGRAM;
    if (request->size_bytes > oom->capacity_bytes || request->stack_bytes > oom->capacity_bytes ||
        (request->size_bytes == 0 && !has_stack)) {
        return NULL;
    }
    struct oom *other = copy_state(relations, oom);
    other->request.size_bytes += request->size_bytes > 0 ? choose_step(oom) : 0;
    other->request.stack_bytes += has_stack ? oom->granule_bytes : 0;
    return other;
}

static const struct oom *make_smaller(struct relations *relations, const struct oom *oom)
{
    const struct oom_request *request = &oom->request;
    const uint64_t granule = oom->granule_bytes;
    const uint64_t step = choose_step(oom);
    if (request->size_bytes <= granule && request->stack_bytes == 0) {
        return NULL;
    }
    struct oom *other = copy_state(relations, oom);
    if (request->size_bytes > granule) {
        other->request.size_bytes = request->size_bytes > step + granule
                                        ? request->size_bytes - step
                                        : granule;
    }
    other->request.stack_bytes -= granule < request->stack_bytes ? granule : request->stack_bytes;
    return other;
}

/* --- spans --- */

/* The largest alignment that decides where something may be put. */
static uint64_t find_alignment(const struct reach *reach)
{
    uint64_t align = reach->need > 0 ? reach->align : 1;
    for (size_t i = 0; i < reach->range_count; i++) {
        const struct reach_range *range = &reach->ranges[i];
        align = range->is_movable && range->align_bytes > align ? range->align_bytes : align;
    }
    return align;
}

/* The place where the new order is written: from block `count` and address `at` upwards. */
struct permuting {
    const struct oom *oom;
    struct oom *other;
    size_t count;
    uint64_t at;
    uint64_t align; /* each span moves by a multiple of it */
    size_t span_count;
    bool is_possible;
};

/* A block that decides nothing by its alignment keeps none that its new address does not have. */
static void put_block(struct permuting *permuting, size_t block, uint64_t address)
{
    struct oom_block *put = &permuting->other->blocks[permuting->count++];
    *put = permuting->oom->blocks[block];
    put->address = address;
    put->surplus_bytes = 0;
    if (address % put->align_bytes != 0) {
        put->align_bytes = permuting->oom->granule_bytes;
    }
}

/* The span [start, end) with the blocks from first up to, not including, last. */
static void put_span(struct permuting *permuting, uint64_t start, uint64_t end, size_t first,
                     size_t last)
{
    if (end > start && (permuting->at - start) % permuting->align != 0) {
        permuting->is_possible = false;
        return;
    }
    for (size_t i = first; i < last; i++) {
        put_block(permuting, i, permuting->oom->blocks[i].address - start + permuting->at);
    }
    permuting->at += end - start;
    permuting->span_count++;
}

/* Puts the spans from the top down to, not including, the unmovable range `lowest`;
 * reach->range_count: down to the bottom. */
static void put_spans(struct permuting *permuting, const struct reach *reach, size_t lowest)
{
    uint64_t end = permuting->oom->capacity_bytes;
    size_t last = count_placed(permuting->oom);
    for (size_t i = reach->range_count; i-- > 0 && permuting->is_possible;) {
        const struct reach_range *range = &reach->ranges[i];
        if (range->is_movable) {
            continue;
        }
        put_span(permuting, range->start + range->size_bytes, end, range->block + (size_t)1, last);
        if (i == lowest) {
            return;
        }
        put_block(permuting, range->block, permuting->at);
        permuting->at += range->size_bytes;
        end = range->start;
        last = range->block;
    }
    if (permuting->is_possible) {
        put_span(permuting, reach->bottom, end, 0, last);
    }
}

/* The lowest span takes part only if no block lies below the bottom: it would have to lie there
 * again. */
static const struct oom *make_permuted(struct relations *relations, const struct oom *oom)
{
    struct reach *reach = &relations->reach;
    reach_decide_fully(reach, oom);
    size_t lowest = 0;
    while (lowest < reach->range_count && reach->ranges[lowest].is_movable) {
        lowest++;
    }
    if (oom->promised.grows || lowest == reach->range_count || reach_is_too_large(reach) ||
        reach_fixed_below(reach) != NULL) {
        return NULL;
    }
    const bool takes_all = oom->blocks[0].address >= reach->bottom;
    const struct reach_range *fixed = &reach->ranges[lowest];
    struct permuting permuting = {.oom = oom,
                                  .other = copy_state(relations, oom),
                                  .at = takes_all ? reach->bottom
                                                  : fixed->start + fixed->size_bytes,
                                  .count = takes_all ? 0 : fixed->block + (size_t)1,
                                  .align = find_alignment(reach),
                                  .is_possible = true};
    put_spans(&permuting, reach, takes_all ? reach->range_count : lowest);
    if (!permuting.is_possible || permuting.span_count < 2) {
        return NULL;
    }
    CHECK(permuting.count == count_placed(oom));
    CHECK(permuting.at == oom->capacity_bytes);
    return permuting.other;
}

/* --- asking --- */

const struct oom *relations_make(struct relations *relations, const struct oom *oom,
                                 enum verdict_kind kind, enum relation relation)
{
    CHECK(kind == VERDICT_JUSTIFIED || kind == VERDICT_PREMATURE);
    switch (relation) {
    case RELATION_RENAMED:
        return make_renamed(relations, oom);
    case RELATION_DOUBLED:
        return make_doubled(relations, oom);
    case RELATION_PERMUTED:
        return make_permuted(relations, oom);
    case RELATION_RESIZED:
        return kind == VERDICT_JUSTIFIED ? make_larger(relations, oom)
                                         : make_smaller(relations, oom);
    default:
        return NULL;
    }
}

static uint64_t choose_budget(const struct verdict *verdict)
{
    const uint64_t twice = verdict->nodes > nodes_least / 2 ? verdict->nodes * 2 : nodes_least;
    return twice < verdict->nodes_max ? twice : verdict->nodes_max;
}

enum relation relations_find_broken(struct relations *relations, const struct oom *oom,
                                    const struct verdict *verdict,
                                    const struct relation_judge *judge, uint32_t *asked_count,
                                    enum verdict_kind *answer)
{
    *asked_count = 0;
    if ((verdict->kind != VERDICT_JUSTIFIED && verdict->kind != VERDICT_PREMATURE) ||
        oom->block_count > RELATIONS_BLOCKS_MAX) {
        return RELATION_NONE;
    }
    const uint64_t nodes_max = choose_budget(verdict);
    for (unsigned i = RELATION_NONE + 1; i < RELATION_COUNT; i++) {
        const struct oom *other = relations_make(relations, oom, verdict->kind, (enum relation)i);
        if (other == NULL) {
            continue;
        }
        ++*asked_count;
        *answer = judge->judge(judge->context, other, nodes_max);
        if (*answer != verdict->kind && *answer != VERDICT_UNKNOWN) {
            return (enum relation)i;
        }
    }
    return RELATION_NONE;
}
