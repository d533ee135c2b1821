/* What a target that grows is held to: where its blocks lie, what it gives back, and what its
 * contract may say. */
#include "tests/harness/run/scripted_target.h"
#include "tests/helpers/suite.h"

#include <string.h>

/* Granules of a unit in which regions begin, and the device in them. */
enum { UNIT = TARGET_REGION_ALIGN_BYTES / G, UNIT_COUNT = 8 };

static struct target growing_target;

static struct run *open_run(char reason[RUN_REASON_BYTES])
{
    struct setup setup;
    setup_init(&setup);
    setup.capacity_bytes = UNIT_COUNT * TARGET_REGION_ALIGN_BYTES;
    growing_target = scripted_target;
    growing_target.retire = NULL;
    return run_create(&growing_target, &setup, reason);
}

static void start_with(bool queues_frees)
{
    char reason[RUN_REASON_BYTES] = "";
    prepare();
    script.contract = (struct target_contract){.granule_bytes = G,
                                               .queues_frees = queues_frees,
                                               .drains = queues_frees,
                                               .regions = {.grows = true, .trims = true}};
    script.run = open_run(reason);
    ck_assert_msg(script.run != NULL, "%s", reason);
}

static void start_growing(void)
{
    start_with(true);
}

/* --- acts --- */

static void take_unit(void)
{
    struct device_region region;
    ck_assert_int_eq(
        script.device[0]->region_take(script.device[0]->context, (uint64_t)UNIT * G, &region),
        DEVICE_OK);
}

static void take_two_units(void)
{
    take_unit();
    take_unit();
}

static void take_in_vain(void)
{
    struct device_region region;
    ck_assert_int_eq(
        script.device[0]->region_take(script.device[0]->context, (uint64_t)UNIT * G, &region),
        DEVICE_REFUSED);
}

static void give_first_unit(void)
{
    script.device[0]->region_give(script.device[0]->context, 0);
}

static void give_and_take_again(void)
{
    give_first_unit();
    take_unit();
}

static void give_inside(void)
{
    script.device[0]->region_give(script.device[0]->context, G);
}

static const struct verdict *alloc_after(void (*act)(void), uint64_t at, uint64_t size)
{
    script.act = act;
    return alloc_at(at, size);
}

static const struct verdict *refuse_after(void (*act)(void), uint64_t size)
{
    script.act = act;
    return refuse(size);
}

/* --- blocks --- */

TEST(a_block_lies_in_one_region)
{
    start_growing();
    KEEPS(alloc_after(take_unit, 0, 8));
    KEEPS(alloc_at(UNIT - 8, 8));
    BREAKS(alloc_at(UNIT, 1), RULE_REGION);
    ck_assert_str_eq(run_findings(script.run)->findings[0].verdict.mechanism, "in no region");
    stop();
}

TEST(neighbouring_regions_are_two)
{
    start_growing();
    BREAKS(alloc_after(take_two_units, UNIT - 1, 2), RULE_REGION);
    ck_assert_str_eq(run_findings(script.run)->findings[0].verdict.mechanism, "beyond its region");
    stop();
}

TEST(holes_end_where_regions_do)
{
    start_growing();
    ck_assert_uint_eq(model_largest_hole_bytes(run_model(script.run, 0)), 0);
    KEEPS(alloc_after(take_two_units, 8, UNIT - 8));
    ck_assert_uint_eq(model_largest_hole_bytes(run_model(script.run, 0)), (uint64_t)UNIT * G);
    ck_assert_uint_eq(model_hole_count(run_model(script.run, 0)), 2);
    stop();
}

/* --- giving back --- */

TEST(a_region_is_given_back_when_no_block_lies_there)
{
    start_growing();
    KEEPS(alloc_after(take_two_units, 0, 8));
    KEEPS(alloc_at(UNIT, 8));
    script.act = give_first_unit;
    KEEPS(on(OP_FREE, 0)); /* of the block that lay there */
    size_t count = 0;
    (void)model_regions(run_model(script.run, 0), &count);
    ck_assert_uint_eq(count, 1);
    stop();
    start_growing();
    KEEPS(alloc_after(take_two_units, 0, 8));
    BREAKS(alloc_after(give_first_unit, UNIT, 8), RULE_REGION);
    stop();
    start_growing();
    KEEPS(alloc_after(take_two_units, 0, 8));
    BREAKS(alloc_after(give_and_take_again, UNIT, 8), RULE_REGION);
    stop();
}

TEST(a_queued_free_keeps_its_region)
{
    start_growing();
    KEEPS(alloc_after(take_unit, 0, 8));
    script.act = give_first_unit;
    BREAKS(on_for(OP_FREE_AFTER, 0, 100), RULE_REGION);
    stop();
    start_growing();
    KEEPS(alloc_after(take_two_units, 0, 8));
    KEEPS(on_for(OP_FREE_AFTER, 0, 100));
    KEEPS(complete(1));
    KEEPS(alloc_after(give_first_unit, UNIT, 8));
    stop();
}

TEST(a_free_that_was_kept_back_empties_its_region_when_it_comes)
{
    start_with(false);
    KEEPS(alloc_after(take_two_units, 0, 8));
    KEEPS(on_for(OP_FREE_AFTER, 0, 100));
    script.act = give_first_unit; /* inside the free, which nothing but the event brings about */
    KEEPS(complete(1));
    ck_assert_int_eq(script.free_calls[1], 1);
    KEEPS(alloc_at(UNIT, 8));
    BREAKS(alloc_at(0, 8), RULE_REGION);
    stop();
}

TEST(the_last_release_of_a_freed_block_empties_its_region)
{
    start_growing();
    KEEPS(alloc_after(take_unit, 0, 8));
    KEEPS(on(OP_HOLD, 0));
    KEEPS(on(OP_FREE, 0));
    script.act = give_first_unit;
    KEEPS(on(OP_RELEASE, 0));
    stop();
    start_growing();
    KEEPS(alloc_after(take_unit, 0, 8));
    KEEPS(on(OP_HOLD, 0));
    script.act = give_first_unit;
    BREAKS(on(OP_RELEASE, 0), RULE_REGION);
    stop();
}

TEST(only_what_is_a_region_is_given_back)
{
    start_growing();
    KEEPS(alloc_after(take_unit, 8, 8));
    script.act = give_inside;
    BREAKS(on(OP_FREE, 0), RULE_REGION);
    stop();
}

TEST(close_gives_back_every_region)
{
    start_growing();
    KEEPS(alloc_after(take_unit, 0, 8));
    BREAKS(run_finish(script.run), RULE_REGION);
    stop();
    start_growing();
    KEEPS(alloc_after(take_unit, 0, 8));
    script.act = give_first_unit;
    KEEPS(on(OP_FREE, 0));
    KEEPS(run_finish(script.run));
    stop();
}

/* --- out of memory --- */

TEST(an_out_of_memory_is_held_against_what_a_new_region_takes)
{
    start_growing();
    KEEPS(alloc_after(take_two_units, 0, 8));
    JUDGED(refuse((UNIT_COUNT - 1) * UNIT + 1), VERDICT_JUSTIFIED);
    JUDGED(refuse((UNIT_COUNT - 1) * UNIT), VERDICT_PREMATURE); /* the second one is empty */
    stop();
    start_growing();
    KEEPS(alloc_after(take_two_units, 0, 8));
    JUDGED(refuse(UNIT - 8), VERDICT_PREMATURE);
    stop();
}

TEST(a_region_that_a_fault_refused_need_not_be_taken)
{
    start_growing();
    KEEPS(alloc_after(take_unit, 0, 8));
    KEEPS(arm(FAULT_REGION));
    JUDGED(refuse_after(take_in_vain, UNIT), VERDICT_JUSTIFIED);
    JUDGED(refuse(UNIT), VERDICT_PREMATURE);
    stop();
}

/* --- contracts --- */

TEST(a_contract_that_makes_no_sense_is_refused_in_one_line)
{
    static const struct {
        struct target_contract contract;
        const char *reason;
    } rows[] = {
        {{.regions = {.trims = true}}, "but does not grow"},
        {{.regions = {.step_bytes = G}}, "but does not grow"},
        {{.regions = {.grows = true}, .programs = true}, "neither moves, programs nor retire()"},
        {{.regions = {.grows = true}, .defrag = DEFRAG_SLIDE, .queues_frees = true},
         "neither moves, programs nor retire()"},
        {{.regions = {.grows = true}, .placement = PLACEMENT_HIDDEN}, "no address, or headers"},
        {{.regions = {.grows = true, .step_bytes = G + 1}}, "no multiple of the granule"},
        {{.regions = {.grows = true, .step_bytes = UINT64_C(1) << 51}}, "above 2^50"},
        {{.regions = {.grows = true}, .granule_bytes = UINT64_C(4) << 20}, "larger than 2 MiB"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char reason[RUN_REASON_BYTES] = "";
        prepare();
        script.contract = rows[i].contract;
        if (script.contract.granule_bytes == 0) {
            script.contract.granule_bytes = G;
        }
        ck_assert_ptr_null(open_run(reason));
        ck_assert_msg(strstr(reason, rows[i].reason) != NULL, "%zu: %s", i, reason);
    }
}
