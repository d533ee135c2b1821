#include "explore/scheduler.h"

#include "explore/order.h"
#include "explore/private/check.h"
#include "explore/private/scheduler_state.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Thread_local struct scheduler *scheduler_of_thread;

enum { REPIN_PERIOD = 1024 };

const char *scheduler_outcome_name(enum scheduler_outcome outcome)
{
    static const char *const names[] = {"finished",    "deadlock",     "livelock",
                                        "lost_wakeup", "race",         "misuse",
                                        "stuck",       "not_modelled", "stopped"};
    EXPLORE_CHECK((unsigned)outcome < sizeof names / sizeof names[0]);
    return names[outcome];
}

/* --- life --- */

struct scheduler *scheduler_create(enum scheduler_backend backend)
{
    struct scheduler *scheduler = calloc(1, sizeof *scheduler);
    EXPLORE_CHECK(scheduler != NULL);
#ifdef EXPLORE_REAL_LOCKS
    backend =
        SCHEDULER_THREADS; /* a thread sanitizer takes the fibers of a thread for that thread */
#endif
    scheduler->backend = backend;
    scheduler->processor = -1;
    carrier_init_main(&scheduler->main, scheduler);
    return scheduler;
}

void scheduler_destroy(struct scheduler *scheduler)
{
    if (scheduler == NULL) {
        return;
    }
    EXPLORE_CHECK(scheduler != scheduler_of_thread);
    scheduler_watch_destroy(scheduler);
    for (size_t i = 0; i < LANE_COUNT_MAX; i++) {
        if (scheduler->lanes[i].has_carrier) {
            carrier_deinit(&scheduler->lanes[i].carrier, scheduler->backend);
        }
    }
    object_table_deinit(&scheduler->objects);
    free(scheduler->switches);
    free(scheduler->threads);
    free(scheduler);
}

struct order *scheduler_order(const struct scheduler *scheduler)
{
    return scheduler->plan->order;
}

struct object *scheduler_object(struct scheduler *scheduler, const void *address, const char *kind)
{
    return object_table_find(&scheduler->objects, address, kind);
}

void scheduler_object_forget(struct scheduler *scheduler, const void *address)
{
    object_table_forget(&scheduler->objects, address);
}

/* --- a run --- */

_Noreturn void scheduler_leave(struct scheduler *scheduler, enum scheduler_outcome outcome)
{
    EXPLORE_CHECK(outcome <= SCHEDULER_STOPPED);
    EXPLORE_CHECK(scheduler->report != NULL);
    struct carrier *self = scheduler_carrier_of(scheduler, scheduler->current);
    const bool is_over = scheduler->lanes[scheduler->current].lives == 0;
    scheduler->report->outcome = outcome;
    if (is_over) {
        carrier_end(self, &scheduler->main, scheduler->backend);
    }
    carrier_switch(self, &scheduler->main, scheduler->backend);
    EXPLORE_CHECK(false);
    abort();
}

_Noreturn void scheduler_fail(struct scheduler *scheduler, enum scheduler_outcome outcome,
                              const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(scheduler->report->text, sizeof scheduler->report->text, format, arguments);
    va_end(arguments);
    scheduler_leave(scheduler, outcome);
}

_Noreturn void scheduler_stop(struct scheduler *scheduler)
{
    scheduler_leave(scheduler, SCHEDULER_STOPPED);
}

/* The threads of lanes take turns: on one processor a turn costs half. */
static void choose_processor(struct scheduler *scheduler)
{
    if (scheduler->backend != SCHEDULER_THREADS || scheduler->run_count++ % REPIN_PERIOD != 0) {
        return;
    }
    const int here = sched_getcpu();
    if (here == scheduler->processor) {
        return;
    }
    scheduler->processor = here;
    for (size_t i = 0; i < LANE_COUNT_MAX; i++) {
        scheduler_pin_lane(scheduler, &scheduler->lanes[i]);
    }
    EXPLORE_CHECK(scheduler->run_count != 0);
}

static void reset_run(struct scheduler *scheduler, const struct scheduler_plan *plan,
                      struct scheduler_report *report)
{
    EXPLORE_CHECK(plan->body != NULL);
    EXPLORE_CHECK(plan->client_count <= LANE_COUNT_MAX);
    scheduler->plan = plan;
    scheduler->report = report;
    scheduler->living = scheduler->clients = scheduler->yielded = 0;
    scheduler->lane_count = scheduler->current = 0;
    scheduler->is_alone = false;
    scheduler->event_count = 0;
    scheduler->events_changed = true;
    scheduler->probed_lane = LANE_COUNT_MAX;
    scheduler->now_ns = scheduler->steps_since_progress = 0;
    scheduler->decision_count = scheduler->taken_count = 0;
    scheduler->switch_count = 0;
    object_table_clear(&scheduler->objects);
    if (plan->order != NULL) {
        order_reset(plan->order);
    }
}

static void give_up_lanes(struct scheduler *scheduler)
{
    for (uint64_t left = scheduler->living; left != 0; left &= left - 1) {
        carrier_give_up(scheduler_carrier_of(scheduler, (uint8_t)__builtin_ctzll(left)),
                        scheduler->backend);
    }
}

void scheduler_run(struct scheduler *scheduler, const struct scheduler_plan *plan,
                   struct scheduler_report *report)
{
    struct scheduler *outer = scheduler_of_thread;
    EXPLORE_CHECK(outer == NULL);
    memset(report, 0, sizeof *report);
    for (uint8_t i = 0; i < scheduler->lane_count; i++) {
        scheduler->lanes[i].lives = 0; /* of the run before */
    }
    reset_run(scheduler, plan, report);
    choose_processor(scheduler);
    scheduler->clients = 1;
    scheduler->lane_count = plan->client_count == 0 ? 1 : plan->client_count;
    EXPLORE_CHECK(scheduler->lane_count <= LANE_COUNT_MAX);
    scheduler_begin_lane(scheduler, 0, plan->body, plan->context);
    scheduler->running_thread = pthread_self();
    carrier_note_task(&scheduler->main);
    atomic_store(&scheduler->running_task, &scheduler->main.task);
    scheduler_note_thread(scheduler);
    scheduler_watch_begin(scheduler);
    if (scheduler->backend == SCHEDULER_FIBERS) {
        scheduler_of_thread = scheduler;
    }
    carrier_switch(&scheduler->main, &scheduler->lanes[0].carrier, scheduler->backend);
    scheduler_of_thread = NULL;
    scheduler_watch_end(scheduler);
    give_up_lanes(scheduler);
    EXPLORE_CHECK(report->outcome != SCHEDULER_FINISHED || scheduler->living == 0);
    EXPLORE_CHECK(scheduler->recorded_count <= scheduler->switch_capacity);
    report->summary = (struct run_summary){.decision_count = scheduler->decision_count,
                                           .lane_count = scheduler->lane_count,
                                           .is_cut = report->outcome != SCHEDULER_FINISHED};
    report->op = scheduler->lanes[scheduler->current].op;
    report->switches = scheduler->switches;
    report->deviation_count = scheduler->switch_count;
}
