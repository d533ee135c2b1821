/* Snapshots of heaps, drawn and by hand: the ops that are made of them lead to exactly that heap on
 * target hbm. */
#include "formats/common/heap_image.h"
#include "harness/base/random.h"
#include "harness/base/writing.h"
#include "harness/model/model.h"
#include "harness/op/ops_file.h"
#include "harness/run/run.h"
#include "targets/targets.h"
#include "tests/helpers/snap.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SPAN_COUNT_MAX = 512, SEED_COUNT = 100 };

static const struct setup nothing; /* is fixed */

static struct heap_image image;
static struct import import;
static struct import_error error;

/* What is expected of an image, worked out while it is drawn.  Offsets count from the bottom, spare
 * memory left out. */
struct drawing {
    struct heap_span spans[SPAN_COUNT_MAX];
    size_t count;
    uint64_t granule_bytes;
    uint64_t device_bytes[OP_HOST_COUNT_MAX];
    uint64_t largest_bytes;
    uint32_t host_count;
    size_t op_count; /* the fewest by the header's rule */
    uint64_t hole_count[OP_HOST_COUNT_MAX];
    uint64_t hole_bytes[OP_HOST_COUNT_MAX]; /* the largest */
    uint64_t free_bytes[OP_HOST_COUNT_MAX];
};

static void setup_each(void)
{
    heap_image_init(&image);
    import_init(&import);
    memset(&error, 0, sizeof error);
}

static void teardown_each(void)
{
    heap_image_deinit(&image);
    import_deinit(&import);
}

static void add_span(const struct heap_span *span)
{
    heap_image_add(&image, span);
}

static void add_at(uint64_t address, uint64_t size_bytes, enum heap_span_state state)
{
    const struct heap_span span = {
        .address = address, .size_bytes = size_bytes, .state = state, .line = image.count + 1};
    add_span(&span);
}

static enum import_result build_import(const struct setup *fixed)
{
    return heap_image_build(&image, fixed, &import, &error);
}

/* --- replay --- */

/* Runs the ops; each must act, and each block must be where the import says. */
static struct run *replay_ops(void)
{
    char reason[RUN_REASON_BYTES] = "";
    struct run *run = run_create(target_find("hbm"), &import.setup, reason);
    ck_assert_msg(run != NULL, "%s", reason);
    size_t said = 0;
    for (uint32_t i = 0; i < import.ops.count; i++) {
        const struct verdict *verdict = run_step(run, &import.ops.ops[i]);
        ck_assert_msg(verdict->kind == VERDICT_NONE, "op %" PRIu32 ": %s", i, verdict->reason);
        ck_assert_uint_eq(run_observation(run)->skipped, 0);
        ck_assert_int_eq(run_observation(run)->result, TARGET_OK);
        if (said < import.said_count && import.said[said].op == i) {
            ck_assert_int_eq(import.said[said].kind, SAID_ADDRESS);
            ck_assert_uint_eq(run_observation(run)->address, import.said[said].value);
            said++;
        }
    }
    ck_assert_uint_eq(said, import.said_count);
    return run;
}

static void finish_run(struct run *run)
{
    const struct verdict *verdict = run_finish(run);
    ck_assert_msg(verdict->kind == VERDICT_NONE, "%s", verdict->reason);
    run_destroy(run);
}

static void check_block(const struct run *run, const struct heap_span *span, uint64_t offset)
{
    const struct block *block = model_find(run_model(run, span->host), span->op);
    if (span->state == HEAP_SPAN_DYING) {
        ck_assert_ptr_null(
            block); /* the client cannot name it; where it is was compared when it was made */
        return;
    }
    ck_assert_ptr_nonnull(block);
    ck_assert_uint_eq(block->address, offset);
    ck_assert_uint_eq(block->size_bytes, span->size_bytes);
    ck_assert_uint_eq(block->tag, span->tag);
    ck_assert_uint_eq(block->hold_count, span->state == HEAP_SPAN_HELD ? 1 : 0);
    ck_assert_int_eq(block_is_movable(block), span->state != HEAP_SPAN_HELD);
}

/* --- drawing --- */

static void note_span(struct drawing *drawing, const struct heap_span *span, bool is_first,
                      bool is_behind_gap)
{
    const uint8_t host = span->host;
    const struct heap_span *below = drawing->count > 0 ? &drawing->spans[drawing->count - 1] : NULL;
    const bool goes_on = below != NULL && !is_first && !is_behind_gap &&
                         below->state == HEAP_SPAN_FREE;
    drawing->op_count += is_behind_gap ? 1 : 0;
    if (span->state != HEAP_SPAN_FREE) {
        drawing->op_count += span->state == HEAP_SPAN_IN_USE ? 1 : 2;
        return;
    }
    static uint64_t run_bytes;
    static bool is_at_bottom;
    is_at_bottom = goes_on ? is_at_bottom : is_first;
    run_bytes = goes_on ? run_bytes + span->size_bytes : span->size_bytes;
    drawing->hole_count[host] += goes_on ? 0 : 1;
    drawing->op_count += goes_on || is_at_bottom ? 0 : 2;
    drawing->free_bytes[host] += span->size_bytes;
    drawing->hole_bytes[host] = run_bytes > drawing->hole_bytes[host] ? run_bytes
                                                                      : drawing->hole_bytes[host];
}

/* Sizes are odd numbers of units often enough that the granule is the unit, but for drawings of few
 * spans. */
static void draw_span(struct drawing *drawing, struct random *random, uint64_t unit_bytes,
                      struct heap_span *span)
{
    static const uint32_t weights[] = {3, 5, 1, 1}; /* by enum heap_span_state */
    span->size_bytes = unit_bytes * random_log_uniform(random, 1, 1000);
    span->state = (enum heap_span_state)random_weighted(random, weights, 4);
    span->requested_bytes = random_chance(random, 1, 2)
                                ? 0
                                : random_between(random, 1, span->size_bytes);
    span->tag = span->state == HEAP_SPAN_FREE ? 0 : (uint8_t)random_below(random, 5);
    span->line = drawing->count + 1;
}

static void draw_host(struct drawing *drawing, struct random *random, uint64_t unit_bytes,
                      uint8_t host)
{
    struct heap_span span = {.host = host, .address = random_bits(random) >> 2};
    uint64_t end_bytes = 0; /* in units, gaps not counted: their granule is known at the end */
    const uint64_t region_count = random_between(random, 1, 4);
    for (uint64_t region = 0; region < region_count; region++) {
        const uint64_t span_count = random_between(random, 1, 12);
        span.begins_region = region > 0 && random_chance(random, 1, 3);
        span.address += region > 0 && !span.begins_region
                            ? random_between(random, 1, UINT64_C(1) << 40)
                            : 0;
        for (uint64_t i = 0; i < span_count; i++) {
            draw_span(drawing, random, unit_bytes, &span);
            note_span(drawing, &span, region == 0 && i == 0, region > 0 && i == 0);
            span.offset = end_bytes;
            span.op = (uint32_t)region; /* granules of gaps below it */
            drawing->spans[drawing->count++] = span;
            end_bytes += span.size_bytes;
            span.address += span.size_bytes;
            span.begins_region = false;
        }
    }
    drawing->device_bytes[host] = end_bytes;
    drawing->host_count = host + UINT32_C(1);
}

/* The largest power of two up to 512 that divides all sizes, by trying. */
static uint64_t common_granule(const struct drawing *drawing)
{
    uint64_t granule_bytes = 512;
    for (size_t i = 0; i < drawing->count; i++) {
        while (drawing->spans[i].size_bytes % granule_bytes != 0) {
            granule_bytes /= 2;
        }
    }
    return granule_bytes;
}

static void complete_drawing(struct drawing *drawing)
{
    drawing->granule_bytes = common_granule(drawing);
    uint64_t gap_bytes[OP_HOST_COUNT_MAX] = {0};
    for (size_t i = 0; i < drawing->count; i++) {
        struct heap_span *span = &drawing->spans[i];
        gap_bytes[span->host] = span->op * drawing->granule_bytes;
        span->offset += gap_bytes[span->host];
    }
    for (uint32_t host = 0; host < drawing->host_count; host++) {
        uint64_t *device_bytes = &drawing->device_bytes[host];
        *device_bytes += gap_bytes[host];
        drawing->largest_bytes = *device_bytes > drawing->largest_bytes ? *device_bytes
                                                                        : drawing->largest_bytes;
    }
    for (uint32_t host = 0; host < drawing->host_count; host++) {
        drawing->op_count += drawing->device_bytes[host] < drawing->largest_bytes ? 1 : 0;
    }
}

static void draw_heap(struct drawing *drawing, uint64_t seed)
{
    static const uint64_t units[] = {1, 64, 256, 512, 4096};
    struct random random;
    random_init(&random, seed);
    memset(drawing, 0, sizeof *drawing);
    const uint64_t unit_bytes = units[random_below(&random, sizeof units / sizeof units[0])];
    const uint8_t host_count = (uint8_t)random_between(&random, 1, 3);
    for (uint8_t host = 0; host < host_count; host++) {
        draw_host(drawing, &random, unit_bytes, host);
    }
    complete_drawing(drawing);
    for (size_t i = 0; i < drawing->count; i++) { /* a snapshot may list them in any order */
        const size_t other = random_below(&random, drawing->count);
        const struct heap_span swapped = drawing->spans[i];
        drawing->spans[i] = drawing->spans[other];
        drawing->spans[other] = swapped;
    }
}

static void add_drawing(const struct drawing *drawing)
{
    for (size_t i = 0; i < drawing->count; i++) {
        struct heap_span span = drawing->spans[i];
        span.offset = UINT64_MAX; /* is set by the build */
        span.op = 12345;
        add_span(&span);
    }
}

static void check_holes(const struct run *run, const struct drawing *drawing, uint8_t host)
{
    const struct model *model = run_model(run, host);
    ck_assert_uint_eq(model_hole_count(model), drawing->hole_count[host]);
    ck_assert_uint_eq(model_largest_hole_bytes(model), drawing->hole_bytes[host]);
    ck_assert_uint_eq(model_free_bytes(model), drawing->free_bytes[host]);
}

static void check_drawing(uint64_t seed)
{
    static struct drawing drawing;
    teardown_each(); /* of the one before */
    setup_each();
    draw_heap(&drawing, seed);
    add_drawing(&drawing);
    ck_assert_msg(build_import(&nothing) == IMPORT_OK, "seed %" PRIu64 ": %s", seed, error.reason);
    ck_assert_uint_eq(import.setup.capacity_bytes, drawing.largest_bytes);
    ck_assert_uint_eq(import.setup.granule_bytes, drawing.granule_bytes);
    ck_assert_uint_eq(import.setup.host_count, drawing.host_count);
    ck_assert_str_eq(setup_option(&import.setup, "defrag"), "none");
    ck_assert_uint_eq(import.ops.count, drawing.op_count);
    struct run *run = replay_ops();
    for (size_t i = 0; i < drawing.count; i++) {
        const struct heap_span *expected = &drawing.spans[i];
        const struct heap_span *span = heap_image_find(&image, expected->host, expected->address);
        ck_assert_ptr_nonnull(span);
        ck_assert_uint_eq(span->offset, expected->offset);
        if (expected->state == HEAP_SPAN_FREE) {
            ck_assert_uint_eq(span->op, OP_NONE);
        } else {
            check_block(run, span, expected->offset);
        }
    }
    for (uint8_t host = 0; host < drawing.host_count; host++) {
        check_holes(run, &drawing, host);
    }
    finish_run(run);
}

EVERY_TEST(.timeout_s = 300, .setup = setup_each, .teardown = teardown_each);

TEST(drawn_heaps_are_rebuilt_block_by_block_with_exactly_their_holes, .to = 5)
{
    for (uint64_t i = 0; i < SEED_COUNT; i++) {
        check_drawing((uint64_t)_i * SEED_COUNT + i);
    }
}

/* --- by hand --- */

/* What is made of the image, and the heap that its ops lead to; or why it is refused. */
static void snap_heap(const struct setup *fixed)
{
    struct writing text = {0};
    const enum import_result result = build_import(fixed);
    if (result != IMPORT_OK) {
        writing_append_format(&text, "%s, line %zu: %s\n",
                              result == IMPORT_INVALID ? "invalid" : "incomplete", error.line,
                              error.reason);
        snap(writing_string(&text));
        writing_deinit(&text);
        return;
    }
    writing_append_format(&text, "capacity %" PRIu64 ", granule %" PRIu64 ", hosts %" PRIu32 "\n",
                          import.setup.capacity_bytes, import.setup.granule_bytes,
                          import.setup.host_count);
    for (size_t i = 0; i < import.ops.count; i++) {
        char op[OP_TEXT_BYTES];
        const bool is_filler = import.ops.ops[i].tag == setup_filler_tag(&import.setup);
        writing_append_format(&text, "%zu: %s%s\n", i, op_print(&import.ops.ops[i], op),
                              is_filler ? ", which only fills" : "");
    }
    struct run *run = replay_ops();
    for (uint32_t host = 0; host < import.setup.host_count; host++) {
        const struct model *model = run_model(run, host);
        writing_append_format(&text,
                              "%" PRIu64 " bytes free in %" PRIu64 " holes up to %" PRIu64 "\n",
                              model_free_bytes(model), (uint64_t)model_hole_count(model),
                              model_largest_hole_bytes(model));
    }
    finish_run(run);
    snap(writing_string(&text));
    writing_deinit(&text);
}

/* What is free at the bottom needs nothing, two that touch are one hole, and a gap is a granule. */
TEST(a_block_is_one_op_a_hole_two_and_a_gap_one)
{
    add_at(0x1000, 512, HEAP_SPAN_FREE);
    add_at(0x1200, 1024, HEAP_SPAN_IN_USE);
    add_at(0x1600, 512, HEAP_SPAN_FREE);
    add_at(0x1800, 512, HEAP_SPAN_FREE);
    add_at(0x9000, 512, HEAP_SPAN_FREE);
    add_at(0x9200, 512, HEAP_SPAN_IN_USE);
    snap_heap(&nothing);
}

TEST(touching_regions_are_kept_apart_where_a_border_is_said)
{
    add_at(0, 512, HEAP_SPAN_FREE);
    add_span(&(struct heap_span){.address = 512, .size_bytes = 512, .begins_region = true});
    snap_heap(&nothing);
}

TEST(the_smaller_device_and_one_without_memory_have_their_rest_retired)
{
    add_span(&(struct heap_span){.address = 64, .size_bytes = 1024, .host = 2});
    add_span(&(struct heap_span){.address = 64, .size_bytes = 4096, .host = 0});
    snap_heap(&nothing);
}

TEST(what_a_fixed_capacity_has_above_the_snapshot_is_free_at_the_bottom)
{
    add_at(0x7000, 1024, HEAP_SPAN_IN_USE);
    add_at(0x7400, 1024, HEAP_SPAN_FREE);
    snap_heap(&(struct setup){.capacity_bytes = 8192});
    ck_assert_uint_eq(heap_image_find(&image, 0, 0x7000)->offset, 8192 - 2048);
}

TEST(a_capacity_or_granule_that_does_not_hold_the_snapshot_is_refused, .to = 3)
{
    const struct setup fixed[] = {
        {.capacity_bytes = 512}, {.granule_bytes = 1024}, {.capacity_bytes = 2000}};
    add_at(0x400, 1536, HEAP_SPAN_IN_USE);
    snap_heap(&fixed[_i]);
}

TEST(spans_that_overlap_are_refused_with_the_line_of_the_later_one)
{
    add_at(0x2000, 512, HEAP_SPAN_IN_USE);
    add_at(0x1000, 0x1100, HEAP_SPAN_FREE);
    snap_heap(&nothing);
}

TEST(the_same_addresses_on_two_hosts_do_not_overlap)
{
    add_at(64, 4096, HEAP_SPAN_IN_USE);
    add_span(&(struct heap_span){
        .address = 64, .size_bytes = 4096, .host = 1, .state = HEAP_SPAN_IN_USE});
    snap_heap(&nothing);
}

TEST(a_span_that_cannot_be_is_refused, .to = 5)
{
    static const struct heap_span spans[] = {{.address = 16, .line = 7},
                                             {.address = UINT64_MAX, .size_bytes = 1, .line = 7},
                                             {.address = 1, .size_bytes = UINT64_MAX, .line = 7},
                                             {.size_bytes = 8, .requested_bytes = 9, .line = 7},
                                             {.size_bytes = (UINT64_C(1) << 50) + 512, .line = 7}};
    add_span(&spans[_i]);
    snap_heap(&nothing);
}

TEST(sums_above_2_to_the_50_are_refused_at_the_span_that_brings_them)
{
    add_at(0, UINT64_C(1) << 49, HEAP_SPAN_IN_USE);
    add_at(UINT64_C(1) << 49, UINT64_C(1) << 49, HEAP_SPAN_FREE);
    add_at(UINT64_C(1) << 50, 1, HEAP_SPAN_FREE);
    snap_heap(&nothing);
}

TEST(an_image_without_spans_is_incomplete)
{
    snap_heap(&nothing);
}

TEST(an_address_that_begins_no_span_is_not_found)
{
    add_at(0x2000, 512, HEAP_SPAN_IN_USE);
    add_at(0x1000, 512, HEAP_SPAN_IN_USE);
    ck_assert_int_eq(build_import(&nothing), IMPORT_OK);
    ck_assert_uint_eq(heap_image_find(&image, 0, 0x2000)->line, 1);
    ck_assert_uint_eq(heap_image_find(&image, 0, 0x1000)->line, 2);
    ck_assert_ptr_null(heap_image_find(&image, 0, 0x1001));
    ck_assert_ptr_null(heap_image_find(&image, 1, 0x1000));
}
