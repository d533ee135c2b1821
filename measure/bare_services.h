/* Device services that do as little as can be: host memory from malloc, copies that copy nothing,
 * events that are always done. */
#ifndef MEASURE_BARE_SERVICES_H
#define MEASURE_BARE_SERVICES_H

#include "harness/op/setup.h"
#include "harness/target.h"

/* Constant, without state; any number of instances may share it. */
extern const struct device_services bare_services;

/* Opens the target over them, with the capacity, granule and options of the setup.  False, and why
 * in reason (reason_bytes of room): it refuses the setup, or takes regions or orders frees by
 * streams, which such services cannot serve. */
bool bare_open(const struct target *target, const struct setup *setup,
               struct target_instance **instance, char *reason, size_t reason_bytes);

#endif
