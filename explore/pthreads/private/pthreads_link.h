/* One symbol of each file that defines pthread functions: who refers to it has the file in the
 * program, even where a shared object that comes first (a sanitizer's) defines the same functions.
 */
#ifndef EXPLORE_PTHREADS_PRIVATE_PTHREADS_LINK_H
#define EXPLORE_PTHREADS_PRIVATE_PTHREADS_LINK_H

#include <stdbool.h>

extern const char pthreads_link_mutex, pthreads_link_condition, pthreads_link_rwlock,
    pthreads_link_spin, pthreads_link_semaphore, pthreads_link_barrier, pthreads_link_thread,
    pthreads_link_identity, pthreads_link_key, pthreads_link_time;

/* pthreads_link() was called. */
bool pthreads_are_linked(void);

#endif
