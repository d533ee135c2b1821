/* Finds the file of a target that an op list names by a relative path.  The list keeps the path as
 * it was typed, because certificates name the list with its head.  A comment gives the folder of
 * that path, relative to the list's own, so that the list can be run from any directory. */
#ifndef CAMPAIGN_BASE_TARGET_PATH_H
#define CAMPAIGN_BASE_TARGET_PATH_H

#include "campaign/base/file.h"
#include "harness/base/writing.h"

#include <stdbool.h>

/* Finds the file: in the folder of the list; then where the comment says; else it is target as it
 * stands, in the working directory.  list NULL or "-", or an absolute target: as it stands.  found
 * is what to open; lists that are written from now on name the folder that it was found from. */
void target_path_find(const char *list, const char *target, char found[FILE_PATH_BYTES]);

/* Appends that comment for a list that will be at path, whose folder is there; nothing for a target
 * that is no relative path, or where path is NULL. */
void target_path_append_comment(struct writing *comments, const char *target, const char *path);

/* text is that of a list which goes from one path to another: its comment, if it has one, names the
 * same folder from there.  Where that folder is not there, the comment stays as it is. */
void target_path_move_comment(struct writing *text, const char *from, const char *to);

#endif
