/* A plug-in that cannot be loaded: with LOADING_CRASHES or LOADING_HANGS it does that while it is
 * loaded, with LOADING_LACKS it needs a function that nothing defines. */
#include "harness/target.h"

#include <stdlib.h>
#include <unistd.h>

extern const struct target hbmstress_target;
const struct target hbmstress_target = {.abi_version = TARGET_ABI_VERSION,
                                        .size_bytes = sizeof(struct target),
                                        .name = "loading",
                                        .summary = "is not loaded"};

void function_that_nothing_defines(void);
void load(void);

__attribute__((constructor)) void load(void)
{
#if defined(LOADING_CRASHES)
    abort();
#elif defined(LOADING_HANGS)
    for (;;) {
        (void)pause();
    }
#else
    function_that_nothing_defines();
#endif
}
