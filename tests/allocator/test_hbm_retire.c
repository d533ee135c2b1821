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

TEST(a_retired_range_is_reported_without_a_handle)
{
    struct hbm_report_entry entry = {.size_bytes = 0};
    rig_start(&rig, 10, HBM_DEFRAG_REPACK);
    ck_assert_int_eq(retire_granules(4, 2), HBM_OK);
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
