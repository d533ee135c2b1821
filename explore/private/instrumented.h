/* The runtime of code that was compiled with -fsanitize=thread and is linked to this library
 * instead of to the thread sanitizer's: each atomic operation of it is a step of the scheduler, and
 * each plain access of it is compared with those of other lanes.  hbmstress_add_explored_target()
 * (cmake/explored_target.cmake) compiles and links such code.
 *
 * Outside of lanes every call does just what the code asked for.  In a lane:
 * - An atomic load, store, update or compare_exchange is a step of kind STEP_ATOMIC, orders what
 *   its memory order says (explore/private/order_shadow.h), and is done as if it were
 * memory_order_seq_cst. Results that only a weak memory would show are not explored, but plain
 * accesses that rely on an order that was not asked for are found as races.
 * - A fence orders, but is no step: nobody else can see when it happens.
 * - A plain access that races, also with an atomic one, ends the run with SCHEDULER_RACE, if the
 *   plan has an order.  A lane's own stack is not looked at.
 * - A volatile access that the compiler tells apart (--param=tsan-distinguish-volatile=1, -mllvm
 *   -tsan-distinguish-volatile) is a step, and neither orders nor races; else it is a plain one.
 * - A lane that only looks at atomics, many times in a row, yields: it may wait for one that
 *   another lane will change.
 * - memcpy, memmove, memset and the allocation functions of C that the code calls are seen, because
 *   such targets are linked to the versions of this library.  Memory that malloc gives is new,
 *   whoever had it before; free() is a write.
 *
 * Not seen: what other functions of the C library read and write (strlen, snprintf, qsort);
 * __builtin_memcpy and its like where gcc expands them in place; operator new and delete of C++;
 * atomics that the compiler leaves to libatomic (clang: 16 bytes without -mcx16, and structs);
 * assembly; the annotations of <sanitizer/tsan_interface.h> but for __tsan_acquire and
 * __tsan_release. */
#ifndef EXPLORE_PRIVATE_INSTRUMENTED_H
#define EXPLORE_PRIVATE_INSTRUMENTED_H

#include <stdbool.h>
#include <stddef.h>

/* Does nothing; a program that names it has the runtime in it whole, for the plug-ins that it
 * loads. */
void instrumented_link(void);

/* The entry points for instrumented code share this: the lane that calls them, and what it
 * does. */

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
