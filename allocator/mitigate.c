#include "allocator/private/call.h"

#include "allocator/private/heap.h"
#include "allocator/private/moves.h"
#include "allocator/private/state.h"

/* Each round either places the demand, or changes something (an event completed, a program was
 * evicted), or is the last.  The bound is a guard against other threads that keep undoing it. */
#define ROUNDS_MAX 1000
#define WAITS_MAX 1000000

/* Without any mitigation. */
static bool place_without_mitigation(struct hbm_call *call, uint32_t *number)
{
    struct hbm_heap *heap = &call->hbm->heap;
    const uint64_t reserved_bytes = hbm_heap_reserved(heap);
    hbm_call_refresh(call);
    if (!hbm_heap_stack_set(heap, hbm_call_stack_wanted(call))) {
        return false;
    }
    HBM_CHECK(hbm_heap_reserved(heap) >= call->demand.stack_bytes);
    HBM_CHECK(hbm_heap_reserved(heap) >= reserved_bytes);
    *number = HBM_POOL_NONE;
    if (call->demand.size_bytes == 0) {
        return true;
    }
    *number = hbm_heap_take(heap, call->demand.size_bytes, call->demand.align_shift,
                            call->program != NULL ? HBM_ROLE_PROGRAM : HBM_ROLE_BUFFER,
                            &call->refused);
    if (*number != HBM_POOL_NONE) {
        return true;
    }
    const bool is_restored = hbm_heap_stack_set(heap, reserved_bytes);
    HBM_CHECK(is_restored);
    return false;
}

/* ---- the three mitigations: each true when the demand is placed ---- */

/* Moves blocks by a plan of all of them. */
static bool move_by_plan(struct hbm_call *call)
{
    struct hbm_plan plan;
    if (!hbm_room_begin(call, false, &plan)) {
        return false;
    }
    bool moved = hbm_room_plan(call->hbm, &plan);
    HBM_CHECK(plan.items != NULL || plan.item_count == 0);
    call->refused |= plan.host_refused;
    if (moved && !hbm_moves_run(call->hbm, &plan)) {
        call->refused = true;
        moved = false;
    }
    HBM_CHECK(plan.item_count <= plan.item_room);
    hbm_snapshot_free(call->hbm, &plan);
    return moved;
}

/* Few blocks that lie together make room most often; only where none do are all looked at. */
static bool try_defragment(struct hbm_call *call, uint32_t *number)
{
    if (call->hbm->options.defrag == HBM_DEFRAG_NONE || !hbm_call_may_fit(call)) {
        return false;
    }
    const enum hbm_vacate_result result = hbm_vacate(call);
    if (result == HBM_VACATE_REFUSED) {
        call->refused = true;
        return false;
    }
    const bool moved = result == HBM_VACATE_DONE || move_by_plan(call);
    return moved && place_without_mitigation(call, number);
}

/* The earliest freed block that `event` keeps, as a distance from the oldest possible; UINT32_MAX
 * when it keeps no block whose free could end by waiting. */
static uint32_t find_earliest_dying(const struct hbm *hbm, const struct hbm_event *event)
{
    uint32_t earliest = UINT32_MAX;
    for (uint32_t use = event->uses; use != HBM_POOL_NONE;) {
        const struct hbm_use *record = hbm_pending_use(&hbm->pending, use);
        const struct hbm_block *block = hbm_heap_at(&hbm->heap, record->block);
        if (!block->dying || block->hold_count != 0) {
            use = record->next;
            continue;
        }
        const uint32_t order = hbm_heap_cold(&hbm->heap, record->block)->dying_order;
        const uint32_t distance = order - (hbm->dying_order - UINT32_MAX / 2);
        earliest = distance < earliest ? distance : earliest;
        use = record->next;
    }
    return earliest;
}

/* True if it is vain to wait.  An answer that another call got meanwhile holds for this one, too:
 * two calls that each asked for themselves would make each other forget.  Where a service refused
 * it this one has not waited for all it might. */
static bool is_event_vain(struct hbm_call *call, const struct hbm_event *event)
{
    HBM_CHECK(event->lost_in_call <= call->hbm->call_count);
    HBM_CHECK(event->uses != HBM_POOL_NONE);
    if (event->lost_in_call < call->serial) {
        return false;
    }
    call->refused |= event->wait_refused;
    return true;
}

static const struct hbm_event *choose_event_to_await(struct hbm_call *call)
{
    const struct hbm *hbm = call->hbm;
    const struct hbm_event *chosen = NULL;
    uint32_t earliest = UINT32_MAX;
    for (uint32_t number = hbm->pending.first; number != HBM_POOL_NONE;) {
        const struct hbm_event *event = hbm_pending_event(&hbm->pending, number);
        number = event->next;
        if (is_event_vain(call, event)) {
            continue;
        }
        const uint32_t distance = find_earliest_dying(hbm, event);
        if (distance < earliest) {
            earliest = distance;
            chosen = event;
        }
    }
    HBM_CHECK(chosen == NULL || earliest != UINT32_MAX);
    return chosen;
}

bool hbm_completed_since(struct hbm *hbm, uint64_t seen)
{
    hbm_collect(hbm);
    return hbm->pending.completed_seen != seen;
}

/* Waits without the lock; everything may be different afterwards.  True: this or another event
 * completed, or another call made room, or made blocks movable. */
static bool await_event(struct hbm_call *call, uint64_t id)
{
    HBM_CHECK(call->serial <= call->hbm->call_count);
    HBM_CHECK(hbm_pending_find(&call->hbm->pending, id) != NULL);
    struct hbm *hbm = call->hbm;
    const struct hbm_services services = hbm->host.services;
    uint64_t seen = hbm->pending.completed_seen, room_before = hbm->room_count;
    hbm_lock_give(&hbm->lock);
    const enum hbm_service_result result = services.event_wait(services.context, id);
    hbm_lock_take(&hbm->lock);
    hbm->pending.poll_due = true;
    const bool completed = hbm_completed_since(hbm, seen);
    struct hbm_event *event = hbm_pending_find(&hbm->pending, id);
    if (event != NULL) {
        event->lost_in_call = event->lost_in_call > call->serial ? event->lost_in_call
                                                                 : call->serial;
        event->wait_refused = result == HBM_SERVICE_REFUSED;
    }
    call->refused |= event != NULL && result == HBM_SERVICE_REFUSED;
    hbm->totals.events_awaited += event == NULL && result == HBM_SERVICE_OK;
    return completed || event == NULL || hbm->room_count != room_before;
}

static bool try_drain(struct hbm_call *call, uint32_t *number, bool *changed)
{
    for (int waits = 0;
         waits < WAITS_MAX && call->hbm->options.drains && call->hbm->dying_count != 0; waits++) {
        const struct hbm_event *event = choose_event_to_await(call);
        if (event == NULL) {
            return false;
        }
        HBM_CHECK(event->uses != HBM_POOL_NONE);
        if (!await_event(call, event->id)) {
            continue;
        }
        *changed = true;
        if (place_without_mitigation(call, number)) {
            return true;
        }
    }
    return false;
}

/* Evicts the least recently used program; one whose eviction is refused is passed over. */
static bool evict_program(struct hbm_call *call)
{
    struct hbm *hbm = call->hbm;
    for (struct hbm_program *program = hbm->program_first; program != NULL;
         program = program->next) {
        if (!hbm_call_may_evict(call, program)) {
            continue;
        }
        if (hbm_resume_unload(&hbm->host.services, program->id)) {
            HBM_CHECK(program->block != HBM_POOL_NONE);
            hbm_block_free(hbm, program->block);
            HBM_CHECK(program->block == HBM_POOL_NONE);
            hbm->totals.programs_evicted++;
            return true;
        }
        program->refused_in_call = call->serial;
        call->refused = true;
        return false;
    }
    return false;
}

static bool has_evictable_program(const struct hbm_call *call)
{
    for (const struct hbm_program *program = call->hbm->program_first; program != NULL;
         program = program->next) {
        if (hbm_call_may_evict(call, program)) {
            return true;
        }
    }
    return false;
}

/* After a refusal it must be asked anew whether the rest would do. */
static bool try_evict(struct hbm_call *call, uint32_t *number, bool *changed)
{
    const struct hbm_options *options = &call->hbm->options;
    if (call->program != NULL ? !options->program_evicts_program : !options->evicts) {
        return false;
    }
    bool could_fit = false;
    while (has_evictable_program(call)) {
        could_fit = could_fit || hbm_call_could_fit(call, true);
        if (!could_fit) {
            return false;
        }
        if (!evict_program(call)) {
            could_fit = false;
            continue;
        }
        HBM_CHECK(could_fit);
        *changed = true;
        if (place_without_mitigation(call, number) || try_defragment(call, number)) {
            return true;
        }
    }
    return false;
}

static bool try_mitigations(struct hbm_call *call, uint32_t *number, bool *changed)
{
    for (int i = 0; i < HBM_MITIGATION_COUNT; i++) {
        const enum hbm_mitigation mitigation = call->hbm->options.order[i];
        if (mitigation == HBM_DRAIN && try_drain(call, number, changed)) {
            return true;
        }
        if (mitigation == HBM_DEFRAGMENT && try_defragment(call, number)) {
            return true;
        }
        if (mitigation == HBM_EVICT && try_evict(call, number, changed)) {
            return true;
        }
    }
    return false;
}

/* A refusal counts to the end, because what was refused is not asked for again.  Events may
 * complete during any service, and what they free or make movable is looked at in a further round.
 */
static enum hbm_result run_rounds(struct hbm_call *call, uint32_t *number)
{
    bool changed = true;
    for (int round = 0; round < ROUNDS_MAX && changed; round++) {
        const uint64_t seen = call->hbm->pending.completed_seen;
        changed = false;
        if (try_mitigations(call, number, &changed)) {
            return HBM_OK;
        }
        changed |= hbm_completed_since(call->hbm, seen);
    }
    /* Where the device refused the way back from the host, we did not choose the room that is
     * left. */
    const bool return_refused = call->hbm->stranded != NULL && call->hbm->return_refused;
    return call->refused || return_refused ? HBM_UNAVAILABLE : HBM_NO_MEMORY;
}

enum hbm_result hbm_place(struct hbm_call *call, uint32_t *number)
{
    if (place_without_mitigation(call, number)) {
        return HBM_OK;
    }
    /* A hole is there, but no host memory for its record: no mitigation can help. */
    if (call->refused) {
        return HBM_UNAVAILABLE;
    }
    const struct hbm_services *services = &call->hbm->host.services;
    const uint64_t start_ns = services->clock_ns(services->context);
    const enum hbm_result result = run_rounds(call, number);
    call->hbm->totals.mitigation_ns += services->clock_ns(services->context) - start_ns;
    return result;
}
