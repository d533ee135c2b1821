/* libhbm with defects that do no harm, one or more in each call: every so many calls fail for no
 * reason and change nothing, requests are refused though they fit, and a counter is wrong. */
#include "targets/targets.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Each defect strikes every so many calls.  Primes: each meets each other. */
enum defect { ALLOC, REFUSAL, FREE, USE, HOLD, RELEASE, DONATE, LOAD, EXECUTE, UNLOAD, STATS };
static const unsigned periods[] = {
    [ALLOC] = 23, [REFUSAL] = 13, [FREE] = 7,    [USE] = 11,   [HOLD] = 5,   [RELEASE] = 3,
    [DONATE] = 5, [LOAD] = 7,     [EXECUTE] = 5, [UNLOAD] = 3, [STATS] = 19,
};
static atomic_uint counts[sizeof periods / sizeof periods[0]];

static const struct target *inner;
static _Thread_local bool has_failed;

static bool strikes(enum defect defect)
{
    return atomic_fetch_add(&counts[defect], 1) % periods[defect] == periods[defect] - 1;
}

/* Whether the call fails; of each call the first that is asked. */
static bool fails(enum defect defect)
{
    has_failed = strikes(defect);
    return has_failed;
}

static enum target_result open_with_defects(const struct target_setup *setup,
                                            const struct device_services *device,
                                            struct target_instance **out,
                                            struct target_contract *contract, char *reason,
                                            size_t reason_bytes)
{
    for (unsigned i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        atomic_store(&counts[i], 0);
    }
    return inner->open(setup, device, out, contract, reason, reason_bytes);
}

static enum target_result alloc(struct target_instance *instance,
                                const struct target_request *request, struct target_block *block)
{
    if (fails(ALLOC)) {
        return TARGET_FAILED;
    }
    has_failed = strikes(REFUSAL);
    return has_failed ? TARGET_NO_MEMORY : inner->alloc(instance, request, block);
}

static enum target_result free_block(struct target_instance *instance, uint64_t handle,
                                     uint64_t event)
{
    return fails(FREE) ? TARGET_FAILED : inner->free(instance, handle, event);
}

static enum target_result use(struct target_instance *instance, uint64_t handle, uint64_t event)
{
    return fails(USE) ? TARGET_FAILED : inner->use(instance, handle, event);
}

static enum target_result hold(struct target_instance *instance, uint64_t handle)
{
    return fails(HOLD) ? TARGET_FAILED : inner->hold(instance, handle);
}

static enum target_result release(struct target_instance *instance, uint64_t handle)
{
    return fails(RELEASE) ? TARGET_FAILED : inner->release(instance, handle);
}

static enum target_result donate(struct target_instance *instance, uint64_t handle,
                                 const struct target_request *request, struct target_block *block)
{
    return fails(DONATE) ? TARGET_FAILED : inner->donate(instance, handle, request, block);
}

static enum target_result load(struct target_instance *instance,
                               const struct target_program *program, struct target_block *image)
{
    return fails(LOAD) ? TARGET_FAILED : inner->load(instance, program, image);
}

static enum target_result execute(struct target_instance *instance, uint64_t handle, uint64_t event,
                                  struct target_block *image)
{
    return fails(EXECUTE) ? TARGET_FAILED : inner->execute(instance, handle, event, image);
}

static enum target_result unload(struct target_instance *instance, uint64_t handle)
{
    return fails(UNLOAD) ? TARGET_FAILED : inner->unload(instance, handle);
}

static void stats(struct target_instance *instance, struct target_stats *stats)
{
    inner->stats(instance, stats);
    stats->num_allocs += strikes(STATS);
    stats->peak_bytes_in_use -= strikes(STATS) && stats->peak_bytes_in_use > 0;
}

static const char *message(struct target_instance *instance)
{
    return has_failed ? "no reason" : inner->message(instance);
}

struct target hbmstress_target;

__attribute__((constructor)) static void copy_inner(void)
{
    inner = &target_hbm;
    hbmstress_target = *inner;
    hbmstress_target.name = "harmless";
    hbmstress_target.open = open_with_defects;
    hbmstress_target.alloc = alloc;
    hbmstress_target.free = free_block;
    hbmstress_target.use = use;
    hbmstress_target.hold = hold;
    hbmstress_target.release = release;
    hbmstress_target.donate = donate;
    hbmstress_target.load = load;
    hbmstress_target.execute = execute;
    hbmstress_target.unload = unload;
    hbmstress_target.stats = stats;
    hbmstress_target.message = message;
}
