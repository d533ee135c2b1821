#include "recording/device_name.h"

#include "harness/op/chip.h"

#include <stdio.h>

const char *device_name(const struct recording *recording, uint32_t host,
                        char name[DEVICE_NAME_BYTES])
{
    const struct system *system = system_find(recording->setup.system);
    const uint32_t *at = recording->setup.coordinate;
    if (recording->devices[host][0] != '\0') {
        snprintf(name, DEVICE_NAME_BYTES, "%s", recording->devices[host]);
    } else if (system != NULL && system->is_tpu && (at[0] | at[1] | at[2] | at[3]) != 0) {
        snprintf(name, DEVICE_NAME_BYTES, "%.16s %ux%ux%u_HBM%u", system->device, at[0] + host,
                 at[1], at[2], at[3]);
    } else {
        snprintf(name, DEVICE_NAME_BYTES, "%.16s %u", system == NULL ? "host" : system->device,
                 host);
    }
    return name;
}
