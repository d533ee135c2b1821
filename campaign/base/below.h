/* Files below a folder that may come from a stranger: no link below it is followed, nothing but
 * regular files is opened, and no open waits for anybody. */
#ifndef CAMPAIGN_BASE_BELOW_H
#define CAMPAIGN_BASE_BELOW_H

#include "harness/base/writing.h"

#include <stdbool.h>
#include <stddef.h>

/* Opens directory/name for reading; name is "FILE" or "FOLDER/FILE".  directory itself may be a
 * link: it is what the user typed.  -1: *why says in words what is wrong, and errno is ENOENT where
 * nothing is there.  The caller closes it. */
int below_open(const char *directory, const char *name, const char **why);

/* Appends all of such a file of at most length_max bytes.  False: as above. */
bool below_read(const char *directory, const char *name, size_t length_max, struct writing *bytes,
                const char **why);

/* True if that folder may be written to: none exists yet, or it is a real one.  False: *why. */
bool below_is_folder(const char *directory, const char *name, const char **why);

/* Returns why an opened file may not be used: it must be a regular file with one name.  NULL: it
 * may be used. */
const char *below_refusal(int file);

#endif
