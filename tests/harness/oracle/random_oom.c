#include "tests/harness/oracle/random_oom.h"

#include "harness/base/check.h"

#include <stdlib.h>
#include <string.h>

enum { TIME_COUNT = 6, ALIGN_LOG2_MAX = 2, SPAN_COUNT_MAX = 20, TIGHT_BLOCK_COUNT_MAX = 60 };

static void reserve_blocks(struct oom *oom, size_t block_count)
{
    if (block_count <= oom->block_capacity) {
        return;
    }
    oom->block_capacity = block_count * 2;
    oom->blocks = realloc(oom->blocks, oom->block_capacity * sizeof *oom->blocks);
    CHECK(oom->blocks != NULL);
}

static uint64_t draw_align(struct random *random, bool has_alignments, uint64_t granule)
{
    const bool is_larger = has_alignments && random_chance(random, 1, 3);
    return is_larger ? granule << random_between(random, 1, ALIGN_LOG2_MAX) : granule;
}

static struct oom_block *add_block(struct oom *oom, uint64_t address, uint64_t size_bytes,
                                   uint64_t align_bytes)
{
    reserve_blocks(oom, oom->block_count + 1);
    struct oom_block *block = &oom->blocks[oom->block_count];
    *block = (struct oom_block){
        .address = address,
        .size_bytes = size_bytes,
        .align_bytes = align_bytes,
        .op = (uint32_t)oom->block_count * 3 + 1,
        .kind = BLOCK_BUFFER,
        .state = BLOCK_LIVE,
    };
    oom->block_count++;
    return block;
}

/* --- states --- */

static void draw_contract(struct random *random, struct oom *oom)
{
    static const uint32_t defrag_weights[] = {1, 2, 3};
    oom->defrag = (enum defrag_contract)random_weighted(random, defrag_weights, 3);
    oom->drains = random_chance(random, 3, 4);
    oom->evicts = random_chance(random, 3, 4);
    oom->program_evicts_program = random_chance(random, 1, 2);
    oom->faults_fired = random_chance(random, 1, 8)
                            ? (uint32_t)random_below(random, 1u << FAULT_CALL_COUNT)
                            : 0;
}

static uint64_t draw_time(struct random *random)
{
    return random_chance(random, 1, 8) ? DELAY_NEVER : random_between(random, 1, TIME_COUNT);
}

/* A freed block waits for its uses, for other events, for references, or for several of them. */
static void free_block(struct random *random, struct oom_block *block)
{
    const uint64_t freed_at_ns = draw_time(random);
    block->state = BLOCK_DYING;
    block->freed_at_ns = freed_at_ns < block->used_until_ns ? block->used_until_ns : freed_at_ns;
    if (block->hold_count > 0 && block->used_until_ns == 0 && random_chance(random, 1, 2)) {
        block->freed_at_ns = 0;
    }
}

/* stack_bytes: what lies free below all blocks. */
static void draw_state(struct random *random, uint64_t stack_bytes, uint64_t granule,
                       struct oom_block *block)
{
    static const uint32_t kind_weights[] = {3, 1, 3};
    block->kind = (uint8_t)random_weighted(random, kind_weights, 3);
    block->hold_count = random_chance(random, 1, 6) ? (uint32_t)random_between(random, 1, 3) : 0;
    block->used_until_ns = random_chance(random, 1, 4) ? draw_time(random) : 0;
    if (random_chance(random, 1, 4)) {
        free_block(random, block);
    }
    if (block->kind == BLOCK_OUTPUT && block->state == BLOCK_LIVE && block->hold_count == 1 &&
        block->used_until_ns == 0) {
        block->kind = BLOCK_RETIRED; /* memory that went bad is held once, for ever, and not used */
    }
    if (block->kind != BLOCK_PROGRAM) {
        return;
    }
    const uint64_t granules = stack_bytes / granule;
    /* A program that executes has its stack, an idle one may need any. */
    block->stack_bytes = random_below(random,
                                      (block->used_until_ns > 0 ? granules : granules + 4) + 1) *
                         granule;
    block->hold_count = 0;
    block->align_bytes = granule;
    if (block->state == BLOCK_DYING && block->used_until_ns == 0) {
        block->state = BLOCK_LIVE; /* an unloaded program waits for its executions alone */
        block->freed_at_ns = 0;
    } else if (block->state == BLOCK_DYING) {
        block->freed_at_ns = block->used_until_ns;
    }
}

static void draw_blocks(struct random *random, const struct random_oom_wish *wanted,
                        struct oom *oom)
{
    const uint64_t granule = oom->granule_bytes;
    const uint64_t granules = oom->capacity_bytes / granule;
    const size_t count_max = (size_t)random_below(random, wanted->block_count_max + 1);
    const uint64_t stack = random_chance(random, 1, 2)
                               ? random_below(random, granules / 3 + 1) * granule
                               : 0;
    uint64_t at = stack;
    oom->block_count = 0;
    while (oom->block_count < count_max) {
        const uint64_t align = draw_align(random, wanted->has_alignments, granule);
        const uint64_t gap = random_chance(random, 1, 2) ? 0
                                                         : random_between(random, 0, 3) * granule;
        const uint64_t address = (at + gap + align - 1) / align * align;
        const uint64_t size = random_between(random, 1, 1 + granules / 5) * granule;
        if (address > oom->capacity_bytes || size > oom->capacity_bytes - address) {
            return;
        }
        draw_state(random, stack, granule, add_block(oom, address, size, align));
        at = address + size;
    }
}

/* --- requests --- */

/* About what there is, without blocks that may go. */
static uint64_t draw_size(struct random *random, const struct oom *oom)
{
    uint64_t free_bytes = oom->capacity_bytes;
    for (size_t i = 0; i < oom->block_count; i++) {
        const struct oom_block *block = &oom->blocks[i];
        const bool may_go = block->state == BLOCK_DYING || block->kind == BLOCK_PROGRAM;
        free_bytes -= may_go && random_chance(random, 1, 2) ? 0 : block->size_bytes;
    }
    const uint64_t granules = free_bytes / oom->granule_bytes;
    const uint64_t low = granules < 2 || random_chance(random, 1, 2) ? 1 : granules / 2;
    const uint64_t size = random_between(random, low, granules + 2);
    return size * oom->granule_bytes - random_below(random, oom->granule_bytes);
}

/* The program that is executed: one of the blocks, or one that was evicted before. */
static void draw_own_program(struct random *random, struct oom *oom)
{
    struct oom_request *request = &oom->request;
    if (oom->block_count > 0 && random_chance(random, 2, 3)) {
        const struct oom_block *block = &oom->blocks[random_below(random, oom->block_count)];
        if (block->kind == BLOCK_PROGRAM && block->state == BLOCK_LIVE) {
            request->own_op = block->op;
            request->size_bytes = 0;
            request->stack_bytes = block->stack_bytes;
            return;
        }
    }
    request->own_op = random_chance(random, 1, 2) ? 1000 : OP_NONE;
}

static void draw_request(struct random *random, const struct random_oom_wish *wanted,
                         struct oom *oom)
{
    const bool is_program = random_chance(random, 1, 3);
    oom->request = (struct oom_request){
        .class = is_program ? REQUEST_PROGRAM : REQUEST_BUFFER,
        .size_bytes = draw_size(random, oom),
        .align_bytes = draw_align(random, wanted->has_alignments, oom->granule_bytes),
        .own_op = OP_NONE,
    };
    if (is_program) {
        const uint64_t granules = oom->capacity_bytes / oom->granule_bytes;
        oom->request.stack_bytes = random_below(random, granules / 2 + 1) * oom->granule_bytes;
        oom->request.align_bytes = oom->granule_bytes;
        draw_own_program(random, oom);
    }
    if (oom->request.size_bytes > 0 && random_chance(random, 1, 64)) {
        oom->request.size_bytes = oom->capacity_bytes +
                                  random_log_uniform(random, 1, UINT64_C(1) << 62);
    }
}

void random_oom_draw(struct random *random, const struct random_oom_wish *wanted, struct oom *oom)
{
    oom->granule_bytes = UINT64_C(1) << random_between(random, 0, 9);
    oom->capacity_bytes = random_between(random, 4, wanted->granules_max) * oom->granule_bytes;
    draw_contract(random, oom);
    draw_blocks(random, wanted, oom);
    draw_request(random, wanted, oom);
}

/* --- tight packings --- */

/* How sizes are drawn, in granules: multiples of unit from low to high. */
struct tight {
    uint64_t low, high, unit, fill_percent;
    bool has_alignments;
};

static uint64_t draw_item(struct random *random, const struct tight *tight)
{
    return random_between(random, tight->low, tight->high) * tight->unit;
}

/* Fills a span that begins at *at with movable blocks, and closes it with one that is held. Returns
 * how many granules are left free. */
static uint64_t fill_span(struct random *random, const struct tight *tight, struct oom *oom,
                          uint64_t *at)
{
    const uint64_t granule = oom->granule_bytes;
    const uint64_t blocks = random_between(random, 1, 5);
    uint64_t free_granules = 0;
    uint64_t granules = *at / granule;
    for (uint64_t i = 0; i < blocks && oom->block_count < TIGHT_BLOCK_COUNT_MAX; i++) {
        if (!random_chance(random, (uint32_t)tight->fill_percent, 100)) {
            const uint64_t gap = random_between(random, 1, tight->low * tight->unit);
            granules += gap;
            free_granules += gap;
        }
        const uint64_t align = draw_align(random, tight->has_alignments, granule);
        const uint64_t start = (granules * granule + align - 1) / align * align;
        free_granules += start / granule - granules;
        const uint64_t size = draw_item(random, tight);
        add_block(oom, start, size * granule, align);
        granules = start / granule + size;
    }
    const bool is_filled = random_chance(random, (uint32_t)tight->fill_percent, 100);
    const uint64_t gap = is_filled ? 0 : random_between(random, 1, tight->high);
    granules += gap;
    add_block(oom, granules * granule, granule, granule)->hold_count = 1;
    *at = (granules + 1) * granule;
    return free_granules + gap;
}

static struct tight draw_tight(struct random *random, bool has_alignments)
{
    const uint64_t low = random_between(random, 1, 60);
    return (struct tight){
        .low = low,
        .high = low + random_below(random, 2 * low + 1),
        .unit = random_chance(random, 1, 3) ? random_between(random, 2, 7) : 1,
        .fill_percent = random_between(random, 20, 95),
        .has_alignments = has_alignments,
    };
}

void random_oom_draw_tight(struct random *random, bool has_alignments, struct oom *oom)
{
    const struct tight tight = draw_tight(random, has_alignments);
    const uint64_t spans = random_between(random, 2, SPAN_COUNT_MAX);
    uint64_t at = 0;
    uint64_t free_granules = 0;
    oom->granule_bytes = 512;
    oom->defrag = DEFRAG_REPACK;
    oom->drains = oom->evicts = true;
    oom->program_evicts_program = false;
    oom->faults_fired = 0;
    oom->block_count = 0;
    for (uint64_t i = 0; i < spans && oom->block_count + 2 <= TIGHT_BLOCK_COUNT_MAX; i++) {
        free_granules += fill_span(random, &tight, oom, &at);
    }
    oom->capacity_bytes = at;
    const uint64_t slack = random_below(
        random, 1 + (random_chance(random, 1, 2) ? 4 : free_granules / 2 + 1));
    const uint64_t largest = free_granules > slack ? free_granules - slack : 1;
    oom->request = (struct oom_request){
        .class = REQUEST_BUFFER,
        .size_bytes = largest * oom->granule_bytes,
        .align_bytes = draw_align(random, has_alignments, oom->granule_bytes),
        .own_op = OP_NONE,
    };
}

/* --- small lists with alignments --- */

enum {
    ALIGNED_TRIES = 60,
    ALIGNED_BLOCKS_MAX = 48,
    ALIGNED_ALIGN_LOG2_MAX = 12, /* 2 MiB */
    ALIGNED_HELD_MAX = 6,
    ALIGNED_CAPACITY_MIB_MAX = 64
};

/* The lowest place that takes it; false: there is none. */
static bool place_first_fit(struct oom *oom, uint64_t size_bytes, uint64_t align_bytes)
{
    uint64_t edge = 0;
    for (size_t i = 0; i <= oom->block_count; i++) {
        const uint64_t start = (edge + align_bytes - 1) / align_bytes * align_bytes;
        const uint64_t end = i < oom->block_count ? oom->blocks[i].address : oom->capacity_bytes;
        if (start + size_bytes <= end) {
            add_block(oom, start, size_bytes, align_bytes);
            const struct oom_block added = oom->blocks[oom->block_count - 1];
            memmove(&oom->blocks[i + 1], &oom->blocks[i],
                    (oom->block_count - 1 - i) * sizeof *oom->blocks);
            oom->blocks[i] = added;
            return true;
        }
        edge = i < oom->block_count ? end + oom->blocks[i].size_bytes : end;
    }
    return false;
}

static void drop_block(struct oom *oom, size_t i)
{
    memmove(&oom->blocks[i], &oom->blocks[i + 1], (oom->block_count - 1 - i) * sizeof *oom->blocks);
    oom->block_count--;
}

/* Blocks come and go, as in a run. */
static void draw_aligned_blocks(struct random *random, struct oom *oom)
{
    const uint64_t granules = oom->capacity_bytes / oom->granule_bytes;
    const uint64_t scale = granules / random_between(random, 6, 24);
    const bool is_uniform = random_chance(random, 1, 2);
    oom->block_count = 0;
    for (int i = 0; i < ALIGNED_TRIES && oom->block_count < ALIGNED_BLOCKS_MAX; i++) {
        const uint64_t size = is_uniform ? random_between(random, 1, 2 * scale)
                                         : random_log_uniform(random, 1, 4 * scale);
        const uint64_t log2 = random_chance(random, 1, 2)
                                  ? random_below(random, ALIGNED_ALIGN_LOG2_MAX + 1)
                                  : 0;
        (void)place_first_fit(oom, size * oom->granule_bytes, oom->granule_bytes << log2);
        if (oom->block_count > 0 && random_chance(random, 1, 3)) {
            drop_block(oom, random_below(random, oom->block_count));
        }
    }
}

/* Holds some blocks, and holds or frees more until few enough may move. */
static void hold_aligned_blocks(struct random *random, size_t movable_max, struct oom *oom)
{
    size_t movable = oom->block_count;
    for (uint64_t i = random_below(random, ALIGNED_HELD_MAX + 1); i > 0 && movable > 0; i--) {
        struct oom_block *block = &oom->blocks[random_below(random, oom->block_count)];
        movable -= block->hold_count == 0;
        block->hold_count = 1;
    }
    while (movable > movable_max) {
        const size_t i = random_below(random, oom->block_count);
        if (oom->blocks[i].hold_count == 0) {
            movable--;
            if (random_chance(random, 1, 2)) {
                oom->blocks[i].hold_count = 1;
            } else {
                drop_block(oom, i);
            }
        }
    }
}

void random_oom_draw_aligned(struct random *random, size_t movable_max, struct oom *oom)
{
    oom->granule_bytes = 512;
    oom->capacity_bytes = random_between(random, 1, ALIGNED_CAPACITY_MIB_MAX) << 20;
    oom->defrag = DEFRAG_REPACK;
    oom->drains = oom->evicts = true;
    oom->program_evicts_program = false;
    oom->faults_fired = 0;
    draw_aligned_blocks(random, oom);
    hold_aligned_blocks(random, movable_max, oom);
    uint64_t free_granules = oom->capacity_bytes / oom->granule_bytes;
    for (size_t i = 0; i < oom->block_count; i++) {
        oom->blocks[i].op = (uint32_t)i; /* no two have the same, whatever came and went */
        free_granules -= oom->blocks[i].size_bytes / oom->granule_bytes;
    }
    const uint64_t spare = random_chance(random, 1, 3)
                               ? random_below(random, 8)
                               : random_log_uniform(random, 1, free_granules + 2);
    const uint64_t size = free_granules > spare ? free_granules - spare : 1;
    oom->request = (struct oom_request){
        .class = REQUEST_BUFFER,
        .size_bytes = size * oom->granule_bytes,
        .align_bytes = oom->granule_bytes << random_below(random, ALIGNED_ALIGN_LOG2_MAX + 1),
        .own_op = OP_NONE,
    };
}
