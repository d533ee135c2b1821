/* The place that an option names for what is written, looked at before anything is run.  What -o
 * writes replaces no input, no symbolic link, and nothing that is no file. */
#ifndef CAMPAIGN_BASE_PLACE_H
#define CAMPAIGN_BASE_PLACE_H

#include "campaign/base/file.h"
#include "campaign/base/message.h"
#include "harness/op/op.h"
#include "harness/op/setup.h"

#include <stdbool.h>
#include <stddef.h>

struct output_place {
    char path[FILE_PATH_BYTES]; /* of the file: what a symbolic link names, whether it is there yet
                                   or not */
    bool is_special; /* no regular file (a device, a pipe): it is written to and never replaced */
};

/* Finds the place of that path.  input (NULL: none) is what will be read.  EXIT_KEPT; or EXIT_USAGE
 * after one message for a directory, a path in none, and a place where the input lies. */
enum exit_code place_find(const char *path, const char *input, struct output_place *place);

/* Makes the folder that an option names, and those above it.  EXIT_KEPT; or after one message
 * EXIT_USAGE where none can be, EXIT_HARNESS where the world does not let us. */
enum exit_code place_make_folder(const char *path);

/* Writes a file below such a folder, and makes the folders on the way to it.  It is there whole or
 * not at all; its bytes are not forced to the disk.  False: a message was given. */
bool place_write(const char *path, const void *bytes, size_t length);

/* The place to which the user asked to write a list of ops: standard output, or a file that appears
 * whole or not at all. */

/* Writes to path, or to standard output when path is NULL: where place_find says.  EXIT_KEPT; or
 * after one message EXIT_USAGE for a place that is none, EXIT_HARNESS for a write that failed.  A
 * reader that left is no failure. */
enum exit_code ops_output(const char *path, const struct setup *setup, const struct op_list *ops,
                          const char *comments);

/* Like ops_output(), for one of many files.  A child writes it by way of the file `partial`, which
 * its parent made and removes. */
enum exit_code ops_output_through(const char *partial, const char *path, const struct setup *setup,
                                  const struct op_list *ops, const char *comments);

/* The name under which a file is written until it is whole: beside its place, so that it can be
 * renamed, and one that nobody had.  What is unfinished there goes when a signal ends the program.
 */

/* Makes an empty file beside that path (of a file, or of a directory with a slash at its end).
 * False: errno says why, and partial is "".  One at a time; a child may write it, and rename it,
 * which is the end of it, or begin the next one under the name. */
bool partial_create(const char *beside, char partial[FILE_PATH_BYTES]);

/* Removes what is still there, and makes partial "", which it may be before. */
void partial_remove(char partial[FILE_PATH_BYTES]);

/* A document that an option names a file for. */

/* Writes it to the path, where place_find() says: there whole or not at all.  EXIT_KEPT; or after
 * one message EXIT_USAGE for a place that is none, EXIT_HARNESS for a write that failed. */
enum exit_code picture_write(const char *path, const char *bytes, size_t length);

#endif
