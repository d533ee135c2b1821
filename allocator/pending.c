#include "allocator/private/state.h"

#define BUCKETS_FIRST 64u
#define SLAB_SHIFT 8u

static uint32_t find_event_bucket(const struct hbm_pending *pending, uint64_t event)
{
    return hbm_hash_id(event) & (pending->bucket_count - 1u);
}

static bool make_event_buckets(struct hbm_pending *pending, uint32_t count)
{
    HBM_CHECK(count != 0);
    HBM_CHECK((count & (count - 1)) == 0);
    struct hbm_host *host = pending->events.host;
    uint32_t *buckets = hbm_host_zeroed(host, count, sizeof *buckets);
    if (buckets == NULL) {
        return false;
    }
    hbm_host_free(host, pending->buckets, pending->bucket_count, sizeof *buckets);
    pending->buckets = buckets;
    pending->bucket_count = count;
    for (uint32_t number = pending->first; number != HBM_POOL_NONE;) {
        struct hbm_event *event = hbm_pending_event(pending, number);
        uint32_t *bucket = &buckets[find_event_bucket(pending, event->id)];
        event->hash_next = *bucket;
        *bucket = number;
        number = event->next;
    }
    return true;
}

bool hbm_pending_init(struct hbm_pending *pending, struct hbm_host *host)
{
    *pending = (struct hbm_pending){.poll_due = true};
    if (!hbm_pool_init(&pending->events, host, sizeof(struct hbm_event), SLAB_SHIFT)) {
        return false;
    }
    if (hbm_pool_init(&pending->uses, host, sizeof(struct hbm_use), SLAB_SHIFT)) {
        if (make_event_buckets(pending, BUCKETS_FIRST)) {
            HBM_CHECK(pending->first == HBM_POOL_NONE);
            HBM_CHECK(pending->bucket_count == BUCKETS_FIRST);
            return true;
        }
        hbm_pool_deinit(&pending->uses);
    }
    hbm_pool_deinit(&pending->events);
    return false;
}

void hbm_pending_deinit(struct hbm_pending *pending)
{
    hbm_host_free(pending->events.host, pending->buckets, pending->bucket_count,
                  sizeof *pending->buckets);
    hbm_pool_deinit(&pending->uses);
    hbm_pool_deinit(&pending->events);
}

bool hbm_pending_reserve(struct hbm_pending *pending, uint32_t count)
{
    if (!hbm_pool_reserve(&pending->events, count) || !hbm_pool_reserve(&pending->uses, count)) {
        return false;
    }
    /* Longer chains are only slower, so a refusal here is no failure. */
    if (hbm_pool_used_count(&pending->events) + count > pending->bucket_count &&
        pending->bucket_count < 1u << 30) {
        (void)make_event_buckets(pending, pending->bucket_count * 2);
    }
    HBM_CHECK(pending->events.free_count >= count);
    HBM_CHECK(pending->uses.free_count >= count);
    return true;
}

struct hbm_event *hbm_pending_find(const struct hbm_pending *pending, uint64_t id)
{
    for (uint32_t number = pending->buckets[find_event_bucket(pending, id)];
         number != HBM_POOL_NONE;) {
        struct hbm_event *event = hbm_pending_event(pending, number);
        if (event->id == id) {
            return event;
        }
        number = event->hash_next;
    }
    return NULL;
}

static struct hbm_event *append_event(struct hbm_pending *pending, uint64_t id)
{
    HBM_CHECK_COSTLY(hbm_pending_find(pending, id) == NULL);
    const uint32_t number = hbm_pool_take(&pending->events);
    struct hbm_event *event = hbm_pending_event(pending, number);
    uint32_t *bucket = &pending->buckets[find_event_bucket(pending, id)];
    *event = (struct hbm_event){.id = id, .hash_next = *bucket, .previous = pending->last};
    *bucket = number;
    if (pending->last == HBM_POOL_NONE) {
        pending->first = number;
    } else {
        hbm_pending_event(pending, pending->last)->next = number;
    }
    pending->last = number;
    HBM_CHECK(pending->first != HBM_POOL_NONE);
    return event;
}

void hbm_pending_add(struct hbm_pending *pending, uint64_t id, uint32_t block)
{
    HBM_CHECK(block != HBM_POOL_NONE);
    struct hbm_event *event = hbm_pending_find(pending, id);
    if (event == NULL) {
        event = append_event(pending, id);
    }
    const uint32_t number = hbm_pool_take(&pending->uses);
    HBM_CHECK(number != HBM_POOL_NONE);
    *hbm_pending_use(pending, number) = (struct hbm_use){.block = block, .next = event->uses};
    event->uses = number;
}

uint32_t hbm_pending_remove(struct hbm_pending *pending, uint32_t number)
{
    HBM_CHECK(number != HBM_POOL_NONE);
    struct hbm_event *event = hbm_pending_event(pending, number);
    uint32_t *link = &pending->buckets[find_event_bucket(pending, event->id)];
    while (*link != number) {
        HBM_CHECK(*link != HBM_POOL_NONE);
        link = &hbm_pending_event(pending, *link)->hash_next;
    }
    *link = event->hash_next;
    if (event->previous == HBM_POOL_NONE) {
        pending->first = event->next;
    } else {
        hbm_pending_event(pending, event->previous)->next = event->next;
    }
    if (event->next == HBM_POOL_NONE) {
        pending->last = event->previous;
    } else {
        hbm_pending_event(pending, event->next)->previous = event->previous;
    }
    const uint32_t uses = event->uses;
    hbm_pool_give(&pending->events, number);
    HBM_CHECK(uses != HBM_POOL_NONE);
    return uses;
}

uint32_t hbm_pending_use_end(struct hbm_pending *pending, uint32_t use)
{
    HBM_CHECK(use != HBM_POOL_NONE);
    HBM_CHECK(hbm_pool_used_count(&pending->uses) != 0);
    const uint32_t next = hbm_pending_use(pending, use)->next;
    hbm_pool_give(&pending->uses, use);
    return next;
}

void hbm_pending_trim(struct hbm_pending *pending)
{
    if (pending->first != HBM_POOL_NONE) {
        return;
    }
    HBM_CHECK(hbm_pool_used_count(&pending->uses) == 0);
    if (pending->events.slab_count > 1) {
        hbm_pool_reset(&pending->events);
    }
    if (pending->uses.slab_count > 1) {
        hbm_pool_reset(&pending->uses);
    }
    if (pending->bucket_count > BUCKETS_FIRST) {
        (void)make_event_buckets(pending, BUCKETS_FIRST);
    }
}
