/* Memory that goes bad: what is retired keeps its place for ever, and everything else goes on
 * around it. */
#include <check.h>
#include <string.h>

#include "tests/allocator/hbm_rig.h"
#include "tests/helpers/suite.h"

static struct hbm_rig rig;

static enum hbm_result retire_granules(uint64_t at, uint64_t granules)
{
    enum hbm_result result = hbm_retire(rig.hbm, at * RIG_GRANULE, granules * RIG_GRANULE);
    ck_assert(hbm_invariants_hold(rig.hbm));
    return result;
}

static void entry_take(void *context, const struct hbm_report_entry *entry)
{
    struct hbm_report_entry *taken = context;
    if (entry->kind == HBM_KIND_RETIRED) {
        *taken = *entry;
    }
}

TEST(retired_range_is_counted_and_reported_like_any_block)
{
    rig_start(&rig, 10, HBM_DEFRAG_REPACK);
    struct hbm_report_entry entry = {.size_bytes = 0};
    rig_buffer(&rig, 1);
    ck_assert_int_eq(retire_granules(4, 2), HBM_OK);
    struct hbm_stats stats = rig_stats(&rig);
    ck_assert_uint_eq(stats.num_allocs, 2);
    ck_assert_uint_eq(stats.bytes_in_use, 3 * 512);
    ck_assert_uint_eq(stats.peak_bytes_in_use, 3 * 512);
    ck_assert_uint_eq(stats.largest_alloc_size, 2 * 512);
    ck_assert_uint_eq(stats.largest_free_block_bytes, 4 * 512);
    ck_assert_int_eq(hbm_report_visit(rig.hbm, entry_take, &entry), HBM_OK);
    ck_assert_uint_eq(entry.address, 4 * 512);
    ck_assert_uint_eq(entry.size_bytes, 2 * 512);
    ck_assert_int_eq(entry.state, HBM_STATE_RETIRED);
    ck_assert_ptr_null(entry.handle);
    ck_assert_str_eq(hbm_kind_name(entry.kind), "retired");
    ck_assert_str_eq(hbm_state_name(entry.state), "retired");
    rig_stop(&rig);
}

TEST(only_free_whole_granules_inside_the_device_can_be_retired)
{
    rig_start(&rig, 10, HBM_DEFRAG_REPACK);
    struct hbm_buffer *dying = rig_buffer(&rig, 1);
    rig_buffer(&rig, 1);
    struct hbm_program *program = rig_program(&rig, 1, 1, 2);
    ck_assert_int_eq(hbm_execute(rig.hbm, program, 1), HBM_OK);
    ck_assert_int_eq(hbm_free_after(rig.hbm, dying, 2), HBM_OK);
    struct hbm_stats before = rig_stats(&rig), after;
    static const struct {
        uint64_t at, size_bytes;
    } bad[] = {{3 * 512, 0},
               {3 * 512 + 1, 512},
               {3 * 512, 511},
               {9 * 512, 512},
               {8 * 512, 512},
               {7 * 512, 512},
               {6 * 512, 1024},
               {0, 512},
               {512, 1024},
               {10 * 512, 512},
               {9 * 512, 1024},
               {0, 10 * 512},
               {UINT64_MAX - 511, 512},
               {512, UINT64_MAX - 511}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_int_eq(hbm_retire(rig.hbm, bad[i].at, bad[i].size_bytes), HBM_INVALID);
    }
    after = rig_stats(&rig);
    ck_assert_mem_eq(&before, &after, sizeof before);
    ck_assert_int_eq(retire_granules(2, 5), HBM_OK);
    ck_assert_int_eq(retire_granules(2, 1), HBM_INVALID);
    rig_stop(&rig);
}

TEST(frees_that_have_completed_count_as_free)
{
    rig_start(&rig, 4, HBM_DEFRAG_REPACK);
    ck_assert_int_eq(hbm_free_after(rig.hbm, rig_buffer(&rig, 4), 1), HBM_OK);
    ck_assert_int_eq(retire_granules(1, 1), HBM_INVALID);
    hbm_device_complete(&rig.device, 1);
    ck_assert_int_eq(retire_granules(1, 1), HBM_OK);
    rig_stop(&rig);
}

TEST(no_block_moves_across_a_retired_range_by_sliding_and_none_onto_it_by_repacking)
{
    for (int pass = 0; pass < 2; pass++) {
        rig_start(&rig, 9, pass == 0 ? HBM_DEFRAG_SLIDE : HBM_DEFRAG_REPACK);
        struct hbm_buffer *top = rig_buffer(&rig, 4), *spare = rig_buffer(&rig, 1),
                          *low = rig_buffer(&rig, 1);
        rig_stamp(&rig, low, 7);
        hbm_free(rig.hbm, spare);
        ck_assert_int_eq(retire_granules(4, 1), HBM_OK);
        hbm_free(rig.hbm, top);
        ck_assert_int_eq(rig_try(&rig, 5), HBM_NO_MEMORY);
        ck_assert_int_eq(rig_try(&rig, 4), HBM_OK);
        ck_assert_int_eq(hbm_defragment(rig.hbm), HBM_OK);
        ck_assert(rig_stamp_holds(&rig, low, 7));
        ck_assert_uint_eq(rig_at(&rig, low), 3 * 512);
        ck_assert_int_eq(rig_try(&rig, 3), HBM_OK);
        ck_assert_int_eq(rig_try(&rig, 1), HBM_NO_MEMORY);
        rig_stop(&rig);
    }
}

TEST(stack_does_not_grow_over_a_retired_range_and_the_message_says_how_far_it_could)
{
    rig_start(&rig, 10, HBM_DEFRAG_REPACK);
    struct hbm_program *program;
    struct hbm_program_request request = {.id = 1, .image_bytes = 512, .stack_bytes = 4 * 512};
    ck_assert_int_eq(retire_granules(3, 1), HBM_OK);
    ck_assert_int_eq(hbm_program_load(rig.hbm, &request, &program), HBM_NO_MEMORY);
    ck_assert_int_eq(hbm_last_failure(rig.hbm)->form, HBM_FAILURE_PROGRAM_STACK);
    ck_assert_uint_eq(hbm_last_failure(rig.hbm)->reservable_bytes, 3 * 512);
    request.stack_bytes = 3 * 512;
    ck_assert_int_eq(hbm_program_load(rig.hbm, &request, &program), HBM_OK);
    rig_stop(&rig);
}

TEST(refused_host_memory_changes_nothing_and_the_same_call_works_later)
{
    struct hbm_buffer *buffer;
    struct hbm_request request = {.size_bytes = 512};
    rig_start(&rig, 3000, HBM_DEFRAG_REPACK);
    enum hbm_result result = HBM_OK;
    hbm_device_arm(&rig.device, &(struct device_fault){DEVICE_REFUSES, DEVICE_CALL_HOST, 1, true});
    for (unsigned i = 0; i < 2000 && result == HBM_OK; i++) {
        result = hbm_allocate(rig.hbm, &request, &buffer);
    }
    ck_assert_int_eq(result, HBM_UNAVAILABLE);
    struct hbm_stats before = rig_stats(&rig), after;
    ck_assert_int_eq(retire_granules(5, 2), HBM_UNAVAILABLE);
    after = rig_stats(&rig);
    ck_assert_mem_eq(&before, &after, sizeof before);
    rig.device.fault.at = 0;
    ck_assert_int_eq(retire_granules(5, 2), HBM_OK);
    rig_stop(&rig);
}
