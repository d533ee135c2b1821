/* The exhaustive judge of small out-of-memories: every tiny heap against a search that moves each
 * block to each granule.  tests/cases/oracle/exhaustive.case has each rule of docs/certificate.md
 * by hand; here is what no run shows. */
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

EVERY_TEST(.timeout_s = 600);

TEST(what_no_run_shows_is_judged_as_well)
{
    const struct oom_request program = {.class = REQUEST_PROGRAM, .size_bytes = 2 * G};
    const struct oom own = {.program_evicts_program = true, .request = program};
    /* A program that is held may be evicted, though it may not be moved. */
    expect_verdict(".g", (struct oom){.evicts = true, .request = {.size_bytes = 2 * G}},
                   VERDICT_PREMATURE);
    /* The own program stays while its image is asked for. */
    expect_verdict("..o",
                   (struct oom){.program_evicts_program = true, .request = {.size_bytes = 3 * G}},
                   VERDICT_JUSTIFIED);
    struct oom moving = own;
    moving.defrag = DEFRAG_REPACK;
    expect_verdict(".oh", moving, VERDICT_JUSTIFIED);
    moving.defrag = DEFRAG_SLIDE;
    expect_verdict(".o.", moving, VERDICT_PREMATURE);
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
        expect_verdict(cases[i].drawing, question, VERDICT_PREMATURE);
        for (unsigned fault = 0; fault < FAULT_KIND_COUNT; fault++) {
            const bool is_excused = fault == cases[i].excuse || fault == FAULT_HOST_MEMORY;
            question.faults_fired = 1u << fault;
            expect_verdict(cases[i].drawing, question,
                           is_excused ? VERDICT_JUSTIFIED : VERDICT_PREMATURE);
        }
    }
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
