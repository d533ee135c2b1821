/* Memory that a process of ours shares with the children that it forks afterwards. */
#ifndef CAMPAIGN_PROCESS_SHARED_MEMORY_H
#define CAMPAIGN_PROCESS_SHARED_MEMORY_H

#include <stddef.h>

/* Returns zeroed memory; bytes > 0.  A page costs nothing before it is written to.  NULL: there is
 * none; errno says why. */
void *shared_memory_create(size_t bytes);
/* bytes: as many as it was created with.  memory NULL: does nothing. */
void shared_memory_destroy(void *memory, size_t bytes);

#endif
