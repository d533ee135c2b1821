/* A list that is written anew: op by op, with forced drains, and without retirements. */
#include "diagnosis/private/variant.h"
#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/op/setup.h"

#include <stdio.h>
#include <stdlib.h>

/* --- op by op --- */

void rewrite_init(struct rewrite *rewrite, const struct op_list *from, struct op_list *to)
{
    *rewrite = (struct rewrite){.from = from, .to = to};
    rewrite->now = malloc((from->count + 1) * sizeof *rewrite->now);
    CHECK(rewrite->now != NULL);
    for (size_t i = 0; i < from->count; i++) {
        rewrite->now[i] = OP_NONE;
    }
}

void rewrite_deinit(struct rewrite *rewrite)
{
    free(rewrite->now);
    *rewrite = (struct rewrite){0};
}

static uint32_t renumber_ref(const struct rewrite *rewrite, uint32_t old)
{
    return old < rewrite->from->count ? rewrite->now[old] : OP_NONE;
}

void rewrite_add(struct rewrite *rewrite, const struct op *op)
{
    struct op put = *op;
    put.ref = renumber_ref(rewrite, op->ref);
    put.event = renumber_ref(rewrite, op->event);
    /* An op whose event went must not turn into one with an event of its own. */
    if (op->event != OP_NONE && put.event == OP_NONE) {
        put.ref = OP_NONE;
    }
    put.flags &= (uint8_t)~OP_SPMD;
    put.group = (put.flags & OP_COLLECTIVE) != 0 ? put.group : 0;
    op_list_append(rewrite->to, &put);
}

void rewrite_as(struct rewrite *rewrite, uint32_t i, const struct op *op)
{
    CHECK(i < rewrite->from->count);
    rewrite_add(rewrite, op);
    rewrite->now[i] = (uint32_t)(rewrite->to->count - 1);
}

void rewrite_keep(struct rewrite *rewrite, uint32_t i)
{
    CHECK(i < rewrite->from->count);
    rewrite_as(rewrite, i, &rewrite->from->ops[i]);
}

void rewrite_add_on(struct rewrite *rewrite, enum op_kind kind, uint32_t ref)
{
    CHECK(ref < rewrite->from->count);
    struct op op = op_make(kind);
    op.ref = ref;
    op.host = rewrite->from->ops[ref].host;
    rewrite_add(rewrite, &op);
}

void rewrite_free_held(struct rewrite *rewrite, const struct remedy_lives *lives, uint32_t root)
{
    const uint32_t last = lives->lives[root].last_named;
    for (uint32_t held = 0; held < lives->lives[last].hold_count; held++) {
        rewrite_add_on(rewrite, OP_RELEASE, root);
    }
    rewrite_add_on(rewrite, OP_FREE, root);
}

/* --- drains --- */

/* 18 minutes: what takes longer is completed instead of waited for, so that virtual time never runs
 * out. */
#define DELAY_NS_MAX ((uint64_t)1 << 40)

void drain_init(struct drain *drain, const struct setup *setup, size_t op_count)
{
    const uint64_t bound_ns = setup_collective_bound_ns(setup);
    *drain = (struct drain){.is_lost = calloc(op_count + 1, sizeof *drain->is_lost),
                            .clock_count = setup->has_clocks ? setup->host_count : 1,
                            .bound_ns = bound_ns < DELAY_NS_MAX ? bound_ns : DELAY_NS_MAX};
    CHECK(drain->is_lost != NULL);
}

void drain_deinit(struct drain *drain)
{
    free(drain->lost);
    free(drain->is_lost);
    *drain = (struct drain){0};
}

static bool has_own_event(const struct op *op)
{
    return op_kind_info((enum op_kind)op->kind)->makes_event && op->event == OP_NONE;
}

void drain_note(struct drain *drain, const struct op_list *from, uint32_t i)
{
    const struct op *op = &from->ops[i];
    if (op->kind == OP_COMPLETE && op->event < from->count) {
        drain->is_lost[op->event] = false;
    }
    if (!has_own_event(op)) {
        return;
    }
    drain->has_events = true;
    if (op->delay_ns > DELAY_NS_MAX) {
        drain->lost = array_grown(drain->lost, drain->lost_count, &drain->lost_room,
                                  sizeof *drain->lost);
        drain->lost[drain->lost_count++] = i;
        drain->is_lost[i] = true;
        return;
    }
    /* A collective starts when all hosts have joined it, or ends after its bound. */
    const uint64_t delay_ns = op->delay_ns +
                              ((op->flags & OP_COLLECTIVE) != 0 ? drain->bound_ns : 0);
    drain->delay_ns = delay_ns > drain->delay_ns ? delay_ns : drain->delay_ns;
}

bool drain_makes_needless(const struct drain *drain, const struct op_list *from, uint32_t i)
{
    const struct op *op = &from->ops[i];
    return op->kind == OP_COMPLETE && op->event < drain->first;
}

bool drain_put(struct drain *drain, struct rewrite *rewrite, uint32_t at)
{
    if (!drain->has_events) {
        return false;
    }
    for (uint32_t i = 0; i < drain->clock_count && drain->delay_ns > 0; i++) {
        struct op advance = op_make(OP_ADVANCE);
        advance.delay_ns = drain->delay_ns;
        advance.host = (uint8_t)i;
        rewrite_add(rewrite, &advance);
    }
    for (size_t i = 0; i < drain->lost_count; i++) {
        const uint32_t event = drain->lost[i];
        if (drain->is_lost[event]) {
            struct op complete = op_make(OP_COMPLETE);
            complete.event = event;
            complete.host = rewrite->from->ops[event].host;
            rewrite_add(rewrite, &complete);
        }
        drain->is_lost[event] = false;
    }
    drain->lost_count = 0;
    drain->delay_ns = 0;
    drain->has_events = false;
    drain->first = at;
    return true;
}

/* --- retired memory --- */

size_t remedy_leave_out_retired(const struct remedy_case *given, struct remedy_result *result)
{
    const size_t count = given->ops->count;
    bool *keep = malloc(count + 1);
    CHECK(keep != NULL);
    for (size_t i = 0; i < count; i++) {
        keep[i] = given->ops->ops[i].kind != OP_RETIRE;
    }
    op_list_copy(&result->ops, given->ops);
    op_list_filter(&result->ops, keep);
    free(keep);
    return count - result->ops.count;
}

void remedy_note_retired(struct remedy_result *result, int used, size_t retired_count)
{
    if (retired_count > 0) {
        snprintf(result->note + used, sizeof result->note - (size_t)used,
                 "; retired ranges left out: %zu", retired_count);
    }
}
