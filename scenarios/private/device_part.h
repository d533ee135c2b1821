/* Sizes as parts of the device, in whole granules, so that one scenario fits 64 KiB and 96 GiB. */
#ifndef SCENARIOS_PRIVATE_DEVICE_PART_H
#define SCENARIOS_PRIVATE_DEVICE_PART_H

#include "harness/model/model.h"

/* size_bytes rounded down to granules, but at least one. */
static inline uint64_t whole_granules(const struct model *model, uint64_t size_bytes)
{
    const uint64_t granule = model_granule_bytes(model);
    return size_bytes < granule ? granule : size_bytes - size_bytes % granule;
}

/* numerator / denominator of a capacity; numerator up to 2^13, denominator at least 1. */
static inline uint64_t capacity_part(const struct model *model, uint64_t capacity_bytes,
                                     uint64_t numerator, uint64_t denominator)
{
    const uint64_t bytes = capacity_bytes / denominator * numerator +
                           capacity_bytes % denominator * numerator / denominator;
    return whole_granules(model, bytes);
}

/* The same of the device. */
static inline uint64_t device_part(const struct model *model, uint64_t numerator,
                                   uint64_t denominator)
{
    return capacity_part(model, model_capacity_bytes(model), numerator, denominator);
}

/* Among so few blocks any packing can be decided.  With the contract repack, more blocks than this
 * are not mixed with unmovable ones and requests for nearly all that is free: such a question is a
 * subset sum, which neither allocator nor judge answers in reasonable time. */
enum { FEW_BLOCKS = 12 };
static inline bool repacks(const struct model *model)
{
    return model_contract(model)->defrag == DEFRAG_REPACK;
}

#endif
