/* Reads the kernel's account of a thread of this process. */
#ifndef EXPLORE_PRIVATE_TASK_H
#define EXPLORE_PRIVATE_TASK_H

#include <stdbool.h>

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

#endif
