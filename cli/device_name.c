#include "cli/device_name.h"

#include "harness/op/system.h"

#include <stdio.h>

const char *device_name(const struct setup *setup, uint32_t host, char name[DEVICE_NAME_BYTES])
{
    const struct system *system = system_find(setup->system);
    const uint32_t *at = setup->coordinate;
    if (system != NULL && system->is_tpu) {
        snprintf(name, DEVICE_NAME_BYTES, "%.16s %ux%ux%u_HBM%u", system->device, at[0] + host,
                 at[1], at[2], at[3]);
    } else {
        snprintf(name, DEVICE_NAME_BYTES, "%.16s %u", system == NULL ? "host" : system->device,
                 host);
    }
    return name;
}
