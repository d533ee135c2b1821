/* The target first_fit under a name of its own, exported from a plug-in: its memory accesses are
 * counted. */
#include "targets/targets.h"

__attribute__((visibility("default"))) struct target hbmstress_target;

/* C has no way to initialise it from a table of another file. */
__attribute__((constructor)) static void fill_in(void)
{
    hbmstress_target = target_first_fit;
    hbmstress_target.name = "first_fit_explored";
    hbmstress_target.summary = "first_fit, compiled so that the harness counts its accesses";
}
