/* Limits what a process that runs a target shows to it: none of our files is within its reach, and
 * what it prints goes to a file of its own. */
#ifndef CAMPAIGN_PROCESS_GUEST_H
#define CAMPAIGN_PROCESS_GUEST_H

#include "harness/base/writing.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Of a target's output, the first and the last GUEST_OUTPUT_BYTES / 2 are kept. */
enum { GUEST_OUTPUT_BYTES = 64 << 10 };

/* --- in the parent --- */

/* A file in memory for all that one process prints.  It has a bound: a target that prints much more
 * between two calls of guest_output_bound() than GUEST_OUTPUT_SPACE_BYTES cannot write any more.
 * -1: there is none. */
enum { GUEST_OUTPUT_SPACE_BYTES = 8 << 20 };
int guest_output_create(void);
/* Makes room again, where little is left.  Cheap where much is. */
void guest_output_bound(int output);
/* Appends what was printed since the last time, and forgets it. */
void guest_output_take(int output, struct writing *text);

/* --- in the child --- */

/* The files of this process are from here on: nothing at 0; output (-1: nothing) at 1 and 2, for
 * the target; and ours at high numbers, beyond those that the target can ask for: *tasks (-1: none)
 * and *answers, and with has_standard standard output and error of the program (standard.h).  All
 * others are closed. */
void guest_enter(int *tasks, int *answers, int output, bool has_standard);
/* False: *tasks or *answers, as guest_enter left them, are closed, or are other files by now. */
bool guest_is_intact(void);
/* Closes all of ours, in a process that is none of ours. */
void guest_leave(void);

/* Processes that a target forked end with it: they become children of the process of ours above
 * them, which knows its own children and ends all others. */

/* From here on, what a descendant of this process leaves behind becomes its child, in whatever
 * session it is.  Children that this process already has are nobody's stray.  Only the first call
 * counts. */
void strays_adopt(void);
/* Like strays_adopt(), in a process forked from one that called it: it begins without children. */
void strays_adopt_anew(void);

/* A child of ours, from its fork until it was waited for. */
void strays_know(pid_t process);
void strays_forget(pid_t process);

/* Kills and reaps every child that is not known, and what they leave, until there is none; gives up
 * after a second.  Returns how many of them had to be killed.  Cheap for a process without
 * children.  Where /proc has no lists of children it does nothing. */
uint32_t strays_end(void);

/* A process beside this one that outlives it: should this one be killed, it ends all that was
 * forked below it.  Asked for before the first child; started with that one. */
void strays_want_guard(void);
void strays_start_guard(void);

#endif
