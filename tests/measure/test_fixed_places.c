/* Plans with one place for each block, painted granule by granule; the smallest one, against every
 * plan there is; and the lists that ask the same of every target. */
#include "harness/base/random.h"
#include "measure/drawn_list.h"
#include "measure/fixed_places.h"
#include "measure/judged.h"
#include "measure/needs.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"
#include "tests/helpers/lists.h"
#include "tests/helpers/shown.h"
#include "tests/helpers/suite.h"

#include <stdlib.h>

enum { SMALL_COUNT = 7, SMALL_OPS = 9, SMALL_GRANULES = 32, CASE_COUNT = 150, GRANULE = 512 };

/* --- the judge: it knows lives and starts alone --- */

static void check_plan(const struct list_lives *lives, const struct fixed_places *places)
{
    for (size_t i = 0; i < lives->count; i++) {
        const struct life *a = &lives->lives[i];
        const uint64_t start = places->starts[i];
        ck_assert_uint_eq((start + a->header_bytes) % a->align_bytes, 0);
        ck_assert_uint_le(start + a->bytes, places->bytes);
        for (size_t k = 0; k < i; k++) {
            const struct life *b = &lives->lives[k];
            const bool share_op = a->from < b->to && b->from < a->to;
            ck_assert(!share_op || start + a->bytes <= places->starts[k] ||
                      places->starts[k] + b->bytes <= start);
        }
    }
}

static uint64_t sum_peak(const struct list_lives *lives, uint32_t op_count)
{
    uint64_t peak = 0;
    for (uint32_t op = 0; op < op_count; op++) {
        uint64_t bytes = 0;
        for (size_t i = 0; i < lives->count; i++) {
            const struct life *life = &lives->lives[i];
            bytes += life->from <= op && op < life->to ? life->bytes : 0;
        }
        peak = bytes > peak ? bytes : peak;
    }
    return peak;
}

/* Every plan of so many granules, life by life.  painted: by op a bit for each granule. */
static bool has_plan(const struct list_lives *lives, size_t next, uint64_t granules,
                     uint64_t *painted)
{
    if (next == lives->count) {
        return true;
    }
    const struct life *life = &lives->lives[next];
    const uint64_t bits = (UINT64_C(1) << (life->bytes / GRANULE)) - 1;
    for (uint64_t at = 0; at + life->bytes / GRANULE <= granules; at++) {
        bool is_free = (at * GRANULE + life->header_bytes) % life->align_bytes == 0;
        for (uint32_t op = life->from; op < life->to; op++) {
            is_free = is_free && (painted[op] & bits << at) == 0;
        }
        if (!is_free) {
            continue;
        }
        for (uint32_t op = life->from; op < life->to; op++) {
            painted[op] |= bits << at;
        }
        const bool is_done = has_plan(lives, next + 1, granules, painted);
        for (uint32_t op = life->from; op < life->to; op++) {
            painted[op] &= ~(bits << at);
        }
        if (is_done) {
            return true;
        }
    }
    return false;
}

static uint64_t find_least(const struct list_lives *lives)
{
    uint64_t painted[SMALL_OPS] = {0};
    for (uint64_t granules = 1; granules <= SMALL_GRANULES; granules++) {
        if (has_plan(lives, 0, granules, painted)) {
            return granules * GRANULE;
        }
    }
    ck_abort_msg("no plan of %d granules", SMALL_GRANULES);
    return 0;
}

/* --- small ones, against every plan --- */

static void draw_lives(struct random *random, struct life drawn[SMALL_COUNT])
{
    uint32_t from = 0;
    for (int i = 0; i < SMALL_COUNT; i++) {
        const uint64_t header = random_chance(random, 1, 6) ? GRANULE : 0;
        drawn[i] = (struct life){.from = from,
                                 .to = (uint32_t)random_between(random, from + 1, SMALL_OPS),
                                 .bytes = header + GRANULE * random_between(random, 1, 3),
                                 .header_bytes = header,
                                 .align_bytes = random_chance(random, 1, 5) ? 2 * GRANULE
                                                                            : GRANULE};
        from += random_chance(random, 3, 4) && from + 1 < SMALL_OPS;
    }
}

TEST(no_plan_is_smaller_than_the_bound_and_the_one_found_is_near_the_smallest)
{
    struct random random;
    int least_count = 0, above_count = 0;
    random_init(&random, 7);
    for (int i = 0; i < CASE_COUNT; i++) {
        struct life drawn[SMALL_COUNT];
        const struct list_lives lives = {drawn, SMALL_COUNT};
        struct fixed_places places;
        draw_lives(&random, drawn);
        const uint64_t at_least = sum_peak(&lives, SMALL_OPS);
        const uint64_t least = find_least(&lives);
        fixed_places_find(&lives, at_least, FIXED_PLACES_WORK, &places);
        check_plan(&lives, &places);
        ck_assert_uint_le(at_least, least);
        ck_assert_uint_le(least, places.bytes);
        ck_assert_int_eq(places.is_least, places.bytes == at_least);
        least_count += places.bytes == least;
        above_count += least > at_least;
        fixed_places_deinit(&places);
    }
    ck_assert_int_ge(least_count, CASE_COUNT - 2);
    ck_assert_int_ge(above_count, CASE_COUNT / 20); /* the bound alone is not the answer */
}

/* --- lists --- */

static void show_lives(const char *text, const struct target_contract *contract,
                       enum lives_result expected)
{
    struct setup setup;
    struct op_list ops;
    struct list_lives lives;
    read_list(text, &setup, &ops);
    ck_assert_int_eq(lives_take(&ops, ops.count, 0, contract, setup_filler_tag(&setup), &lives),
                     expected);
    show("%zu lives\n", lives.count);
    for (const struct life *life = lives.lives; life < lives.lives + lives.count; life++) {
        SHOW(life->from, life->to, life->bytes, life->align_bytes, life->header_bytes);
    }
    lives_deinit(&lives);
    op_list_deinit(&ops);
}

EVERY_TEST(.timeout_s = 60, .teardown = snap_rest);

TEST(a_life_goes_from_the_request_to_the_free_under_whatever_name)
{
    const struct target_contract contract = {.granule_bytes = GRANULE, .header_bytes = GRANULE};
    show_lives("capacity 1M\nhosts 2\ntarget hbm\ntag 3 \"free later\"\n"
               "0: alloc size=8K tag=3\n"
               "1: alloc size=64K host=1\n"
               "2: output size=1000 align=4K\n"
               "3: donate block=2 size=10\n"
               "4: free block=2\n" /* its name is gone */
               "5: alloc size=1\n"
               "6: free_after block=3 delay=1ns\n"
               "7: free block=0\n",
               &contract, LIVES_OK);
}

static const char programs[] = "capacity 1M\ntarget hbm\n"
                               "0: load size=2000 stack=1000\n"
                               "1: alloc size=3000\n"
                               "2: unload program=0\n"
                               "3: load size=700 stack=5000\n";

TEST(one_stack_is_there_throughout_and_programs_that_go_have_no_place)
{
    struct target_contract contract = {.granule_bytes = GRANULE};
    show_lives(programs, &contract, LIVES_OK);
    contract.evicts = true;
    show_lives(programs, &contract, LIVES_EVICTED);
}

TEST(sizes_that_do_not_add_up_are_refused)
{
    const struct target_contract contract = {.granule_bytes = GRANULE};
    show_lives("capacity 1M\ntarget hbm\n0: alloc size=4611686018427387904\n", &contract,
               LIVES_TOO_LARGE);
}

/* --- drawn lists, which ask the same of every target --- */

#define CAPACITY_BYTES (UINT64_C(64) << 20)
enum { DRAWN_COUNT = 5 };

static void draw(int i, uint64_t seed, uint64_t op_count, struct op_list *ops)
{
    const struct scenario *const drawn[DRAWN_COUNT] = {
        &scenario_fragmentation_storm, &scenario_training_step, &scenario_queued_free_race,
        &scenario_crowded, &scenario_slow_leak};
    struct setup setup;
    char reason[RUN_REASON_BYTES];
    wish_set_up(&(struct trial_wish){"paged", drawn[i], seed, .capacity_bytes = CAPACITY_BYTES},
                &setup);
    setup.chip[0] = '\0';
    setup.granule_bytes = 512;
    op_list_init(ops);
    ck_assert_msg(drawn_list_make(&target_paged, drawn[i], &setup, op_count, ops, reason), "%s",
                  reason);
}

TEST(the_plan_of_a_drawn_list_holds_and_is_the_same_again, .to = DRAWN_COUNT)
{
    const struct target_contract contract = {.granule_bytes = GRANULE};
    struct op_list ops;
    struct list_lives lives;
    struct fixed_places first, second, none;
    draw(_i, 0, 2000, &ops);
    ck_assert_int_eq(lives_take(&ops, ops.count, 0, &contract, OP_TAG_COUNT, &lives), LIVES_OK);
    const uint64_t packed = needs_find(&ops, ops.count, 0, &contract, OP_TAG_COUNT).packed.bytes;
    ck_assert_uint_eq(sum_peak(&lives, (uint32_t)ops.count), packed);
    fixed_places_find(&lives, packed, 300000, &first);
    fixed_places_find(&lives, packed, 300000, &second);
    check_plan(&lives, &first);
    ck_assert_uint_le(first.bytes, packed + packed / 4);
    ck_assert_uint_eq(first.bytes, second.bytes);
    ck_assert_mem_eq(first.starts, second.starts, lives.count * sizeof *first.starts);
    fixed_places_find(&lives, packed, 1, &none);
    ck_assert_uint_eq(none.bytes, 0);
    fixed_places_deinit(&first);
    fixed_places_deinit(&second);
    fixed_places_deinit(&none);
    lives_deinit(&lives);
    op_list_deinit(&ops);
}

TEST(the_peak_is_what_is_asked_for_and_not_freed)
{
    struct setup setup;
    struct op_list ops;
    op_list_init(&ops);
    ck_assert_uint_eq(list_peak_find(&ops).op, OP_NONE);
    read_list("0: alloc size=100\n1: alloc size=50\n2: free block=0\n"
              "3: free block=0\n" /* again: nothing more goes */
              "4: output size=99\n"
              "5: donate block=4 size=10\n" /* the block stays as large as it is */
              "6: alloc size=2\n7: free_after block=5 delay=0ns\n8: alloc size=90\n",
              &setup, &ops);
    const struct needs_peak peak = list_peak_find(&ops);
    ck_assert_uint_eq(peak.bytes, 151);
    ck_assert_uint_eq(peak.op, 6);
    op_list_deinit(&ops);
}

TEST(a_drawn_list_is_the_same_each_time_and_names_only_what_it_has, .to = DRAWN_COUNT)
{
    struct op_list first, second;
    draw(_i, 1, 4000, &first);
    draw(_i, 1, 4000, &second);
    ck_assert_uint_gt(first.count, 50);
    ck_assert_uint_eq(first.count, second.count);
    for (size_t i = 0; i < first.count; i++) {
        const struct op *op = &first.ops[i];
        ck_assert(op_equal(op, &second.ops[i]));
        ck_assert(op->kind == OP_ALLOC || op->kind == OP_FREE || op->kind == OP_FREE_AFTER ||
                  op->kind == OP_COMPLETE || op->kind == OP_ADVANCE);
        if (op->kind == OP_FREE || op->kind == OP_FREE_AFTER) {
            ck_assert_uint_lt(op->ref, i);
            ck_assert_int_eq(first.ops[op->ref].kind, OP_ALLOC);
        }
        ck_assert_uint_eq(op->align_log2, 0);
    }
    op_list_deinit(&first);
    op_list_deinit(&second);
}

/* So that what a target refuses of it is lost to placement or rounding. */
TEST(a_drawn_list_fits_where_any_free_granules_will_do, .to = DRAWN_COUNT)
{
    struct op_list ops;
    struct setup setup;
    draw(_i, 1, 4000, &ops);
    setup_init(&setup);
    setup.capacity_bytes = CAPACITY_BYTES;
    setup.granule_bytes = 512;
    ck_assert_uint_eq(judged_first_refused(&target_paged, &setup, &ops), ops.count);
    ck_assert_uint_le(list_peak_find(&ops).bytes, CAPACITY_BYTES);
    op_list_deinit(&ops);
}
