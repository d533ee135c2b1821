/* Processes that a target forked end with it: they become children of the process of ours above
 * them, which knows its own children and ends all others. */
#ifndef CAMPAIGN_PROCESS_STRAYS_H
#define CAMPAIGN_PROCESS_STRAYS_H

#include <stdint.h>
#include <sys/types.h>

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
