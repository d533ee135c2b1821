/* Shared objects that the loader must refuse; each is this file with another BAD_… defined. */
#include "harness/target.h"

#include <stddef.h>

static void do_nothing(void)
{
}

/* Never called: the loader only looks whether they are there. */
#define SOME(call) .call = (__typeof__(((struct target *)NULL)->call))do_nothing

#ifdef BAD_NO_SYMBOL
void hbmstress_other(void);
void hbmstress_other(void)
{
    do_nothing();
}
#else
extern const struct target hbmstress_target;
const struct target hbmstress_target = {
#if defined(BAD_ABI)
    .abi_version = TARGET_ABI_VERSION + 41,
#elif defined(BAD_NO_ABI)
    .abi_version = 0,
#else
    .abi_version = TARGET_ABI_VERSION,
#endif
#ifdef BAD_SIZE
    .size_bytes = sizeof(struct target) / 2,
#else
    .size_bytes = sizeof(struct target),
#endif
    .name = "bad",
    .summary = "is refused",
    SOME(open),
    SOME(close),
    SOME(alloc),
    SOME(free),
#ifndef BAD_NO_STATS
    SOME(stats),
#endif
#ifdef BAD_HOLD
    SOME(hold),
#endif
#ifdef BAD_PROGRAMS
    SOME(load),
    SOME(unload),
#endif
#ifdef BAD_DEFRAGMENT
    SOME(defragment),
#endif
    SOME(message),
#ifdef BAD_SLEEP
    SOME(sleep),
#endif
};
#endif
