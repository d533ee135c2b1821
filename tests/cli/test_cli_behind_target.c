/* libhbm with two defects.  Each fifth request fails for no reason, which does no harm.  Of two
 * requests that meet, one is told a smaller size than it asked for, which does. */
#include "targets/targets.h"

#include <stdatomic.h>
#include <stdbool.h>

enum { FAILING_PERIOD = 5 };

static const struct target *inner;
static atomic_uint request_count, under_way_count;
static _Thread_local bool has_failed;

static enum target_result open_with_defects(const struct target_setup *setup,
                                            const struct device_services *device,
                                            struct target_instance **out,
                                            struct target_contract *contract, char *reason,
                                            size_t reason_bytes)
{
    atomic_store(&request_count, 0);
    atomic_store(&under_way_count, 0);
    return inner->open(setup, device, out, contract, reason, reason_bytes);
}

static enum target_result alloc_with_defects(struct target_instance *instance,
                                             const struct target_request *request,
                                             struct target_block *block)
{
    has_failed = atomic_fetch_add(&request_count, 1) % FAILING_PERIOD == FAILING_PERIOD - 1;
    if (has_failed) {
        return TARGET_FAILED;
    }
    const bool is_alone = atomic_fetch_add(&under_way_count, 1) == 0;
    const enum target_result result = inner->alloc(instance, request, block);
    atomic_fetch_sub(&under_way_count, 1);
    if (result == TARGET_OK && !is_alone) {
        block->size_bytes = request->size_bytes - 1;
    }
    return result;
}

static enum target_result load(struct target_instance *instance,
                               const struct target_program *program, struct target_block *image)
{
    has_failed = false;
    return inner->load(instance, program, image);
}

static enum target_result execute(struct target_instance *instance, uint64_t handle, uint64_t event,
                                  struct target_block *image)
{
    has_failed = false;
    return inner->execute(instance, handle, event, image);
}

static const char *say(struct target_instance *instance)
{
    return has_failed ? "no reason" : inner->message(instance);
}

struct target hbmstress_target;

__attribute__((constructor)) static void copy_inner(void)
{
    inner = &target_hbm;
    hbmstress_target = *inner;
    hbmstress_target.name = "behind";
    hbmstress_target.open = open_with_defects;
    hbmstress_target.alloc = alloc_with_defects;
    hbmstress_target.load = load;
    hbmstress_target.execute = execute;
    hbmstress_target.message = say;
}
