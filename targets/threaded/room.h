/* Makes room for a request of the target threaded: awaits queued frees, copies blocks, evicts
 * programs, each with the mutex given up, and searches again after each. */
#ifndef TARGETS_THREADED_ROOM_H
#define TARGETS_THREADED_ROOM_H

#include "targets/threaded/slide.h"

/* Holds the mutex before and after, but gives it up meanwhile.  OK: there is room at this moment,
 * and *address is the place for want->size_bytes; when want->program is set, size_bytes was set to
 * what it needs at this moment: nothing while its image is there.  NO_MEMORY: at this moment
 * nothing is left to await, to copy or to evict for it. FAILED: the device refused something. */
enum target_result threaded_make_room(struct threaded_heap *heap, struct threaded_want *want,
                                      uint64_t *address);

/* Copies blocks together; the mutex as above.  FAILED: a copy was refused. */
enum target_result threaded_defragment(struct threaded_heap *heap);

#endif
