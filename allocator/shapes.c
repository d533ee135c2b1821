#include "allocator/private/state.h"

#include <string.h>

#define BUCKETS_FIRST 64u
#define SLAB_SHIFT 6u

struct record {
    uint32_t hash_next;
    uint32_t references;
    struct hbm_shape shape;
};

static struct record *get_shape_record(const struct hbm_shapes *shapes, uint32_t number)
{
    return hbm_pool_at(&shapes->pool, number);
}

/* Over the bytes: a shape has no padding and its unused elements are 0. */
static uint32_t *find_shape_bucket(const struct hbm_shapes *shapes, const struct hbm_shape *shape)
{
    return &shapes->buckets[hbm_hash_bytes(shape, sizeof *shape) & (shapes->bucket_count - 1u)];
}

static bool make_shape_buckets(struct hbm_shapes *shapes, uint32_t count)
{
    HBM_CHECK(count != 0);
    HBM_CHECK((count & (count - 1)) == 0);
    uint32_t *buckets = hbm_host_zeroed(shapes->pool.host, count, sizeof *buckets);
    if (buckets == NULL) {
        return false;
    }
    const struct hbm_shapes old = *shapes;
    shapes->buckets = buckets;
    shapes->bucket_count = count;
    for (uint32_t i = 0; i < old.bucket_count; i++) {
        for (uint32_t number = old.buckets[i], next; number != HBM_POOL_NONE; number = next) {
            struct record *record = get_shape_record(shapes, number);
            next = record->hash_next;
            uint32_t *bucket = find_shape_bucket(shapes, &record->shape);
            record->hash_next = *bucket;
            *bucket = number;
        }
    }
    hbm_host_free(shapes->pool.host, old.buckets, old.bucket_count, sizeof *buckets);
    return true;
}

bool hbm_shapes_init(struct hbm_shapes *shapes, struct hbm_host *host)
{
    *shapes = (struct hbm_shapes){.bucket_count = 0};
    if (!hbm_pool_init(&shapes->pool, host, sizeof(struct record), SLAB_SHIFT)) {
        return false;
    }
    if (make_shape_buckets(shapes, BUCKETS_FIRST)) {
        HBM_CHECK(hbm_pool_used_count(&shapes->pool) == 0);
        return true;
    }
    hbm_pool_deinit(&shapes->pool);
    return false;
}

void hbm_shapes_deinit(struct hbm_shapes *shapes)
{
    hbm_host_free(shapes->pool.host, shapes->buckets, shapes->bucket_count,
                  sizeof *shapes->buckets);
    hbm_pool_deinit(&shapes->pool);
}

uint32_t hbm_shapes_take(struct hbm_shapes *shapes, const struct hbm_shape *shape)
{
    HBM_CHECK_COSTLY(hbm_shape_is_valid(shape));
    for (uint32_t number = *find_shape_bucket(shapes, shape); number != HBM_POOL_NONE;) {
        struct record *record = get_shape_record(shapes, number);
        if (memcmp(&record->shape, shape, sizeof *shape) == 0) {
            record->references++;
            HBM_CHECK(record->references != 0);
            return number;
        }
        number = record->hash_next;
    }
    if (!hbm_pool_reserve(&shapes->pool, 1)) {
        return HBM_POOL_NONE;
    }
    if (hbm_pool_used_count(&shapes->pool) >= shapes->bucket_count &&
        shapes->bucket_count < 1u << 30) {
        (void)make_shape_buckets(shapes, shapes->bucket_count * 2);
    }
    const uint32_t number = hbm_pool_take(&shapes->pool);
    uint32_t *bucket = find_shape_bucket(shapes, shape);
    *get_shape_record(shapes, number) = (struct record){
        .hash_next = *bucket, .references = 1, .shape = *shape};
    *bucket = number;
    return number;
}

void hbm_shapes_give(struct hbm_shapes *shapes, uint32_t number)
{
    if (number == HBM_POOL_NONE) {
        return;
    }
    struct record *record = get_shape_record(shapes, number);
    HBM_CHECK(record->references != 0);
    if (--record->references != 0) {
        return;
    }
    uint32_t *link = find_shape_bucket(shapes, &record->shape);
    while (*link != number) {
        HBM_CHECK_COSTLY(*link != HBM_POOL_NONE);
        link = &get_shape_record(shapes, *link)->hash_next;
    }
    *link = record->hash_next;
    hbm_pool_give(&shapes->pool, number);
    if (hbm_pool_used_count(&shapes->pool) == 0) {
        if (shapes->pool.slab_count > 1) {
            hbm_pool_reset(&shapes->pool);
        }
        if (shapes->bucket_count > BUCKETS_FIRST) {
            (void)make_shape_buckets(shapes, BUCKETS_FIRST);
        }
    }
}

const struct hbm_shape *hbm_shapes_at(const struct hbm_shapes *shapes, uint32_t number)
{
    return number == HBM_POOL_NONE ? NULL : &get_shape_record(shapes, number)->shape;
}
