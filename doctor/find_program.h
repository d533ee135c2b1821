/* Programs in the folders of PATH, and what they print when they are asked. */
#ifndef DOCTOR_FIND_PROGRAM_H
#define DOCTOR_FIND_PROGRAM_H

#include "harness/base/writing.h"

#include <stdbool.h>

/* Finds the first of the names (blanks between them) that is a program: in a folder of path (colons
 * between them), or where it begins with '/' that file.  place has PATH_MAX bytes.  False: there is
 * none. */
bool find_program(const char *path, const char *names, char *place);

enum ask_end {
    ASK_ANSWERED, /* it ended with status 0 */
    ASK_FAILED,   /* it ended otherwise, or cannot be run */
    ASK_LATE,     /* it took too long */
    ASK_NOT_ASKED /* no process can be started; errno says why */
};
/* Runs words[0] (its file) with these words, NULL at their end, for two seconds at most.  What it
 * prints is appended to output; it reads nothing. */
enum ask_end ask_program(const char *const *words, struct writing *output);

#endif
