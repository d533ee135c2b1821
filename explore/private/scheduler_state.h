/* The body of struct scheduler.  Only the scheduler's own files include it. */
#ifndef EXPLORE_PRIVATE_SCHEDULER_STATE_H
#define EXPLORE_PRIVATE_SCHEDULER_STATE_H

#include "explore/private/baton.h"
#include "explore/private/scheduler_objects.h"

struct lane {
    struct carrier carrier;
    bool has_carrier;
    void (*body)(void *context);
    void *context;
    struct step step;    /* at which it stands */
    uint32_t op, number; /* of that point */
    uint32_t lives;      /* 0 once it has ended: a gate */
    bool timed_out, was_probed;
};

struct scheduler {
    enum scheduler_backend backend;
    const struct scheduler_plan *plan;
    struct scheduler_report *report;
    struct carrier main;
    struct lane lanes[LANE_COUNT_MAX];
    struct footprint next[LANE_COUNT_MAX]; /* of the steps at which the lanes stand */
    uint64_t living, clients, yielded;     /* bit per lane */
    uint8_t lane_count, current;
    bool is_alone;
    uint8_t alone_lane;
    uint64_t events[EVENT_COUNT_MAX];
    uint32_t event_count;
    bool events_changed;
    uint8_t probed_lane; /* woken to see whether what it waits for holds; LANE_COUNT_MAX = none */
    const void *probed_object;
    uint64_t now_ns, steps_since_progress, decision_count;
    uint64_t taken_count; /* steps that lanes took, their starts too, and completions */
    struct object_table objects;
    struct schedule_switch *switches;
    size_t switch_count, switch_capacity;
    size_t kept_count; /* of the switches: those behind are defaults, which nobody need repeat */
    uint64_t run_count;
    struct pthreads_run *threads; /* of the pthread functions, for this scheduler's runs; NULL: none
                                     was called yet */
    int processor;                /* on which the threads of lanes run; -1 = not chosen */
    /* For the watch, which is a thread of its own. */
    _Atomic uint64_t step_total;
    _Atomic bool is_watched, is_running;
    pthread_t watch, running_thread;
    bool has_watch;
    _Atomic uint32_t watch_ends; /* a futex */
    jmp_buf stuck_exit;
};

/* Ends the run from within a lane: never returns. */
_Noreturn void scheduler_leave(struct scheduler *scheduler, enum scheduler_outcome outcome);

/* Who stands where, into report->text. */
void scheduler_describe(struct scheduler *scheduler);

/* Watches that lanes reach steps. */
void scheduler_watch_begin(struct scheduler *scheduler);
void scheduler_watch_pause(struct scheduler *scheduler, bool is_paused);
void scheduler_watch_end(struct scheduler *scheduler);
void scheduler_watch_destroy(struct scheduler *scheduler);

#endif
