/* Device services that do as little as can be: host memory from malloc, copies that copy nothing,
 * events that are always done. */
#ifndef MEASURE_BARE_SERVICES_H
#define MEASURE_BARE_SERVICES_H

#include "harness/target.h"

/* Constant, without state; any number of instances may share it. */
extern const struct device_services bare_services;

#endif
