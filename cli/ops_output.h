/* Where a list of ops goes that the user asked for: standard output, or a file that is there whole or not at all. */
#ifndef CLI_OPS_OUTPUT_H
#define CLI_OPS_OUTPUT_H

#include "cli/message.h"
#include "harness/op.h"
#include "harness/setup.h"
#include "reports/writing.h"

/* Writes to path, or to standard output when path is NULL.  A path that is no regular file (a device, a
 * pipe) is written to and never replaced.  EXIT_KEPT; or after one message EXIT_USAGE for a directory or
 * a path in none, EXIT_HARNESS for a write that failed.  A reader that left is no failure. */
enum exit_code ops_output(const char *path, const struct setup *setup, const struct op_list *ops, const char *comments);

/* Whether a file can be there: EXIT_KEPT, or EXIT_USAGE after one message for a directory or a path in none.
 * *is_special: it is no regular file, and is written to and never replaced. */
enum exit_code output_path_check(const char *path, bool *is_special);

/* Appends one line of comment for such a file, name and value; nothing when value is "".  What a target says may
 * have more lines: it is made visible. */
void comment_append(struct writing *comments, const char *name, const char *value);

/* How many lanes and switches the list has, as another line; nothing when it has no lanes. */
void comment_append_lanes(struct writing *comments, const struct op_list *ops);

#endif
