/* The pieces of a line that does the same again, each with a blank before it and quoted as a shell
 * needs it. */
#ifndef RECORDING_REPEAT_H
#define RECORDING_REPEAT_H

#include "campaign/plan/run_options.h"
#include "harness/base/writing.h"

void repeat_word(struct writing *text, const char *word);
/* " NAME VALUE"; nothing for NULL. */
void repeat_option(struct writing *text, const char *name, const char *value);
/* The same; nothing for 0. */
void repeat_number(struct writing *text, const char *name, uint64_t value);

/* Appends the options by which the command line changed the file's setup: target, options, device,
 * hosts and regrets.  Without them a replay repeats another run. */
void repeat_setup(struct writing *text, const struct run_options *options);

#endif
