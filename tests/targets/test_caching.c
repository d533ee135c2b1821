/* The model of PyTorch's caching allocator: two sequences of requests, event by event; its
 * settings; random requests under each of them.  The target is in test_segments.c. */
#include "harness/base/random.h"
#include "targets/caching/cache.h"
#include "tests/helpers/snap.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)
#define DEVICE_BYTES (48 * MIB)
#define SPACING_BYTES (UINT64_C(1) << 40) /* from one segment to the next */
enum { TEXT_BYTES = 4096, PENDING_MAX = 64 };

/* --- a device, and what is traced --- */

static struct {
    uint64_t device_bytes, taken_bytes, address_last;
    uint64_t pending[PENDING_MAX]; /* complete_all completes them */
    size_t pending_count;
    struct cache *cache;
    struct cache_settings settings;
    char text[TEXT_BYTES];
} rig;

static bool take_bytes(uint64_t bytes)
{
    if (bytes > rig.device_bytes - rig.taken_bytes) {
        return false;
    }
    rig.taken_bytes += bytes;
    return true;
}

static bool take_segment(void *context, uint64_t bytes, uint64_t needed_bytes,
                         struct cache_range *segment)
{
    (void)context;
    ck_assert_uint_le(needed_bytes, bytes);
    if (!take_bytes(bytes)) {
        return false;
    }
    rig.address_last += SPACING_BYTES;
    *segment = (struct cache_range){rig.address_last, bytes};
    return true;
}

static void give_bytes(void *context, struct cache_range range)
{
    (void)context;
    ck_assert_uint_le(range.size_bytes, rig.taken_bytes);
    rig.taken_bytes -= range.size_bytes;
}

static bool take_range(void *context, uint64_t bytes, struct cache_range *range)
{
    (void)context;
    rig.address_last += SPACING_BYTES;
    *range = (struct cache_range){rig.address_last, bytes};
    return true;
}

static void give_range(void *context, struct cache_range range)
{
    (void)context;
    (void)range;
}

static bool map_part(void *context, struct cache_range part)
{
    (void)context;
    return take_bytes(part.size_bytes);
}

static void complete_all(void *context)
{
    (void)context;
    for (size_t i = 0; i < rig.pending_count; i++) {
        ck_assert(cache_complete(rig.cache, rig.pending[i]));
    }
    rig.pending_count = 0;
}

static void *host_alloc(void *context, size_t bytes)
{
    (void)context;
    return malloc(bytes);
}

static void host_free(void *context, void *memory, size_t bytes)
{
    (void)context;
    (void)bytes;
    free(memory);
}

__attribute__((format(printf, 1, 2))) static void trace(const char *format, ...)
{
    va_list arguments;
    const size_t used = strlen(rig.text);
    va_start(arguments, format);
    const int length = vsnprintf(rig.text + used, sizeof rig.text - used, format, arguments);
    va_end(arguments);
    ck_assert_uint_lt(used + (size_t)length, sizeof rig.text);
}

/* One line an event: addresses as S1+offset, the number of the segment. */
static void trace_event(void *context, const struct cache_event *event)
{
    static const char *const names[] = {[CACHE_SEGMENT_ALLOC] = "segment_alloc",
                                        [CACHE_SEGMENT_FREE] = "segment_free",
                                        [CACHE_SEGMENT_MAP] = "segment_map",
                                        [CACHE_SEGMENT_UNMAP] = "segment_unmap",
                                        [CACHE_ALLOC] = "alloc",
                                        [CACHE_FREE_REQUESTED] = "free_requested",
                                        [CACHE_FREE_COMPLETED] = "free_completed",
                                        [CACHE_OOM] = "oom"};
    (void)context;
    trace("%s S%" PRIu64 "+%" PRIu64 " %" PRIu64 "\n", names[event->kind],
          event->range.address / SPACING_BYTES, event->range.address % SPACING_BYTES,
          event->range.size_bytes);
}

static const struct cache_upstream upstream = {.segment_take = take_segment,
                                               .segment_give = give_bytes,
                                               .range_take = take_range,
                                               .range_give = give_range,
                                               .map = map_part,
                                               .unmap = give_bytes,
                                               .complete_all = complete_all,
                                               .host_alloc = host_alloc,
                                               .host_free = host_free,
                                               .event = trace_event};

static void setup(void)
{
    memset(&rig, 0, sizeof rig);
    rig.device_bytes = DEVICE_BYTES;
    cache_settings_init(&rig.settings);
    rig.settings.range_bytes = DEVICE_BYTES / 8 * 9;
}

static void begin(void)
{
    rig.cache = cache_create(&rig.settings, &upstream, CACHE_STRAIGHT);
    ck_assert_ptr_nonnull(rig.cache);
}

static void teardown(void)
{
    cache_destroy(rig.cache);
    ck_assert_uint_eq(rig.taken_bytes, 0);
}

static uint64_t take(uint64_t bytes)
{
    struct cache_range block = {0};
    trace("take %" PRIu64 "\n", bytes);
    const enum cache_result result = cache_malloc(rig.cache, bytes, 0, &block);
    ck_assert(cache_invariants_hold(rig.cache));
    ck_assert_uint_eq(cache_totals(rig.cache).reserved_bytes, rig.taken_bytes);
    return result == CACHE_OK ? block.address : 0;
}

static void give(uint64_t address)
{
    ck_assert(cache_free(rig.cache, address, false));
    ck_assert(cache_invariants_hold(rig.cache));
}

static void trace_totals(void)
{
    const struct cache_totals totals = cache_totals(rig.cache);
    trace("reserved %" PRIu64 ", allocated %" PRIu64 ", active %" PRIu64 ", retries %" PRIu64
          ", ooms %" PRIu64 "\n",
          totals.reserved_bytes, totals.allocated_bytes, totals.active_bytes, totals.retry_count,
          totals.oom_count);
}

/* --- event by event --- */

EVERY_TEST(.timeout_s = 120, .setup = setup, .teardown = teardown);

TEST(requests_that_fill_a_device_leave_these_events)
{
    begin();
    take(1000);
    take(MIB);
    const uint64_t c = take(3 * MIB);
    take(33 * MIB / 2);
    const uint64_t e = take(11 * MIB + 1);
    give(c);
    take(3 * MIB / 2);
    give(e);
    const uint64_t g = take(10 * MIB);
    give(g);
    take(24 * MIB);
    ck_assert_uint_eq(take(6 * MIB), 0);
    trace_totals();
    snap(rig.text);
}

TEST(an_expandable_segment_maps_and_unmaps_these_pages)
{
    rig.settings.is_expandable = true;
    begin();
    const uint64_t a = take(3 * MIB);
    const uint64_t b = take(30 * MIB);
    give(a);
    const uint64_t c = take(2 * MIB);
    give(b);
    cache_empty(rig.cache);
    ck_assert_uint_eq(cache_largest_free(rig.cache, 0), 18 * MIB);
    give(c);
    cache_empty(rig.cache);
    ck_assert_uint_eq(rig.taken_bytes, 0);
    snap(rig.text);
}

/* --- settings --- */

TEST(sizes_are_rounded_as_the_divisions_say)
{
    static const struct {
        uint32_t divisions;
        uint64_t bytes, rounded;
    } cases[] = {{0, 1, 512},
                 {0, 513, 1024},
                 {1, 21 * MIB + 1, 21 * MIB + 512},
                 {4, 21 * MIB, 24 * MIB},
                 {4, 16 * MIB, 16 * MIB},
                 {4, 2048, 2048},
                 {4, 2049, 2560},
                 {8, 1025, 1536}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t j = 0; j < CACHE_DIVISIONS_COUNT; j++) {
            rig.settings.divisions[j] = cases[i].divisions;
        }
        ck_assert_uint_eq(cache_rounded(&rig.settings, cases[i].bytes), cases[i].rounded);
    }
    begin();
}

TEST(a_block_as_large_as_max_split_size_serves_no_smaller_request)
{
    rig.settings.max_split_bytes = 20 * MIB;
    rig.device_bytes = 100 * MIB;
    begin();
    give(take(30 * MIB));
    take(12 * MIB);
    take(22 * MIB); /* 8 MiB more than it needs, which is less than 20 */
    snap(rig.text);
}

TEST(an_oversize_request_releases_oversize_blocks_first)
{
    rig.settings.max_split_bytes = 20 * MIB;
    rig.device_bytes = 72 * MIB;
    begin();
    give(take(MIB));
    give(take(22 * MIB));
    give(take(46 * MIB));
    take(24 * MIB); /* 46 is too large to serve it, and 2 MiB are free */
    trace_totals();
    snap(rig.text);
}

TEST(garbage_older_than_the_mean_is_collected_above_the_threshold)
{
    rig.device_bytes = 200 * MIB;
    rig.settings.limit_bytes = 100 * MIB;
    rig.settings.garbage_collection_threshold = 0.7;
    begin();
    const uint64_t old = take(20 * MIB);
    const uint64_t young = take(24 * MIB);
    take(10 * MIB);
    give(old);
    take(22 * MIB); /* 54 MiB are reserved, which is no garbage */
    give(young);
    take(26 * MIB); /* 76 MiB are */
    trace_totals();
    snap(rig.text);
}

TEST(a_block_that_a_stream_uses_is_awaited_before_segments_are_released)
{
    begin();
    const uint64_t a = take(30 * MIB);
    ck_assert(cache_free(rig.cache, a, true));
    rig.pending[rig.pending_count++] = a;
    trace_totals();
    take(40 * MIB);
    ck_assert(!cache_free(rig.cache, a, false));
    ck_assert(!cache_complete(rig.cache, a));
    snap(rig.text);
}

/* Of two free blocks of one size, the second segment has the lower address. */
TEST(ties_are_broken_by_address_or_by_age, .to = 2)
{
    const struct cache_segment_view segments[] = {{.range = {8 * SPACING_BYTES, 20 * MIB}},
                                                  {.range = {4 * SPACING_BYTES, 20 * MIB}}};
    rig.settings.ties = _i == 0 ? CACHE_TIES_ADDRESS : CACHE_TIES_COUNTER;
    begin();
    for (size_t i = 0; i < 2; i++) {
        const struct cache_block_view block = {.range = segments[i].range};
        ck_assert(cache_restore(rig.cache, &segments[i], &block, 1));
        rig.taken_bytes += 20 * MIB;
    }
    ck_assert_uint_eq(take(3 * MIB), segments[_i == 0 ? 1 : 0].range.address);
}

TEST(a_block_serves_no_other_stream)
{
    struct cache_range block;
    begin();
    give(take(3 * MIB));
    ck_assert(cache_malloc(rig.cache, 3 * MIB, 7, &block) == CACHE_OK);
    ck_assert_uint_eq(block.address, 2 * SPACING_BYTES);
}

/* --- random requests --- */

static void play_random(uint64_t seed)
{
    enum { LIVE_MAX = 64, STEP_COUNT = 3000 };
    uint64_t live[LIVE_MAX] = {0};
    struct random random;
    random_init(&random, seed);
    for (size_t i = 0; i < STEP_COUNT; i++) {
        uint64_t *slot = &live[random_below(&random, LIVE_MAX)];
        if (*slot != 0) {
            give(*slot);
            *slot = 0;
        } else {
            *slot = take(1 + random_below(&random, UINT64_C(1) << random_below(&random, 26)));
        }
        if (random_below(&random, 500) == 0) {
            cache_empty(rig.cache);
        }
        rig.text[0] = '\0';
    }
}

TEST(segments_and_blocks_agree_after_each_of_many_requests, .to = 8)
{
    rig.device_bytes = 96 * MIB;
    rig.settings.range_bytes = 108 * MIB;
    rig.settings.is_expandable = (_i & 1) != 0;
    rig.settings.max_split_bytes = (_i & 2) != 0 ? 20 * MIB : CACHE_UNLIMITED;
    rig.settings.ties = (_i & 2) != 0 ? CACHE_TIES_COUNTER : CACHE_TIES_ADDRESS;
    if ((_i & 4) != 0) {
        rig.settings.limit_bytes = 80 * MIB;
        rig.settings.garbage_collection_threshold = 0.4;
        rig.settings.divisions[2] = 4;
    }
    begin();
    play_random((uint64_t)_i);
}
