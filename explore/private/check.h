/* Checks of our own promises: always on; what fails is a defect of this folder and ends the
 * process. */
#ifndef EXPLORE_PRIVATE_CHECK_H
#define EXPLORE_PRIVATE_CHECK_H

_Noreturn void explore_check_failed(const char *file, int line, const char *condition);

#define EXPLORE_CHECK(condition)                                  \
    do {                                                          \
        if (!(condition)) {                                       \
            explore_check_failed(__FILE__, __LINE__, #condition); \
        }                                                         \
    } while (0)

/* Does the same for checks that cost more than the code around them.  On where HBM_COSTLY_CHECKS is
 * defined; elsewhere it is compiled, but never evaluated. */
#ifdef HBM_COSTLY_CHECKS
#define EXPLORE_CHECK_COSTLY(condition) EXPLORE_CHECK(condition)
#else
#define EXPLORE_CHECK_COSTLY(condition) ((void)(0 && (condition)))
#endif

#endif
