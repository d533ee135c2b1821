#include "fuzz/feedback.h"

#include "harness/base/check.h"
#include "harness/device/span_map.h"
#include "harness/model/model.h"

/* 0 of 0, else 1 + the binary logarithm; at most count - 1. */
static uint32_t find_bucket(uint64_t number, uint32_t count)
{
    const uint32_t bucket = number == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(number);
    return bucket < count ? bucket : count - 1;
}

/* --- cells --- */

static uint32_t find_heap_cell(const struct feedback_sight *sight)
{
    const uint64_t largest = sight->largest_hole_bytes == 0 ? 1 : sight->largest_hole_bytes;
    const uint32_t level = find_bucket(sight->free_bytes / largest, FEEDBACK_LEVEL_COUNT);
    return FEEDBACK_HEAP +
           (level * FEEDBACK_MITIGATIONS_COUNT + sight->mitigations) * FEEDBACK_OUTCOME_COUNT +
           sight->outcome;
}

static uint32_t find_spans_cell(const struct feedback_sight *sight)
{
    return FEEDBACK_SPANS +
           find_bucket(sight->span_count, FEEDBACK_BUCKET_COUNT) * FEEDBACK_MITIGATIONS_COUNT +
           sight->mitigations;
}

static uint32_t find_distance_cell(const struct feedback_sight *sight)
{
    const bool is_short = sight->request_bytes > sight->best_span_bytes;
    const uint64_t bytes = is_short ? sight->request_bytes - sight->best_span_bytes
                                    : sight->best_span_bytes - sight->request_bytes;
    const uint32_t bucket = find_bucket(bytes / sight->granule_bytes, FEEDBACK_DISTANCE_COUNT);
    return FEEDBACK_DISTANCE + (bucket * 2 + is_short) * FEEDBACK_OUTCOME_COUNT + sight->outcome;
}

uint32_t feedback_cells(const struct feedback_sight *sight,
                        uint32_t cells[FEEDBACK_CELLS_PER_OP_MAX])
{
    CHECK(sight->outcome < FEEDBACK_OUTCOME_COUNT);
    CHECK(sight->mitigations < FEEDBACK_MITIGATIONS_COUNT);
    CHECK(sight->granule_bytes >= 1);
    uint32_t count = 0;
    cells[count++] = find_heap_cell(sight);
    cells[count++] = find_spans_cell(sight);
    if (sight->outcome == FEEDBACK_JUSTIFIED || sight->outcome == FEEDBACK_UNJUDGED) {
        cells[count++] = FEEDBACK_QUEUED +
                         find_bucket(sight->queued_free_count, FEEDBACK_BUCKET_COUNT);
    }
    if (sight->request_bytes != 0) {
        cells[count++] = find_distance_cell(sight);
    }
    return count;
}

/* --- what an op left behind --- */

static bool is_request(const struct op *op)
{
    return op->kind == OP_ALLOC || op->kind == OP_OUTPUT || op->kind == OP_LOAD ||
           op->kind == OP_EXECUTE || op->kind == OP_DEFRAGMENT;
}

static enum feedback_outcome classify_outcome(const struct observation *seen,
                                              const struct verdict *verdict)
{
    if (seen->result == TARGET_NO_MEMORY) {
        return verdict->kind == VERDICT_JUSTIFIED ? FEEDBACK_JUSTIFIED : FEEDBACK_UNJUDGED;
    }
    return seen->result == TARGET_OK ? FEEDBACK_PLACED : FEEDBACK_FAILED;
}

static uint8_t collect_mitigations(const struct observation *seen)
{
    return (uint8_t)((seen->wait_count > 0 ? FEEDBACK_DRAINED : 0) |
                     (seen->copy_count + seen->stage_count > 0 ? FEEDBACK_MOVED : 0) |
                     (seen->unload_count > 0 ? FEEDBACK_EVICTED : 0));
}

/* [from, to) between unmovable blocks, of which movable_bytes are taken. */
static void take_span(struct feedback_sight *sight, uint64_t from, uint64_t to,
                      uint64_t movable_bytes)
{
    if (to <= from) {
        return;
    }
    const uint64_t bytes = to - from - (movable_bytes < to - from ? movable_bytes : to - from);
    sight->span_count++;
    sight->best_span_bytes = bytes > sight->best_span_bytes ? bytes : sight->best_span_bytes;
}

static void note_spans(const struct model *model, struct feedback_sight *sight)
{
    struct span span;
    uint64_t from = model_reserved_bytes(model);
    uint64_t movable_bytes = 0;
    EACH_SPAN(model_map(model), &span) {
        if (block_is_movable(model_block(model, (uint32_t)span.owner))) {
            movable_bytes += span.end - span.start;
            continue;
        }
        take_span(sight, from, span.start, movable_bytes);
        from = span.end > from ? span.end : from;
        movable_bytes = 0;
    }
    take_span(sight, from, model_capacity_bytes(model), movable_bytes);
}

bool feedback_see(const struct run *run, const struct verdict *verdict,
                  struct feedback_sight *sight)
{
    const struct observation *seen = run_observation(run);
    const struct op_list *ops = run_ops(run);
    if (seen->op >= ops->count || seen->skipped || !is_request(&ops->ops[seen->op]) ||
        (seen->call_count == 0 && seen->result == TARGET_OK)) {
        return false;
    }
    const struct op *op = &ops->ops[seen->op];
    const struct model *model = run_model(run, op->host);
    *sight = (struct feedback_sight){
        .outcome = classify_outcome(seen, verdict),
        .mitigations = collect_mitigations(seen),
        .granule_bytes = model_granule_bytes(model),
        .request_bytes = seen->result == TARGET_NO_MEMORY ? verdict->requested_bytes
                                                          : op->size_bytes,
        .free_bytes = model_free_bytes(model),
        .largest_hole_bytes = model_largest_hole_bytes(model),
        .queued_free_count = model_dying_count(model),
    };
    note_spans(model, sight);
    return true;
}

/* --- the play of an input --- */

/* Notes the cells of the last op.  A broken rule was not taken in, and the input ends there. */
static void note_verdict(void *context, const struct run *run, const struct verdict *verdict)
{
    struct feedback_sight sight;
    uint32_t cells[FEEDBACK_CELLS_PER_OP_MAX];
    (void)context;
    if (run_is_broken(run) || !feedback_see(run, verdict, &sight)) {
        return;
    }
    const uint32_t count = feedback_cells(&sight, cells);
    for (uint32_t i = 0; i < count; i++) {
        feedback_note(cells[i]);
    }
}

const struct run_listener feedback_listener = {.judged = note_verdict};

void feedback_begin(void)
{
    feedback_forget();
}

void feedback_take_schedule(const struct op_list *ops)
{
    for (size_t i = 0; i < ops->count; i++) {
        const struct op *at = &ops->ops[i];
        if (at->kind == OP_SWITCH && at->ref < ops->count) {
            const uint32_t point = find_bucket(at->size_bytes, FEEDBACK_POINT_COUNT);
            feedback_note(FEEDBACK_SWITCHES +
                          (ops->ops[at->ref].kind * FEEDBACK_POINT_COUNT + point) * 2 +
                          (at->event != OP_NONE));
        }
    }
}
