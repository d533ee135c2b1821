/* The target hbm under a name of its own, exported from a plug-in with a libhbm of its own. */
#include "targets/targets.h"

__attribute__((visibility("default"))) struct target hbmstress_target;

/* C has no way to initialise it from a table of another file. */
__attribute__((constructor)) static void fill_in(void)
{
    hbmstress_target = target_hbm;
    hbmstress_target.name = "hbm_explored";
    hbmstress_target
        .summary = "libhbm, compiled so that the harness sees its atomic operations and accesses";
}
