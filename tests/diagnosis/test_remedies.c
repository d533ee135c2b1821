/* Remedies: each does to a list what it says, in numbers, and leaves it legal; where it does not
 * apply it says why. */
#include "diagnosis/remedy.h"
#include "tests/diagnosis/remedy_lists.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KILO UINT64_C(1024)

/* --- the table --- */

TEST(every_remedy_has_a_name_of_its_own_and_says_what_it_assumes)
{
    ck_assert_ptr_nonnull(remedies[0]);
    for (size_t i = 0; remedies[i] != NULL; i++) {
        const struct remedy *remedy = remedies[i];
        ck_assert_ptr_eq(remedy_find(remedy->name), remedy);
        for (const char *c = remedy->name; *c != '\0'; c++) {
            ck_assert(islower((unsigned char)*c) || *c == '-');
        }
        ck_assert_uint_gt(strlen(remedy->summary), 8);
        ck_assert_int_eq(remedy->assumes[strlen(remedy->assumes) - 1], '.');
        ck_assert(remedy->search == REMEDY_EACH || remedy->parameter != NULL);
        ck_assert_ptr_nonnull(remedy->apply);
    }
    ck_assert_ptr_null(remedy_find("prayer"));
}

/* --- steps --- */

TEST(a_step_begins_where_the_least_is_live)
{
    struct remedy_list list;
    remedy_list_steps(&list, 6);
    const struct remedy_steps *steps = &list.given.steps;
    ck_assert_uint_ge(steps->count, 5);
    ck_assert_uint_eq(steps->length, 9);
    for (size_t i = 0; i < steps->count; i++) {
        ck_assert_uint_eq((steps->bounds[i] - 2) % 9, 0);
    }
    for (uint32_t i = 2 + 9; i < list.given.ops->count; i++) {
        const struct op *op = &list.given.ops->ops[i];
        if (list.given.lives.lives[i].root == i) {
            ck_assert_msg(steps->is_of_step[i] == (op->tag != 5), "op %u of tag %u", i, op->tag);
        }
    }
    ck_assert(!steps->is_of_step[0]);
    remedy_list_deinit(&list);
}

TEST(a_list_cut_off_in_a_step_says_what_its_last_blocks_are)
{
    struct remedy_list list;
    remedy_list_steps(&list, 6);
    struct op_list ops;
    op_list_init(&ops);
    op_list_copy(&ops, list.given.ops);
    const struct setup setup = list.base.setup;
    remedy_list_deinit(&list);
    ops.count -= 6; /* batch and activations are live */
    remedy_list_take(&list, &setup, &ops);
    ck_assert_uint_gt(list.given.steps.count, 0);
    ck_assert(list.given.steps.is_of_step[ops.count - 1]);
    ck_assert(list.given.steps.is_of_step[ops.count - 3]);
    op_list_deinit(&ops);
    remedy_list_deinit(&list);
}

TEST(requests_that_are_all_the_same_have_no_steps)
{
    struct remedy_list list;
    remedy_list_parse(&list,
                      "0: alloc size=4K\n1: alloc size=4K\n2: alloc size=4K\n3: alloc size=4K\n"
                      "4: alloc size=4K\n"
                      "5: alloc size=4K\n6: alloc size=4K\n7: alloc size=4K\n8: alloc size=4K\n");
    ck_assert_uint_eq(list.given.steps.count, 0);
    const struct remedy *const need_steps[] = {&remedy_batch, &remedy_accumulation,
                                               &remedy_checkpointing, &remedy_restart};
    for (size_t i = 0; i < 4; i++) {
        remedy_list_refused(&list, need_steps[i], 0, "no step is seen");
    }
    remedy_list_deinit(&list);
}

TEST(executions_mark_steps_whose_sizes_differ)
{
    struct remedy_list list;
    remedy_list_parse(
        &list, "0: load size=4K stack=8K tag=1\n"
               "1: alloc size=1K tag=2\n2: alloc size=2K tag=3\n3: execute program=0 delay=1us\n"
               "4: free block=1\n"
               "5: free block=2\n6: alloc size=3K tag=4\n7: execute program=0 delay=1us\n"
               "8: free block=6\n"
               "9: alloc size=7K tag=5\n10: alloc size=9K tag=6\n11: execute program=0 delay=1us\n"
               "12: free block=9\n"
               "13: free block=10\n14: alloc size=5K tag=7\n15: execute program=0 delay=1us\n");
    ck_assert_uint_eq(list.given.steps.count, 3);
    ck_assert_uint_eq(list.given.steps.bounds[0], 6);
    remedy_list_apply(&list, &remedy_batch, 2);
    ck_assert_uint_eq(list.result.ops.ops[0].stack_bytes,
                      4 * KILO); /* it is executed in several steps */
    ck_assert_uint_eq(list.result.ops.ops[0].size_bytes, 4 * KILO);
    remedy_list_deinit(&list);
}

/* --- donation --- */

TEST(an_output_takes_over_the_input_that_ends_there)
{
    struct remedy_list list;
    struct what_if_row row;
    remedy_list_parse(
        &list,
        "capacity 512K\n0: alloc size=256K\n1: alloc size=128K tag=1\n2: use block=0 delay=1us\n"
        "3: output size=256K tag=2\n4: free block=0\n5: touch block=3\n6: free block=3\n");
    ck_assert_uint_eq(list.base.op, 3);
    remedy_list_deinit(&list);
    remedy_list_parse(
        &list, "0: alloc size=256K\n1: alloc size=128K tag=1\n2: use block=0 delay=1us\n"
               "3: output size=256K tag=2\n4: free block=0\n5: touch block=3\n6: free block=3\n");
    remedy_list_apply(&list, &remedy_donation, 0);
    ck_assert_uint_eq(list.result.ops.count, 6);
    ck_assert_int_eq(list.result.ops.ops[3].kind, OP_DONATE);
    ck_assert_uint_eq(list.result.ops.ops[3].ref, 0);
    ck_assert_uint_eq(list.result.ops.ops[4].ref, 3);
    ck_assert_uint_eq(list.result.ops.ops[5].ref, 3);
    remedy_list_measure(&list, &row);
    ck_assert_int_eq(row.end, WHAT_IF_FITS);
    ck_assert_uint_eq(row.peak_bytes, 384 * KILO);
    remedy_list_deinit(&list);
}

TEST(the_free_may_stand_before_the_output)
{
    struct remedy_list list;
    remedy_list_parse(&list,
                      "0: alloc size=64K\n1: free_after block=0 delay=1ms\n2: output size=40K\n"
                      "3: free block=2\n");
    remedy_list_apply(&list, &remedy_donation, 0);
    ck_assert_uint_eq(list.result.ops.count, 3);
    ck_assert_int_eq(list.result.ops.ops[1].kind, OP_DONATE);
    remedy_list_deinit(&list);
}

TEST(an_input_is_not_donated_that_is_needed_or_does_not_fit)
{
    static const char *const lists[] = {
        "0: alloc size=64K\n1: output size=64K\n2: touch block=0\n3: free block=0\n", /* it is read
                                                                                         afterwards
                                                                                       */
        "0: alloc size=64K\n1: hold block=0\n2: output size=64K\n3: free block=0\n",  /* somebody
                                                                                         holds it */
        "0: alloc size=64K\n1: output size=65K\n2: free block=0\n", /* it is too small */
        "0: alloc size=64K\n1: output size=16K\n2: free block=0\n", /* it is far too large */
        "0: alloc size=64K\n1: output size=64K align=4K\n2: free block=0\n", /* it may lie wrong */
        "0: alloc size=64K\n1: output size=64K\n2: alloc size=4K\n3: free block=0\n", /* another
                                                                                         request
                                                                                         comes first
                                                                                       */
        ("0: alloc size=64K\n1: alloc size=4K\n2: output size=64K\n3: free_after block=0 delay=1us\n"
         "4: free_after block=1 event=3\n"), /* its event is waited for */
        "hosts 2\n0: alloc size=64K\n1: output size=64K host=1\n2: free block=0\n", /* it is on
                                                                                       another host
                                                                                     */
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct remedy_list list;
        remedy_list_parse(&list, lists[i]);
        remedy_list_refused(&list, &remedy_donation, 0, "no input ends where");
        remedy_list_deinit(&list);
    }
}

TEST(one_input_is_donated_once_and_the_nearest_in_size_first)
{
    struct remedy_list list;
    remedy_list_parse(&list,
                      "0: alloc size=64K\n1: alloc size=60K\n2: output size=58K\n3: free block=0\n"
                      "4: free block=1\n"
                      "5: output size=58K\n");
    remedy_list_apply(&list, &remedy_donation, 0);
    ck_assert_uint_eq(remedy_list_count(&list, OP_DONATE), 2);
    ck_assert_uint_eq(list.result.ops.ops[2].ref, 1);
    ck_assert_uint_eq(list.result.ops.ops[3].ref, 0);
    ck_assert_uint_eq(remedy_list_count(&list, OP_FREE), 0);
    remedy_list_deinit(&list);
}

/* --- sizes --- */

TEST(without_padding_a_buffer_takes_its_unpadded_size)
{
    struct remedy_list list;
    remedy_list_parse(&list, "0: alloc size=64K unpadded=1000\n1: alloc size=8K\n"
                             "2: output size=32K unpadded=30K\n3: alloc size=4K unpadded=4K\n");
    remedy_list_apply(&list, &remedy_no_padding, 0);
    ck_assert_uint_eq(list.result.ops.ops[0].size_bytes, 1000);
    ck_assert_uint_eq(list.result.ops.ops[0].unpadded_bytes, 0);
    ck_assert_uint_eq(list.result.ops.ops[1].size_bytes, 8 * KILO);
    ck_assert_uint_eq(list.result.ops.ops[2].size_bytes, 30 * KILO);
    remedy_list_apply(&list, &remedy_layout, 0);
    ck_assert_uint_eq(list.result.ops.ops[0].size_bytes, 4 * KILO);
    ck_assert_uint_eq(list.result.ops.ops[2].size_bytes, 32 * KILO);
    ck_assert(remedy_layout.is_estimate);
    remedy_list_deinit(&list);
    remedy_list_parse(&list, "0: alloc size=64K\n");
    remedy_list_refused(&list, &remedy_no_padding, 0, "unpadded");
    remedy_list_refused(&list, &remedy_layout, 0, "unpadded");
    remedy_list_deinit(&list);
}

TEST(a_block_that_is_taken_over_stays_as_large_as_what_takes_it_over)
{
    struct remedy_list list;
    struct what_if_row row;
    remedy_list_parse(
        &list, "0: alloc size=64K unpadded=4K\n1: donate block=0 size=60K\n2: free block=1\n");
    remedy_list_apply(&list, &remedy_no_padding, 0);
    ck_assert_uint_eq(list.result.ops.ops[0].size_bytes, 60 * KILO);
    remedy_list_measure(&list, &row);
    ck_assert_int_eq(row.end, WHAT_IF_FITS);
    remedy_list_deinit(&list);
}

TEST(half_the_batch_halves_what_lives_within_a_step)
{
    struct remedy_list list;
    struct what_if_row row;
    remedy_list_steps(&list, 6);
    remedy_list_apply(&list, &remedy_batch, 2);
    ck_assert_uint_eq(remedy_list_bytes(&list, OP_ALLOC, 1), 96 * KILO);
    ck_assert_uint_eq(remedy_list_bytes(&list, OP_OUTPUT, 5), 6 * 512);
    ck_assert_uint_eq(remedy_list_bytes(&list, OP_OUTPUT, 3), 6 * 96 * KILO);
    ck_assert_uint_eq(remedy_list_bytes(&list, OP_ALLOC, 2), 6 * 32 * KILO);
    remedy_list_measure(&list, &row);
    ck_assert_uint_eq(row.peak_bytes, (96 + 32 + 64 + 32 + 48) * KILO + 5 * 512);
    remedy_list_deinit(&list);
}

TEST(accumulation_divides_activations_and_keeps_gradients)
{
    struct remedy_list list;
    struct what_if_row row;
    remedy_list_steps(&list, 6);
    remedy_list_apply(&list, &remedy_accumulation, 4);
    ck_assert_uint_eq(list.result.ops.count, list.given.ops->count + 2);
    ck_assert_uint_eq(remedy_list_bytes(&list, OP_ALLOC, 1), 2 * 96 * KILO);
    ck_assert_uint_eq(remedy_list_bytes(&list, OP_OUTPUT, 4), 6 * 96 * KILO);
    ck_assert_uint_eq(remedy_list_bytes(&list, OP_OUTPUT, 3), 6 * 48 * KILO);
    remedy_list_measure(&list, &row);
    ck_assert_uint_eq(row.peak_bytes, (2 * 96 + 16 + 32 + 16 + 96) * KILO + 5 * 512);
    remedy_list_deinit(&list);
}

TEST(sharding_divides_all_but_the_images_of_programs)
{
    struct remedy_list list;
    struct what_if_row row;
    remedy_list_parse(&list,
                      "0: load size=64K stack=9K\n1: alloc size=1001\n2: donate block=1 size=1000\n"
                      "3: output size=1 align=4K\n");
    remedy_list_apply(&list, &remedy_sharding, 4);
    ck_assert_uint_eq(list.result.ops.ops[0].size_bytes, 64 * KILO);
    ck_assert_uint_eq(list.result.ops.ops[0].stack_bytes, 9 * KILO / 4);
    ck_assert_uint_eq(list.result.ops.ops[1].size_bytes, 251);
    ck_assert_uint_eq(list.result.ops.ops[2].size_bytes, 250);
    ck_assert_uint_eq(list.result.ops.ops[3].size_bytes, 1);
    remedy_list_measure(&list, &row);
    ck_assert_int_eq(row.end, WHAT_IF_FITS);
    remedy_list_deinit(&list);
}

/* --- order --- */

TEST(checkpointing_gives_back_what_lies_unused_within_a_step)
{
    struct remedy_list list;
    struct what_if_row row;
    char label[REMEDY_LABEL_BYTES], note[REMEDY_NOTE_BYTES];
    uint64_t tag = 0;
    remedy_list_steps(&list, 6);
    ck_assert(remedy_checkpointing.parameter(&list.given, 0, &tag, note));
    remedy_checkpointing.label(&list.given, tag, label);
    ck_assert_str_eq(
        label, "acts"); /* 128K for four ops and 64K for two: more than the batch, 64K for eight */
    remedy_list_apply(&list, &remedy_checkpointing, 3);
    remedy_list_measure(&list, &row);
    ck_assert_int_eq(row.end, WHAT_IF_FITS);
    /* Gradients are made while none of the activations is there; then the first ones are, beside
     * them. */
    ck_assert_uint_eq(row.peak_bytes, (96 + 64 + 96 + 128) * KILO + 5 * 512);
    ck_assert_uint_eq(remedy_list_bytes(&list, OP_OUTPUT, 3), 6 * (192 + 192) * KILO);
    remedy_list_deinit(&list);
}

TEST(named_tags_are_given_back_though_no_step_is_seen)
{
    struct remedy_list list;
    struct what_if_row row;
    char label[REMEDY_LABEL_BYTES], note[REMEDY_NOTE_BYTES];
    uint64_t parameter = 0;
    bool named_tags[OP_TAG_COUNT] = {[1] = true, [2] = true};
    remedy_list_parse(
        &list, "0: alloc size=400K tag=1\n1: alloc size=300K tag=2\n2: alloc size=500K tag=3\n"
               "3: free block=2\n4: touch block=0\n5: free block=1\n");
    ck_assert_uint_eq(list.given.steps.count, 0);
    remedy_list_refused(&list, &remedy_checkpointing, 1, "");
    list.given.named_tags = named_tags;
    ck_assert(remedy_checkpointing.parameter(&list.given, 0, &parameter, note));
    ck_assert_uint_eq(parameter, 1);
    remedy_list_apply(&list, &remedy_checkpointing, parameter);
    remedy_list_measure(&list, &row);
    ck_assert_int_eq(row.end, WHAT_IF_FITS);
    ck_assert_uint_eq(row.peak_bytes, 800 * KILO);
    /* Both together: neither is there while the third is, and at the end both are. */
    ck_assert(remedy_checkpointing.parameter(&list.given, 2, &parameter, note));
    remedy_checkpointing.label(&list.given, parameter, label);
    ck_assert_str_eq(label, "all-that-are-named");
    remedy_list_apply(&list, &remedy_checkpointing, parameter);
    remedy_list_measure(&list, &row);
    ck_assert_uint_eq(row.peak_bytes, 700 * KILO);
    ck_assert_uint_eq(remedy_list_bytes(&list, OP_ALLOC, 2), 2 * 300 * KILO);
    ck_assert(!remedy_checkpointing.parameter(&list.given, 3, &parameter, note));
    remedy_list_deinit(&list);
}

TEST(a_tag_with_the_name_of_all_has_another_label)
{
    struct remedy_list list;
    char label[REMEDY_LABEL_BYTES];
    remedy_list_parse(&list, "tag 4 \"all-that-are-named\"\n0: alloc size=400K tag=4\n");
    remedy_checkpointing.label(&list.given, 4, label);
    ck_assert_str_eq(label, "all-that-are-named.tag4");
    remedy_list_deinit(&list);
}

TEST(what_is_held_or_was_donated_is_not_given_back)
{
    struct remedy_list list;
    char text[4096] = "0: alloc size=16K tag=1\n";
    unsigned number = 1;
    for (unsigned step = 0; step < 6; step++) {
        char more[512];
        snprintf(
            more, sizeof more,
            "%u: alloc size=8K tag=2\n%u: hold block=%u\n%u: alloc size=8K tag=3\n%u: donate block=%u size=4K tag=3\n"
            "%u: alloc size=1K tag=4\n%u: free block=%u\n%u: release block=%u\n%u: free block=%u\n%u: free block=%u\n",
            number, number + 1, number, number + 2, number + 3, number + 2, number + 4, number + 5,
            number + 4, number + 6, number, number + 7, number, number + 8, number + 3);
        strcat(text, more);
        number += 9;
    }
    remedy_list_parse(&list, text);
    ck_assert_uint_eq(list.given.steps.length, 9);
    for (uint64_t tag = 2; tag <= 3; tag++) {
        const bool applies = remedy_apply(&remedy_checkpointing, &list.given, tag, &list.result);
        ck_assert_msg(!applies, "tag %" PRIu64 ": %s", tag, list.result.note);
    }
    remedy_list_deinit(&list);
}

TEST(a_restart_brings_back_what_lives_long_and_leaves_leaks_behind)
{
    struct remedy_list list;
    struct what_if_row row;
    remedy_list_steps(&list, 12);
    const size_t bound_count = list.given.steps.count;
    remedy_list_apply(&list, &remedy_restart, 2);
    const unsigned restarts = (unsigned)((bound_count - 1) / 2);
    ck_assert_uint_eq(remedy_list_bytes(&list, OP_ALLOC, 1), (1 + restarts) * 96 * KILO);
    ck_assert_uint_eq(remedy_list_bytes(&list, OP_OUTPUT, 5), 12 * 512); /* no loss is made again */
    remedy_list_measure(&list, &row);
    ck_assert_int_eq(row.end, WHAT_IF_FITS);
    ck_assert_uint_lt(row.peak_bytes, (96 + 352) * KILO + 6 * 512);
    remedy_list_deinit(&list);
}

TEST(a_restart_keeps_references_holds_and_donations_right)
{
    struct remedy_list list;
    struct what_if_row row;
    char text[4096] = "0: alloc size=16K tag=1\n1: hold block=0\n2: load size=4K stack=4K tag=2\n";
    unsigned state = 0;
    unsigned number = 3;
    for (unsigned step = 0; step < 6; step++) {
        char more[512];
        snprintf(
            more, sizeof more,
            "%u: alloc size=8K tag=3\n%u: execute program=2 delay=1us\n%u: use block=%u event=%u\n"
            "%u: release block=%u\n"
            "%u: donate block=%u size=12K tag=1\n%u: hold block=%u\n%u: free_after block=%u event=%u\n",
            number, number + 1, number + 2, state, number + 1, number + 3, state, number + 4, state,
            number + 5, number + 4, number + 6, number, number + 1);
        strcat(text, more);
        state = number + 4;
        number += 7;
    }
    remedy_list_parse(&list, text);
    ck_assert_uint_gt(list.given.steps.count, 2);
    remedy_list_apply(&list, &remedy_restart, 1);
    ck_assert_uint_eq(remedy_list_count(&list, OP_UNLOAD), list.given.steps.count - 1);
    ck_assert_uint_eq(remedy_list_count(&list, OP_LOAD), list.given.steps.count);
    remedy_list_measure(&list, &row);
    ck_assert_int_eq(row.end, WHAT_IF_FITS);
    remedy_list_deinit(&list);
}

/* References that outlive their blocks are what a restart gives back. */
TEST(a_restart_releases_what_was_freed_and_is_still_held)
{
    struct remedy_list list;
    struct what_if_row row;
    char text[4096] = "tag 1 \"weights\"\ntag 2 \"act\"\ntag 3 \"ref\"\n0: alloc size=128K tag=1\n";
    for (unsigned i = 1; i < 13 * 6; i += 6) {
        snprintf(
            text + strlen(text), sizeof text - strlen(text),
            "%u: alloc size=32K tag=2\n%u: alloc size=64K tag=3\n%u: hold block=%u\n%u: use block=%u delay=1ms\n"
            "%u: free block=%u\n%u: free block=%u\n",
            i, i + 1, i + 2, i + 1, i + 3, i, i + 4, i + 1, i + 5, i);
    }
    strcat(text, "79: release block=2\n80: release block=74\n");
    remedy_list_parse(&list, text);
    ck_assert_uint_ne(list.base.op, OP_NONE);
    remedy_list_apply(&list, &remedy_restart, 4);
    ck_assert_uint_gt(remedy_list_count(&list, OP_RELEASE), 4);
    remedy_list_measure(&list, &row);
    ck_assert_int_eq(row.end, WHAT_IF_FITS);
    remedy_list_deinit(&list);
}

TEST(a_donated_block_comes_back_as_its_last_owner_s)
{
    struct remedy_list list;
    struct what_if_row row;
    char text[4096] =
        "tag 1 \"first\"\ntag 2 \"act\"\ntag 3 \"last\"\n0: alloc size=64K tag=1\n1: donate block=0 size=48K "
        "tag=3\n";
    for (unsigned i = 2; i < 12 * 5; i += 5) {
        snprintf(
            text + strlen(text), sizeof text - strlen(text),
            "%u: alloc size=32K tag=2\n%u: alloc size=16K tag=2\n%u: touch block=1\n%u: free block=%u\n"
            "%u: free block=%u\n",
            i, i + 1, i + 2, i + 3, i, i + 4, i + 1);
    }
    remedy_list_parse(&list, text);
    remedy_list_apply(&list, &remedy_restart, 4);
    ck_assert_uint_gt(remedy_list_bytes(&list, OP_OUTPUT, 3), 0);
    ck_assert_uint_eq(remedy_list_bytes(&list, OP_OUTPUT, 3) % (64 * KILO), 0);
    ck_assert_uint_eq(remedy_list_bytes(&list, OP_OUTPUT, 1), 0);
    remedy_list_measure(&list, &row);
    ck_assert_int_eq(row.end, WHAT_IF_FITS);
    remedy_list_deinit(&list);
}

TEST(a_forced_drain_ends_what_is_queued_lost_events_too)
{
    struct remedy_list list;
    struct what_if_row row;
    remedy_list_parse(&list,
                      "0: alloc size=512K\n1: free_after block=0 delay=never\n2: alloc size=256K\n"
                      "3: free_after block=2 delay=5ms\n4: alloc size=768K\n5: complete event=1\n");
    ck_assert_uint_eq(list.base.op, 4);
    remedy_list_apply(&list, &remedy_mark_step, 4);
    ck_assert_uint_eq(list.result.ops.count, 5 + 2);
    ck_assert_int_eq(list.result.ops.ops[4].kind, OP_ADVANCE);
    ck_assert_uint_eq(list.result.ops.ops[4].delay_ns, 5000000);
    ck_assert_int_eq(list.result.ops.ops[5].kind, OP_COMPLETE);
    ck_assert_uint_eq(list.result.ops.ops[5].event, 1);
    remedy_list_measure(&list, &row);
    ck_assert_int_eq(row.end, WHAT_IF_FITS);
    ck_assert_uint_eq(row.peak_bytes, 768 * KILO);
    remedy_list_deinit(&list);
    remedy_list_parse(&list, "0: alloc size=4K\n1: free block=0\n");
    remedy_list_refused(&list, &remedy_mark_step, 0, "nothing is queued");
    remedy_list_deinit(&list);
}

TEST(what_a_drain_completed_is_not_completed_again)
{
    struct remedy_list list;
    remedy_list_parse(
        &list,
        "0: alloc size=4K\n1: use block=0 delay=never\n2: touch block=0\n3: complete event=1\n"
        "4: use block=0 delay=never\n5: complete event=4\n");
    remedy_list_apply(&list, &remedy_mark_step, 2);
    ck_assert_uint_eq(remedy_list_count(&list, OP_COMPLETE), 2);
    struct what_if_row row;
    remedy_list_measure(&list, &row);
    ck_assert_int_eq(row.end, WHAT_IF_FITS);
    remedy_list_deinit(&list);
}

/* --- programs --- */

static const char programs_text[] =
    "0: load size=100K stack=0\n1: load size=100K stack=0\n2: load size=100K stack=0\n"
    "3: execute program=0 delay=1us\n4: execute program=1 delay=1us\n"
    "5: execute program=2 delay=1us\n6: execute program=0 delay=1us\n"
    "7: unload program=1\n8: report\n";

TEST(a_program_is_unloaded_after_its_last_execution)
{
    struct remedy_list list;
    remedy_list_parse(&list, programs_text);
    remedy_list_apply(&list, &remedy_unload, 0);
    ck_assert_uint_eq(list.result.ops.count, 9 + 2);
    ck_assert_int_eq(list.result.ops.ops[6].kind, OP_UNLOAD);
    ck_assert_uint_eq(list.result.ops.ops[6].ref, 2);
    ck_assert_int_eq(list.result.ops.ops[8].kind, OP_UNLOAD);
    ck_assert_uint_eq(list.result.ops.ops[8].ref, 0);
    remedy_list_deinit(&list);
    remedy_list_parse(&list, "0: alloc size=4K\n");
    remedy_list_refused(&list, &remedy_unload, 0, "no program");
    remedy_list_refused(&list, &remedy_programs, 0, "no host");
    remedy_list_deinit(&list);
}

TEST(a_program_of_the_steps_is_not_taken_for_one_that_is_over)
{
    struct remedy_list list;
    remedy_list_parse(&list, "0: load size=4K stack=0 tag=1\n1: load size=8K stack=0 tag=2\n"
                             "2: execute program=0 delay=1us\n"
                             "3: alloc size=1K\n4: execute program=1 delay=1us\n5: free block=3\n"
                             "6: alloc size=1K\n7: execute program=1 delay=1us\n8: free block=6\n"
                             "9: alloc size=1K\n10: execute program=1 delay=1us\n11: free block=9\n"
                             "12: alloc size=1K\n13: execute program=1 delay=1us\n");
    remedy_list_apply(&list, &remedy_unload, 0);
    ck_assert_uint_eq(remedy_list_count(&list, OP_UNLOAD), 1);
    ck_assert_int_eq(list.result.ops.ops[3].kind, OP_UNLOAD);
    ck_assert_uint_eq(list.result.ops.ops[3].ref, 0);
    remedy_list_deinit(&list);
}

TEST(no_more_than_n_programs_are_loaded_at_a_time)
{
    struct remedy_list list;
    struct what_if_row row;
    char note[REMEDY_NOTE_BYTES];
    uint64_t n = 0;
    remedy_list_parse(&list, programs_text);
    ck_assert(remedy_programs.parameter(&list.given, 0, &n, note));
    ck_assert_uint_eq(n, 2);
    remedy_list_apply(&list, &remedy_programs, 1);
    unsigned loaded = 0;
    for (size_t i = 0; i < list.result.ops.count; i++) {
        loaded += list.result.ops.ops[i].kind == OP_LOAD;
        loaded -= list.result.ops.ops[i].kind == OP_UNLOAD;
        ck_assert_uint_le(loaded, 1);
    }
    ck_assert_uint_eq(remedy_list_count(&list, OP_EXECUTE), 4);
    remedy_list_measure(&list, &row);
    ck_assert_int_eq(row.end, WHAT_IF_FITS);
    remedy_list_apply(&list, &remedy_programs, 2);
    ck_assert_uint_eq(remedy_list_count(&list, OP_UNLOAD), 5);
    remedy_list_measure(&list, &row);
    ck_assert_int_eq(row.end, WHAT_IF_FITS);
    remedy_list_deinit(&list);
}

/* --- the device and the allocator --- */

TEST(a_chip_has_what_the_list_reserves_beside_its_capacity)
{
    struct remedy_list list;
    remedy_list_parse(
        &list,
        "capacity 1G\ntag 1 \"reserved for the system\"\n0: alloc size=528M tag=1\n1: hold block=0\n");
    remedy_list_apply(&list, &remedy_chip, 0);
    ck_assert_uint_eq(list.result.setup.capacity_bytes,
                      (chips[0]->capacity_bytes + (528 << 20)) / 512 * 512);
    ck_assert_ptr_nonnull(strstr(list.result.note, " plus the reserved memory"));
    ck_assert_uint_eq(list.result.ops.count, 2);
    remedy_list_deinit(&list);
    remedy_list_parse(&list,
                      "capacity 1G\ntag 1 \"reserved for the system\"\n0: alloc size=528M tag=1\n"
                      "1: retire size=4K address=8M\n");
    remedy_list_apply(&list, &remedy_chip, 0);
    ck_assert_ptr_nonnull(
        strstr(list.result.note, " plus the reserved memory; retired ranges left out: 1"));
    remedy_list_deinit(&list);
}

TEST(the_next_larger_chip_comes_first)
{
    struct remedy_list list;
    char note[REMEDY_NOTE_BYTES], order[128] = "";
    uint64_t chip = 0;
    remedy_list_parse(&list, "chip v5e\ncapacity 16909332480\n0: alloc size=4K\n");
    for (size_t i = 0; remedy_chip.parameter(&list.given, i, &chip, note); i++) {
        strcat(strcat(order, chips[chip]->name), " ");
        remedy_list_apply(&list, &remedy_chip, chip);
        ck_assert_uint_eq(list.result.setup.capacity_bytes % 512, 0);
        ck_assert_str_eq(list.result.setup.chip, chips[chip]->name);
    }
    ck_assert_str_eq(order, "v4 v6e v7x v5p v3 v2 ");
    remedy_list_deinit(&list);
}

TEST(on_another_chip_nothing_is_retired)
{
    struct remedy_list list;
    char note[REMEDY_NOTE_BYTES];
    uint64_t chip = 0;
    remedy_list_parse(
        &list, "chip v5e\ncapacity 16909332480\n0: retire size=4K address=8G\n1: alloc size=4K\n"
               "2: free block=1\n");
    ck_assert(remedy_chip.parameter(&list.given, 0, &chip, note));
    remedy_list_apply(&list, &remedy_chip, chip);
    ck_assert_uint_eq(list.result.ops.count, 2);
    ck_assert_int_eq(list.result.ops.ops[1].kind, OP_FREE);
    ck_assert_uint_eq(list.result.ops.ops[1].ref, 0);
    ck_assert_ptr_nonnull(strstr(list.result.note, "retired ranges left out: 1"));
    remedy_list_deinit(&list);
}

TEST(a_target_is_asked_only_for_options_that_it_has)
{
    struct remedy_list list;
    char note[REMEDY_NOTE_BYTES] = "";
    uint64_t parameter = 0;
    remedy_list_parse(&list, "option defrag=slide\n0: alloc size=4K\n");
    ck_assert(remedy_defrag.parameter(&list.given, 0, &parameter, note));
    remedy_list_apply(&list, &remedy_defrag, parameter);
    ck_assert_str_eq(setup_option(&list.result.setup, "defrag"), "none");
    ck_assert(remedy_defrag.parameter(&list.given, 1, &parameter, note));
    remedy_list_apply(&list, &remedy_defrag, parameter);
    ck_assert_str_eq(setup_option(&list.result.setup, "defrag"), "repack");
    ck_assert(!remedy_defrag.parameter(&list.given, 2, &parameter, note));
    ck_assert(remedy_program_evicts.parameter(&list.given, 0, &parameter, note));
    ck_assert(!remedy_program_evicts.parameter(&list.given, 1, &parameter, note));
    remedy_list_deinit(&list);
    remedy_list_parse(&list, "target first_fit\n0: alloc size=4K\n");
    remedy_list_refused(&list, &remedy_order, 0, "has no option order");
    remedy_list_deinit(&list);
}
