/* The place to which the user asked to write a list of ops: standard output, or a file that appears
 * whole or not at all. */
#ifndef CAMPAIGN_BASE_OPS_OUTPUT_H
#define CAMPAIGN_BASE_OPS_OUTPUT_H

#include "campaign/base/message.h"
#include "harness/op/op.h"
#include "harness/op/setup.h"

/* Writes to path, or to standard output when path is NULL: where place_find says.  EXIT_KEPT; or
 * after one message EXIT_USAGE for a place that is none, EXIT_HARNESS for a write that failed.  A
 * reader that left is no failure. */
enum exit_code ops_output(const char *path, const struct setup *setup, const struct op_list *ops,
                          const char *comments);

/* Like ops_output(), for one of many files.  A child writes it by way of the file `partial`, which
 * its parent made and removes. */
enum exit_code ops_output_through(const char *partial, const char *path, const struct setup *setup,
                                  const struct op_list *ops, const char *comments);

#endif
