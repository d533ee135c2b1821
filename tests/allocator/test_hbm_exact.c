/* On heaps small enough to try every placement: libhbm says "no memory" exactly when there is none,
 * and "ok" needs no luck, for each contract, for buffers and for program loads. */
#include <check.h>
#include <string.h>

#include "tests/allocator/hbm_rig.h"
#include "tests/helpers/suite.h"

#define GRANULES 24
#define LIVE_MAX 16
#define PROGRAMS_MAX 3

static struct hbm_rig rig;
/* A picture of the heap, as the report shows it. Units are granules. */
struct picture {
    struct hbm_report_entry entries[LIVE_MAX + PROGRAMS_MAX];
    size_t count;
};

static void picture_add(void *context, const struct hbm_report_entry *entry)
{
    struct picture *picture = context;
    size_t i = picture->count++;
    for (; i > 0 && picture->entries[i - 1].address > entry->address; i--) {
        picture->entries[i] = picture->entries[i - 1];
    }
    picture->entries[i] = *entry;
}

struct spans {
    /* whole spans; for slide: what its own blocks leave */
    uint64_t rooms[LIVE_MAX + PROGRAMS_MAX + 1];
    size_t count;
    uint64_t sizes[LIVE_MAX + PROGRAMS_MAX + 1];
    size_t size_count;
    bool possible;
};

static void span_end(struct spans *spans, int64_t room)
{
    if (room < 0) {
        spans->possible = false;
    }
    spans->rooms[spans->count++] = room < 0 ? 0 : (uint64_t)room;
}

/* without_idle: idle programs are evicted. */
static struct spans spans_of(const struct picture *picture, enum hbm_defrag defrag, uint64_t stack,
                             bool without_idle)
{
    struct spans spans = {.possible = true};
    int64_t room = -(int64_t)stack;
    uint64_t at = 0;
    for (size_t i = 0; i < picture->count; i++) {
        const struct hbm_report_entry *entry = &picture->entries[i];
        uint64_t size = entry->size_bytes / RIG_GRANULE, address = entry->address / RIG_GRANULE;
        bool idle = entry->state == HBM_STATE_PROGRAM_IDLE;
        if (idle && without_idle) {
            continue;
        }
        if (defrag != HBM_DEFRAG_NONE && (idle || entry->state == HBM_STATE_MOVABLE)) {
            if (defrag == HBM_DEFRAG_REPACK) {
                spans.sizes[spans.size_count++] = size;
            } else {
                room -= (int64_t)size;
            }
            continue;
        }
        span_end(&spans, room + (int64_t)address - (int64_t)at);
        room = 0;
        at = address + size;
    }
    span_end(&spans, room + GRANULES - (int64_t)at);
    return spans;
}

static bool could_fit(enum hbm_defrag defrag, uint64_t block, uint64_t stack, bool without_idle)
{
    struct picture picture = {.count = 0};
    ck_assert_int_eq(hbm_report_visit(rig.hbm, picture_add, &picture), HBM_OK);
    uint64_t reserved = rig_stats(&rig).bytes_reserved / RIG_GRANULE;
    struct spans spans = spans_of(&picture, defrag, stack > reserved ? stack : reserved,
                                  without_idle);
    spans.sizes[spans.size_count++] = block;
    return spans.possible && can_be_packed(spans.sizes, spans.size_count, spans.rooms, spans.count);
}

struct run {
    enum hbm_defrag defrag;
    struct hbm_buffer *live[LIVE_MAX];
    size_t live_count;
    struct hbm_program *programs[PROGRAMS_MAX];
    size_t program_count;
    uint64_t event;
    int justified, saved;
};

static void request_judge(struct run *run, enum hbm_result result, bool expected, bool direct)
{
    ck_assert_int_eq(result, expected ? HBM_OK : HBM_NO_MEMORY);
    run->justified += !expected;
    run->saved += expected && !direct;
    ck_assert(hbm_invariants_hold(rig.hbm));
}

/* Frees here are either done or held for ever, so that draining never changes the answer. */
static void buffer_op(struct run *run)
{
    uint64_t size = 1 + draw_below(draw_below(3) == 0 ? 12 : 4);
    struct hbm_request request = {.size_bytes = size * RIG_GRANULE};
    if (run->live_count == LIVE_MAX) {
        return;
    }
    bool expected = could_fit(run->defrag, size, 0, true);
    bool direct = rig_stats(&rig).largest_free_block_bytes >= size * RIG_GRANULE;
    uint64_t unloads = rig.device.unload_count;
    bool without_eviction = could_fit(run->defrag, size, 0, false);
    enum hbm_result result = hbm_allocate(rig.hbm, &request, &run->live[run->live_count]);
    request_judge(run, result, expected, direct);
    if (without_eviction || !expected) {
        ck_assert_uint_eq(rig.device.unload_count, unloads);
    }
    run->live_count += result == HBM_OK;
}

static void program_op(struct run *run)
{
    uint64_t image = 1 + draw_below(4), stack = draw_below(8);
    struct hbm_program_request request = {.image_bytes = image * RIG_GRANULE,
                                          .stack_bytes = stack * RIG_GRANULE};
    if (run->program_count == PROGRAMS_MAX) {
        hbm_program_unload(rig.hbm, run->programs[--run->program_count]);
        return;
    }
    bool expected = could_fit(run->defrag, image, stack, false);
    enum hbm_result result = hbm_program_load(rig.hbm, &request,
                                              &run->programs[run->program_count]);
    request_judge(run, result, expected, true);
    if (result == HBM_NO_MEMORY) {
        bool image_fits = could_fit(run->defrag, image, 0, false);
        ck_assert_int_eq(hbm_last_failure(rig.hbm)->form,
                         image_fits ? HBM_FAILURE_PROGRAM_STACK : HBM_FAILURE_PROGRAM_IMAGE);
    }
    run->program_count += result == HBM_OK;
}

static void other_op(struct run *run)
{
    if (run->live_count == 0) {
        return;
    }
    size_t i = draw_below(run->live_count);
    if (draw_below(3) == 0) {
        ck_assert_int_eq(hbm_use(rig.hbm, run->live[i], 1 + draw_below(6)), HBM_OK);
        return;
    }
    hbm_free(rig.hbm, run->live[i]);
    run->live[i] = run->live[--run->live_count];
}

static void run_once(struct run *run, uint64_t seed)
{
    random_state = seed;
    run->live_count = run->program_count = 0;
    rig_start(&rig, GRANULES, run->defrag);
    for (int event = 1; event <= 6; event++) {
        rig.device.lost[event] = true;
    }
    for (int i = 0; i < 60; i++) {
        uint64_t draw = draw_below(10);
        if (draw < 5) {
            buffer_op(run);
        } else if (draw < 6) {
            program_op(run);
        } else {
            other_op(run);
        }
        /* Dying blocks stay in the report as unmovable; the list must not outgrow the picture. */
        if (rig_stats(&rig).num_allocs >= LIVE_MAX) {
            break;
        }
    }
    rig_stop(&rig);
}

EVERY_TEST(.timeout_s = 120);

TEST(no_memory_means_that_no_placement_exists, .to = 3)
{
    struct run run = {.defrag = (enum hbm_defrag)_i};
    for (uint64_t seed = 1; seed <= 600; seed++) {
        run_once(&run, seed);
    }
    ck_assert_int_gt(run.justified, 500);
    if (run.defrag != HBM_DEFRAG_NONE) {
        ck_assert_int_gt(run.saved, 200);
    }
}
