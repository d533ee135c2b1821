/* The table of stacks, and what the importer of memory snapshots puts there. */
#include "formats/common/stacks.h"
#include "harness/base/array.h"
#include "tests/formats/import_rig.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct stacks *stacks;

static void setup_stacks(void)
{
    setup_import();
    stacks = stacks_create();
}

static void teardown_stacks(void)
{
    stacks_destroy(stacks);
    teardown_import();
}

static uint32_t frame(const char *text)
{
    return stacks_frame(stacks, text, strlen(text));
}

/* "outer > inner"; the caller frees. */
static char *path_text(const struct stacks *of, uint32_t node)
{
    char *text = strdup("");
    for (; node != STACKS_NONE; node = of->nodes[node].parent) {
        const char *name = of->frames.names[of->nodes[node].frame].text;
        char *longer = NULL;
        ck_assert_int_ge(asprintf(&longer, "%s%s%s", name, text[0] == '\0' ? "" : " > ", text), 0);
        free(text);
        text = longer;
    }
    return text;
}

static void assert_path(const struct stacks *of, uint32_t node, const char *expected)
{
    char *text = path_text(of, node);
    ck_assert_str_eq(text, expected);
    free(text);
}

EVERY_TEST(.timeout_s = 60, .setup = setup_stacks, .teardown = teardown_stacks);

TEST(stacks_share_the_outer_frames_that_they_have_in_common)
{
    const uint32_t left[] = {frame("left"), frame("main")};
    const uint32_t right[] = {frame("right"), frame("main")};
    const uint32_t one = stacks_add(stacks, left, 2, false);
    const uint32_t other = stacks_add(stacks, right, 2, false);
    ck_assert_uint_eq(stacks_add(stacks, left, 2, false), one);
    ck_assert_uint_ne(one, other);
    ck_assert_uint_eq(stacks->nodes[one].parent, stacks->nodes[other].parent);
    ck_assert_uint_eq(stacks->node_count, 1 + 3);
    assert_path(stacks, one, "main > left");
    ck_assert_uint_eq(stacks_add(stacks, left + 1, 1, false), stacks->nodes[one].parent);
}

TEST(a_frame_that_calls_itself_stands_below_itself)
{
    const uint32_t again[] = {frame("f"), frame("f"), frame("f")};
    assert_path(stacks, stacks_add(stacks, again, 3, false), "f > f > f");
    ck_assert_uint_eq(stacks->frames.count, 1);
}

TEST(no_frames_are_no_stack)
{
    ck_assert_uint_eq(stacks_add(stacks, NULL, 0, false), STACKS_NONE);
    ck_assert_uint_eq(stacks_add(stacks, NULL, 0, true), STACKS_NONE);
    stacks_say(NULL, 0, STACKS_NONE);
}

TEST(outer_frames_that_are_left_out_are_said)
{
    const uint32_t inner[] = {frame("f")};
    assert_path(stacks, stacks_add(stacks, inner, 1, true), STACKS_OUTER_FRAMES " > f");
    ck_assert(!stacks->is_cut);
}

TEST(ops_that_say_nothing_have_no_stack)
{
    const uint32_t inner[] = {frame("f")};
    const uint32_t node = stacks_add(stacks, inner, 1, false);
    stacks_say(stacks, 2, node);
    stacks_say(stacks, 1, STACKS_NONE);
    uint32_t *nodes = stacks_by_op(stacks, 4);
    ck_assert(nodes[0] == STACKS_NONE && nodes[1] == STACKS_NONE && nodes[3] == STACKS_NONE);
    ck_assert_uint_eq(nodes[2], node);
    free(nodes);
}

/* Each stack of two frames of 2,000 is another one: 4,000,000 nodes. */
TEST(nodes_are_bounded_and_the_outer_frame_stays)
{
    enum { COUNT = 2000 };
    uint32_t *frames = array_resized(NULL, COUNT * sizeof *frames);
    char text[32];
    for (uint32_t i = 0; i < COUNT; i++) {
        snprintf(text, sizeof text, "f%u", i);
        frames[i] = frame(text);
        ck_assert_uint_ne(stacks_add(stacks, &frames[i], 1, false), STACKS_NONE);
    }
    for (uint32_t i = 0; i < COUNT * COUNT; i++) {
        const uint32_t two[] = {frames[i / COUNT], frames[i % COUNT]};
        const uint32_t node = stacks_add(stacks, two, 2, false);
        ck_assert(stacks->nodes[node].parent == STACKS_NONE ? stacks->is_cut : node > COUNT);
    }
    ck_assert(stacks->is_cut);
    ck_assert_uint_eq(stacks->node_count, STACKS_NODE_COUNT_MAX);
    const uint32_t last[] = {frames[COUNT - 1], frames[0]};
    assert_path(stacks, stacks_add(stacks, last, 2, false), "f0");
    ck_assert_uint_eq(stacks_add(stacks, last, 1, true), STACKS_NONE); /* not as if it were whole */
    free(frames);
}

TEST(frames_are_bounded_and_further_ones_are_one)
{
    char text[32];
    for (uint32_t i = 0; i < 2 * STACKS_FRAME_COUNT_MAX; i++) {
        snprintf(text, sizeof text, "f%u", i);
        ck_assert_uint_lt(frame(text), STACKS_FRAME_COUNT_MAX);
    }
    ck_assert(stacks->is_cut);
    ck_assert_str_eq(stacks->frames.names[frame("one more")].text, STACKS_OTHER_FRAMES);
}

TEST(the_work_is_bounded)
{
    uint32_t frames[STACKS_DEPTH_MAX];
    for (size_t i = 0; i < STACKS_DEPTH_MAX; i++) {
        frames[i] = frame("f");
    }
    stacks->step_count = STACKS_STEP_COUNT_MAX - STACKS_DEPTH_MAX;
    ck_assert_uint_ne(stacks_add(stacks, frames, STACKS_DEPTH_MAX, false), STACKS_NONE);
    ck_assert_uint_eq(stacks_add(stacks, frames, STACKS_DEPTH_MAX, false), STACKS_NONE);
    ck_assert(stacks->is_cut);
}

/* --- of a snapshot --- */

#define FRAME(file, name) "{\"filename\":\"" file "\",\"line\":1,\"name\":\"" name "\"}"
#define EVENT(action, address, stream, time, frames)                                    \
    "{\"action\":\"" action "\",\"addr\":" #address ",\"size\":512,\"stream\":" #stream \
    ",\"time_us\":" #time ",\"frames\":[" frames "]}"
#define BLOCK(address, frames) \
    "{\"address\":" #address ",\"size\":512,\"state\":\"active_allocated\",\"frames\":[" frames "]}"

/* The block at 0 was there before the events, and the ops of the events follow it; two streams make
 * lanes, with pauses. */
/* clang-format off */
static const char snapshot_text[] =
    "{\"segments\":[{\"address\":0,\"blocks\":["
    BLOCK(0, FRAME("old.py", "main")) "," BLOCK(512, "") "," BLOCK(1024, "")
    "]}],\"device_traces\":[["
    EVENT("alloc", 512, 0, 1, FRAME("op.cpp", "c10::alloc") "," FRAME("a/ceval.c", "x") ","
          FRAME("??", "PyMethod_New") "," FRAME("??", "PyTorch::go_on(int)") ","
          FRAME("m.py", "main")) ","
    EVENT("alloc", 1024, 7, 2, "") "]]}";
/* clang-format on */

static void import_snapshot(bool with_stacks)
{
    const struct import_options options = {.with_stacks = with_stacks};
    const enum import_result result = import_text(snapshot_text, strlen(snapshot_text),
                                                  "torch_snapshot", &options, &import, &refusal);
    ck_assert_msg(result == IMPORT_OK, "%s", refusal.reason);
}

TEST(ops_of_a_snapshot_have_the_stacks_of_their_events)
{
    import_snapshot(true);
    uint32_t *nodes = stacks_by_op(import.stacks, import.ops.count);
    unsigned known_count = 0;
    for (size_t i = 0; i < import.ops.count; i++) {
        known_count += nodes[i] != STACKS_NONE;
    }
    ck_assert_uint_eq(known_count, 2);
    assert_path(import.stacks, nodes[0], "old.py:1 main");
    assert_path(import.stacks, nodes[1], "m.py:1 main > PyTorch::go_on(int) > op.cpp:1 c10::alloc");
    free(nodes);
}

TEST(who_asks_for_no_stacks_gets_none_and_the_same_ops)
{
    import_snapshot(true);
    char *text = ops_text();
    import_snapshot(false);
    ck_assert_ptr_null(import.stacks);
    assert_ops(text);
    free(text);
}

TEST(blocks_of_a_device_memory_profile_have_its_stacks)
{
    const struct import_options options = {.with_stacks = true};
    ck_assert_int_eq(import_file(HBMSTRESS_SOURCE_DIR "/corpus/field/jax_device_memory/small.prof",
                                 "auto", &options, &import, &refusal),
                     IMPORT_OK);
    uint32_t *nodes = stacks_by_op(import.stacks, import.ops.count);
    assert_path(import.stacks, nodes[0],
                "_run_code runpy.py:86 > main train.py:9 > init_state train.py:41 > <module> "
                "<string>:1 > device_put api.py:20");
    ck_assert_uint_eq(nodes[1], nodes[0]);
    assert_path(import.stacks, nodes[5], "_run_code runpy.py:86 > device_put api.py:20");
    free(nodes);
}
