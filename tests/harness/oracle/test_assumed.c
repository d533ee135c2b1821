/* What must have been pinned, or a refusal was premature: held against every small heap that a
 * message allows. */
#include "harness/base/random.h"
#include "harness/oracle/assumed.h"
#include "tests/harness/oracle/judged_everywhere.h"
#include "tests/harness/oracle/random_oom.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

enum { GRANULES = 8, ROOM = 40 };

/* A heap that is built block by block, and what is counted over all of them.  The granule is a
 * byte. */
struct heaps {
    struct oom oom;
    struct oom_block blocks[GRANULES];
    struct oracle *oracle;
    struct assumed *assumed; /* where it is asked */
    void (*visit)(struct heaps *heaps);
    uint64_t judged_count, justified_count, unknown_count;
    /* by request and free bytes: a justified heap has no more than the condition asks for */
    bool is_reached[ROOM][ROOM];
};

static uint64_t free_bytes(const struct oom *oom)
{
    uint64_t taken = 0;
    for (size_t i = 0; i < oom->block_count; i++) {
        taken += oom->blocks[i].size_bytes;
    }
    return oom->capacity_bytes - taken;
}

static uint64_t pinned_bytes(const struct oom *oom, uint64_t from, uint64_t to)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < oom->block_count; i++) {
        const struct oom_block *block = &oom->blocks[i];
        const uint64_t end = block->address + block->size_bytes;
        const uint64_t low = block->address > from ? block->address : from;
        const uint64_t high = end < to ? end : to;
        bytes += block->hold_count > 0 && high > low ? high - low : 0;
    }
    return bytes;
}

/* Judges the heap and requires what the condition promises of it. */
static void require_condition(struct heaps *heaps, const struct setup_reported *reported)
{
    struct oom *oom = &heaps->oom;
    struct verdict verdict = {0};
    oom->reported = *reported;
    oom->request.other_bytes = oom->request.size_bytes;
    const struct premature_unless unless = assumed_condition(oom);
    if (unless.bytes == 0) {
        return;
    }
    const uint64_t pinned = pinned_bytes(oom, unless.from, unless.to);
    ck_assert_uint_lt(unless.from, unless.to);
    ck_assert_uint_le(unless.to, oom->capacity_bytes);
    oracle_judge(heaps->oracle, oom, 0, &verdict);
    heaps->judged_count++;
    if (verdict.kind != VERDICT_JUSTIFIED) {
        return;
    }
    heaps->justified_count++;
    ck_assert_uint_ge(pinned, unless.bytes);
    const bool is_exact = reported->requested_low == reported->requested_high &&
                          reported->free_low == reported->free_high;
    if (is_exact && pinned == unless.bytes) {
        heaps->is_reached[reported->requested_low][reported->free_low] = true;
    }
}

/* Both what is printed exactly and ranges around it. */
static void try_ranges(struct heaps *heaps, uint64_t amount, uint64_t free)
{
    for (uint64_t i = 0; i < 9; i++) {
        const struct setup_reported reported = {.is_there = true,
                                                .requested_low = amount - i % 3 / 2,
                                                .requested_high = amount + i % 3 % 2,
                                                .free_low = free - i / 3 / 2,
                                                .free_high = free + i / 3 % 2};
        require_condition(heaps, &reported);
    }
}

static void visit_buffers(struct heaps *heaps)
{
    const uint64_t free = free_bytes(&heaps->oom);
    for (uint64_t bytes = 1; bytes <= free; bytes++) {
        heaps->oom.request = (struct oom_request){
            .class = REQUEST_BUFFER, .size_bytes = bytes, .align_bytes = 1, .own_op = OP_NONE};
        try_ranges(heaps, bytes, free);
    }
}

static void visit_stacks(struct heaps *heaps)
{
    const uint64_t free = free_bytes(&heaps->oom);
    for (uint64_t stack = 1; stack < free; stack++) {
        for (uint64_t image = 1; image <= 2; image++) {
            heaps->oom.request = (struct oom_request){.class = REQUEST_PROGRAM,
                                                      .size_bytes = image,
                                                      .align_bytes = 1,
                                                      .stack_bytes = stack,
                                                      .own_op = OP_NONE};
            try_ranges(heaps, stack, free);
        }
    }
}

/* Every way to fill [at, GRANULES) with free bytes, movable and pinned blocks. */
static void build_from(struct heaps *heaps, uint64_t at)
{
    struct oom *oom = &heaps->oom;
    if (at == GRANULES) {
        heaps->visit(heaps);
        return;
    }
    build_from(heaps, at + 1);
    for (uint64_t size = 1; size <= GRANULES - at; size++) {
        for (uint32_t holds = 0; holds < 2; holds++) {
            oom->blocks[oom->block_count++] = (struct oom_block){.address = at,
                                                                 .size_bytes = size,
                                                                 .align_bytes = 1,
                                                                 .op = (uint32_t)at,
                                                                 .hold_count = holds,
                                                                 .state = BLOCK_LIVE};
            build_from(heaps, at + size);
            oom->block_count--;
        }
    }
}

static void visit_all(struct heaps *heaps, enum defrag_contract defrag)
{
    heaps->oom = (struct oom){.capacity_bytes = GRANULES,
                              .granule_bytes = 1,
                              .defrag = defrag,
                              .drains = true,
                              .evicts = true,
                              .blocks = heaps->blocks};
    heaps->oracle = oracle_create();
    build_from(heaps, 0);
    oracle_destroy(heaps->oracle);
    ck_assert_uint_gt(heaps->judged_count, 10000);
    ck_assert_uint_gt(heaps->justified_count, 100);
}

static const enum defrag_contract moving[] = {DEFRAG_SLIDE, DEFRAG_REPACK};

EVERY_TEST(.timeout_s = 300);

TEST(no_buffer_is_refused_rightly_with_fewer_bytes_pinned, .to = 2)
{
    struct heaps heaps = {.visit = visit_buffers};
    visit_all(&heaps, moving[_i]);
    /* And with as many it is: 1 pin of 1 byte in 8, and 2 pins. */
    ck_assert(heaps.is_reached[4][4]);
    ck_assert(heaps.is_reached[4][5]);
    ck_assert(heaps.is_reached[3][5]);
}

TEST(no_stack_is_refused_rightly_with_nothing_pinned_below, .to = 2)
{
    struct heaps heaps = {.visit = visit_stacks};
    visit_all(&heaps, moving[_i]);
    ck_assert(heaps.is_reached[2][4]);
}

/* 100 bytes, 30 to 33 asked, 72 to 75 free. */
static struct oom make_reported(void)
{
    return (struct oom){
        .capacity_bytes = 100,
        .granule_bytes = 1,
        .defrag = DEFRAG_REPACK,
        .request = {.size_bytes = 31, .other_bytes = 31, .align_bytes = 1, .own_op = OP_NONE},
        .reported = {.is_there = true,
                     .requested_low = 30,
                     .requested_high = 33,
                     .free_low = 72,
                     .free_high = 75}};
}

/* Three spans of at most 32 hold the least that is free, so two pins; of these 72, 7 may lie
 * outside. */
TEST(the_condition_is_of_the_largest_request_and_the_least_that_is_free)
{
    static const struct {
        uint64_t free_low;
        struct premature_unless unless;
    } rows[] = {{72, {.bytes = 2, .from = 3, .to = 96}},
                {65, {.bytes = 2, .from = 0, .to = 100}}, /* 65 = 2 * 32 + 1 */
                {64, {.bytes = 1, .from = 15, .to = 84}},
                {33, {.bytes = 1, .from = 0, .to = 100}}, /* as much as is asked */
                {32, {.bytes = 0}}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct oom oom = make_reported();
        oom.reported.free_low = rows[i].free_low;
        const struct premature_unless unless = assumed_condition(&oom);
        ck_assert_uint_eq(unless.bytes, rows[i].unless.bytes);
        ck_assert_uint_eq(unless.from, rows[i].unless.from);
        ck_assert_uint_eq(unless.to, rows[i].unless.to);
    }
}

TEST(where_heaps_may_hold_the_request_or_not_nothing_is_proved, .to = 4)
{
    struct oom oom = make_reported();
    oom.reported.is_there = _i != 0;
    oom.defrag = _i == 1 ? DEFRAG_NONE : oom.defrag;
    oom.faults_fired = _i == 2 ? 1u << FAULT_COPY : 0;
    oom.request.align_bytes = _i == 3 ? 2 : 1;
    const struct premature_unless unless = assumed_condition(&oom);
    ck_assert_uint_eq(unless.bytes + unless.from + unless.to, 0);
}

/* --- where nothing moves --- */

enum { GAP_COUNT = GRANULES + 1 };

/* Whether the request fits between blocks that lie so: the stack at the bottom, and then its image.
 */
static bool fits(const struct oom_request *request, const uint64_t gaps[GAP_COUNT])
{
    uint64_t left[GAP_COUNT];
    memcpy(left, gaps, sizeof left);
    if (left[0] < request->stack_bytes) {
        return false;
    }
    left[0] -= request->stack_bytes;
    for (size_t i = 0; i < GAP_COUNT; i++) {
        if (left[i] >= request->size_bytes) {
            return true;
        }
    }
    return false;
}

/* Whether some arrangement of the blocks from number i on, the first of them at `at` or above, has
 * room.  Those that are not placed by assumption stay. */
static bool some_fits(const struct oom *oom, size_t i, uint64_t at, uint64_t gaps[GAP_COUNT])
{
    if (i == oom->block_count) {
        gaps[i] = oom->capacity_bytes - at;
        return fits(&oom->request, gaps);
    }
    const struct oom_block *block = &oom->blocks[i];
    const uint64_t first = block->is_placed ? at : block->address;
    const uint64_t last = block->is_placed ? oom->capacity_bytes - block->size_bytes
                                           : block->address;
    bool is_found = false;
    for (uint64_t address = first; !is_found && address >= at && address <= last; address++) {
        gaps[i] = address - at;
        is_found = some_fits(oom, i + 1, address + block->size_bytes, gaps);
    }
    return is_found;
}

/* A refusal that is justified as it is, is unknown if and only if another arrangement has room. */
static void require_all_arrangements(struct heaps *heaps)
{
    struct oom *oom = &heaps->oom;
    struct verdict verdict = {0};
    uint64_t gaps[GAP_COUNT] = {0};
    oom->request.other_bytes = oom->request.size_bytes;
    oracle_judge(heaps->oracle, oom, 0, &verdict);
    heaps->judged_count++;
    if (verdict.kind != VERDICT_JUSTIFIED) {
        return;
    }
    heaps->justified_count++;
    assumed_judge(heaps->assumed, heaps->oracle, oom, &verdict);
    ck_assert_int_eq(verdict.kind,
                     some_fits(oom, 0, 0, gaps) ? VERDICT_UNKNOWN : VERDICT_JUSTIFIED);
    heaps->unknown_count += verdict.kind == VERDICT_UNKNOWN;
}

static void visit_placements(struct heaps *heaps)
{
    struct oom *oom = &heaps->oom;
    const uint64_t free = free_bytes(oom);
    for (size_t i = 0; i < oom->block_count; i++) { /* what visit_all calls held */
        oom->blocks[i].is_placed = oom->blocks[i].hold_count > 0;
    }
    for (uint64_t bytes = 1; bytes <= free + 1; bytes++) {
        oom->request = (struct oom_request){
            .class = REQUEST_BUFFER, .size_bytes = bytes, .align_bytes = 1, .own_op = OP_NONE};
        require_all_arrangements(heaps);
        for (uint64_t image = 1; image <= 2; image++) {
            oom->request = (struct oom_request){.class = REQUEST_PROGRAM,
                                                .size_bytes = image,
                                                .align_bytes = 1,
                                                .stack_bytes = bytes,
                                                .own_op = OP_NONE};
            require_all_arrangements(heaps);
        }
    }
}

TEST(where_nothing_moves_all_arrangements_must_agree)
{
    struct heaps heaps = {.visit = visit_placements, .assumed = assumed_create()};
    visit_all(&heaps, DEFRAG_NONE);
    ck_assert_uint_gt(heaps.unknown_count, 10000);
    ck_assert_uint_gt(heaps.justified_count, 2 * heaps.unknown_count);
    assumed_destroy(heaps.assumed);
}

/* --- any heap --- */

/* Of some blocks that are held, nobody said so; nor where some lie, if nothing may move. */
static bool assume_some(struct random *random, struct oom *oom)
{
    bool has_any = false;
    for (size_t i = 0; i < oom->block_count; i++) {
        struct oom_block *block = &oom->blocks[i];
        const bool is_buffer = block->kind == BLOCK_BUFFER || block->kind == BLOCK_OUTPUT;
        block->is_assumed = is_buffer && block->state == BLOCK_LIVE && block->hold_count > 0 &&
                            random_chance(random, 2, 3);
        block->is_placed = is_buffer && block->state == BLOCK_LIVE && !oom_may_move(oom) &&
                           !oom_block_is_absent(block) && random_chance(random, 1, 2);
        has_any = has_any || block->is_assumed || block->is_placed;
    }
    oom->request.other_bytes = oom->request.size_bytes;
    return has_any;
}

/* Whatever else is in the heap: the verdict is unknown if and only if the two heaps have two, and
 * the checker believes it. */
TEST(two_heaps_with_two_verdicts_are_unknown_and_that_is_proved)
{
    enum { DRAWN = 20000, NODES_MAX = 100000 };
    static const struct random_oom_wish wish = {
        .granules_max = 40, .block_count_max = 14, .has_alignments = true};
    struct oracle *oracle = oracle_create();
    struct assumed *assumed = assumed_create();
    struct oom oom = {0};
    struct random random;
    uint64_t unknown_count = 0, placed_count = 0;
    random_init(&random, 1);
    for (uint64_t i = 0; i < draws_count(DRAWN, 1); i++) {
        struct verdict first = {0}, second = {0};
        random_oom_draw(&random, &wish, &oom);
        if (!assume_some(&random, &oom)) {
            continue;
        }
        oracle_judge(oracle, &oom, NODES_MAX, &first);
        const enum verdict_kind plain = first.kind;
        assumed_judge(assumed, oracle, &oom, &first);
        const struct proof *proof = assumed_prove(assumed, oracle, &oom, NODES_MAX, &second);
        ck_assert_int_eq(first.kind, second.kind);
        ck_assert(first.kind == plain || plain == VERDICT_JUSTIFIED);
        ck_assert_int_eq(proof->kind == PROOF_ASSUMED, first.kind != plain);
        ck_assert_uint_eq(first.premature_unless.bytes, 0);
        require_certificate(&oom, proof, &second, NULL);
        unknown_count += proof->kind == PROOF_ASSUMED;
        placed_count += proof->kind == PROOF_ASSUMED && oom_has_placed(&oom);
    }
    ck_assert_uint_gt(unknown_count, 100 / draws_period());
    ck_assert_uint_gt(placed_count, 100 / draws_period());
    oom_deinit(&oom);
    assumed_destroy(assumed);
    oracle_destroy(oracle);
}
