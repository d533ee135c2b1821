/* A question whose answer starts something in the process that answers it: so a child does. */
#ifndef TARGETS_ADAPTERS_PRIVATE_ASK_CHILD_H
#define TARGETS_ADAPTERS_PRIVATE_ASK_CHILD_H

#include "targets/adapters/private/library.h"

/* Returns what can(reason) returns in a child of this process. false: reason is one line that says
 * why not. */
bool ask_child(bool (*can)(char reason[LIBRARY_REASON_BYTES]), char reason[LIBRARY_REASON_BYTES]);

#endif
