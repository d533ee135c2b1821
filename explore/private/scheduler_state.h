/* The body of struct scheduler, and what its files know of each other. */
#ifndef EXPLORE_PRIVATE_SCHEDULER_STATE_H
#define EXPLORE_PRIVATE_SCHEDULER_STATE_H

#include "explore/private/baton.h"
#include "explore/scheduler.h"

#include <stdbool.h>

/* Names places in the code, for reports. */

enum { PLACE_TEXT_BYTES = 160 };

/* "function+0x12 (file)"; "+0x12 (file)" where no symbol is, counted from the start of the file as
 * it is loaded; "an unknown place" for NULL and for what no loaded file has.  Static functions have
 * names where the file was not stripped.  Reads the file each time, for reports are few.  Returns
 * text. */
const char *place_print(const void *place, char text[PLACE_TEXT_BYTES]);

/* Reads the kernel's account of a thread of this process. */

/* The system call that a thread sleeps in.  number -1: the kernel does not say. */
struct sleep_call {
    long number;
};

/* Returns true when the thread of that kernel number sleeps until something happens, rather than
 * runs, waits for a processor or for a disk.  True: *call is set. */
bool task_is_asleep(int task, struct sleep_call *call);

/* Returns true when neither threads nor time end that sleep, but the reader of its output. */
bool sleep_call_is_output(const struct sleep_call *call);

/* "futex"; "system call 999" (in text) for one without a name here; "the kernel" when it is not
 * known. */
enum { SLEEP_CALL_TEXT_BYTES = 32 };
const char *sleep_call_print(const struct sleep_call *call, char text[SLEEP_CALL_TEXT_BYTES]);

/* The objects of a run: found by address, numbered in the order of first use. */

enum { OBJECT_CHUNK_COUNT = 256, OBJECT_CHUNK_COUNT_MAX = 4096 };

/* Zero is a valid start.  An object never moves: its fields are gates. */
struct object_table {
    struct object *chunks[OBJECT_CHUNK_COUNT_MAX];
    uint32_t count;
    uint32_t *places; /* place_count of them, a power of two: index + 1 of an object, of this
                         generation */
    uint32_t *generations;
    uint32_t place_count, generation;
};
struct object *object_table_find(struct object_table *table, const void *address, const char *kind);
void object_table_forget(struct object_table *table, const void *address);
struct object *object_table_at(const struct object_table *table, uint32_t number);
/* A new run: nothing is known. */
void object_table_clear(struct object_table *table);
void object_table_deinit(struct object_table *table);

/* The body of struct scheduler, and what its files know of each other. */

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
    size_t
        recorded_count; /* of the switches: those behind are defaults, which nobody need repeat */
    uint64_t run_count;
    struct pthreads_run *threads; /* of the pthread functions, for this scheduler's runs; NULL: none
                                     was called yet */
    int processor;                /* on which the threads of lanes run; -1 = not chosen */
    /* For the watch, which is a thread of its own. */
    _Atomic uint64_t step_total;
    _Atomic bool is_running; /* a run is under way */
    _Atomic bool is_watched; /* and no step may take long */
    _Atomic uint32_t stuck_after_ms;
    pthread_t watch, running_thread;
    _Atomic(_Atomic int *) running_task; /* the kernel's number of that thread */
    _Atomic uint32_t accused;            /* enum accused: what the signal is for */
    _Atomic uint64_t accused_step_total; /* it is for a lane that has reached no step since */
    struct sleep_call sleep_call;        /* in which it was found asleep */
    bool has_watch;
    _Atomic uint32_t watch_ends; /* a futex */
    jmp_buf stuck_exit;
};

/* Ends the run from within a lane: never returns. */
_Noreturn void scheduler_leave(struct scheduler *scheduler, enum scheduler_outcome outcome);

static inline struct carrier *scheduler_carrier_of(struct scheduler *scheduler, uint8_t number)
{
    return &scheduler->lanes[number].carrier;
}

/* --- decisions (scheduler_decide.c) --- */

/* Whose turn it is next.  Events complete meanwhile.  Ends the run when nobody can go on. */
uint8_t scheduler_decide(struct scheduler *scheduler);

/* Returns the point at which the running lane stands. */
struct point scheduler_point_now(const struct scheduler *scheduler);

/* A lane was woken for no reason: ends the run if its next step shows that its condition held. */
void scheduler_check_probed(struct scheduler *scheduler, const struct step *step);

/* Something was achieved: waiters may be woken again to see whether their condition holds. */
void scheduler_forget_probes(struct scheduler *scheduler);

/* --- turns and lanes (scheduler_turns.c) --- */

/* Lane `number` runs body(context) from its first turn on. */
void scheduler_begin_lane(struct scheduler *scheduler, uint8_t number, void (*body)(void *context),
                          void *context);

/* The lane's thread runs where the others do. */
void scheduler_pin_lane(const struct scheduler *scheduler, const struct lane *lane);

/* For the watch: which thread to look at. */
void scheduler_note_thread(struct scheduler *scheduler);

/* --- the rest --- */

/* Writes into report->text where each lane stands. */
void scheduler_describe(struct scheduler *scheduler);

/* Watches that lanes reach steps. */
void scheduler_watch_begin(struct scheduler *scheduler);
void scheduler_watch_pause(struct scheduler *scheduler, bool is_paused);
void scheduler_watch_end(struct scheduler *scheduler);
void scheduler_watch_destroy(struct scheduler *scheduler);

#endif
