/* The tables of libhbm that grow with what they hold: events with their uses, and shapes.  Each
 * entry is found again, and the memory for many goes back when none is left. */
#include <check.h>
#include <string.h>

#include "allocator/private/state.h"
#include "tests/allocator/hbm_rig.h"
#include "tests/helpers/suite.h"

/* One entry; as many as the first slab of a table has, which counts from 1, and one more; and so
 * many that the table of slabs and the buckets grow as well. */
static const uint32_t counts[] = {1, 64, 65, 255, 256, 4000};
enum { ROW_COUNT = sizeof counts / sizeof counts[0], STRIDE = 7 };

struct rig {
    struct hbm_device device;
    struct hbm_host host;
    uint64_t first_bytes; /* of the table while it is empty */
};

static void rig_begin(struct rig *rig)
{
    rig->host = rig_host(&rig->device);
}

static void rig_end(struct rig *rig)
{
    ck_assert_uint_eq(rig->host.bytes, 0);
    hbm_device_deinit(&rig->device);
}

/* ---- events ---- */

/* Entry i of count, in an order that is not that of insertion. */
static uint64_t mix_order(uint64_t i, uint64_t count)
{
    return count % STRIDE == 0 ? count - 1 - i : i * STRIDE % count;
}

static uint32_t find_event_number(const struct hbm_pending *pending, uint64_t id)
{
    uint32_t number = pending->first;
    while (number != HBM_POOL_NONE && hbm_pending_event(pending, number)->id != id) {
        number = hbm_pending_event(pending, number)->next;
    }
    return number;
}

/* Two uses each, by blocks 2 * id and 2 * id + 1. */
static void add_events(struct hbm_pending *pending, uint32_t count)
{
    for (uint32_t id = 1; id <= count; id++) {
        ck_assert(hbm_pending_reserve(pending, 2));
        hbm_pending_add(pending, id, 2 * id);
        hbm_pending_add(pending, id, 2 * id + 1);
    }
}

static void remove_event(struct hbm_pending *pending, uint32_t id)
{
    uint32_t use = hbm_pending_remove(pending, find_event_number(pending, id));
    ck_assert_uint_eq(hbm_pending_use(pending, use)->block, 2 * id + 1);
    use = hbm_pending_use_end(pending, use);
    ck_assert_uint_eq(hbm_pending_use(pending, use)->block, 2 * id);
    ck_assert_uint_eq(hbm_pending_use_end(pending, use), HBM_POOL_NONE);
}

TEST(events_are_found_until_they_are_removed_and_leave_no_memory_behind, .to = ROW_COUNT)
{
    const uint32_t count = counts[_i];
    struct rig rig;
    struct hbm_pending pending;
    rig_begin(&rig);
    ck_assert(hbm_pending_init(&pending, &rig.host));
    rig.first_bytes = rig.host.bytes;
    for (int round = 0; round < 2; round++) {
        add_events(&pending, count);
        const uint64_t bytes = rig.host.bytes;
        ck_assert_int_eq(bytes > rig.first_bytes, count > 1);
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t id = 1 + (uint32_t)mix_order(i, count);
            hbm_pending_trim(&pending);
            ck_assert_uint_eq(rig.host.bytes, bytes);
            ck_assert_uint_eq(hbm_pending_find(&pending, id)->id, id);
            remove_event(&pending, id);
            ck_assert_ptr_null(hbm_pending_find(&pending, id));
        }
        ck_assert_uint_eq(pending.first, HBM_POOL_NONE);
        ck_assert_uint_eq(pending.last, HBM_POOL_NONE);
        hbm_pending_trim(&pending);
        ck_assert_uint_eq(rig.host.bytes, rig.first_bytes);
    }
    hbm_pending_deinit(&pending);
    rig_end(&rig);
}

/* ---- shapes ---- */

static struct hbm_shape make_shape(uint32_t i)
{
    struct hbm_shape shape;
    hbm_shape_init(&shape, HBM_F32, (uint64_t[]){i + 1, 3}, 2);
    return shape;
}

TEST(equal_shapes_are_one_and_the_last_one_leaves_no_memory_behind, .to = ROW_COUNT)
{
    static uint32_t numbers[4000];
    const uint32_t count = counts[_i];
    struct rig rig;
    struct hbm_shapes shapes;
    rig_begin(&rig);
    ck_assert(hbm_shapes_init(&shapes, &rig.host));
    rig.first_bytes = rig.host.bytes;
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < count; i++) {
            const struct hbm_shape shape = make_shape(i);
            numbers[i] = hbm_shapes_take(&shapes, &shape);
            ck_assert_uint_ne(numbers[i], HBM_POOL_NONE);
            ck_assert_uint_eq(hbm_shapes_take(&shapes, &shape), numbers[i]);
            hbm_shapes_give(&shapes, numbers[i]);
        }
        const uint64_t bytes = rig.host.bytes;
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t k = (uint32_t)mix_order(i, count);
            const struct hbm_shape shape = make_shape(k);
            ck_assert_mem_eq(hbm_shapes_at(&shapes, numbers[k]), &shape, sizeof shape);
            ck_assert_uint_eq(rig.host.bytes, bytes);
            hbm_shapes_give(&shapes, numbers[k]);
        }
        ck_assert_uint_eq(rig.host.bytes, rig.first_bytes);
    }
    ck_assert_ptr_null(hbm_shapes_at(&shapes, HBM_POOL_NONE));
    hbm_shapes_deinit(&shapes);
    rig_end(&rig);
}
