/* The exhaustive judge of small out-of-memories: each rule of docs/certificate.md by hand, and
 * every tiny heap against a search that moves each block to each granule. */
#include "harness/oracle/exhaustive.h"
#include "tests/harness/oracle/small_oom.h"
#include "tests/helpers/suite.h"

#include <inttypes.h>
#include <stdio.h>

enum { G = SMALL_GRANULE };

/* --- by hand --- */

static void expect_verdict(const char *drawing, struct oom like, enum verdict_kind expected)
{
    struct small_oom small;
    char text[SMALL_TEXT_BYTES];
    small_oom_draw(&small, &like, drawing);
    small_oom_print(&small, text);
    const enum verdict_kind kind = exhaustive_judge(&small.oom);
    ck_assert_msg(kind == expected, "%s: %s, not %s", text, verdict_name(kind),
                  verdict_name(expected));
}

/* A placement exists in some state that the mitigations reach, or in none. */
static void expect_fit(const char *drawing, struct oom like)
{
    expect_verdict(drawing, like, VERDICT_PREMATURE);
}
static void expect_no_fit(const char *drawing, struct oom like)
{
    expect_verdict(drawing, like, VERDICT_JUSTIFIED);
}

EVERY_TEST(.timeout_s = 600);

TEST(a_hole_takes_a_request_rounded_up_to_granules)
{
    expect_fit("m..m", (struct oom){.request = {.size_bytes = 2 * G}});
    expect_fit("m..m", (struct oom){.request = {.size_bytes = G + 1}});
    expect_no_fit("m..m", (struct oom){.request = {.size_bytes = 2 * G + 1}});
    expect_no_fit("mhxl", (struct oom){.request = {.size_bytes = 1}});
    expect_fit("mhxl", (struct oom){.request = {.class = REQUEST_PROGRAM, .size_bytes = 0}});
}

TEST(what_is_larger_than_the_device_fits_nowhere)
{
    expect_no_fit("....", (struct oom){.request = {.size_bytes = 5 * G}});
    expect_no_fit("....", (struct oom){.request = {.size_bytes = UINT64_MAX}});
    expect_fit("....", (struct oom){.request = {.class = REQUEST_PROGRAM, .stack_bytes = 4 * G}});
    expect_no_fit("....",
                  (struct oom){.request = {.class = REQUEST_PROGRAM, .stack_bytes = 5 * G}});
}

TEST(only_a_contract_that_drains_awaits_queued_frees)
{
    expect_fit("dd", (struct oom){.drains = true, .request = {.size_bytes = 2 * G}});
    expect_no_fit("dd", (struct oom){.request = {.size_bytes = 2 * G}});
    expect_no_fit("ll", (struct oom){.drains = true, .request = {.size_bytes = G}});
    expect_no_fit("xw", (struct oom){.drains = true, .request = {.size_bytes = G}});
}

TEST(waiting_for_a_free_ends_the_uses_that_end_before_it)
{
    const struct oom question = {
        .defrag = DEFRAG_SLIDE, .drains = true, .request = {.size_bytes = 2 * G}};
    expect_fit(".ud", question);
    expect_no_fit(".vd", question);
    expect_fit(".ve", question);
    expect_no_fit(".ne", question);
    expect_no_fit(".u.", question);
    /* Nobody awaits a free that waits for a reference, too. */
    expect_no_fit(".v.w", question);
}

TEST(slide_keeps_the_order_and_the_span_of_each_block)
{
    const struct oom question = {.defrag = DEFRAG_SLIDE, .request = {.size_bytes = 2 * G}};
    expect_fit(".m.", question);
    expect_fit(".m.m", question);
    expect_no_fit(".h.", question);
    expect_no_fit(".mh.", question);
    /* The second block must begin at an even granule: only with the order changed are two granules
     * left together. */
    struct small_oom small;
    small_oom_draw(&small, &question, "m.MM.");
    small.blocks[1].align_bytes = 2 * G;
    ck_assert_int_eq(exhaustive_judge(&small.oom), VERDICT_JUSTIFIED);
    small.oom.defrag = DEFRAG_REPACK;
    ck_assert_int_eq(exhaustive_judge(&small.oom), VERDICT_PREMATURE);
}

TEST(repack_moves_blocks_to_other_spans)
{
    const struct oom question = {.defrag = DEFRAG_REPACK, .request = {.size_bytes = 2 * G}};
    expect_fit(".mh.", question);
    expect_no_fit("mmh.", question);
    expect_fit(".mh.mMh..",
               (struct oom){.defrag = DEFRAG_REPACK, .request = {.size_bytes = 3 * G}});
    expect_no_fit(".mh.mMh..",
                  (struct oom){.defrag = DEFRAG_REPACK, .request = {.size_bytes = 4 * G}});
}

TEST(places_are_aligned)
{
    expect_fit(".m..", (struct oom){.request = {.size_bytes = 2 * G, .align_bytes = 2 * G}});
    expect_no_fit("m..m", (struct oom){.request = {.size_bytes = 2 * G, .align_bytes = 2 * G}});
    expect_fit("m..m", (struct oom){.defrag = DEFRAG_SLIDE,
                                    .request = {.size_bytes = 2 * G, .align_bytes = 2 * G}});
    expect_fit("m..m", (struct oom){.defrag = DEFRAG_REPACK,
                                    .request = {.size_bytes = 2 * G, .align_bytes = 2 * G}});
    expect_no_fit("h.m.", (struct oom){.defrag = DEFRAG_SLIDE,
                                       .request = {.size_bytes = 2 * G, .align_bytes = 4 * G}});
}

TEST(idle_programs_are_evicted_for_the_class_that_the_contract_names)
{
    const struct oom_request buffer = {.size_bytes = 2 * G};
    const struct oom_request program = {.class = REQUEST_PROGRAM, .size_bytes = 2 * G};
    expect_fit(".p", (struct oom){.evicts = true, .request = buffer});
    expect_no_fit(".p", (struct oom){.program_evicts_program = true, .request = buffer});
    expect_fit(".p", (struct oom){.program_evicts_program = true, .request = program});
    expect_no_fit(".p", (struct oom){.evicts = true, .request = program});
    expect_fit(".g", (struct oom){.evicts = true, .request = buffer});
}

TEST(busy_programs_and_the_own_program_stay)
{
    const struct oom_request program = {.class = REQUEST_PROGRAM, .size_bytes = 2 * G};
    expect_no_fit("..o",
                  (struct oom){.program_evicts_program = true, .request = {.size_bytes = 3 * G}});
    expect_no_fit(
        ".oh",
        (struct oom){.program_evicts_program = true, .defrag = DEFRAG_REPACK, .request = program});
    expect_fit(
        ".o.",
        (struct oom){.program_evicts_program = true, .defrag = DEFRAG_SLIDE, .request = program});
    expect_no_fit(
        ".y.",
        (struct oom){.evicts = true, .defrag = DEFRAG_REPACK, .request = {.size_bytes = 2 * G}});
    expect_no_fit(".b.",
                  (struct oom){.evicts = true, .drains = true, .request = {.size_bytes = 2 * G}});
    expect_fit(".bd",
               (struct oom){.evicts = true, .drains = true, .request = {.size_bytes = 3 * G}});
}

TEST(the_stack_is_reserved_until_the_executions_end)
{
    expect_no_fit("..hy", (struct oom){.request = {.size_bytes = 2 * G}});
    expect_fit("..hz", (struct oom){.request = {.size_bytes = 2 * G}});
    expect_no_fit("..hc", (struct oom){.drains = true, .request = {.size_bytes = G}});
    expect_no_fit("..cd", (struct oom){.drains = true, .request = {.size_bytes = 2 * G}});
    expect_fit("..ce", (struct oom){.drains = true, .request = {.size_bytes = 2 * G}});
    /* A program that was unloaded while it executes keeps its stack as well. */
    expect_no_fit("..r", (struct oom){.drains = true, .request = {.size_bytes = 2 * G}});
    expect_fit("..q", (struct oom){.drains = true, .request = {.size_bytes = 3 * G}});
    /* The shorter execution ends, the longer one goes on: its stack is the larger one. */
    expect_no_fit("..cbd",
                  (struct oom){.drains = true, .evicts = true, .request = {.size_bytes = 4 * G}});
    expect_fit("..cbd",
               (struct oom){.drains = true, .evicts = true, .request = {.size_bytes = 2 * G}});
}

TEST(movable_blocks_make_room_for_the_stack_and_unmovable_ones_do_not)
{
    const struct oom_request stack = {.class = REQUEST_PROGRAM, .stack_bytes = 2 * G};
    expect_no_fit("m..", (struct oom){.request = stack});
    expect_fit("m..", (struct oom){.defrag = DEFRAG_SLIDE, .request = stack});
    expect_fit("m..", (struct oom){.defrag = DEFRAG_REPACK, .request = stack});
    expect_no_fit(".h.", (struct oom){.defrag = DEFRAG_REPACK, .request = stack});
    expect_fit("..h", (struct oom){.request = stack});
    expect_no_fit("m.h.", (struct oom){.defrag = DEFRAG_SLIDE, .request = stack});
    expect_fit("m.h.", (struct oom){.defrag = DEFRAG_REPACK, .request = stack});
    expect_fit("d.h.", (struct oom){.drains = true, .request = stack});
    /* The image and the stack at once: not more than one of them fits beside m. */
    const struct oom_request both = {
        .class = REQUEST_PROGRAM, .size_bytes = G, .stack_bytes = 2 * G};
    expect_no_fit("m..", (struct oom){.defrag = DEFRAG_REPACK, .request = both});
    expect_fit("m...", (struct oom){.defrag = DEFRAG_SLIDE, .request = both});
}

TEST(a_refused_call_excuses_its_mitigation_and_host_memory_all_of_them)
{
    const struct {
        const char *drawing;
        enum fault_kind excuse;
    } cases[] = {{".m.", FAULT_COPY}, {"hd.", FAULT_WAIT}, {"hp.", FAULT_UNLOAD}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct oom question = {.defrag = DEFRAG_SLIDE, .drains = true, .evicts = true};
        question.request.size_bytes = 2 * G;
        expect_fit(cases[i].drawing, question);
        for (unsigned fault = 0; fault < FAULT_KIND_COUNT; fault++) {
            const bool is_excused = fault == cases[i].excuse || fault == FAULT_HOST_MEMORY;
            question.faults_fired = 1u << fault;
            expect_verdict(cases[i].drawing, question,
                           is_excused ? VERDICT_JUSTIFIED : VERDICT_PREMATURE);
        }
    }
}

TEST(states_above_its_limits_are_not_judged)
{
    const struct oom question = {.defrag = DEFRAG_REPACK, .request = {.size_bytes = G}};
    const struct oom drains = {.drains = true, .request = {.size_bytes = G}};
    expect_fit("mMmMmM.", question);
    expect_verdict("mMmMmMm.", question, VERDICT_NONE);
    expect_verdict("mMmMmMo.", question, VERDICT_NONE);
    expect_fit("mMmMmMm.", (struct oom){.request = {.size_bytes = G}});
    expect_verdict("pPpPpPp.", (struct oom){.evicts = true, .request = {.size_bytes = G}},
                   VERDICT_NONE);
    struct small_oom small;
    small_oom_draw(&small, &drains, "dDdDdh");
    for (size_t i = 0; i < 5; i++) {
        small.blocks[i].freed_at_ns = 10 + i;
    }
    ck_assert_int_eq(exhaustive_judge(&small.oom), VERDICT_NONE);
    small.blocks[4].freed_at_ns = 10;
    ck_assert_int_eq(exhaustive_judge(&small.oom), VERDICT_PREMATURE);
}

/* --- every tiny heap --- */

/* One state of a tiny heap, and who was put where in it: a bit for each granule. */
struct literal {
    const struct oom *oom;
    uint64_t now_ns, bottom; /* bottom in granules */
    unsigned gone;           /* a bit for each block */
    bool moves;
};

static bool literal_is_free(const struct literal *literal, unsigned taken, uint64_t start,
                            uint64_t size)
{
    const unsigned range = ((1u << size) - 1) << start;
    return start >= literal->bottom && start + size <= literal->oom->capacity_bytes / G &&
           (taken & range) == 0;
}

static bool literal_request_fits(const struct literal *literal, unsigned taken)
{
    const struct oom_request *request = &literal->oom->request;
    const uint64_t granules = literal->oom->capacity_bytes / G;
    const uint64_t size = request->size_bytes / G + (request->size_bytes % G != 0);
    if (size > granules || literal->bottom > granules) {
        return false;
    }
    for (uint64_t start = 0; start < granules; start++) {
        if (start * G % request->align_bytes == 0 && literal_is_free(literal, taken, start, size)) {
            return true;
        }
    }
    return size == 0;
}

/* Tries every granule for block i and for all after it.  `end` is where the one before it ends. */
static bool literal_rest_fits(const struct literal *literal, size_t i, uint64_t end, unsigned taken)
{
    if (i == literal->oom->block_count) {
        return literal_request_fits(literal, taken);
    }
    if ((literal->gone >> i & 1) != 0) {
        return literal_rest_fits(literal, i + 1, end, taken);
    }
    const struct oom_block *block = &literal->oom->blocks[i];
    const bool is_movable = literal->moves && block->state == BLOCK_LIVE &&
                            block->hold_count == 0 && block->used_until_ns <= literal->now_ns;
    for (uint64_t start = 0; start < literal->oom->capacity_bytes / G; start++) {
        const uint64_t size = block->size_bytes / G;
        const bool is_in_order = literal->oom->defrag == DEFRAG_REPACK || start >= end;
        const bool is_its_place = is_movable ? start * G % block->align_bytes == 0
                                             : start * G == block->address;
        if (is_its_place && is_in_order && literal_is_free(literal, taken, start, size) &&
            literal_rest_fits(literal, i + 1, start + size, taken | ((1u << size) - 1) << start)) {
            return true;
        }
    }
    return false;
}

/* Whether the blocks that are `gone` can be gone at now_ns, and those that are not can be there. */
static bool literal_is_reachable(const struct literal *literal, bool evicts)
{
    for (size_t i = 0; i < literal->oom->block_count; i++) {
        const struct oom_block *block = &literal->oom->blocks[i];
        const bool is_gone = (literal->gone >> i & 1) != 0;
        const bool has_died = block->state == BLOCK_DYING && block->hold_count == 0 &&
                              block->freed_at_ns <= literal->now_ns;
        const bool may_go = evicts && block->kind == BLOCK_PROGRAM && block->state == BLOCK_LIVE &&
                            block->used_until_ns <= literal->now_ns &&
                            block->op != literal->oom->request.own_op;
        if (is_gone ? !has_died && !may_go : has_died) {
            return false;
        }
    }
    return true;
}

static bool literal_fits_at(const struct oom *oom, uint64_t now_ns)
{
    const bool no_host_memory = (oom->faults_fired >> FAULT_HOST_MEMORY & 1) != 0;
    const bool no_copy = no_host_memory || (oom->faults_fired >> FAULT_COPY & 1) != 0;
    const bool no_unload = no_host_memory || (oom->faults_fired >> FAULT_UNLOAD & 1) != 0;
    const bool evicts = oom->request.class == REQUEST_PROGRAM ? oom->program_evicts_program
                                                              : oom->evicts;
    struct literal literal = {
        .oom = oom, .now_ns = now_ns, .moves = !no_copy && oom->defrag != DEFRAG_NONE};
    literal.bottom = oom->request.stack_bytes / G;
    for (size_t i = 0; i < oom->block_count; i++) {
        const struct oom_block *block = &oom->blocks[i];
        if (block->used_until_ns > now_ns && block->stack_bytes / G > literal.bottom) {
            literal.bottom = block->stack_bytes / G;
        }
    }
    for (literal.gone = 0; literal.gone < 1u << oom->block_count; literal.gone++) {
        if (literal_is_reachable(&literal, evicts && !no_unload) &&
            literal_rest_fits(&literal, 0, 0, 0)) {
            return true;
        }
    }
    return false;
}

static bool literal_fits(const struct oom *oom)
{
    const bool no_wait = (oom->faults_fired & (1u << FAULT_HOST_MEMORY | 1u << FAULT_WAIT)) != 0;
    if (literal_fits_at(oom, 0)) {
        return true;
    }
    for (size_t i = 0; oom->drains && !no_wait && i < oom->block_count; i++) {
        const struct oom_block *block = &oom->blocks[i];
        if (block->state == BLOCK_DYING && block->hold_count == 0 &&
            block->freed_at_ns < DELAY_NEVER && literal_fits_at(oom, block->freed_at_ns)) {
            return true;
        }
    }
    return false;
}

struct tally {
    uint64_t questions, premature;
};

static void ask_question(struct tally *tally, struct small_oom *small)
{
    const enum verdict_kind kind = exhaustive_judge(&small->oom);
    const bool truth = literal_fits(&small->oom);
    if (kind != (truth ? VERDICT_PREMATURE : VERDICT_JUSTIFIED)) {
        char text[SMALL_TEXT_BYTES];
        small_oom_print(small, text);
        ck_abort_msg("%s: %s", text, verdict_name(kind));
    }
    tally->questions++;
    tally->premature += truth;
}

/* What is refused and how requests and blocks are aligned change from question to question; all of
 * them come up. */
static void ask_all(struct tally *tally, struct small_oom *small)
{
    const uint64_t granules = small->oom.capacity_bytes / G;
    struct oom *oom = &small->oom;
    for (unsigned contract = 0; contract < 12; contract++) {
        oom->defrag = (enum defrag_contract)(contract % 3);
        oom->drains = contract % 6 >= 3;
        oom->evicts = contract >= 6;
        for (uint64_t stack = 0; stack <= granules + 1; stack++) {
            oom->request.class = stack == 0 ? REQUEST_BUFFER : REQUEST_PROGRAM;
            oom->request.stack_bytes = stack > 0 ? (stack - 1) * G : 0;
            oom->program_evicts_program = stack % 2 == 0 ? oom->evicts : !oom->evicts;
            for (uint64_t size = stack == 0; size <= granules; size++) {
                const uint64_t mix = tally->questions * UINT64_C(0x9e3779b97f4a7c15) >> 32;
                oom->request.size_bytes = size * G - (size > 0 ? mix % 2 * 100 : 0);
                oom->request.align_bytes = (uint64_t)G << (mix / 2 % 4 == 0 ? mix / 8 % 3 : 0);
                oom->faults_fired = mix / 32 % 4 == 0 ? (unsigned)(mix / 128 % 16) : 0;
                ask_question(tally, small);
            }
        }
    }
}

/* All heaps whose next block begins at or after `from`, at most `more` blocks more.  Every other
 * block is aligned as much as its address is. */
static void ask_every_heap(struct tally *tally, struct small_oom *small, uint64_t from, int more)
{
    ask_all(tally, small);
    const uint64_t granules = small->oom.capacity_bytes / G;
    for (uint64_t start = from; start < granules && more > 0; start++) {
        for (uint64_t size = 1; start + size <= granules; size++) {
            for (size_t state = 0; state < SMALL_STATE_COUNT; state++) {
                if (small_states[state].is_own && small->oom.request.own_op != OP_NONE) {
                    continue;
                }
                small_oom_add(small, &small_states[state], start, size);
                struct oom_block *block = &small->blocks[small->oom.block_count - 1];
                if (tally->questions % 2 == 0) {
                    block->align_bytes = start % 4 == 0 ? 4 * G : start % 2 == 0 ? 2 * G : G;
                }
                ask_every_heap(tally, small, start + size, more - 1);
                small_oom_drop(small);
            }
        }
    }
}

TEST(every_tiny_heap_is_judged_as_by_trying_every_granule_for_every_block)
{
    struct tally tally = {0};
    struct small_oom small;
    const bool is_long = getenv("HBMSTRESS_EXHAUSTIVE") != NULL;
    for (uint64_t granules = 1; granules <= (is_long ? 5 : 4); granules++) {
        small_oom_init(&small, &(struct oom){0}, granules);
        ask_every_heap(&tally, &small, 0, 3);
    }
    printf("exhaustive: %" PRIu64 " questions, %" PRIu64 " with a placement, no disagreement\n",
           tally.questions, tally.premature);
    ck_assert_uint_gt(tally.premature, tally.questions / 20);
}
