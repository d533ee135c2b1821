/* Hands the turn from one lane to another: between fibers, flows of control with a stack of their
 * own inside one thread, or between threads. */
#ifndef EXPLORE_PRIVATE_BATON_H
#define EXPLORE_PRIVATE_BATON_H

#include "explore/scheduler.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* A flow of control with a stack of its own inside one thread. */

/* Either a stack of ours, or (all zero) what the thread was doing when it first switched away. */
struct fiber {
    void *saved; /* where it stopped */
    unsigned char *stack;
    size_t stack_bytes;
    bool has_own_stack; /* else stack is the thread's, and only known once it switched away */
    void *shadow;       /* the address sanitizer's, while it is not running */
    void (*body)(void *context);
    void *context;
};

/* Gives it a stack, with a page below it that nobody may touch. */
void fiber_init(struct fiber *fiber);
void fiber_deinit(struct fiber *fiber);
/* Makes the fiber run body(context) from its next turn on; it must not return.  What it was doing
 * is forgotten. */
void fiber_start(struct fiber *fiber, void (*body)(void *context), void *context);
/* Goes on in `to`; returns when somebody goes on in `from`.  An ended `from` never does. */
void fiber_switch(struct fiber *from, struct fiber *to);

/* Hands the turn from one lane to another: between fibers, or between threads. */

/* Carries one lane, or (carrier 0 of none) the caller of scheduler_run(). */
struct carrier {
    struct fiber fiber;
    pthread_t thread;
    bool has_thread, is_main;
    _Atomic int task;        /* the kernel's number of the thread; 0: not known yet */
    _Atomic uint32_t turn;   /* 1: it may go on; a futex */
    _Atomic uint32_t parked; /* the thread stands at its top, with no body under way; a futex */
    bool is_under_way;       /* the thread had a turn since it was started */
    bool gives_up;           /* on its next turn it forgets the body */
    bool quits;              /* on its next turn it ends */
    jmp_buf top;
    struct scheduler *scheduler;
    void (*body)(void *context);
    void *context;
};

/* The caller of scheduler_run(). */
void carrier_init_main(struct carrier *carrier, struct scheduler *scheduler);
void carrier_init(struct carrier *carrier, struct scheduler *scheduler,
                  enum scheduler_backend backend);
void carrier_deinit(struct carrier *carrier, enum scheduler_backend backend);
/* The calling thread is what carries it. */
void carrier_note_task(struct carrier *carrier);
/* Makes the carrier run body(context) on its next turn; it must not return: it hands the turn on
 * with carrier_end(). */
void carrier_start(struct carrier *carrier, enum scheduler_backend backend,
                   void (*body)(void *context), void *context);
/* Hands the turn to `to`; returns when `from` has it again. */
void carrier_switch(struct carrier *from, struct carrier *to, enum scheduler_backend backend);
/* Does the same for a lane that is over. */
_Noreturn void carrier_end(struct carrier *from, struct carrier *to,
                           enum scheduler_backend backend);
/* Forgets a lane that stopped half-way; called from the main carrier. */
void carrier_give_up(struct carrier *carrier, enum scheduler_backend backend);
/* The threads of lanes share the processor on which the caller runs now. */
void carrier_pin(const struct carrier *carrier, int processor);

#endif
