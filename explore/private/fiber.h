/* A flow of control with a stack of its own inside one thread. */
#ifndef EXPLORE_PRIVATE_FIBER_H
#define EXPLORE_PRIVATE_FIBER_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
