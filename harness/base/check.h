/* CHECK: an invariant of ours.  It is always on and aborts; what a target did wrong is never a
 * CHECK but an observation that a rule judges. */
#ifndef HARNESS_BASE_CHECK_H
#define HARNESS_BASE_CHECK_H

_Noreturn void check_failed(const char *condition, const char *file, int line);

/* Told before the abort, with "FILE:LINE: CONDITION does not hold", so that whoever buries the
 * process knows that it was not the target.  NULL: nobody is. */
extern void (*check_failed_hook)(const char *text);

#define CHECK(condition) ((condition) ? (void)0 : check_failed(#condition, __FILE__, __LINE__))

/* A CHECK that takes more time than what it stands in, such as all invariants of a structure.
 * Builds without HBMSTRESS_COSTLY_CHECKS compile the condition and never evaluate it. */
#ifdef HBMSTRESS_COSTLY_CHECKS
#define CHECK_COSTLY(condition) CHECK(condition)
#else
#define CHECK_COSTLY(condition) ((void)sizeof((condition) ? 1 : 0))
#endif

#endif
