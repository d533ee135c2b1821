/* The place that an option names for what is written, looked at before anything is run.  What -o
 * writes replaces no input, no symbolic link, and nothing that is no file. */
#ifndef CAMPAIGN_BASE_PLACE_H
#define CAMPAIGN_BASE_PLACE_H

#include "campaign/base/file.h"
#include "campaign/base/message.h"

#include <stdbool.h>

struct place {
    char path[FILE_PATH_BYTES]; /* of the file: what a symbolic link names, whether it is there yet
                                   or not */
    bool is_special; /* no regular file (a device, a pipe): it is written to and never replaced */
};

/* Finds the place of that path.  input (NULL: none) is what will be read.  EXIT_KEPT; or EXIT_USAGE
 * after one message for a directory, a path in none, and a place where the input lies. */
enum exit_code place_find(const char *path, const char *input, struct place *place);

/* Makes the folder that an option names, and those above it.  EXIT_KEPT; or after one message
 * EXIT_USAGE where none can be, EXIT_HARNESS where the world does not let us. */
enum exit_code place_make_folder(const char *path);

/* Writes a file below such a folder, and makes the folders on the way to it.  It is there whole or
 * not at all; its bytes are not forced to the disk.  False: a message was given. */
bool place_write(const char *path, const void *bytes, size_t length);

#endif
