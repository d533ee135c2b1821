/* The entry points for instrumented code share this: the lane that calls them, and what it
 * does. */
#ifndef EXPLORE_PRIVATE_INSTRUMENTED_LANE_H
#define EXPLORE_PRIVATE_INSTRUMENTED_LANE_H

#include <stdbool.h>
#include <stddef.h>

/* A plain access of the calling lane; ends the run when it races.  place: the code that does it. */
void instrumented_touch(const void *address, size_t size_bytes, bool is_write, const void *place);
/* Does the same for the access of an atomic operation. */
void instrumented_touch_atomic(const void *address, size_t size_bytes, bool is_write,
                               const void *place);
/* Memory that is new to whoever has it now. */
void instrumented_forget(const void *address, size_t size_bytes);

/* They hold the other files, so that who asks for one has them all. */
void instrumented_link_atomic(void);
void instrumented_link_memory(void);

#endif
