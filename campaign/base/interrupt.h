/* Ctrl-C and its like: the first one asks the run to end soon, another of the same number ends the
 * program as the system does by default; one within 0.1 s of the first is taken for the same. */
#ifndef CAMPAIGN_BASE_INTERRUPT_H
#define CAMPAIGN_BASE_INTERRUPT_H

#include <stdbool.h>

/* Takes SIGINT, SIGTERM and SIGHUP; ignores SIGPIPE and SIGXFSZ, so that a closed pipe and a
 * full disk are failed writes. */
void interrupt_install(void);

/* In a child: ignores ctrl-C, as the parent alone decides when the child ends. */
void interrupt_ignore(void);

/* In a child that may be asked to end soon with what it has: only that signal still arrives. */
void interrupt_take_one(int number);

bool interrupt_is_requested(void);

/* Names the file that the second one removes before the program ends: it is not whole.  NULL: there
 * is none any more. path is copied, and shorter than FILE_PATH_BYTES.  One file at a time. */
void interrupt_removes(const char *path);

#endif
