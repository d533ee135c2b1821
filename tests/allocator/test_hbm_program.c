/* Programs in libhbm: the compound launch, which undoes itself, and donations that are refused. */
#include <check.h>
#include <string.h>

#include "tests/allocator/hbm_rig.h"
#include "tests/helpers/suite.h"

static struct hbm_rig rig;

/* The caller's mistake, and noticed as long as the block waits for its event. */
TEST(a_handle_that_was_freed_is_neither_donated_nor_launched_with)
{
    rig_start(&rig, 16, HBM_DEFRAG_REPACK);
    struct hbm_program *program = rig_program(&rig, 1, 2, 0);
    struct hbm_buffer *input = rig_buffer(&rig, 3), *out = NULL;
    struct hbm_request request = {.size_bytes = 512, .kind = HBM_KIND_OUTPUT};
    struct hbm_launch launch = {program, 1, &input, 1, &request, NULL, 1};
    ck_assert_int_eq(hbm_use(rig.hbm, input, 1), HBM_OK);
    hbm_free(rig.hbm, input);
    ck_assert_int_eq(hbm_donate(rig.hbm, input, &request, &out), HBM_INVALID);
    ck_assert_int_eq(hbm_launch(rig.hbm, &launch, &out), HBM_INVALID);
    ck_assert_ptr_null(out);
    ck_assert(hbm_invariants_hold(rig.hbm));
    rig_stop(&rig);
}

TEST(a_donation_that_does_not_fit_or_of_a_held_block_is_refused)
{
    rig_start(&rig, 8, HBM_DEFRAG_REPACK);
    struct hbm_buffer *input = rig_buffer(&rig, 3), *out = NULL;
    struct hbm_request request = {.size_bytes = 4 * 512, .kind = HBM_KIND_OUTPUT};
    ck_assert_int_eq(hbm_donate(rig.hbm, input, &request, &out), HBM_INVALID);
    request.size_bytes = 2 * 512;
    ck_assert_int_eq(hbm_hold(rig.hbm, input), HBM_OK);
    ck_assert_int_eq(hbm_donate(rig.hbm, input, &request, &out), HBM_INVALID);
    ck_assert_ptr_null(out);
    rig_stop(&rig);
}

TEST(launch_uses_inputs_outputs_and_program_until_the_event)
{
    rig_start(&rig, 32, HBM_DEFRAG_REPACK);
    struct hbm_program *program = rig_program(&rig, 1, 2, 4);
    struct hbm_buffer *inputs[2] = {rig_buffer(&rig, 3), rig_buffer(&rig, 4)}, *outputs[2];
    uint64_t donated_at = rig_at(&rig, inputs[1]);
    struct hbm_request requests[2] = {{.size_bytes = 5 * 512, .kind = HBM_KIND_OUTPUT},
                                      {.size_bytes = 4 * 512, .kind = HBM_KIND_OUTPUT}};
    size_t donations[2] = {HBM_NOT_DONATED, 1};
    struct hbm_launch launch = {program, 1, inputs, 2, requests, donations, 2};
    ck_assert_int_eq(hbm_launch(rig.hbm, &launch, outputs), HBM_OK);
    ck_assert(hbm_invariants_hold(rig.hbm));
    ck_assert_uint_eq(rig_at(&rig, outputs[1]), donated_at);
    ck_assert_uint_eq(rig_stats(&rig).num_allocs, 4);
    ck_assert_uint_eq(rig_stats(&rig).bytes_reserved, 4 * 512);
    hbm_free(rig.hbm, inputs[0]);
    ck_assert_uint_eq(rig_stats(&rig).num_allocs, 4);
    hbm_device_complete(&rig.device, 1);
    ck_assert_uint_eq(rig_stats(&rig).num_allocs, 3);
    ck_assert_uint_eq(rig_stats(&rig).bytes_reserved, 0);
    rig_stop(&rig);
}

TEST(failed_launch_leaves_everything_as_it_was)
{
    rig_start(&rig, 32, HBM_DEFRAG_REPACK);
    struct hbm_program *program = rig_program(&rig, 1, 2, 20);
    struct hbm_buffer *input = rig_buffer(&rig, 3), *outputs[2] = {NULL, NULL};
    struct hbm_request requests[2] = {{.size_bytes = 5 * 512, .kind = HBM_KIND_OUTPUT},
                                      {.size_bytes = 5 * 512, .kind = HBM_KIND_OUTPUT}};
    struct hbm_launch launch = {program, 1, &input, 1, requests, NULL, 2};
    struct hbm_stats before = rig_stats(&rig);
    size_t host_before = rig.device.host_bytes;
    ck_assert_int_eq(hbm_launch(rig.hbm, &launch, outputs), HBM_NO_MEMORY);
    ck_assert_ptr_null(outputs[0]);
    struct hbm_stats after = rig_stats(&rig);
    before.mitigation_ns = after.mitigation_ns;
    ck_assert_mem_eq(&before, &after, sizeof before);
    ck_assert_uint_eq(rig.device.host_bytes, host_before);
    requests[1].size_bytes = 40 * 512;
    ck_assert_int_eq(hbm_launch(rig.hbm, &launch, outputs), HBM_NO_MEMORY);
    size_t twice[2] = {0, 0};
    launch.donations = twice;
    requests[0].size_bytes = requests[1].size_bytes = 512;
    ck_assert_int_eq(hbm_launch(rig.hbm, &launch, outputs), HBM_INVALID);
    hbm_free(rig.hbm, input);
    ck_assert_uint_eq(rig_stats(&rig).num_allocs, 1);
    rig_stop(&rig);
}

TEST(refused_host_memory_is_unavailable_and_changes_nothing)
{
    int failures = 0;
    for (uint64_t refused = 1; refused <= 8; refused++) {
        rig_start(&rig, 64, HBM_DEFRAG_REPACK);
        struct hbm_program *program = rig_program(&rig, 1, 2, 4);
        struct hbm_buffer *input = rig_buffer(&rig, 3), *gap = rig_buffer(&rig, 30), *output = NULL;
        rig_buffer(&rig, 20);
        hbm_free(rig.hbm, gap);
        struct hbm_request request = {.size_bytes = 35 * 512, .kind = HBM_KIND_OUTPUT};
        struct hbm_launch launch = {program, 1, &input, 1, &request, NULL, 1};
        struct hbm_stats before = rig_stats(&rig);
        rig.device.host_allocs_until_refusal = refused;
        enum hbm_result result = hbm_launch(rig.hbm, &launch, &output);
        rig.device.host_allocs_until_refusal = 0;
        ck_assert(result == HBM_OK || result == HBM_UNAVAILABLE);
        failures += result == HBM_UNAVAILABLE;
        if (result == HBM_UNAVAILABLE) {
            ck_assert_uint_eq(rig_stats(&rig).bytes_in_use, before.bytes_in_use);
        }
        rig_stop(&rig);
    }
    ck_assert_int_gt(failures, 1);
}
