/* The name under which a file is written until it is whole: beside its place, so that it can be
 * renamed, and one that nobody had.  What is unfinished there goes when a signal ends the program.
 */
#ifndef CAMPAIGN_BASE_PARTIAL_H
#define CAMPAIGN_BASE_PARTIAL_H

#include "campaign/base/file.h"

#include <stdbool.h>

/* Makes an empty file beside that path (of a file, or of a directory with a slash at its end).
 * False: errno says why, and partial is "".  One at a time; a child may write it, and rename it,
 * which is the end of it, or begin the next one under the name. */
bool partial_create(const char *beside, char partial[FILE_PATH_BYTES]);

/* Removes what is still there, and makes partial "", which it may be before. */
void partial_remove(char partial[FILE_PATH_BYTES]);

#endif
