/* libhbm with state that outlives a trial: it counts its instances.  A file in the current
 * directory says what comes of it.  From the third instance on, "refuses" has the first request
 * fail, and "moves" has it move blocks before it waits, which breaks no promise.  "once" and "dies"
 * do not depend on the count: the request that removes the file fails, or ends the process. */
#include "targets/targets.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPTION_COUNT_MAX = 16 };

static const struct target *inner;
static unsigned instance_count;
static bool is_first_request, has_refused;

static bool is_due(const char *what)
{
    return instance_count >= 3 && access(what, F_OK) == 0;
}

static enum target_result open_counted(const struct target_setup *setup,
                                       const struct device_services *services,
                                       struct target_instance **instance,
                                       struct target_contract *contract, char *reason,
                                       size_t reason_bytes)
{
    struct target_option options[OPTION_COUNT_MAX + 1];
    struct target_setup other = *setup;
    instance_count++;
    is_first_request = true;
    if (is_due("moves") && setup->option_count <= OPTION_COUNT_MAX) {
        memcpy(options, setup->options, setup->option_count * sizeof *options);
        options[other.option_count++] = (struct target_option){"order", "defragment,drain,evict"};
        other.options = options;
    }
    return inner->open(&other, services, instance, contract, reason, reason_bytes);
}

static enum target_result alloc_by_count(struct target_instance *instance,
                                         const struct target_request *request,
                                         struct target_block *block)
{
    has_refused = is_first_request && (is_due("refuses") || unlink("once") == 0);
    is_first_request = false;
    if (has_refused) {
        return TARGET_FAILED;
    }
    if (unlink("dies") == 0) {
        abort();
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
    hbmstress_target.name = "keeps";
    hbmstress_target.open = open_counted;
    hbmstress_target.alloc = alloc_by_count;
    hbmstress_target.message = say;
}
