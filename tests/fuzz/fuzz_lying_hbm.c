/* libhbm that lies, in the place of the true one (the linker's --wrap): LIAR names the lie, and
 * without it all is as it was.  The fuzz target that calls it by its own interface must notice. */
#include "allocator/hbm.h"
#include "allocator/hbm_shape.h"
#include "tests/fuzz/fuzz_lying.h"

WRAPPED(bool, hbm_invariants_hold, const struct hbm *hbm);
WRAPPED(uint64_t, hbm_host_bytes, const struct hbm *hbm);
WRAPPED(enum hbm_result, hbm_create, const struct hbm_services *services,
        const struct hbm_options *options, struct hbm **out);
WRAPPED(enum hbm_result, hbm_allocate, struct hbm *hbm, const struct hbm_request *request,
        struct hbm_buffer **out);
WRAPPED(enum hbm_result, hbm_release, struct hbm *hbm, struct hbm_buffer *buffer);
WRAPPED(void, hbm_stats, struct hbm *hbm, struct hbm_stats *out);
WRAPPED(enum hbm_shape_result, hbm_shape_parse, const char *text, struct hbm_shape *shape,
        size_t *error_offset);

bool __wrap_hbm_invariants_hold(const struct hbm *hbm)
{
    return __real_hbm_invariants_hold(hbm) && !is_lying("invariants");
}

uint64_t __wrap_hbm_host_bytes(const struct hbm *hbm)
{
    return __real_hbm_host_bytes(hbm) + (is_lying("host_bytes") ? 1 : 0);
}

enum hbm_result __wrap_hbm_create(const struct hbm_services *services,
                                  const struct hbm_options *options, struct hbm **out)
{
    struct hbm_options mended = *options;
    if (is_lying("order")) {
        mended.order[0] = HBM_DRAIN;
        mended.order[1] = HBM_DEFRAGMENT;
        mended.order[2] = HBM_EVICT;
    }
    return __real_hbm_create(services, &mended, out);
}

enum hbm_result __wrap_hbm_allocate(struct hbm *hbm, const struct hbm_request *request,
                                    struct hbm_buffer **out)
{
    struct hbm_request mended = *request;
    if (is_lying("size") && mended.size_bytes == 0) {
        mended.size_bytes = 1;
    }
    const enum hbm_result result = __real_hbm_allocate(hbm, &mended, out);
    return result == HBM_NO_MEMORY && is_lying("memory") ? HBM_UNAVAILABLE : result;
}

enum hbm_result __wrap_hbm_release(struct hbm *hbm, struct hbm_buffer *buffer)
{
    const enum hbm_result result = __real_hbm_release(hbm, buffer);
    return is_lying("release") ? HBM_OK : result;
}

void __wrap_hbm_stats(struct hbm *hbm, struct hbm_stats *out)
{
    __real_hbm_stats(hbm, out);
    out->num_allocs += is_lying("count") ? 1 : 0;
}

enum hbm_shape_result __wrap_hbm_shape_parse(const char *text, struct hbm_shape *shape,
                                             size_t *error_offset)
{
    const enum hbm_shape_result result = __real_hbm_shape_parse(text, shape, error_offset);
    if (result == HBM_SHAPE_OK && is_lying("shape") && shape->rank > 0) {
        shape->dimensions[0]++;
    }
    if (result != HBM_SHAPE_OK && is_lying("offset") && error_offset != NULL) {
        *error_offset += 1000;
    }
    return result;
}
