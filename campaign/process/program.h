/* Programs of this machine: where they are, and what they print when they run. */
#ifndef CAMPAIGN_PROCESS_PROGRAM_H
#define CAMPAIGN_PROCESS_PROGRAM_H

#include "harness/base/writing.h"

#include <stdbool.h>
#include <stdint.h>

/* Finds the first of the names (blanks between them) that is a program: in a folder of path (colons
 * between them; NULL: of PATH), or where it has a '/' that file.  place has PATH_MAX bytes.  False:
 * there is none. */
bool program_find(const char *path, const char *names, char *place);

/* How one ended. */
struct program_end {
    int status;      /* as waitpid says it */
    bool is_stopped; /* it took longer than it may, or the user interrupted, and was killed */
};

/* Runs words (at most 15, NULL at their end; the first one is looked for on the PATH) in the
 * folder, without input, in a process group of its own that ends with it.  What it prints, at most
 * 1 MiB of it, is appended; what it writes is no core.  At most duration_ns.  False: it cannot be
 * started; errno says why. */
bool program_run(const char *const *words, const char *folder, uint64_t duration_ns,
                 struct writing *output, struct program_end *end);

#endif
