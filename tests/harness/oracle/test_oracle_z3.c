/* The oracle against the solver Z3, which was written by others: random heaps of up to 14 blocks,
 * so full that both answers are common. */
#include "harness/base/check.h"
#include "harness/base/random.h"
#include "harness/oracle/oracle.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#include <inttypes.h>
#include <stdio.h>
#include <z3.h>

/* The budget of one question is counted in steps of the solver, so that its answers are the same on
 * every machine. */
enum { QUESTIONS = 2000, QUESTIONS_LONG = 20000, QUESTIONS_PER_CONTEXT = 50 };
enum { STEPS_MAX = 2000000, SHORT_BUDGETS = 400, SCATTER_COUNT = 100 };
/* Places are counted in granules with so many bits; devices end at half of that, so that no sum
 * wraps around. */
enum { BLOCKS_MAX = 14, ITEMS_MAX = BLOCKS_MAX + 1, SPANS_MAX = BLOCKS_MAX + 1, PLACE_BITS = 12 };

/* --- the state that decides, in granules, as docs/certificate.md says --- */

struct item {
    uint64_t size, align;
    size_t span; /* that it lies in; the request is the last item */
};
struct decided {
    enum defrag_contract defrag;
    bool is_hopeless; /* an unmovable block or the device's end is below the bottom */
    struct item items[ITEMS_MAX];
    size_t item_count;
    bool has_request; /* it is the last item */
    uint64_t starts[SPANS_MAX], ends[SPANS_MAX];
    size_t span_count;
};

static bool is_any_refused(const struct oom *oom, unsigned calls)
{
    return (oom->faults_fired & (calls | 1u << FAULT_HOST_MEMORY)) != 0;
}

static uint64_t time_waited_for(const struct oom *oom)
{
    uint64_t time_ns = 0;
    for (size_t i = 0;
         i < oom->block_count && oom->drains && !is_any_refused(oom, 1u << FAULT_WAIT); i++) {
        const struct oom_block *block = &oom->blocks[i];
        const bool completes = block->state == BLOCK_DYING && block->hold_count == 0;
        if (completes && block->freed_at_ns != DELAY_NEVER && block->freed_at_ns > time_ns) {
            time_ns = block->freed_at_ns;
        }
    }
    return time_ns;
}

static uint64_t bottom_at(const struct oom *oom, uint64_t time_ns)
{
    uint64_t bottom = oom->request.stack_bytes;
    for (size_t i = 0; i < oom->block_count; i++) {
        const bool is_busy = oom->blocks[i].used_until_ns > time_ns;
        bottom = is_busy && oom->blocks[i].stack_bytes > bottom ? oom->blocks[i].stack_bytes
                                                                : bottom;
    }
    return bottom;
}

static bool is_gone(const struct oom *oom, const struct oom_block *block, uint64_t time_ns)
{
    if (block->state == BLOCK_DYING) {
        return block->hold_count == 0 && block->freed_at_ns <= time_ns;
    }
    const bool evicts = oom->request.class == REQUEST_PROGRAM ? oom->program_evicts_program
                                                              : oom->evicts;
    return evicts && !is_any_refused(oom, 1u << FAULT_UNLOAD) && block->kind == BLOCK_PROGRAM &&
           block->used_until_ns <= time_ns && block->op != oom->request.own_op;
}

static void decide_items(struct decided *decided, const struct oom *oom)
{
    const uint64_t time_ns = time_waited_for(oom);
    const uint64_t bottom = bottom_at(oom, time_ns);
    const uint64_t granule = oom->granule_bytes;
    *decided = (struct decided){.defrag = is_any_refused(oom, 1u << FAULT_COPY) ? DEFRAG_NONE
                                                                                : oom->defrag,
                                .is_hopeless = bottom > oom->capacity_bytes};
    decided->starts[0] = bottom / granule;
    for (size_t i = 0; i < oom->block_count; i++) {
        const struct oom_block *block = &oom->blocks[i];
        if (is_gone(oom, block, time_ns)) {
            continue;
        }
        if (decided->defrag != DEFRAG_NONE && block->state == BLOCK_LIVE &&
            block->hold_count == 0 && block->used_until_ns <= time_ns) {
            decided->items[decided->item_count++] = (struct item){
                block->size_bytes / granule, block->align_bytes / granule, decided->span_count};
            continue;
        }
        decided->is_hopeless = decided->is_hopeless || block->address < bottom;
        decided->ends[decided->span_count++] = block->address / granule;
        decided->starts[decided->span_count] = (block->address + block->size_bytes) / granule;
    }
    decided->ends[decided->span_count++] = oom->capacity_bytes / granule;
    if (oom->request.size_bytes > 0) {
        decided->has_request = true;
        decided->items[decided->item_count++] = (struct item){
            (oom->request.size_bytes + granule - 1) / granule, oom->request.align_bytes / granule,
            0};
    }
}

/* --- random states --- */

struct random_oom {
    struct oom oom;
    struct oom_block blocks[BLOCKS_MAX];
};

enum block_fate {
    FATE_MOVABLE,
    FATE_HELD,
    FATE_USED,
    FATE_FREED,
    FATE_LOST,
    FATE_IDLE,
    FATE_BUSY,
    FATE_COUNT
};
static const uint32_t fate_weights[FATE_COUNT] = {30, 7, 6, 3, 2, 3, 2};

static void draw_fate(struct random *random, struct oom_block *block, uint64_t granule_bytes)
{
    const enum block_fate fate = (enum block_fate)random_weighted(random, fate_weights, FATE_COUNT);
    const uint64_t time_ns = random_between(random, 1, 100);
    const bool is_dying = fate == FATE_FREED || fate == FATE_LOST;
    block->kind = fate == FATE_IDLE || fate == FATE_BUSY ? BLOCK_PROGRAM : BLOCK_BUFFER;
    block->state = is_dying ? BLOCK_DYING : BLOCK_LIVE;
    block->hold_count = fate == FATE_HELD || (fate == FATE_LOST && random_chance(random, 1, 2));
    if (fate == FATE_USED || fate == FATE_BUSY) {
        block->used_until_ns = random_chance(random, 1, 4) ? DELAY_NEVER : time_ns;
    }
    if (is_dying) {
        block->freed_at_ns = fate == FATE_LOST && block->hold_count == 0 ? DELAY_NEVER : time_ns;
    }
    if (block->kind == BLOCK_PROGRAM) {
        block->stack_bytes = random_below(random, 4) * granule_bytes;
    }
}

static void draw_contract(struct random *random, struct oom *oom)
{
    static const uint32_t defrag_weights[] = {1, 2, 7};
    oom->defrag = (enum defrag_contract)random_weighted(random, defrag_weights, 3);
    oom->drains = random_chance(random, 2, 3);
    oom->evicts = random_chance(random, 1, 2);
    oom->program_evicts_program = random_chance(random, 1, 2);
    oom->faults_fired = random_chance(random, 1, 16)
                            ? (uint32_t)random_below(random, 1u << FAULT_CALL_COUNT)
                            : 0;
}

static void draw_request(struct random *random, struct oom *oom, uint64_t largest,
                         unsigned align_log2_max)
{
    struct oom_request *request = &oom->request;
    request->size_bytes = random_between(random, 1, largest) * oom->granule_bytes;
    request->align_bytes = oom->granule_bytes << random_below(random, align_log2_max + 1);
    request->own_op = OP_NONE;
    if (random_chance(random, 1, 3)) {
        request->class = REQUEST_PROGRAM;
        request->stack_bytes = random_below(random, 6) * oom->granule_bytes;
        request->own_op = random_chance(random, 1, 2) ? (uint32_t)random_below(random, BLOCKS_MAX)
                                                      : OP_NONE;
    }
}

/* Returns where the last block ends. */
static uint64_t draw_blocks(struct random *random, struct random_oom *drawn, uint64_t largest,
                            unsigned align_log2_max)
{
    struct oom *oom = &drawn->oom;
    const uint64_t granule = oom->granule_bytes;
    const bool is_stack_free = random_chance(random, 7, 8);
    uint64_t end = random_below(random, 4) * granule +
                   (is_stack_free ? oom->request.stack_bytes : 0);
    oom->block_count = random_chance(random, 1, 2) ? BLOCKS_MAX
                                                   : random_between(random, 2, BLOCKS_MAX);
    for (size_t i = 0; i < oom->block_count; i++) {
        struct oom_block *block = &drawn->blocks[i];
        const uint64_t hole = random_chance(random, 1, 3) ? random_below(random, largest / 2 + 1)
                                                          : 0;
        *block = (struct oom_block){.op = (uint32_t)i};
        block->align_bytes = granule << random_below(random, align_log2_max + 1);
        draw_fate(random, block, granule);
        block->size_bytes = random_between(random, 1, largest) * granule;
        block->address = (end + hole * granule + block->align_bytes - 1) / block->align_bytes *
                         block->align_bytes;
        end = block->address + block->size_bytes;
        /* No block lies in the stack that is reserved now. */
        if (block->used_until_ns != 0 && block->stack_bytes > drawn->blocks[0].address) {
            block->stack_bytes = drawn->blocks[0].address;
        }
    }
    return end;
}

/* Up to 5 % more room than what must be placed takes, and often none: the capacity or the request
 * grows. */
static void tighten_heap(struct random *random, struct oom *oom)
{
    struct decided decided;
    uint64_t need = 0;
    uint64_t room = 0;
    uint64_t longest = 0;
    decide_items(&decided, oom);
    for (size_t i = 0; i < decided.item_count; i++) {
        need += decided.items[i].size;
    }
    for (size_t i = 0; i < decided.span_count && !decided.is_hopeless; i++) {
        const uint64_t length = decided.ends[i] - decided.starts[i];
        room += length;
        longest = length > longest ? length : longest;
    }
    need += random_chance(random, 1, 2) ? random_below(random, need / 20 + 2) : 0;
    if (room < need) {
        oom->capacity_bytes += (need - room) * oom->granule_bytes;
    } else if (oom->request.size_bytes / oom->granule_bytes + room - need <= longest) {
        /* A request above the longest span would be no question. */
        oom->request.size_bytes += (room - need) * oom->granule_bytes;
    }
}

static int compare_addresses(const void *a, const void *b)
{
    const uint64_t left = ((const struct oom_block *)a)->address;
    const uint64_t right = ((const struct oom_block *)b)->address;
    return left < right ? -1 : left > right;
}

/* Moves block i to the end of another one if there is room. */
static void scatter_block(struct random_oom *drawn, size_t i, size_t other)
{
    struct oom_block *block = &drawn->blocks[i];
    const uint64_t to = drawn->blocks[other].address + drawn->blocks[other].size_bytes;
    bool is_free = i != other && block->hold_count == 0 &&
                   to + block->size_bytes <= drawn->oom.capacity_bytes;
    for (size_t k = 0; k < drawn->oom.block_count; k++) {
        const struct oom_block *there = &drawn->blocks[k];
        is_free = is_free && (k == i || there->address >= to + block->size_bytes ||
                              there->address + there->size_bytes <= to);
    }
    block->address = is_free ? to : block->address;
}

/* A full device, of which one block becomes the request, while the others are scattered: a packing
 * exists, and no granule is left over.  Every other time one granule goes from a block to the
 * request, and often there is none. */
static void draw_puzzle(struct random *random, struct random_oom *drawn, uint64_t largest)
{
    struct oom *oom = &drawn->oom;
    oom->defrag = DEFRAG_REPACK;
    oom->faults_fired = 0;
    oom->request = (struct oom_request){.align_bytes = oom->granule_bytes, .own_op = OP_NONE};
    oom->block_count = BLOCKS_MAX;
    for (size_t i = 0; i < BLOCKS_MAX; i++) {
        drawn->blocks[i] = (struct oom_block){.address = oom->capacity_bytes,
                                              .size_bytes = oom->granule_bytes *
                                                            random_between(random, 1, largest),
                                              .align_bytes = oom->granule_bytes,
                                              .op = (uint32_t)i,
                                              .hold_count = random_chance(random, 1, 4)};
        oom->capacity_bytes += drawn->blocks[i].size_bytes;
    }
    const size_t request = random_below(random, BLOCKS_MAX);
    oom->request.size_bytes = drawn->blocks[request].size_bytes;
    drawn->blocks[request] = drawn->blocks[--oom->block_count];
    for (int i = 0; i < SCATTER_COUNT; i++) {
        scatter_block(drawn, random_below(random, oom->block_count),
                      random_below(random, oom->block_count));
    }
    struct oom_block *smaller = &drawn->blocks[random_below(random, oom->block_count)];
    if (random_chance(random, 1, 2) && smaller->hold_count == 0 &&
        smaller->size_bytes > oom->granule_bytes) {
        smaller->size_bytes -= oom->granule_bytes;
        oom->request.size_bytes += oom->granule_bytes;
    }
    qsort(drawn->blocks, oom->block_count, sizeof *drawn->blocks, compare_addresses);
}

static void draw_oom(struct random *random, struct random_oom *drawn)
{
    const uint64_t largest = random_between(random, 2, 40);
    const unsigned align_log2_max = random_chance(random, 1, 4) ? 3 : 0;
    struct oom *oom = &drawn->oom;
    *oom = (struct oom){.granule_bytes = UINT64_C(512) << random_below(random, 6),
                        .blocks = drawn->blocks};
    draw_contract(random, oom);
    if (random_chance(random, 1, 3)) {
        draw_puzzle(random, drawn, largest);
    } else {
        draw_request(random, oom, largest, align_log2_max);
        oom->capacity_bytes = draw_blocks(random, drawn, largest, align_log2_max);
        tighten_heap(random, oom);
    }
    oom->request.size_bytes -= random_chance(random, 1, 4)
                                   ? random_below(random, oom->granule_bytes)
                                   : 0;
}

/* --- the question in Z3's words --- */

struct encoding {
    Z3_context context;
    Z3_solver solver;
    const struct decided *decided;
    Z3_ast in_span[ITEMS_MAX][SPANS_MAX]; /* item lies in span */
    Z3_ast starts[ITEMS_MAX], ends[ITEMS_MAX];
};

static void require_condition(const struct encoding *encoding, Z3_ast condition)
{
    Z3_solver_assert(encoding->context, encoding->solver, condition);
}

static bool is_request(const struct decided *decided, size_t i)
{
    return decided->has_request && i + 1 == decided->item_count;
}

/* An item lies in exactly one span, which is known for blocks that slide. */
static void encode_choices(struct encoding *encoding)
{
    const struct decided *decided = encoding->decided;
    int ones[SPANS_MAX];
    for (size_t i = 0; i < decided->item_count; i++) {
        for (size_t span = 0; span < decided->span_count; span++) {
            const Z3_symbol name = Z3_mk_int_symbol(encoding->context, (int)(i * SPANS_MAX + span));
            encoding->in_span[i][span] = Z3_mk_const(encoding->context, name,
                                                     Z3_mk_bool_sort(encoding->context));
            ones[span] = 1;
        }
        require_condition(encoding, Z3_mk_pbeq(encoding->context, (unsigned)decided->span_count,
                                               encoding->in_span[i], ones, 1));
        if (decided->defrag == DEFRAG_SLIDE && !is_request(decided, i)) {
            require_condition(encoding, encoding->in_span[i][decided->items[i].span]);
        }
    }
}

/* No span holds more than its length.  Without alignments and an order nothing else matters. */
static void encode_lengths(struct encoding *encoding)
{
    const struct decided *decided = encoding->decided;
    for (size_t span = 0; span < decided->span_count; span++) {
        Z3_ast here[ITEMS_MAX];
        int sizes[ITEMS_MAX];
        for (size_t i = 0; i < decided->item_count; i++) {
            here[i] = encoding->in_span[i][span];
            sizes[i] = (int)decided->items[i].size;
        }
        const int length = (int)(decided->ends[span] - decided->starts[span]);
        require_condition(encoding, Z3_mk_pble(encoding->context, (unsigned)decided->item_count,
                                               here, sizes, length));
    }
}

static Z3_ast make_number(const struct encoding *encoding, uint64_t value)
{
    return Z3_mk_unsigned_int64(encoding->context, value,
                                Z3_mk_bv_sort(encoding->context, PLACE_BITS));
}

/* Where item i begins and ends, and that it lies within its span. */
static void encode_place(struct encoding *encoding, size_t i)
{
    const struct decided *decided = encoding->decided;
    const struct item *item = &decided->items[i];
    Z3_context context = encoding->context;
    const Z3_symbol name = Z3_mk_int_symbol(context, (int)(ITEMS_MAX * SPANS_MAX + i));
    encoding->starts[i] = Z3_mk_const(context, name, Z3_mk_bv_sort(context, PLACE_BITS));
    encoding->ends[i] = Z3_mk_bvadd(context, encoding->starts[i],
                                    make_number(encoding, item->size));
    require_condition(encoding,
                      Z3_mk_bvult(context, encoding->starts[i],
                                  make_number(encoding, UINT64_C(1) << (PLACE_BITS - 1))));
    require_condition(encoding, Z3_mk_eq(context, make_number(encoding, 0),
                                         Z3_mk_bvand(context, encoding->starts[i],
                                                     make_number(encoding, item->align - 1))));
    for (size_t span = 0; span < decided->span_count; span++) {
        Z3_ast within[] = {
            Z3_mk_bvuge(context, encoding->starts[i], make_number(encoding, decided->starts[span])),
            Z3_mk_bvule(context, encoding->ends[i], make_number(encoding, decided->ends[span]))};
        require_condition(encoding, Z3_mk_implies(context, encoding->in_span[i][span],
                                                  Z3_mk_and(context, 2, within)));
    }
}

/* One of the two items ends before the other begins: the lower one, when both are blocks that
 * slide. */
static void encode_pair(struct encoding *encoding, size_t lower, size_t upper)
{
    const struct decided *decided = encoding->decided;
    Z3_context context = encoding->context;
    Z3_ast either[] = {Z3_mk_bvule(context, encoding->ends[lower], encoding->starts[upper]),
                       Z3_mk_bvule(context, encoding->ends[upper], encoding->starts[lower])};
    const bool is_ordered = decided->defrag == DEFRAG_SLIDE && !is_request(decided, upper);
    require_condition(encoding, is_ordered ? either[0] : Z3_mk_or(context, 2, either));
}

static void encode_question(struct encoding *encoding)
{
    const struct decided *decided = encoding->decided;
    bool needs_places = decided->defrag == DEFRAG_SLIDE;
    if (decided->is_hopeless) {
        require_condition(encoding, Z3_mk_false(encoding->context));
        return;
    }
    for (size_t i = 0; i < decided->item_count; i++) {
        needs_places = needs_places || decided->items[i].align > 1;
    }
    CHECK(decided->ends[decided->span_count - 1] < 1u << (PLACE_BITS - 1));
    encode_choices(encoding);
    encode_lengths(encoding);
    for (size_t i = 0; i < decided->item_count && needs_places; i++) {
        encode_place(encoding, i);
        for (size_t lower = 0; lower < i; lower++) {
            encode_pair(encoding, lower, i);
        }
    }
}

static void stop_at_error(Z3_context context, Z3_error_code error)
{
    ck_abort_msg("Z3: %s", Z3_get_error_msg(context, error));
}

static Z3_context make_context(void)
{
    Z3_config config = Z3_mk_config();
    Z3_context context = Z3_mk_context(config);
    Z3_set_error_handler(context, stop_at_error);
    Z3_del_config(config);
    return context;
}

/* VERDICT_UNKNOWN when the steps do not suffice. */
static enum verdict_kind ask_z3(Z3_context context, const struct decided *decided)
{
    /* Finite domains: the fastest of its solvers for choices, sums and numbers of fixed width. */
    Z3_solver solver = Z3_mk_solver_for_logic(context, Z3_mk_string_symbol(context, "QF_FD"));
    struct encoding encoding = {.context = context, .solver = solver, .decided = decided};
    Z3_solver_inc_ref(context, solver);
    Z3_params params = Z3_mk_params(context);
    Z3_params_inc_ref(context, params);
    Z3_params_set_uint(context, params, Z3_mk_string_symbol(context, "rlimit"), STEPS_MAX);
    Z3_solver_set_params(context, solver, params);
    encode_question(&encoding);
    const Z3_lbool answer = Z3_solver_check(context, solver);
    Z3_params_dec_ref(context, params);
    Z3_solver_dec_ref(context, solver);
    return answer == Z3_L_TRUE    ? VERDICT_PREMATURE
           : answer == Z3_L_FALSE ? VERDICT_JUSTIFIED
                                  : VERDICT_UNKNOWN;
}

/* --- the comparison --- */

struct tally {
    uint64_t premature[3], justified[3], undecided[3]; /* by enum defrag_contract */
    uint64_t searched; /* the oracle needed more than bounds and a quick choice of places */
    uint64_t unknown;  /* to the oracle with a short budget */
};

static void compare_answers(uint64_t index, const struct oom *oom, enum verdict_kind answer,
                            const struct verdict *verdict)
{
    ck_assert_msg(answer == VERDICT_UNKNOWN || answer == verdict->kind,
                  "question %" PRIu64 ", defrag %d: Z3 says %s, the oracle %s (%s)", index,
                  (int)oom->defrag, verdict_name(answer), verdict_name(verdict->kind),
                  verdict->reason);
}

static void ask_question(struct oracle *oracle, Z3_context context, uint64_t index,
                         struct tally *tally)
{
    struct random random;
    struct random_oom drawn;
    struct decided decided;
    struct verdict verdict = {0};
    random_init(&random, random_derive(1, index));
    draw_oom(&random, &drawn);
    decide_items(&decided, &drawn.oom);
    oracle_judge(oracle, &drawn.oom, 0, &verdict);
    const enum verdict_kind answer = ask_z3(context, &decided);
    tally->undecided[drawn.oom.defrag] += answer == VERDICT_UNKNOWN;
    tally->premature[drawn.oom.defrag] += answer == VERDICT_PREMATURE;
    tally->justified[drawn.oom.defrag] += answer == VERDICT_JUSTIFIED;
    tally->searched += verdict.nodes > 0;
    compare_answers(index, &drawn.oom, answer, &verdict);
    /* A short budget leaves the first search little, so that the other one decides, or nobody. */
    oracle_judge(oracle, &drawn.oom, 1 + index % SHORT_BUDGETS, &verdict);
    tally->unknown += verdict.kind == VERDICT_UNKNOWN;
    if (verdict.kind != VERDICT_UNKNOWN) {
        compare_answers(index, &drawn.oom, answer, &verdict);
    }
}

EVERY_TEST(.timeout_s = 1800);

TEST(random_heaps_are_judged_as_by_z3)
{
    static const char *const names[] = {
        [DEFRAG_NONE] = "none", [DEFRAG_SLIDE] = "slide", [DEFRAG_REPACK] = "repack"};
    const uint64_t questions = getenv("HBMSTRESS_EXHAUSTIVE") != NULL ? QUESTIONS_LONG
                                                                      : draws_count(QUESTIONS, 1);
    struct oracle *oracle = oracle_create();
    struct tally tally = {0};
    uint64_t undecided = 0;
    for (uint64_t i = 0; i < questions;) {
        /* A context keeps all formulas until its end. */
        Z3_context context = make_context();
        for (const uint64_t end = i + QUESTIONS_PER_CONTEXT; i < end; i++) {
            ask_question(oracle, context, i, &tally);
        }
        Z3_del_context(context);
    }
    for (int i = DEFRAG_NONE; i <= DEFRAG_REPACK; i++) {
        printf("z3, %s: %" PRIu64 " premature, %" PRIu64 " justified, %" PRIu64 " undecided\n",
               names[i], tally.premature[i], tally.justified[i], tally.undecided[i]);
        ck_assert_uint_gt(tally.premature[i], questions / 100);
        ck_assert_uint_gt(tally.justified[i], questions / 100);
        undecided += tally.undecided[i];
    }
    printf("z3: %" PRIu64 " questions, %" PRIu64 " searched by the oracle, %" PRIu64
           " unknown with a short budget\n",
           questions, tally.searched, tally.unknown);
    ck_assert_uint_lt(undecided, questions / 20);
    oracle_destroy(oracle);
}
