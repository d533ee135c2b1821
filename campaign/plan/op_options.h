/* Reads the words of a job file or the command line about ops: which faults the trials get, and how
 * often the generator draws each kind of op. */
#ifndef CAMPAIGN_PLAN_OP_OPTIONS_H
#define CAMPAIGN_PLAN_OP_OPTIONS_H

#include "harness/generate/faulting.h"
#include "harness/op/setup.h"

/* Both return NULL, or what is wrong with the text, to follow it in quotes: a text that is valid
 * until the next call. The output is then untouched.  Words are separated by commas or blanks.
 *
 * "none", "all", or names of harness/op/fault.h and "retire". */
const char *op_options_parse_faults(const char *text, struct fault_options *faults);

/* The words for them: "" = none, "all", or the names by commas.  Returns text. */
const char *op_options_print_faults(const struct fault_options *faults, char *text,
                                    size_t text_bytes);

/* KIND:PERCENT each; what is not named keeps its 100. */
const char *op_options_parse_weights(const char *text, uint16_t weights[OP_KIND_COUNT]);

#endif
