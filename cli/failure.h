/* A trial that a CHECK of ours ended: told as a fault of hbmstress, with its list kept, and never
 * as a finding. */
#ifndef CLI_FAILURE_H
#define CLI_FAILURE_H

#include "cli/judgement.h"

/* judgement ended with JUDGEMENT_FAILED.  Keeps its list in directory/disputes, gives one message,
 * and returns EXIT_HARNESS. */
enum exit_code failure_tell(const struct plan *plan, const struct judgement *judgement,
                            const char *directory);

#endif
