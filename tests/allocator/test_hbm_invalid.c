/* What is refused before anything is tried, and in which words: requests, and launches that make
 * them. */
#include <check.h>
#include <string.h>

#include "allocator/hbm_shape.h"
#include "tests/allocator/hbm_rig.h"
#include "tests/helpers/suite.h"

static struct hbm_rig rig;

static void check_error(enum hbm_result result, const char *words)
{
    ck_assert_int_eq(result, HBM_INVALID);
    ck_assert_msg(strstr(hbm_error(rig.hbm), words) != NULL, "%s", hbm_error(rig.hbm));
}

TEST(a_request_that_cannot_be_is_refused_alone_and_in_a_launch)
{
    const struct hbm_shape shape = {.rank = HBM_SHAPE_RANK_MAX + 1};
    const struct {
        struct hbm_request request;
        const char *words;
    } rows[] = {
        {{.size_bytes = 0}, "a size must be 1 to 2^63 bytes"},
        {{.size_bytes = HBM_SIZE_BYTES_MAX + 1}, "a size must be 1 to 2^63 bytes"},
        {{.size_bytes = 1, .align_bytes = 3}, "an alignment must be a power of two up to 2^21"},
        {{.size_bytes = 1, .align_bytes = HBM_ALIGN_BYTES_MAX * 2},
         "an alignment must be a power of two up to 2^21"},
        {{.size_bytes = 1, .kind = HBM_KIND_PROGRAM}, "a request is for a buffer or an output"},
        {{.size_bytes = 1, .shape = &shape}, "the shape is not valid"},
    };
    rig_start(&rig, 16, HBM_DEFRAG_REPACK);
    struct hbm_program *program = rig_program(&rig, 1, 2, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hbm_buffer *outputs[2] = {NULL, NULL};
        const struct hbm_request requests[] = {{.size_bytes = 1}, rows[i].request};
        const struct hbm_launch launch = {
            .program = program, .event = 1, .outputs = requests, .output_count = 2};
        check_error(hbm_allocate(rig.hbm, &rows[i].request, &outputs[0]), rows[i].words);
        check_error(hbm_launch(rig.hbm, &launch, outputs), rows[i].words);
        ck_assert_ptr_null(outputs[0]);
        ck_assert_uint_eq(rig_stats(&rig).num_allocs, 1);
    }
    rig_stop(&rig);
}

TEST(a_launch_that_cannot_be_is_refused)
{
    rig_start(&rig, 16, HBM_DEFRAG_REPACK);
    struct hbm_buffer *inputs[] = {rig_buffer(&rig, 1), rig_buffer(&rig, 1)};
    struct hbm_buffer *outputs[2] = {NULL, NULL};
    const struct hbm_request requests[] = {{.size_bytes = 512}, {.size_bytes = 512}};
    size_t donations[] = {0, 1};
    struct hbm_launch launch = {.event = 1,
                                .inputs = inputs,
                                .input_count = 2,
                                .outputs = requests,
                                .output_count = 2,
                                .donations = donations};
    check_error(hbm_launch(rig.hbm, &launch, outputs), "a launch needs a program");
    launch.program = rig_program(&rig, 1, 2, 0);
    donations[1] = 2;
    check_error(hbm_launch(rig.hbm, &launch, outputs), "a donation names no input");
    donations[1] = 0;
    check_error(hbm_launch(rig.hbm, &launch, outputs), "a donation names no input");
    donations[1] = HBM_NOT_DONATED;
    inputs[1] = inputs[0];
    check_error(hbm_launch(rig.hbm, &launch, outputs), "a donation names no input");
    launch.input_count = 1;
    ck_assert_int_eq(hbm_hold(rig.hbm, inputs[0]), HBM_OK);
    check_error(hbm_launch(rig.hbm, &launch, outputs), "a donated block is too small");
    ck_assert_int_eq(hbm_release(rig.hbm, inputs[0]), HBM_OK);
    launch.input_count = UINT32_MAX / 4;
    check_error(hbm_launch(rig.hbm, &launch, outputs), "too many inputs or outputs");
    launch.input_count = 1;
    launch.output_count = UINT32_MAX / 4;
    check_error(hbm_launch(rig.hbm, &launch, outputs), "too many inputs or outputs");
    launch.output_count = 2;
    ck_assert_int_eq(hbm_launch(rig.hbm, &launch, outputs), HBM_OK);
    ck_assert_ptr_eq(outputs[0], inputs[0]);
    rig_stop(&rig);
}

TEST(a_release_without_a_hold_is_refused)
{
    rig_start(&rig, 16, HBM_DEFRAG_NONE);
    struct hbm_buffer *buffer = rig_buffer(&rig, 1);
    check_error(hbm_release(rig.hbm, buffer), "a release without a hold");
    ck_assert_int_eq(hbm_hold(rig.hbm, buffer), HBM_OK);
    ck_assert_int_eq(hbm_release(rig.hbm, buffer), HBM_OK);
    check_error(hbm_release(rig.hbm, buffer), "a release without a hold");
    rig_stop(&rig);
}

TEST(defragmentation_that_is_off_is_refused)
{
    rig_start(&rig, 12, HBM_DEFRAG_NONE);
    ck_assert_int_eq(hbm_defragment(rig.hbm), HBM_INVALID);
    rig_stop(&rig);
}
