/* CHECK aborts with a place when an invariant of libhbm itself is broken: our own bug, never an
 * answer to the caller.  It is always on. */
#ifndef ALLOCATOR_PRIVATE_CHECK_H
#define ALLOCATOR_PRIVATE_CHECK_H

#define HBM_CHECK(condition) \
    (__builtin_expect(!(condition), 0) ? hbm_check_failed(#condition, __FILE__, __LINE__) : (void)0)

_Noreturn void hbm_check_failed(const char *condition, const char *file, int line);

#endif
