/* libhbm with a flaw that shows only in lanes that are threads of their own, told by a file in the
 * current directory: "once", which the first request to meet it removes, "always", or "crash". */
#include "targets/targets.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static const struct target *inner;
static _Thread_local bool has_refused;

static enum target_result alloc_or_refuse(struct target_instance *instance,
                                          const struct target_request *request,
                                          struct target_block *block)
{
    has_refused = false;
    if (gettid() != getpid()) {
        if (access("crash", F_OK) == 0) {
            abort();
        }
        if (access("always", F_OK) == 0 || unlink("once") == 0) {
            has_refused = true;
            return TARGET_FAILED;
        }
    }
    return inner->alloc(instance, request, block);
}

static const char *say(struct target_instance *instance)
{
    return has_refused ? "RESOURCE_EXHAUSTED: no reason" : inner->message(instance);
}

struct target hbmstress_target;

__attribute__((constructor)) static void copy_inner(void)
{
    inner = &target_hbm;
    hbmstress_target = *inner;
    hbmstress_target.name = "once";
    hbmstress_target.alloc = alloc_or_refuse;
    hbmstress_target.message = say;
}
