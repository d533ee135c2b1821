/* first_fit with an option that does nothing (cache), one that does something (pad), and one of
 * which any text is a value (note): what infer has to tell apart. */
#include "targets/targets.h"

#include <stdio.h>
#include <string.h>

static const struct target *inner;
static const char option_help[] = "cache=yes|no\npad=yes|no\nnote=<text>\n";
/* Of the instance that was opened last. */
static bool pads;

static bool read_option(const struct target_option *option)
{
    const bool is_flag = strcmp(option->value, "yes") == 0 || strcmp(option->value, "no") == 0;
    if (strcmp(option->key, "pad") == 0 && is_flag) {
        pads = strcmp(option->value, "yes") == 0;
        return true;
    }
    return strcmp(option->key, "note") == 0 || (strcmp(option->key, "cache") == 0 && is_flag);
}

static enum target_result open_idle(const struct target_setup *setup,
                                    const struct device_services *device,
                                    struct target_instance **out, struct target_contract *contract,
                                    char *reason, size_t reason_bytes)
{
    struct target_setup without = *setup;
    pads = false;
    for (uint32_t i = 0; i < setup->option_count; i++) {
        if (!read_option(&setup->options[i])) {
            (void)snprintf(reason, reason_bytes, "unknown option '%s'; valid are cache, pad, note",
                           setup->options[i].key);
            return TARGET_INVALID;
        }
    }
    without.options = NULL;
    without.option_count = 0;
    const enum target_result result = inner->open(&without, device, out, contract, reason,
                                                  reason_bytes);
    if (pads) {
        contract->rounding.overhead_bytes = contract->granule_bytes;
    }
    return result;
}

/* A granule more than was asked for, where that is declared. */
static enum target_result alloc_padded(struct target_instance *instance,
                                       const struct target_request *request,
                                       struct target_block *block)
{
    struct target_request padded = *request;
    struct target_stats stats;
    inner->stats(instance, &stats);
    if (pads && request->size_bytes > 0 && request->size_bytes < stats.bytes_limit) {
        padded.size_bytes += 512;
    }
    return inner->alloc(instance, &padded, block);
}

struct target hbmstress_target;

__attribute__((constructor)) static void copy_inner(void)
{
    inner = &target_first_fit;
    hbmstress_target = *inner;
    hbmstress_target.name = "idle";
    hbmstress_target.options = NULL;
    hbmstress_target.option_help = option_help;
    hbmstress_target.open = open_idle;
    hbmstress_target.alloc = alloc_padded;
}
