#include "allocator/private/launch.h"

#include "allocator/private/call.h"
#include "allocator/private/heap.h"
#include "allocator/private/heap_fast.h"
#include "allocator/private/state.h"

/* ---- requests ---- */

static inline bool is_align_valid(uint64_t align_bytes)
{
    return (align_bytes & (align_bytes - 1)) == 0 && align_bytes <= HBM_ALIGN_BYTES_MAX;
}

HBM_RARE static enum hbm_result refuse_request(const struct hbm *hbm,
                                               const struct hbm_request *request)
{
    if (request->size_bytes - 1 >= HBM_SIZE_BYTES_MAX) {
        return hbm_fail_invalid(hbm, "a size must be 1 to 2^63 bytes");
    }
    if (!is_align_valid(request->align_bytes)) {
        return hbm_fail_invalid(hbm, "an alignment must be a power of two up to 2^21");
    }
    if (request->kind > HBM_KIND_OUTPUT) {
        return hbm_fail_invalid(hbm, "a request is for a buffer or an output");
    }
    return hbm_fail_invalid(hbm, "the shape is not valid");
}

static inline bool is_request_valid(const struct hbm_request *request)
{
    return request->size_bytes - 1 < HBM_SIZE_BYTES_MAX && is_align_valid(request->align_bytes) &&
           request->kind <= HBM_KIND_OUTPUT &&
           (request->shape == NULL || hbm_shape_is_valid(request->shape));
}

enum hbm_result hbm_request_check(const struct hbm *hbm, const struct hbm_request *request)
{
    return is_request_valid(request) ? HBM_OK : refuse_request(hbm, request);
}

static inline uint32_t find_align_shift(const struct hbm *hbm, const struct hbm_request *request)
{
    if (request->align_bytes <= hbm->options.granule_bytes) {
        return hbm->heap.granule_shift;
    }
    return (uint32_t)__builtin_ctzll(request->align_bytes);
}

static inline enum hbm_role find_role(const struct hbm_request *request)
{
    static_assert(HBM_ROLE_OUTPUT - HBM_ROLE_BUFFER == HBM_KIND_OUTPUT - HBM_KIND_BUFFER,
                  "roles are in the order of kinds");
    return (enum hbm_role)(HBM_ROLE_BUFFER + (unsigned)request->kind);
}

static inline uint64_t round_size(const struct hbm *hbm, const struct hbm_request *request)
{
    const uint64_t mask = hbm->options.granule_bytes - 1u;
    return (request->size_bytes + mask) & ~mask;
}

/* ---- taking ---- */

HBM_RARE static enum hbm_result intern_shape(struct hbm *hbm, const struct hbm_request *request,
                                             uint32_t *shape)
{
    *shape = HBM_POOL_NONE;
    if (request->shape == NULL) {
        return HBM_OK;
    }
    HBM_CHECK(request->shape->rank <= HBM_SHAPE_RANK_MAX);
    *shape = hbm_shapes_take(&hbm->shapes, request->shape);
    return *shape != HBM_POOL_NONE ? HBM_OK
                                   : hbm_fail_unavailable(hbm, "no host memory for a shape");
}

HBM_APART static void describe_in_cold(struct hbm *hbm, struct hbm_block *block,
                                       const struct hbm_request *request, uint32_t shape)
{
    struct hbm_block_cold *cold = hbm_heap_cold(&hbm->heap, hbm_heap_number(&hbm->heap, block));
    block->described = true;
    block->shaped = shape != HBM_POOL_NONE;
    cold->used.unpadded_bytes = request->unpadded_bytes != 0 ? request->unpadded_bytes
                                                             : request->size_bytes;
    cold->used.tag_name = request->tag_name;
    cold->used.tag = request->tag;
    cold->used.shape = shape;
}

/* Bytes of a block of size_bytes that the request does not ask for. */
static inline uint64_t count_padding(const struct hbm_request *request, uint64_t size_bytes)
{
    return size_bytes -
           (request->unpadded_bytes != 0 ? request->unpadded_bytes : request->size_bytes);
}

/* True if the hot record can express all of a request without a shape. */
static inline bool is_hot_enough(const struct hbm_request *request, uint64_t padding_bytes)
{
    return (padding_bytes >> HBM_PADDING_BITS | (uint32_t)request->tag) == 0 &&
           request->tag_name == NULL;
}

/* Describes a block that has no description yet. */
static void describe_block(struct hbm *hbm, struct hbm_block *block,
                           const struct hbm_request *request, uint32_t shape)
{
    HBM_CHECK(block->size_bytes >= request->size_bytes);
    HBM_CHECK(!block->described && !block->shaped);
    const uint64_t padding_bytes = count_padding(request, block->size_bytes);
    if (shape != HBM_POOL_NONE || !is_hot_enough(request, padding_bytes)) {
        describe_in_cold(hbm, block, request, shape);
        return;
    }
    block->padding_bytes = padding_bytes & HBM_PADDING_MAX;
}

HBM_RARE static enum hbm_result take_after_mitigation(struct hbm *hbm,
                                                      const struct hbm_request *request,
                                                      uint64_t size_bytes, uint32_t *number)
{
    HBM_CHECK(size_bytes >= request->size_bytes);
    if (size_bytes > hbm->options.capacity_bytes) {
        return hbm_fail_memory(hbm, HBM_FAILURE_BUFFER, request->size_bytes, NULL);
    }
    struct hbm_call call = hbm_call_begin(hbm, NULL);
    call.demand.size_bytes = size_bytes;
    call.demand.align_shift = find_align_shift(hbm, request);
    const enum hbm_result result = hbm_place(&call, number);
    if (result == HBM_NO_MEMORY) {
        return hbm_fail_memory(hbm, HBM_FAILURE_BUFFER, request->size_bytes, NULL);
    }
    if (result == HBM_UNAVAILABLE) {
        return hbm_fail_unavailable(hbm, "a service refused what the allocation needed");
    }
    HBM_CHECK(result == HBM_OK);
    HBM_CHECK(*number != HBM_POOL_NONE);
    return result;
}

/* Wherever a block for it is found.  False: result says why there is none. */
HBM_APART static struct hbm_block *take_anyhow(struct hbm *hbm, const struct hbm_request *request,
                                               uint64_t size_bytes, enum hbm_result *result)
{
    bool host_refused = false;
    uint32_t number = hbm_heap_take(&hbm->heap, size_bytes, find_align_shift(hbm, request),
                                    find_role(request), &host_refused);
    *result = HBM_OK;
    if (number == HBM_POOL_NONE) {
        *result = take_after_mitigation(hbm, request, size_bytes, &number);
    }
    if (*result != HBM_OK) {
        return NULL;
    }
    struct hbm_block *block = hbm_heap_at(&hbm->heap, number);
    block->role = find_role(request) & HBM_ROLE_MAX;
    return block;
}

/* Takes a block for a request, also for one with a shape.  NULL: *result says why. */
static struct hbm_block *take_described(struct hbm *hbm, const struct hbm_request *request,
                                        enum hbm_result *result)
{
    uint32_t shape;
    *result = intern_shape(hbm, request, &shape);
    if (*result != HBM_OK) {
        return NULL;
    }
    struct hbm_block *block = take_anyhow(hbm, request, round_size(hbm, request), result);
    if (block == NULL) {
        hbm_shapes_give(&hbm->shapes, shape);
        return NULL;
    }
    describe_block(hbm, block, request, shape);
    return block;
}

enum hbm_result hbm_buffer_take(struct hbm *hbm, const struct hbm_request *request,
                                uint32_t *number)
{
    enum hbm_result result;
    const struct hbm_block *block = take_described(hbm, request, &result);
    if (block != NULL) {
        *number = hbm_heap_number(&hbm->heap, block);
    }
    return result;
}

void hbm_buffer_untake(struct hbm *hbm, uint32_t number)
{
    struct hbm_block *block = hbm_heap_at(&hbm->heap, number);
    HBM_CHECK(!block->dying);
    HBM_CHECK(block->hold_count == 1);
    block->hold_count = 0;
    hbm_block_free(hbm, number);
}

/* ---- public ---- */

/* True if it is valid, wants no more than granule alignment, and has no shape. */
static inline bool is_request_plain(const struct hbm *hbm, const struct hbm_request *request)
{
    return request->size_bytes - 1 < HBM_SIZE_BYTES_MAX && request->kind <= HBM_KIND_OUTPUT &&
           (request->align_bytes & (request->align_bytes - 1)) == 0 &&
           request->align_bytes <= hbm->options.granule_bytes && request->shape == NULL;
}

/* NULL: no hole, or no records. */
HBM_HOT struct hbm_block *take_plain(struct hbm *hbm, const struct hbm_request *request,
                                     uint64_t size_bytes)
{
    const uint64_t padding_bytes = count_padding(request, size_bytes);
    struct hbm_block *block = hbm_heap_take_plain(&hbm->heap, size_bytes, find_role(request),
                                                  padding_bytes);
    if (block != NULL && !is_hot_enough(request, padding_bytes)) {
        describe_in_cold(hbm, block, request, HBM_POOL_NONE);
    }
    return block;
}

static inline void give_new_block(struct hbm *hbm, struct hbm_block *block, struct hbm_buffer **out)
{
    hbm_largest_note(hbm, block->size_bytes);
    hbm_peak_in_use_note(hbm);
    *out = (struct hbm_buffer *)block;
}

/* Allocates with the lock held, and releases it. */
HBM_APART static enum hbm_result allocate_anyhow(struct hbm *hbm, const struct hbm_request *request,
                                                 struct hbm_buffer **out)
{
    enum hbm_result result;
    struct hbm_block *block = take_described(hbm, request, &result);
    if (block != NULL) {
        give_new_block(hbm, block, out);
    }
    hbm_lock_give(&hbm->lock);
    return result;
}

HBM_APART static enum hbm_result allocate_described(struct hbm *hbm,
                                                    const struct hbm_request *request,
                                                    struct hbm_buffer **out)
{
    const enum hbm_result result = hbm_request_check(hbm, request);
    if (result != HBM_OK) {
        return result;
    }
    hbm_lock_take(&hbm->lock);
    hbm_collect(hbm);
    return allocate_anyhow(hbm, request, out);
}

/* This is the path of nearly every request; no address of a variable is taken, so that all of them
 * stay in registers. */
enum hbm_result hbm_allocate(struct hbm *hbm, const struct hbm_request *request,
                             struct hbm_buffer **out)
{
    if (!__builtin_expect(is_request_plain(hbm, request), 1)) {
        return allocate_described(hbm, request, out);
    }
    const uint64_t size_bytes = round_size(hbm, request);
    hbm_lock_take(&hbm->lock);
    hbm_collect(hbm);
    struct hbm_block *block = take_plain(hbm, request, size_bytes);
    if (__builtin_expect(block == NULL, 0)) {
        return allocate_anyhow(hbm, request, out);
    }
    give_new_block(hbm, block, out);
    hbm_lock_give(&hbm->lock);
    return HBM_OK;
}

void hbm_free(struct hbm *hbm, struct hbm_buffer *buffer)
{
    struct hbm_block *block = hbm_block_of(buffer);
    hbm_lock_take(&hbm->lock);
    hbm_collect(hbm);
    if (__builtin_expect(hbm_block_ends_plainly(block), 1)) {
        hbm->room_count++;
        hbm_heap_give_block(&hbm->heap, block);
    } else {
        HBM_CHECK(block->role == HBM_ROLE_BUFFER || block->role == HBM_ROLE_OUTPUT);
        hbm_block_free(hbm, hbm_heap_number(&hbm->heap, block));
    }
    hbm_lock_give(&hbm->lock);
}

/* Adds a use until the event, unless it has completed. */
static enum hbm_result add_block_use(struct hbm *hbm, struct hbm_block *block, uint64_t event)
{
    const struct hbm_services *services = &hbm->host.services;
    if (services->event_done(services->context, event)) {
        return HBM_OK;
    }
    const uint32_t number = hbm_heap_number(&hbm->heap, block);
    if (hbm_block_use_count(&hbm->heap, number) == UINT32_MAX ||
        !hbm_pending_reserve(&hbm->pending, 1)) {
        return hbm_fail_unavailable(hbm, "no host memory to remember an event");
    }
    HBM_CHECK(block->role >= HBM_ROLE_BUFFER);
    hbm_pending_add(&hbm->pending, event, number);
    hbm_block_use(&hbm->heap, number);
    return HBM_OK;
}

/* Does as hbm_collect(), but the block stays where it is: the work that the caller has enqueued has
 * its address already. */
static void collect_in_place(struct hbm *hbm, struct hbm_block *block)
{
    const bool full = block->hold_count == UINT32_MAX;
    block->hold_count += !full;
    hbm_collect(hbm);
    HBM_CHECK(full || block->hold_count != 0);
    block->hold_count -= !full;
}

enum hbm_result hbm_use(struct hbm *hbm, struct hbm_buffer *buffer, uint64_t event)
{
    struct hbm_block *block = hbm_block_of(buffer);
    enum hbm_result result;
    hbm_lock_take(&hbm->lock);
    collect_in_place(hbm, block);
    if (hbm_block_is_stranded(block)) {
        result = hbm_fail_unavailable(hbm, "the contents are stranded on the host");
    } else {
        result = add_block_use(hbm, block, event);
    }
    hbm_lock_give(&hbm->lock);
    return result;
}

enum hbm_result hbm_free_after(struct hbm *hbm, struct hbm_buffer *buffer, uint64_t event)
{
    struct hbm_block *block = hbm_block_of(buffer);
    hbm_lock_take(&hbm->lock);
    collect_in_place(hbm, block);
    HBM_CHECK(!block->dying);
    const enum hbm_result result = add_block_use(hbm, block, event);
    if (result == HBM_OK) {
        hbm_block_free(hbm, hbm_heap_number(&hbm->heap, block));
    }
    hbm_lock_give(&hbm->lock);
    return result;
}

enum hbm_result hbm_hold(struct hbm *hbm, struct hbm_buffer *buffer)
{
    struct hbm_block *block = hbm_block_of(buffer);
    hbm_lock_take(&hbm->lock);
    hbm_collect(hbm);
    const bool full = block->hold_count == UINT32_MAX;
    block->hold_count += !full;
    hbm_lock_give(&hbm->lock);
    return full ? hbm_fail_invalid(hbm, "too many external references") : HBM_OK;
}

enum hbm_result hbm_release(struct hbm *hbm, struct hbm_buffer *buffer)
{
    struct hbm_block *block = hbm_block_of(buffer);
    hbm_lock_take(&hbm->lock);
    hbm_collect(hbm);
    const bool held = block->hold_count != 0;
    if (held) {
        block->hold_count--;
        hbm->room_count++;
        hbm_block_settle(hbm, hbm_heap_number(&hbm->heap, block));
    }
    hbm_lock_give(&hbm->lock);
    return held ? HBM_OK : hbm_fail_invalid(hbm, "a release without a hold");
}

/* ---- donation ---- */

static bool can_donate(const struct hbm_block *block, const struct hbm_request *request)
{
    if (block->dying || block->role == HBM_ROLE_PROGRAM) {
        return false;
    }
    if (request->size_bytes > block->size_bytes || block->hold_count != 0) {
        return false;
    }
    return request->align_bytes <= 1 || (block->address & (request->align_bytes - 1)) == 0;
}

enum hbm_result hbm_donation_check(const struct hbm *hbm, const struct hbm_block *block,
                                   const struct hbm_request *request)
{
    if (hbm_block_is_stranded(block)) {
        return hbm_fail_unavailable(hbm,
                                    "the contents of what is donated are stranded on the host");
    }
    if (!can_donate(block, request)) {
        return hbm_fail_invalid(hbm, "a donated block is too small, unaligned, or externally held");
    }
    return HBM_OK;
}

void hbm_buffer_become(struct hbm *hbm, uint32_t number, const struct hbm_request *request,
                       uint32_t shape)
{
    struct hbm_block *block = hbm_heap_at(&hbm->heap, number);
    HBM_CHECK(block->role == HBM_ROLE_BUFFER || block->role == HBM_ROLE_OUTPUT);
    HBM_CHECK(block->size_bytes >= request->size_bytes);
    if (block->shaped) {
        hbm_shapes_give(&hbm->shapes, hbm_heap_cold(&hbm->heap, number)->used.shape);
    }
    block->described = block->shaped = false;
    block->role = find_role(request) & HBM_ROLE_MAX;
    describe_block(hbm, block, request, shape);
    block->align_shift = find_align_shift(hbm, request) & HBM_ALIGN_SHIFT_MAX;
}

enum hbm_result hbm_donate(struct hbm *hbm, struct hbm_buffer *buffer,
                           const struct hbm_request *request, struct hbm_buffer **out)
{
    struct hbm_block *block = hbm_block_of(buffer);
    uint32_t shape;
    enum hbm_result result = hbm_request_check(hbm, request);
    if (result != HBM_OK) {
        return result;
    }
    hbm_lock_take(&hbm->lock);
    hbm_collect(hbm);
    result = hbm_donation_check(hbm, block, request);
    if (result == HBM_OK) {
        result = intern_shape(hbm, request, &shape);
    }
    if (result == HBM_OK) {
        hbm_buffer_become(hbm, hbm_heap_number(&hbm->heap, block), request, shape);
        *out = buffer;
    }
    hbm_lock_give(&hbm->lock);
    return result;
}

uint64_t hbm_buffer_address(struct hbm *hbm, const struct hbm_buffer *buffer)
{
    hbm_lock_take(&hbm->lock);
    hbm_collect_events(hbm);
    const uint64_t address = hbm_block_address(hbm_block_of(buffer));
    hbm_lock_give(&hbm->lock);
    return address;
}

uint64_t hbm_buffer_size(struct hbm *hbm, const struct hbm_buffer *buffer)
{
    hbm_lock_take(&hbm->lock);
    const uint64_t size_bytes = hbm_block_of(buffer)->size_bytes;
    hbm_lock_give(&hbm->lock);
    return size_bytes;
}
