/* HBM_CHECK aborts with a place when an invariant of libhbm itself is broken: our own bug, never an
 * answer to the caller.  It is always on. */
#ifndef ALLOCATOR_PRIVATE_CHECK_H
#define ALLOCATOR_PRIVATE_CHECK_H

#define HBM_CHECK(condition) \
    (__builtin_expect(!(condition), 0) ? hbm_check_failed(#condition, __FILE__, __LINE__) : (void)0)

/* Does the same for checks that cost more than the code around them: a walk over blocks, a look at
 * a neighbour's cache line, the inner loop of a search.  On where HBM_COSTLY_CHECKS is defined;
 * elsewhere it is compiled, but never evaluated. */
#ifdef HBM_COSTLY_CHECKS
#define HBM_CHECK_COSTLY(condition) HBM_CHECK(condition)
#else
#define HBM_CHECK_COSTLY(condition) ((void)(0 && (condition)))
#endif

/* A function that is part of its callers, which are few and hot. */
#define HBM_HOT static inline __attribute__((always_inline))
/* A function that is kept out of its callers, so that their own code stays short; HBM_RARE: it is
 * called rarely, too. */
#define HBM_APART __attribute__((noinline))
#define HBM_RARE __attribute__((cold, noinline))

HBM_RARE _Noreturn void hbm_check_failed(const char *condition, const char *file, int line);

#endif
