/* The comments in which an .ops file carries facts of the file that it was imported from.  A replay
 * does not need them.  With them explain says of the list what it says of the file. */
#ifndef FORMATS_COMMON_IMPORT_COMMENTS_H
#define FORMATS_COMMON_IMPORT_COMMENTS_H

#include "formats/common/import.h"

struct writing;

/* Appends the lines of the comments, without their "# ": the notes, the view, the words of the file
 * for its failure, the settings of its allocator, the names of its devices, where its steps begin,
 * and which requests failed. */
void import_print_comments(const struct import *import, struct writing *text);
/* Takes them from the text of an .ops file, whose ops are in the import.  Other comments, and what
 * names no op of the list, are nothing. */
void import_read_comments(const char *text, size_t length, struct import *import);

#endif
