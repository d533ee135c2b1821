/* Files as a whole, and directories. */
#ifndef CAMPAIGN_BASE_FILE_H
#define CAMPAIGN_BASE_FILE_H

#include "harness/base/writing.h"

#include <stdbool.h>
#include <stddef.h>

enum { FILE_PATH_BYTES = 4096 };

/* True if both files exist and are one file, also under two names or through symbolic links.  "-"
 * is standard input. */
bool file_is_same(const char *a, const char *b);

bool file_is_directory(const char *path);
/* Appends the path as one word of a shell. */
void file_append_word(struct writing *text, const char *path);
/* True if the name has that ending (".ops"), and something before it. */
bool file_name_ends_in(const char *name, const char *ending);

/* Makes of any text what a file can be called: '/', ':', blanks and control characters become '_'.
 */
void file_name_clean(char *name);

/* Makes a directory and those above it.  False: errno says why. */
bool make_directories(const char *path);

/* Makes the directory that path lies in, and those above it.  Its name goes to directory, for a
 * message.  False: errno says why. */
bool make_directory_of(const char *path, char directory[FILE_PATH_BYTES]);

/* Appends all of a file of at most length_max bytes.  False: errno says why (EFBIG: it is larger).
 */
bool file_read(const char *path, size_t length_max, struct writing *bytes);
/* Like file_read(), for a file that is open; it stays open. */
bool file_read_open(int file, size_t length_max, struct writing *bytes);

/* Files below a folder that may come from a stranger: no link below it is followed, nothing but
 * regular files is opened, and no open waits for anybody. */

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
