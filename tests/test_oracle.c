/* The oracle against exhaustive search: every small heap, in every combination of states, under every
 * contract and for every request. */
#include "harness/oracle.h"
#include "tests/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 5 granules are 2.6 million questions and take seconds; HBMSTRESS_EXHAUSTIVE=1 asks the 14 million more of
 * 6 granules, for nightly runs. */
enum { GRANULE = 512, GRANULES_MAX = 5, GRANULES_EXHAUSTIVE = 6, BLOCKS_MAX = 4 };

/* What a block of the enumeration is. */
enum piece_state { PIECE_MOVABLE, PIECE_HELD, PIECE_QUEUED, PIECE_LOST, PIECE_IDLE, PIECE_BUSY, PIECE_STATE_COUNT };

struct piece {
    int start, size; /* granules */
    enum piece_state state;
};
struct heap {
    int capacity; /* granules */
    struct piece pieces[BLOCKS_MAX];
    int count;
};
struct question {
    struct target_contract contract;
    bool is_program;
    int size, stack; /* granules; size 0: a stack alone */
};

/* --- the truth, by trying every place -------------------------------------------------------- */

struct placed {
    int start, size;
};

static bool is_free(const struct placed *placed, int count, int start, int size)
{
    for (int i = 0; i < count; i++) {
        if (start < placed[i].start + placed[i].size && placed[i].start < start + size) {
            return false;
        }
    }
    return true;
}

/* Tries every start for movable pieces[i...], then for the request.  order_kept: each piece stays on its side
 * of every piece that is placed already. */
static bool place_rest(const struct heap *heap, const struct piece *movable, int movable_count, int i,
                       struct placed *placed, struct piece *origins, int count, const struct question *question,
                       int floor, bool order_kept)
{
    const bool is_request = i == movable_count;
    const int size = is_request ? question->size : movable[i].size;
    if (is_request && size == 0) {
        return true;
    }
    for (int start = floor; start + size <= heap->capacity; start++) {
        if (!is_free(placed, count, start, size)) {
            continue;
        }
        bool keeps = true;
        for (int k = 0; k < count && order_kept && !is_request; k++) {
            keeps = keeps && (movable[i].start < origins[k].start) == (start < placed[k].start);
        }
        if (!keeps) {
            continue;
        }
        if (is_request) {
            return true;
        }
        placed[count] = (struct placed){start, size};
        origins[count] = movable[i];
        if (place_rest(heap, movable, movable_count, i + 1, placed, origins, count + 1, question, floor, order_kept)) {
            return true;
        }
    }
    return false;
}

/* One choice of what goes: pieces of `gone` are not there. */
static bool exists_without(const struct heap *heap, const struct question *question, unsigned gone)
{
    struct piece movable[BLOCKS_MAX];
    struct piece origins[BLOCKS_MAX + 1];
    struct placed placed[BLOCKS_MAX + 1];
    int movable_count = 0;
    int count = 0;
    const bool moves = question->contract.defrag != DEFRAG_NONE;
    const int floor = question->stack;
    for (int i = 0; i < heap->count && i < BLOCKS_MAX; i++) {
        const struct piece *piece = &heap->pieces[i];
        if ((gone >> i & 1) != 0) {
            continue;
        }
        if (moves && (piece->state == PIECE_MOVABLE || piece->state == PIECE_IDLE)) {
            movable[movable_count++] = *piece;
            continue;
        }
        if (piece->start < floor) {
            return false;
        }
        origins[count] = *piece;
        placed[count++] = (struct placed){piece->start, piece->size};
    }
    return place_rest(heap, movable, movable_count, 0, placed, origins, count, question, floor,
                      question->contract.defrag == DEFRAG_SLIDE);
}

/* Every subset of what may go. */
static bool exists(const struct heap *heap, const struct question *question)
{
    const struct target_contract *contract = &question->contract;
    const bool evicts = question->is_program ? contract->program_evicts_program : contract->evicts;
    for (unsigned gone = 0; gone < 1u << heap->count; gone++) {
        bool may_go = true;
        for (int i = 0; i < heap->count; i++) {
            const enum piece_state state = heap->pieces[i].state;
            const bool goes = (state == PIECE_QUEUED && contract->drains) || (state == PIECE_IDLE && evicts);
            may_go = may_go && ((gone >> i & 1) == 0 || goes);
        }
        if (may_go && exists_without(heap, question, gone)) {
            return true;
        }
    }
    return false;
}

/* --- the same heap as a model ----------------------------------------------------------------- */

static void add_piece(struct model *model, struct timeline *timeline, const struct piece *piece, uint32_t op)
{
    const bool is_program = piece->state == PIECE_IDLE || piece->state == PIECE_BUSY;
    const struct model_new what = {.requested_bytes = (uint64_t)piece->size * GRANULE,
                                   .align_bytes = GRANULE,
                                   .kind = is_program ? BLOCK_PROGRAM : BLOCK_BUFFER};
    const struct target_block at = {op + 1, (uint64_t)piece->start * GRANULE, (uint64_t)piece->size * GRANULE};
    model_begin_op(model, op);
    uint32_t slot = SLOT_NONE;
    uint32_t other = SLOT_NONE;
    ck_assert(model_add(model, &what, &at, &slot, &other));
    const uint64_t event = (uint64_t)op + 1;
    switch (piece->state) {
    case PIECE_HELD:
        model_hold(model, slot);
        break;
    case PIECE_BUSY:
        timeline_add(timeline, event, DELAY_NEVER);
        model_use(model, slot, event);
        break;
    case PIECE_QUEUED:
        timeline_add(timeline, event, 1000 + op);
        model_free(model, slot, event);
        break;
    case PIECE_LOST:
        timeline_add(timeline, event, DELAY_NEVER);
        model_free(model, slot, event);
        break;
    default:
        break;
    }
}

static enum verdict_kind judged(struct oracle *oracle, const struct heap *heap, const struct question *question)
{
    struct timeline *timeline = timeline_create();
    struct model *model = model_create((uint64_t)heap->capacity * GRANULE, &question->contract, timeline);
    for (int i = 0; i < heap->count; i++) {
        add_piece(model, timeline, &heap->pieces[i], (uint32_t)i);
    }
    ck_assert(model_invariants_hold(model));
    const struct oracle_request request = {
        .class = question->is_program ? REQUEST_PROGRAM : REQUEST_BUFFER,
        .size_bytes = (uint64_t)question->size * GRANULE,
        .align_bytes = GRANULE,
        .stack_bytes = (uint64_t)question->stack * GRANULE,
        .own_slot = SLOT_NONE,
    };
    struct verdict verdict = {0};
    oracle_judge(oracle, model, &request, &verdict);
    model_destroy(model);
    timeline_destroy(timeline);
    return verdict.kind;
}

/* --- the enumeration -------------------------------------------------------------------------- */

struct count {
    uint64_t questions, premature;
    struct oracle *oracle;
};

static void ask(struct count *count, const struct heap *heap, const struct question *question)
{
    const bool truth = exists(heap, question);
    const enum verdict_kind kind = judged(count->oracle, heap, question);
    if (kind != (truth ? VERDICT_PREMATURE : VERDICT_JUSTIFIED)) {
        for (int i = 0; i < heap->count; i++) {
            printf("piece [%d, +%d) state %d\n", heap->pieces[i].start, heap->pieces[i].size,
                   (int)heap->pieces[i].state);
        }
        ck_abort_msg("capacity %d, defrag %d, drains %d, evicts %d/%d, program %d, size %d, stack %d: %s",
                     heap->capacity, (int)question->contract.defrag, question->contract.drains,
                     question->contract.evicts, question->contract.program_evicts_program, question->is_program,
                     question->size, question->stack, verdict_name(kind));
    }
    count->questions++;
    count->premature += truth;
}

static void ask_all(struct count *count, const struct heap *heap)
{
    for (int size = 0; size <= heap->capacity; size++) {
        for (int stack = 0; stack <= heap->capacity; stack += size == 0 ? 1 : 2) {
            for (unsigned contract = 0; contract < 6; contract++) {
                const bool on = contract >= 3;
                const struct question question = {
                    .contract = {.granule_bytes = GRANULE,
                                 .defrag = (enum defrag_contract)(contract % 3),
                                 .queues_frees = true,
                                 .programs = true,
                                 .drains = on,
                                 .evicts = on,
                                 .program_evicts_program = on && size % 2 == 0},
                    .is_program = stack > 0 || size == 0,
                    .size = size,
                    .stack = stack,
                };
                if (size > 0 || stack > 0) {
                    ask(count, heap, &question);
                }
            }
        }
    }
}

/* All heaps whose next piece begins at or after `from`. */
static void enumerate(struct count *count, struct heap *heap, int from)
{
    ask_all(count, heap);
    if (heap->count == BLOCKS_MAX) {
        return;
    }
    for (int start = from; start < heap->capacity; start++) {
        for (int size = 1; start + size <= heap->capacity; size++) {
            for (int state = 0; state < PIECE_STATE_COUNT; state++) {
                heap->pieces[heap->count++] = (struct piece){start, size, (enum piece_state)state};
                enumerate(count, heap, start + size);
                heap->count--;
            }
        }
    }
}

START_TEST(every_small_heap_is_judged_as_by_trying_every_placement)
{
    struct count count = {.oracle = oracle_create()};
    struct heap heap = {.capacity = _i};
    enumerate(&count, &heap, 0);
    printf("oracle: capacity %d granules: %llu questions, %llu with a placement, no disagreement\n", _i,
           (unsigned long long)count.questions, (unsigned long long)count.premature);
    oracle_destroy(count.oracle);
}
END_TEST

START_TEST(draining_one_free_ends_the_uses_that_are_due_before_it)
{
    struct timeline *timeline = timeline_create();
    const struct target_contract contract = {
        .granule_bytes = GRANULE, .defrag = DEFRAG_SLIDE, .queues_frees = true, .drains = true};
    struct model *model = model_create(4 * GRANULE, &contract, timeline);
    struct oracle *oracle = oracle_create();
    struct verdict verdict = {0};
    /* [free][used until 10][free][queued until due]: only when both end do 3 granules fit. */
    for (int earlier = 0; earlier < 2; earlier++) {
        const uint32_t op = (uint32_t)earlier * 2;
        model_begin_op(model, op);
        const struct model_new what = {.requested_bytes = GRANULE, .align_bytes = GRANULE};
        uint32_t used = SLOT_NONE;
        uint32_t freed = SLOT_NONE;
        uint32_t other = SLOT_NONE;
        ck_assert(model_add(model, &what, &(struct target_block){1, GRANULE, GRANULE}, &used, &other));
        timeline_add(timeline, op + 1, earlier ? 10 : 30);
        model_use(model, used, op + 1);
        model_begin_op(model, op + 1);
        ck_assert(model_add(model, &what, &(struct target_block){2, 3 * GRANULE, GRANULE}, &freed, &other));
        timeline_add(timeline, op + 2, 20);
        model_free(model, freed, op + 2);
        const struct oracle_request request = {
            .size_bytes = 3 * GRANULE, .align_bytes = GRANULE, .own_slot = SLOT_NONE};
        oracle_judge(oracle, model, &request, &verdict);
        ck_assert_int_eq(verdict.kind, earlier ? VERDICT_PREMATURE : VERDICT_JUSTIFIED);
        timeline_complete(timeline, op + 1);
        timeline_complete(timeline, op + 2);
        model_complete(model, op + 1);
        model_complete(model, op + 2);
        model_free(model, used, 0);
    }
    oracle_destroy(oracle);
    model_destroy(model);
    timeline_destroy(timeline);
}
END_TEST

START_TEST(a_refused_device_call_excuses_the_mitigation_it_belongs_to)
{
    struct timeline *timeline = timeline_create();
    const struct target_contract contract = {.granule_bytes = GRANULE,
                                             .defrag = DEFRAG_NONE,
                                             .queues_frees = true,
                                             .programs = true,
                                             .drains = true,
                                             .evicts = true};
    struct model *model = model_create(2 * GRANULE, &contract, timeline);
    struct oracle *oracle = oracle_create();
    struct verdict verdict = {0};
    add_piece(model, timeline, &(struct piece){0, 1, PIECE_IDLE}, 0);
    add_piece(model, timeline, &(struct piece){1, 1, PIECE_QUEUED}, 1);
    struct oracle_request request = {.size_bytes = 2 * GRANULE, .align_bytes = GRANULE, .own_slot = SLOT_NONE};
    oracle_judge(oracle, model, &request, &verdict);
    ck_assert_int_eq(verdict.kind, VERDICT_PREMATURE);
    request.faults_fired = 1u << FAULT_WAIT;
    oracle_judge(oracle, model, &request, &verdict);
    ck_assert_int_eq(verdict.kind, VERDICT_JUSTIFIED);
    request.faults_fired = 1u << FAULT_UNLOAD;
    oracle_judge(oracle, model, &request, &verdict);
    ck_assert_int_eq(verdict.kind, VERDICT_JUSTIFIED);
    request.faults_fired = 1u << FAULT_COPY;
    oracle_judge(oracle, model, &request, &verdict);
    ck_assert_int_eq(verdict.kind, VERDICT_PREMATURE);
    oracle_destroy(oracle);
    model_destroy(model);
    timeline_destroy(timeline);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("oracle");
    TCase *tests = tcase_create("oracle");
    tcase_set_timeout(tests, 300);
    const int largest = getenv("HBMSTRESS_EXHAUSTIVE") != NULL ? GRANULES_EXHAUSTIVE : GRANULES_MAX;
    tcase_add_loop_test(tests, every_small_heap_is_judged_as_by_trying_every_placement, 1, largest + 1);
    tcase_add_test(tests, draining_one_free_ends_the_uses_that_are_due_before_it);
    tcase_add_test(tests, a_refused_device_call_excuses_the_mitigation_it_belongs_to);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
