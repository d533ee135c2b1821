/* What libhbm does when no hole fits: drain, defragment, evict, in which order, and never in vain.
 */
#include <check.h>
#include <string.h>

#include "tests/allocator/hbm_rig.h"
#include "tests/helpers/suite.h"

static struct hbm_rig rig;

/* ---- drain ---- */

TEST(queued_free_is_awaited_before_a_request_fails)
{
    rig_start(&rig, 10, HBM_DEFRAG_NONE);
    ck_assert_int_eq(hbm_free_after(rig.hbm, rig_buffer(&rig, 10), 1), HBM_OK);
    ck_assert_int_eq(rig_try(&rig, 10), HBM_OK);
    ck_assert_uint_eq(rig_stats(&rig).events_awaited, 1);
    rig_stop(&rig);
}

TEST(drain_takes_the_earliest_free_first_skips_a_lost_event_and_stops_when_it_fits)
{
    rig_start(&rig, 12, HBM_DEFRAG_NONE);
    struct hbm_buffer *buffers[4];
    for (int i = 0; i < 4; i++) {
        buffers[i] = rig_buffer(&rig, 3);
    }
    rig.device.lost[9] = true;
    ck_assert_int_eq(hbm_use(rig.hbm, buffers[3], 5), HBM_OK);
    ck_assert_int_eq(hbm_free_after(rig.hbm, buffers[0], 9), HBM_OK);
    ck_assert_int_eq(hbm_free_after(rig.hbm, buffers[2], 7), HBM_OK);
    hbm_free(rig.hbm, buffers[3]);
    ck_assert_int_eq(rig_try(&rig, 3), HBM_OK);
    ck_assert_uint_eq(rig.device.waits, 2);
    ck_assert(rig.device.done[7]);
    ck_assert(!rig.device.done[5]);
    ck_assert_int_eq(rig_try(&rig, 6), HBM_NO_MEMORY);
    ck_assert(rig.device.done[5]);
    rig_stop(&rig);
}

TEST(dying_block_keeps_its_place_until_event_and_hold_have_ended)
{
    rig_start(&rig, 4, HBM_DEFRAG_REPACK);
    struct hbm_buffer *buffer = rig_buffer(&rig, 4);
    ck_assert_int_eq(hbm_hold(rig.hbm, buffer), HBM_OK);
    ck_assert_int_eq(hbm_free_after(rig.hbm, buffer, 1), HBM_OK);
    hbm_device_complete(&rig.device, 1);
    ck_assert_int_eq(rig_try(&rig, 1), HBM_NO_MEMORY);
    ck_assert_uint_eq(rig_stats(&rig).bytes_in_use, 4 * 512);
    ck_assert_int_eq(hbm_release(rig.hbm, buffer), HBM_OK);
    ck_assert_int_eq(rig_try(&rig, 4), HBM_OK);
    rig_stop(&rig);
}

/* ---- defragment ---- */

TEST(slide_joins_two_holes_and_keeps_contents)
{
    rig_start(&rig, 12, HBM_DEFRAG_SLIDE);
    struct hbm_buffer *buffers[4];
    for (unsigned char i = 0; i < 4; i++) {
        buffers[i] = rig_buffer(&rig, 3);
        rig_stamp(&rig, buffers[i], i);
    }
    hbm_free(rig.hbm, buffers[0]);
    hbm_free(rig.hbm, buffers[2]);
    ck_assert_int_eq(rig_try(&rig, 6), HBM_OK);
    ck_assert(rig_stamp_holds(&rig, buffers[1], 1));
    ck_assert(rig_stamp_holds(&rig, buffers[3], 3));
    ck_assert_uint_eq(rig_stats(&rig).bytes_moved, 3 * 512);
    rig_stop(&rig);
}

/* Top down: [hole 3][held 1][hole 3][block 2][hole 3]: 5 and 6 fit only below the held one. */
TEST(slide_does_not_cross_a_held_block_and_repack_does)
{
    for (int pass = 0; pass < 2; pass++) {
        rig_start(&rig, 12, pass == 0 ? HBM_DEFRAG_SLIDE : HBM_DEFRAG_REPACK);
        struct hbm_buffer *top = rig_buffer(&rig, 3), *held = rig_buffer(&rig, 1),
                          *gap = rig_buffer(&rig, 3);
        struct hbm_buffer *block = rig_buffer(&rig, 2);
        uint64_t held_at = rig_at(&rig, held);
        ck_assert_int_eq(hbm_hold(rig.hbm, held), HBM_OK);
        rig_stamp(&rig, block, 9);
        hbm_free(rig.hbm, top);
        hbm_free(rig.hbm, gap);
        ck_assert_int_eq(rig_try(&rig, 8), pass == 0 ? HBM_NO_MEMORY : HBM_OK);
        ck_assert(rig_stamp_holds(&rig, block, 9));
        ck_assert_uint_eq(rig_at(&rig, held), held_at);
        ck_assert_uint_eq(rig.device.copies, pass == 0 ? 0 : 1);
        rig_stop(&rig);
    }
}

/* Two full spans around a held block whose blocks must change sides: 4 | 3+1+1 with a request of 1
 * that needs 4 and 3+1 exchanged can only be done through the host when not a granule is free
 * elsewhere. */
TEST(blocks_that_wait_for_each_other_go_through_the_host)
{
    rig_start(&rig, 11, HBM_DEFRAG_REPACK);
    struct hbm_buffer *a = rig_buffer(&rig, 3), *gap = rig_buffer(&rig, 1),
                      *held = rig_buffer(&rig, 1);
    struct hbm_buffer *b = rig_buffer(&rig, 2), *c = rig_buffer(&rig, 2),
                      *hole = rig_buffer(&rig, 2);
    ck_assert_int_eq(hbm_hold(rig.hbm, held), HBM_OK);
    rig_stamp(&rig, a, 1);
    rig_stamp(&rig, b, 2);
    rig_stamp(&rig, c, 3);
    hbm_free(rig.hbm, gap);
    hbm_free(rig.hbm, hole);
    ck_assert_int_eq(rig_try(&rig, 3), HBM_OK);
    ck_assert_uint_gt(rig.device.stage_outs, 0);
    ck_assert(rig_stamp_holds(&rig, a, 1));
    ck_assert(rig_stamp_holds(&rig, b, 2));
    ck_assert(rig_stamp_holds(&rig, c, 3));
    rig_stop(&rig);
}

TEST(block_whose_return_from_the_host_is_refused_is_brought_back_by_the_first_call_granted)
{
    rig_start(&rig, 11, HBM_DEFRAG_REPACK);
    struct hbm_buffer *a = rig_buffer(&rig, 3), *gap = rig_buffer(&rig, 1),
                      *held = rig_buffer(&rig, 1);
    struct hbm_buffer *b = rig_buffer(&rig, 2), *c = rig_buffer(&rig, 2),
                      *hole = rig_buffer(&rig, 2);
    struct hbm_buffer *all[] = {a, b, c};
    ck_assert_int_eq(hbm_hold(rig.hbm, held), HBM_OK);
    for (unsigned char i = 0; i < 3; i++) {
        rig_stamp(&rig, all[i], i);
    }
    hbm_free(rig.hbm, gap);
    hbm_free(rig.hbm, hole);
    rig.device.stage_ins_refused = UINT64_MAX;
    ck_assert_int_eq(rig_try(&rig, 3), HBM_UNAVAILABLE);
    ck_assert_uint_eq(rig_stats(&rig).bytes_in_use, 8 * 512);
    unsigned stranded = 0;
    for (unsigned char i = 0; i < 3; i++) {
        bool is_stranded = rig_at(&rig, all[i]) == HBM_ADDRESS_NONE;
        stranded += is_stranded;
        ck_assert(is_stranded || rig_stamp_holds(&rig, all[i], i));
        ck_assert_int_eq(hbm_use(rig.hbm, all[i], 1), is_stranded ? HBM_UNAVAILABLE : HBM_OK);
    }
    ck_assert_uint_eq(stranded, 1);
    hbm_device_complete(&rig.device, 1);
    rig.device.stage_ins_refused = 0;
    ck_assert_uint_eq(rig_stats(&rig).num_allocs, 4);
    ck_assert_uint_eq(rig.device.stage_ins, 0);
    ck_assert_int_eq(rig_try(&rig, 3), HBM_OK);
    for (unsigned char i = 0; i < 3; i++) {
        ck_assert_uint_ne(rig_at(&rig, all[i]), HBM_ADDRESS_NONE);
        ck_assert(rig_stamp_holds(&rig, all[i], i));
    }
    rig_stop(&rig);
}

TEST(block_on_the_host_is_waited_for_when_a_copy_is_refused_for_a_moment)
{
    for (uint64_t refused = 1; refused < 3; refused++) {
        rig_start(&rig, 11, HBM_DEFRAG_REPACK);
        struct hbm_buffer *a = rig_buffer(&rig, 3), *gap = rig_buffer(&rig, 1),
                          *held = rig_buffer(&rig, 1);
        rig_buffer(&rig, 2);
        rig_buffer(&rig, 2);
        struct hbm_buffer *hole = rig_buffer(&rig, 2);
        ck_assert_int_eq(hbm_hold(rig.hbm, held), HBM_OK);
        rig_stamp(&rig, a, 1);
        hbm_free(rig.hbm, gap);
        hbm_free(rig.hbm, hole);
        rig.device.stage_ins_refused = refused;
        ck_assert_int_eq(rig_try(&rig, 3), HBM_OK);
        ck_assert(rig_stamp_holds(&rig, a, 1));
        rig_stop(&rig);
    }
}

/* The same exchange with two more granules at the bottom, which the plan does not need: the way by
 * the device. */
TEST(blocks_that_wait_for_each_other_go_by_way_of_a_hole_when_there_is_one)
{
    rig_start(&rig, 14, HBM_DEFRAG_REPACK);
    struct hbm_buffer *a = rig_buffer(&rig, 3), *gap = rig_buffer(&rig, 1),
                      *held = rig_buffer(&rig, 1);
    struct hbm_buffer *b = rig_buffer(&rig, 2), *c = rig_buffer(&rig, 2),
                      *hole = rig_buffer(&rig, 2);
    struct hbm_buffer *low = rig_buffer(&rig, 1), *bottom = rig_buffer(&rig, 2);
    ck_assert_int_eq(hbm_hold(rig.hbm, held), HBM_OK);
    ck_assert_int_eq(hbm_hold(rig.hbm, low), HBM_OK);
    rig_stamp(&rig, a, 1);
    rig_stamp(&rig, b, 2);
    rig_stamp(&rig, c, 3);
    hbm_free(rig.hbm, gap);
    hbm_free(rig.hbm, hole);
    hbm_free(rig.hbm, bottom);
    ck_assert_int_eq(rig_try(&rig, 3), HBM_OK);
    ck_assert_uint_ne(rig.device.copies, 0);
    ck_assert_uint_eq(rig.device.stage_outs, 0);
    ck_assert(rig_stamp_holds(&rig, a, 1));
    ck_assert(rig_stamp_holds(&rig, b, 2));
    ck_assert(rig_stamp_holds(&rig, c, 3));
    rig_stop(&rig);
}

TEST(refused_wait_is_unavailable_and_not_no_memory)
{
    rig_start(&rig, 10, HBM_DEFRAG_NONE);
    ck_assert_int_eq(hbm_free_after(rig.hbm, rig_buffer(&rig, 10), 1), HBM_OK);
    hbm_device_arm(&rig.device, &(struct device_fault){DEVICE_REFUSES, DEVICE_CALL_WAIT, 1, false});
    ck_assert_int_eq(rig_try(&rig, 10), HBM_UNAVAILABLE);
    ck_assert_int_eq(rig_try(&rig, 10), HBM_OK);
    rig_stop(&rig);
}

/* The program whose unload was refused is not asked again after the other one went, and is not
 * forgotten either. */
TEST(refused_unload_is_remembered_to_the_end_of_the_call)
{
    rig_start(&rig, 6, HBM_DEFRAG_REPACK);
    rig_program(&rig, 1, 3, 0);
    rig_program(&rig, 2, 3, 0);
    rig.device.unloads_refused = 1;
    ck_assert_int_eq(rig_try(&rig, 6), HBM_UNAVAILABLE);
    ck_assert_int_eq(rig_try(&rig, 6), HBM_OK);
    rig_stop(&rig);
}

TEST(refused_copy_is_unavailable_and_not_no_memory)
{
    rig_start(&rig, 9, HBM_DEFRAG_SLIDE);
    struct hbm_buffer *first = rig_buffer(&rig, 3), *kept = rig_buffer(&rig, 3);
    hbm_free(rig.hbm, first);
    rig_stamp(&rig, kept, 4);
    rig.device.copies_refused = 1;
    ck_assert_int_eq(rig_try(&rig, 6), HBM_UNAVAILABLE);
    ck_assert(rig_stamp_holds(&rig, kept, 4));
    ck_assert_int_eq(rig_try(&rig, 6), HBM_OK);
    rig_stop(&rig);
}

TEST(aligned_request_slides_blocks_to_make_an_aligned_hole)
{
    struct hbm_buffer *aligned;
    rig_start(&rig, 10, HBM_DEFRAG_SLIDE);
    rig_buffer(&rig, 3);
    rig_buffer(&rig, 3);
    struct hbm_request request = {.size_bytes = 4 * 512, .align_bytes = 4096};
    ck_assert_int_eq(hbm_allocate(rig.hbm, &request, &aligned), HBM_OK);
    ck_assert_uint_eq(rig_at(&rig, aligned) % 4096, 0);
    rig_stop(&rig);
}

TEST(nothing_moves_for_a_request_that_cannot_fit)
{
    rig_start(&rig, 12, HBM_DEFRAG_REPACK);
    struct hbm_buffer *first = rig_buffer(&rig, 3);
    rig_buffer(&rig, 3);
    hbm_free(rig.hbm, first);
    ck_assert_int_eq(rig_try(&rig, 10), HBM_NO_MEMORY);
    ck_assert_uint_eq(rig.device.copies, 0);
    rig_stop(&rig);
}

TEST(explicit_defragmentation_leaves_one_hole)
{
    rig_start(&rig, 12, HBM_DEFRAG_SLIDE);
    struct hbm_buffer *first = rig_buffer(&rig, 2), *kept = rig_buffer(&rig, 3);
    rig_stamp(&rig, kept, 5);
    hbm_free(rig.hbm, first);
    ck_assert_int_eq(hbm_defragment(rig.hbm), HBM_OK);
    ck_assert_uint_eq(rig_stats(&rig).largest_free_block_bytes, 9 * 512);
    ck_assert(rig_stamp_holds(&rig, kept, 5));
    rig_stop(&rig);
    rig_start(&rig, 12, HBM_DEFRAG_NONE);
    ck_assert_int_eq(hbm_defragment(rig.hbm), HBM_INVALID);
    rig_stop(&rig);
}

/* ---- evict ---- */

TEST(least_recently_used_programs_go_first_and_no_more_than_needed)
{
    rig_start(&rig, 12, HBM_DEFRAG_REPACK);
    struct hbm_program *programs[4];
    for (uint64_t i = 0; i < 4; i++) {
        programs[i] = rig_program(&rig, i, 3, 0);
    }
    rig.device.done[1] = true;
    ck_assert_int_eq(hbm_execute(rig.hbm, programs[0], 1), HBM_OK);
    ck_assert_int_eq(hbm_execute(rig.hbm, programs[2], 2), HBM_OK);
    ck_assert_int_eq(rig_try(&rig, 5), HBM_OK);
    ck_assert_uint_eq(rig.device.unload_count, 2);
    ck_assert_uint_eq(rig.device.unloads[0], 1);
    ck_assert_uint_eq(rig.device.unloads[1], 3);
    ck_assert(hbm_program_is_loaded(rig.hbm, programs[0]));
    ck_assert(!hbm_program_is_loaded(rig.hbm, programs[1]));
    rig_stop(&rig);
}

TEST(nothing_is_evicted_in_vain_or_while_busy)
{
    rig_start(&rig, 12, HBM_DEFRAG_REPACK);
    struct hbm_program *busy = rig_program(&rig, 1, 3, 0);
    rig_program(&rig, 2, 3, 0);
    ck_assert_int_eq(hbm_execute(rig.hbm, busy, 1), HBM_OK);
    ck_assert_int_eq(rig_try(&rig, 10), HBM_NO_MEMORY);
    ck_assert_uint_eq(rig.device.unload_count, 0);
    ck_assert_int_eq(rig_try(&rig, 9), HBM_OK);
    ck_assert_uint_eq(rig.device.unload_count, 1);
    rig_stop(&rig);
}

TEST(refused_eviction_passes_to_the_next_program)
{
    rig_start(&rig, 6, HBM_DEFRAG_REPACK);
    rig_program(&rig, 1, 3, 0);
    rig_program(&rig, 2, 3, 0);
    rig.device.unloads_refused = 1;
    ck_assert_int_eq(rig_try(&rig, 3), HBM_OK);
    ck_assert_uint_eq(rig.device.unloads[0], 2);
    rig.device.unloads_refused = 1;
    ck_assert_int_eq(rig_try(&rig, 3), HBM_UNAVAILABLE);
    rig_stop(&rig);
}

TEST(program_evicts_program_only_when_allowed)
{
    for (int allowed = 0; allowed < 2; allowed++) {
        struct hbm_program *program;
        rig_init(&rig, 6, HBM_DEFRAG_REPACK);
        rig.options.program_evicts_program = allowed != 0;
        rig_create(&rig);
        rig_program(&rig, 1, 4, 0);
        struct hbm_program_request request = {.id = 2, .image_bytes = 4 * 512};
        ck_assert_int_eq(hbm_program_load(rig.hbm, &request, &program),
                         allowed ? HBM_OK : HBM_NO_MEMORY);
        ck_assert_uint_eq(rig.device.unload_count, allowed ? 1 : 0);
        rig_stop(&rig);
    }
}

TEST(queued_free_is_awaited_and_idle_program_evicted_unless_that_is_off)
{
    for (int off = 0; off < 2; off++) {
        rig_init(&rig, 8, HBM_DEFRAG_REPACK);
        rig.options.drains = off == 0;
        rig.options.evicts = off == 0;
        rig.options.program_evicts_program = true;
        rig_create(&rig);
        struct hbm_buffer *dying = rig_buffer(&rig, 4);
        rig_program(&rig, 1, 4, 0);
        ck_assert_int_eq(hbm_free_after(rig.hbm, dying, 1), HBM_OK);
        ck_assert_int_eq(rig_try(&rig, 4), off ? HBM_NO_MEMORY : HBM_OK);
        ck_assert_uint_eq(rig.device.waits, !off);
        ck_assert_int_eq(rig_try(&rig, 4), off ? HBM_NO_MEMORY : HBM_OK);
        ck_assert_uint_eq(rig.device.unload_count, !off);
        rig_stop(&rig);
    }
}

/* A queued free, two holes to join and an idle program: any one of them would do. */
TEST(mitigations_are_tried_in_the_configured_order)
{
    for (int first = 0; first < 3; first++) {
        rig_init(&rig, 13, HBM_DEFRAG_SLIDE);
        rig.options.order[0] = (enum hbm_mitigation)first;
        rig.options.order[1] = (enum hbm_mitigation)((first + 1) % 3);
        rig.options.order[2] = (enum hbm_mitigation)((first + 2) % 3);
        rig_create(&rig);
        struct hbm_buffer *dying = rig_buffer(&rig, 4);
        struct hbm_buffer *gap = rig_buffer(&rig, 2);
        rig_buffer(&rig, 1);
        rig_program(&rig, 1, 4, 0);
        ck_assert_int_eq(hbm_free_after(rig.hbm, dying, 1), HBM_OK);
        hbm_free(rig.hbm, gap);
        ck_assert_int_eq(rig_try(&rig, 4), HBM_OK);
        ck_assert_uint_eq(rig.device.waits, first == HBM_DRAIN);
        ck_assert_uint_eq(rig.device.unload_count, first == HBM_EVICT);
        if (first != HBM_DEFRAGMENT) {
            ck_assert_uint_eq(rig.device.copies, 0);
        } else {
            ck_assert_uint_gt(rig.device.copies, 0);
        }
        rig_stop(&rig);
    }
}
