/* A shared library of the system that is loaded when it is needed, and the functions in it. */
#ifndef TARGETS_ADAPTERS_PRIVATE_LIBRARY_H
#define TARGETS_ADAPTERS_PRIVATE_LIBRARY_H

#include "targets/adapters/findings.h"

#include <stdbool.h>
#include <stddef.h>

enum { LIBRARY_REASON_BYTES = 256 };

/* A function, and where its address goes: a pointer to a pointer to a function. */
struct library_call {
    const char *name;
    void *place;
};

struct library {
    const char *file;    /* as the dynamic linker knows it */
    const char *package; /* of Debian, that has the file */
    const char *wants;   /* an environment that it has to be loaded in, "NAME=VALUE"; else NULL */
    /* This variable of the environment has this value while the library is loaded; NULL: none. */
    const char *variable, *value;
    const struct library_call *calls; /* that library_load() finds; the last has no name */
    /* NULL: if it can be loaded it can be used.  Otherwise whether it can; false: reason says in
     * one line why not. */
    bool (*is_usable)(char reason[LIBRARY_REASON_BYTES]);
    /* Does the same in this process, and asks the driver for its devices; NULL: it is no driver. */
    void (*examine)(struct adapter_findings *findings);
};

/* Loads it for the caller alone: its malloc does not become the program's.  NULL: reason is one
 * line that says why, with the package. */
void *library_open(const struct library *library, char reason[LIBRARY_REASON_BYTES]);
void library_close(void *handle);
/* The file that was loaded, without symbolic links; "" when it is not known. */
void library_place(void *handle, char file[ADAPTER_FILE_BYTES]);

/* Sets all places of the calls, the last of which has no name, or none and explains in reason. */
bool library_find(void *handle, const struct library *library, const struct library_call *calls,
                  char reason[LIBRARY_REASON_BYTES]);
/* Both, for a library that stays: where its places are set already nothing is done.  NULL, or one
 * line that says why not, valid until the next call. */
const char *library_load(const struct library *library);

/* A question whose answer starts something in the process that answers it: so a child does.
 * Returns what can(reason) returns in a child of this process. false: reason is one line that says
 * why not. */
bool ask_child(bool (*can)(char reason[LIBRARY_REASON_BYTES]), char reason[LIBRARY_REASON_BYTES]);

#endif
