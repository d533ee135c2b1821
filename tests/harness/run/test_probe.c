/* Each probe is hit by a shortest list of ops and missed by its neighbour, and the scenarios reach
 * the states. */
#include "harness/device/timeline.h"
#include "harness/op/ops_file.h"
#include "harness/run/probe_watch.h"
#include "harness/run/run.h"
#include "harness/trial/trial_run.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { G = 512, SEED_COUNT = 20 };

/* --- a hit and a near miss of each --- */

/* Two lists of ops for libhbm, which places at the top of the device.  Capacities and sizes are a
 * few granules of 512 bytes.  Where a fault is given, op 0 of both lists stands for arming it: it
 * strikes the next call of its kind. */
struct probe_case {
    enum probe probe;
    const char *head; /* lines of the .ops head */
    const char *hit, *miss;
    const char *miss_head; /* NULL: the same head */
    bool is_greedy;        /* on the target below instead */
    bool has_fault;
    enum fault_kind fault;
};

static const struct probe_case cases[] = {
    {PROBE_DRAINED_FOR_A_REQUEST, "capacity 2K\n",
     .hit = "0: alloc size=2K\n1: free_after block=0 delay=1us\n2: alloc size=2K\n",
     "0: alloc size=2K\n1: free_after block=0 delay=1us\n2: advance delay=1us\n3: alloc size=2K\n"},
    {PROBE_MOVED_FOR_A_REQUEST, "capacity 2K\n",
     .hit = "0: alloc size=512\n1: alloc size=512\n2: free block=0\n3: alloc size=1536\n",
     "0: alloc size=512\n1: alloc size=512\n2: free block=0\n3: alloc size=1K\n"},
    {PROBE_EVICTED_FOR_A_BUFFER, "capacity 2K\n",
     .hit = "0: load size=1K stack=0\n1: alloc size=2K\n",
     "0: load size=1K stack=0\n1: alloc size=1K\n"},
    {PROBE_EVICTED_FOR_A_PROGRAM, "capacity 2K\noption program_evicts_program=yes\n",
     .hit = "0: load size=1K stack=0\n1: load size=2K stack=0\n",
     "0: load size=1K stack=0\n1: alloc size=2K\n"},
    {PROBE_PLACED_AFTER_ALL_THREE, "capacity 3K\n",
     .hit =
         "0: alloc size=512\n1: load size=512 stack=0\n2: alloc size=512\n3: alloc size=512\n4: alloc size=512\n"
         "5: free block=0\n6: free_after block=3 delay=1us\n7: alloc size=2K\n",
     "0: alloc size=512\n1: load size=512 stack=0\n2: alloc size=512\n3: alloc size=512\n4: alloc size=512\n"
     "5: free block=0\n6: free_after block=3 delay=1us\n7: alloc size=1536\n"},
    {PROBE_HOLE_EXACTLY_THE_REQUEST, "capacity 2K\n",
     .hit =
         "0: alloc size=1K\n1: alloc size=1K\n2: free_after block=0 delay=1us\n3: alloc size=1K\n",
     "0: alloc size=1K\n1: alloc size=1K\n2: free_after block=0 delay=1us\n3: alloc size=512\n"},
    {PROBE_RELOADED_BY_EXECUTE, "capacity 2K\n",
     .hit =
         "0: load size=1K stack=0\n1: alloc size=2K\n2: free block=1\n3: execute program=0 delay=1us\n",
     "0: load size=1K stack=0\n1: alloc size=1K\n2: free block=1\n3: execute program=0 delay=1us\n"},
    {PROBE_STACK_MET_THE_HEAP, "capacity 2K\n",
     .hit = "0: load size=1K stack=1K\n1: execute program=0 delay=1us\n",
     "0: load size=1K stack=512\n1: execute program=0 delay=1us\n"},
    {PROBE_DEVICE_FULL, "capacity 2K\n", .hit = "0: alloc size=2K\n", "0: alloc size=1536\n"},
    {PROBE_FAILED_AND_RECOVERED, "capacity 2K\n",
     .hit = "0: advance delay=1us\n1: load size=1K stack=0\n2: alloc size=2K\n3: alloc size=2K\n",
     "0: advance delay=1us\n1: load size=1K stack=0\n2: alloc size=2K\n3: alloc size=4K\n",
     .has_fault = true, .fault = FAULT_UNLOAD},
    {PROBE_HOLE_ONE_GRANULE_SHORT, "capacity 2K\n", .hit = "0: alloc size=512\n1: alloc size=2K\n",
     "0: alloc size=512\n1: alloc size=2560\n"},
    {PROBE_HOLE_FITS_BUT_FOR_ALIGNMENT, "capacity 2K\n",
     .hit = "0: alloc size=512 align=2K\n1: hold block=0\n2: alloc size=1536 align=2K\n",
     "0: alloc size=512 align=2K\n1: hold block=0\n2: alloc size=2K align=2K\n"},
    {PROBE_EVICTED_WHILE_A_FREE_WAS_QUEUED, "capacity 2K\noption order=evict,drain,defragment\n",
     .hit =
         "0: alloc size=1K\n1: load size=1K stack=0\n2: free_after block=0 delay=1us\n3: alloc size=1K\n",
     "0: alloc size=1K\n1: load size=1K stack=0\n2: free_after block=0 delay=1us\n3: alloc size=1K\n",
     .miss_head = "capacity 2K\noption order=drain,evict,defragment\n"},
    {PROBE_EVICTED_ONCE_IT_WAS_IDLE, "capacity 2K\n",
     .hit = "0: alloc size=1K\n1: load size=1K stack=0\n2: free_after block=0 delay=2us\n"
            "3: execute program=1 delay=1us\n"
            "4: alloc size=2K\n",
     "0: alloc size=1K\n1: load size=1K stack=0\n2: free_after block=0 delay=2us\n3: execute program=1 delay=1us\n"
     "4: advance delay=1us\n5: alloc size=2K\n"},
    {PROBE_MOVED_WHILE_A_PROGRAM_LOADS, "capacity 2K\n",
     .hit = "0: alloc size=512\n1: alloc size=512\n2: free block=0\n3: load size=1536 stack=0\n",
     "0: alloc size=512\n1: alloc size=512\n2: free block=0\n3: load size=1K stack=0\n"},
    {PROBE_MOVED_WHILE_A_PROGRAM_EXECUTES, "capacity 3K\n",
     .hit =
         "0: load size=1K stack=0\n1: alloc size=512\n2: alloc size=512\n3: execute program=0 delay=never\n"
         "4: free block=1\n5: alloc size=1536\n",
     "0: load size=1K stack=0\n1: alloc size=512\n2: alloc size=512\n3: execute program=0 delay=1us\n"
     "4: free block=1\n5: advance delay=1us\n6: alloc size=1536\n"},
    {PROBE_MOVED_THROUGH_THE_HOST, "capacity 3584\n",
     .hit = "0: alloc size=1K align=1K\n1: alloc size=1536\n2: alloc size=1K align=2K\n",
     "0: alloc size=1K align=1K\n1: alloc size=1536\n2: alloc size=512 align=2K\n"},
    {PROBE_MOVED_AROUND_A_HELD_BLOCK, "capacity 3K\n",
     .hit =
         "0: alloc size=512\n1: alloc size=512\n2: alloc size=512\n3: hold block=1\n4: free block=0\n"
         "5: alloc size=2K\n",
     "0: alloc size=512\n1: alloc size=512\n2: alloc size=512\n3: hold block=0\n4: free block=1\n5: alloc size=2K\n"},
    {PROBE_COMPLETED_WHILE_AWAITING_ANOTHER, "capacity 2K\n",
     .hit =
         "0: alloc size=1K\n1: alloc size=1K\n2: use block=1 delay=1us\n3: free_after block=0 delay=2us\n"
         "4: alloc size=1K\n",
     "0: alloc size=1K\n1: alloc size=1K\n2: use block=1 delay=3us\n3: free_after block=0 delay=2us\n"
     "4: alloc size=1K\n"},
    {PROBE_AWAITED_OUT_OF_ORDER, "capacity 2K\n",
     .hit =
         "0: alloc size=1K\n1: alloc size=1K\n2: use block=0 delay=2us\n3: free_after block=1 delay=1us\n"
         "4: alloc size=1K\n",
     "0: alloc size=1K\n1: alloc size=1K\n2: free_after block=1 delay=1us\n3: use block=0 delay=2us\n"
     "4: alloc size=1K\n"},
    {PROBE_FAULT_STRUCK_A_MOVE, "capacity 2K\n",
     .hit =
         "0: advance delay=1us\n1: alloc size=512\n2: alloc size=512\n3: free block=1\n4: alloc size=1536\n",
     "0: advance delay=1us\n1: alloc size=512\n2: alloc size=512\n3: free block=1\n4: alloc size=1K\n",
     .has_fault = true, .fault = FAULT_COPY},
    {PROBE_FAULT_STRUCK_A_WAIT, "capacity 2K\n",
     .hit =
         "0: advance delay=1us\n1: alloc size=2K\n2: free_after block=1 delay=1us\n3: alloc size=512\n",
     "0: advance delay=1us\n1: alloc size=1K\n2: free_after block=1 delay=1us\n3: alloc size=512\n",
     .has_fault = true, .fault = FAULT_WAIT},
    {PROBE_FAULT_STRUCK_AN_UNLOAD, "capacity 2K\n",
     .hit = "0: advance delay=1us\n1: load size=1K stack=0\n2: alloc size=2K\n",
     "0: advance delay=1us\n1: load size=1K stack=0\n2: alloc size=1K\n", .has_fault = true,
     .fault = FAULT_UNLOAD},
    {PROBE_FAULT_STRUCK_HOST_MEMORY, "capacity 2K\n",
     .hit = "0: advance delay=1us\n1: load size=512 stack=512\n",
     "0: advance delay=1us\n1: alloc size=512\n", .has_fault = true, .fault = FAULT_HOST_MEMORY},
    {PROBE_OOM_AFTER_ALL_THREE, "capacity 3K\n",
     .hit =
         "0: alloc size=3K\n1: free block=0\n2: alloc size=512\n3: load size=512 stack=0\n4: alloc size=512\n"
         "5: alloc size=512\n6: alloc size=512\n7: free block=2\n8: free_after block=6 delay=1us\n"
         "9: alloc size=3K\n",
     "0: alloc size=3K\n1: free block=0\n2: alloc size=512\n3: load size=512 stack=0\n4: alloc size=512\n"
     "5: alloc size=512\n6: alloc size=512\n7: free block=2\n8: free_after block=6 delay=1us\n9: advance delay=1us\n"
     "10: alloc size=3K\n",
     .is_greedy = true},
    {PROBE_OOM_WITH_ENOUGH_FREE, "capacity 2K\n",
     .hit =
         "0: alloc size=512\n1: alloc size=512\n2: hold block=1\n3: free block=0\n4: alloc size=1536\n",
     "0: alloc size=512\n1: alloc size=512\n2: hold block=1\n3: free block=0\n4: alloc size=1537\n"},
    {PROBE_OOM_WITHOUT_ENOUGH_FREE, "capacity 2K\n",
     .hit =
         "0: alloc size=512\n1: alloc size=512\n2: hold block=1\n3: free block=0\n4: alloc size=1537\n",
     "0: alloc size=512\n1: alloc size=512\n2: hold block=1\n3: free block=0\n4: alloc size=1536\n"},
    {PROBE_OOM_FOR_THE_STACK, "capacity 2K\n",
     .hit = "0: load size=1K stack=1K\n1: alloc size=512\n2: execute program=0 delay=1us\n",
     "0: load size=1K stack=1K\n1: alloc size=512\n2: load size=1K stack=0\n"},
    {PROBE_OOM_WHILE_A_FREE_IS_LOST, "capacity 2K\n",
     .hit = "0: alloc size=1K\n1: free_after block=0 delay=never\n2: alloc size=2K\n",
     "0: alloc size=1K\n1: use block=0 delay=never\n2: alloc size=2K\n"},
    {PROBE_OOM_WHILE_A_PROGRAM_EXECUTES, "capacity 2K\n",
     .hit = "0: load size=1K stack=0\n1: execute program=0 delay=never\n2: alloc size=2K\n",
     "0: load size=1K stack=0\n1: execute program=0 delay=1us\n2: advance delay=1us\n3: alloc size=4K\n"},
    {PROBE_RELOAD_REFUSED, "capacity 2K\n",
     .hit = "0: load size=1K stack=0\n1: alloc size=2K\n2: execute program=0 delay=1us\n",
     "0: load size=1K stack=0\n1: alloc size=2K\n2: load size=1K stack=0\n"},
    {PROBE_SEVERAL_HOSTS_SHORT_TOGETHER, "capacity 2K\nhosts 2\n",
     .hit = "0: alloc size=4K\n1: alloc size=4K host=1\n",
     "0: alloc size=4K\n1: alloc size=2K\n2: alloc size=4K host=1\n"},
    {PROBE_DONATED_WHILE_USED, "capacity 2K\n",
     .hit = "0: alloc size=1K\n1: use block=0 delay=1us\n2: donate block=0 size=1K\n",
     "0: alloc size=1K\n1: use block=0 delay=1us\n2: advance delay=1us\n3: donate block=0 size=1K\n"},
    {PROBE_FREED_WHILE_HELD, "capacity 2K\n",
     .hit = "0: alloc size=1K\n1: hold block=0\n2: free block=0\n",
     "0: alloc size=1K\n1: hold block=0\n2: release block=0\n3: free block=0\n"},
    {PROBE_RELEASED_BY_ONE_OF_TWO, "capacity 2K\n",
     .hit =
         "0: alloc size=1K\n1: hold block=0\n2: hold block=0\n3: free block=0\n4: release block=0\n",
     "0: alloc size=1K\n1: hold block=0\n2: hold block=0\n3: release block=0\n4: free block=0\n5: release block=0\n"},
};
enum { CASE_COUNT = sizeof cases / sizeof cases[0] };

/* libhbm plans first and mitigates only when that will help.  This one mitigates as far as it can,
 * for GREEDY_BYTES, and then finds that a larger request does not fit all the same. */
enum { GREEDY_BYTES = 2048 };
#define GREEDY_IDS (UINT64_C(1) << 40)

static enum target_result greedy_alloc(struct target_instance *instance,
                                       const struct target_request *request,
                                       struct target_block *block)
{
    const struct target *inner = target_find("hbm");
    struct target_request first = *request;
    struct target_block trial = {0};
    first.id += GREEDY_IDS;
    first.size_bytes = GREEDY_BYTES;
    if (request->size_bytes > GREEDY_BYTES && inner->alloc(instance, &first, &trial) == TARGET_OK) {
        ck_assert_int_eq(inner->free(instance, trial.handle, 0), TARGET_OK);
    }
    return inner->alloc(instance, request, block);
}

static void read_list(const char *head, const char *body, struct setup *setup, struct op_list *ops)
{
    char text[2048];
    struct ops_file_error error = {0};
    const int length = snprintf(text, sizeof text, "hbmstress-ops 1\n%s\n%s", head, body);
    ck_assert_int_lt(length, (int)sizeof text);
    op_list_init(ops);
    ck_assert_msg(ops_file_parse(text, (size_t)length, setup, ops, &error) == OPS_FILE_OK, "%s\n%s",
                  error.reason, text);
}

/* How many ops of the list hit the case's probe. */
static uint64_t count_hits(const struct probe_case *tried, const char *head, const char *body)
{
    struct setup setup;
    struct op_list ops;
    struct trial trial;
    char reason[RUN_REASON_BYTES] = "";
    read_list(head, body, &setup, &ops);
    if (tried->has_fault) {
        ops.ops[0] = op_make(OP_FAULT);
        ops.ops[0].tag = (uint8_t)tried->fault;
        ops.ops[0].size_bytes = 1;
    }
    struct target target = *target_find("hbm");
    target.alloc = tried->is_greedy ? greedy_alloc : target.alloc;
    ck_assert_msg(trial_replay(&target, &setup, &ops, NULL, &trial, reason), "%s", reason);
    const char *name = probe_info(tried->probe)->name;
    ck_assert_msg(trial.first.kind == VERDICT_NONE, "%s: %s", name, trial.first.reason);
    ck_assert_msg(trial.totals.skipped == 0, "%s: an op was skipped", name);
    const uint64_t hits = trial.totals.probes[tried->probe];
    trial_deinit(&trial);
    op_list_deinit(&ops);
    return hits;
}

EVERY_TEST(.timeout_s = 1200);

TEST(a_probe_is_hit_by_its_list_and_missed_by_the_neighbour, .to = CASE_COUNT)
{
    const struct probe_case *tried = &cases[_i];
    const char *name = probe_info(tried->probe)->name;
    const uint64_t hits = count_hits(tried, tried->head, tried->hit);
    ck_assert_msg(hits == 1, "%s: hit by %" PRIu64 " ops of its list", name, hits);
    const char *head = tried->miss_head == NULL ? tried->head : tried->miss_head;
    ck_assert_msg(count_hits(tried, head, tried->miss) == 0, "%s: its neighbour hits it, too",
                  name);
}

/* What became of an op is told without a target: the driver alone decides whether memory may go
 * bad. */
static uint64_t hits_of_granted(enum op_kind kind)
{
    struct timeline *timeline = timeline_create();
    struct probe_watch watch = {0};
    const struct host host = {.device = device_create(4 * G, timeline), .timeline = timeline};
    const struct call call = {.op = op_make(kind), .slot = SLOT_NONE, .result = TARGET_OK};
    const struct observation seen = {0};
    const struct judge judge = {0};
    const struct probe_sight sight = {.host = &host, .call = &call, .seen = &seen, .judge = &judge};
    const uint64_t hits = probes_hit(&watch, &sight);
    device_destroy(host.device);
    timeline_destroy(timeline);
    return hits;
}

TEST(memory_that_is_retired_is_seen)
{
    ck_assert_uint_eq(hits_of_granted(OP_RETIRE), UINT64_C(1) << PROBE_RETIRED_MEMORY);
    ck_assert_uint_eq(hits_of_granted(OP_ADVANCE), 0);
}

TEST(every_probe_has_a_case_a_name_of_its_own_and_a_summary)
{
    uint64_t covered = UINT64_C(1) << PROBE_RETIRED_MEMORY; /* the test above */
    for (int i = 0; i < CASE_COUNT; i++) {
        ck_assert_msg((covered >> cases[i].probe & 1) == 0, "%s has two cases",
                      probe_info(cases[i].probe)->name);
        covered |= UINT64_C(1) << cases[i].probe;
    }
    for (unsigned i = 0; i < PROBE_COUNT; i++) {
        const struct probe_info *info = probe_info((enum probe)i);
        ck_assert_ptr_nonnull(info->name);
        ck_assert_msg((covered >> i & 1) == 1, "%s has no case", info->name);
        ck_assert_ptr_nonnull(info->summary);
        ck_assert(info->summary[0] != '\0' && info->summary[strlen(info->summary) - 1] != '.');
        for (unsigned other = 0; other < i; other++) {
            ck_assert_str_ne(info->name, probe_info((enum probe)other)->name);
        }
    }
}

TEST(an_op_counts_each_of_its_probes)
{
    uint64_t probes[PROBE_COUNT] = {0};
    const enum probe last = (enum probe)(PROBE_COUNT - 1);
    probe_count(UINT64_C(1) << 0 | UINT64_C(1) << 3 | UINT64_C(1) << last, probes);
    probe_count(UINT64_C(1) << 3, probes);
    ck_assert_uint_eq(probes_ever_hit(probes), 3);
    ck_assert_uint_eq(probes[0], 1);
    ck_assert_uint_eq(probes[3], 2);
    ck_assert_uint_eq(probes[last], 1);
}

/* --- what the scenarios reach --- */

/* What no scenario reaches by itself: memory goes bad in campaigns with faults alone. */
static bool is_out_of_reach(enum probe probe)
{
    return probe == PROBE_RETIRED_MEMORY;
}

static void run_seeds(const struct scenario *scenario, struct run_totals *totals)
{
    for (uint64_t seed = 1; seed <= SEED_COUNT; seed++) {
        struct setup setup;
        struct trial trial;
        char reason[RUN_REASON_BYTES] = "";
        setup_init(&setup);
        snprintf(setup.chip, sizeof setup.chip, "%s", scenario->chip);
        setup.capacity_bytes = chip_find(scenario->chip)->capacity_bytes;
        setup.seed = seed;
        const struct trial_plan plan = {.target = target_find("hbm"),
                                        .scenario = scenario,
                                        .setup = &setup,
                                        .capacity_is_free = true,
                                        .op_count_max = scenario->ops_per_trial};
        ck_assert_msg(trial_run(&plan, NULL, &trial, reason), "%s", reason);
        run_totals_add(totals, &trial.totals);
        trial_deinit(&trial);
    }
}

TEST(the_scenarios_reach_every_probe_in_their_reach)
{
    struct run_totals all = {0};
    uint64_t counts[PROBE_COUNT][32] = {{0}};
    size_t scenario_count = 0;
    printf("%-34s", "ops that hit the probe");
    for (; scenarios[scenario_count] != NULL; scenario_count++) {
        struct run_totals totals = {0};
        ck_assert_uint_lt(scenario_count, 32);
        run_seeds(scenarios[scenario_count], &totals);
        printf(" %10.10s", scenarios[scenario_count]->name);
        for (unsigned i = 0; i < PROBE_COUNT; i++) {
            counts[i][scenario_count] = totals.probes[i];
        }
        run_totals_add(&all, &totals);
    }
    for (unsigned i = 0; i < PROBE_COUNT; i++) {
        printf("\n%-34s", probe_info((enum probe)i)->name);
        for (size_t scenario = 0; scenario < scenario_count; scenario++) {
            printf(" %10" PRIu64, counts[i][scenario]);
        }
    }
    for (unsigned i = 0; i < PROBE_COUNT; i++) {
        if (all.probes[i] == 0) {
            printf("\nnever: %s", probe_info((enum probe)i)->name);
        }
    }
    printf("\n");
    fflush(stdout);
    for (unsigned i = 0; i < PROBE_COUNT; i++) {
        ck_assert_msg(all.probes[i] > 0 || is_out_of_reach((enum probe)i), "no scenario reaches %s",
                      probe_info((enum probe)i)->name);
    }
}
