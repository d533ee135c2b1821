/* Prints how many switches between lanes and how many schedules of a list there are in a second,
 * with fibers and with threads, and what a schedule's time goes to:
 *
 *     bench_lanes [--quick]
 *
 * schedules/s    of a list of 4 lanes and 20 ops, run and judged as a search runs it
 * points, switches   of one schedule: where others could go on, and did
 * us each        of one schedule; of those
 *   target       the same calls through the target's table, with services that do nothing
 *   scheduler    as many points and switches of lanes that do nothing
 *   harness      the rest: device, model, judging, and what makes a call a point
 * no ops         us of a schedule of the empty list: what opening and closing cost
 *
 * Seconds are those in which the processors worked for the program, so others that run meanwhile
 * show little; all its threads share one processor.  Prints only; what is good enough is for people
 * to say. */
#include "explore/chance.h"
#include "explore/strategies/strategies.h"
#include "harness/base/check.h"
#include "harness/base/order.h"
#include "harness/lanes/lanes_search.h"
#include "harness/op/ops_file.h"
#include "harness/run/trial.h"
#include "measure/clock.h"
#include "measure/cost.h"
#include "targets/targets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANE_COUNT = 4, REPEAT_COUNT_MAX = 7, SEED = 1 };

/* The work for one figure, and how often it is run: the median of the repeats is printed. */
struct amount {
    uint32_t repeat_count, steps_per_lane;
    uint64_t schedule_count, scheduler_run_count;
};
static const struct amount amount_usual = {7, 20000, 4000, 4000}, amount_quick = {1, 200, 20, 20};

static const struct {
    enum scheduler_backend backend;
    const char *name;
} backends[] = {{SCHEDULER_FIBERS, "fibers"}, {SCHEDULER_THREADS, "threads"}};

/* 4 lanes with 5 ops each.  In the one there is always room; in the other requests wait for what is
 * in use. */
#define LIST_HEAD(capacity) "hbmstress-ops 1\ncapacity " capacity "\ngranule 512\n"
static const struct {
    const char *name, *ops;
} lists[] = {
    {"roomy", LIST_HEAD("64K") "0: alloc size=2K\n"
                               "1: alloc size=1K\n"
                               "2: alloc size=1K lane=1\n"
                               "3: alloc size=512 lane=2\n"
                               "4: alloc size=3K lane=3\n"
                               "5: hold block=0\n"
                               "6: use block=2 delay=1ms lane=1\n"
                               "7: alloc size=1K lane=2\n"
                               "8: free block=4 lane=3\n"
                               "9: release block=0\n"
                               "10: free_after block=2 delay=1ms lane=1\n"
                               "11: free block=3 lane=2\n"
                               "12: alloc size=4K lane=3\n"
                               "13: free_after block=1 delay=2ms\n"
                               "14: alloc size=2K lane=1\n"
                               "15: donate block=7 size=1K lane=2\n"
                               "16: hold block=12 lane=3\n"
                               "17: free block=14 lane=1\n"
                               "18: alloc size=1K lane=2\n"
                               "19: release block=12 lane=3\n"},
    {"crowded", LIST_HEAD("4K") "0: alloc size=1K\n"
                                "1: alloc size=1K\n"
                                "2: alloc size=1K\n"
                                "3: free_after block=0 delay=1ms\n"
                                "4: free_after block=1 delay=2ms\n"
                                "5: alloc size=2K lane=1\n"
                                "6: alloc size=1K lane=2\n"
                                "7: use block=2 delay=1ms lane=3\n"
                                "8: free_after block=5 delay=1ms lane=1\n"
                                "9: free block=6 lane=2\n"
                                "10: free_after block=2 delay=1ms lane=3\n"
                                "11: alloc size=1K lane=1\n"
                                "12: alloc size=2K lane=2\n"
                                "13: alloc size=512 lane=3\n"
                                "14: free block=11 lane=1\n"
                                "15: free_after block=12 delay=1ms lane=2\n"
                                "16: free block=13 lane=3\n"
                                "17: alloc size=3K lane=1\n"
                                "18: alloc size=512 lane=2\n"
                                "19: alloc size=512 lane=3\n"},
};
static const char *const target_names[] = {"hbm", "threaded"};

/* --- the scheduler alone --- */

/* Lanes that do nothing but steps, in one run after another.  At each decision any of them goes on,
 * or with the chance stays / 2^32 the one that ran. */
struct lane_walk {
    struct scheduler *scheduler;
    uint32_t steps_per_lane, stays;
    uint64_t switch_count;
    struct chance chance;
};

static struct decision walk_choose(void *state, const struct choice *choice)
{
    struct lane_walk *walk = state;
    uint64_t lanes = choice->lanes;
    if ((lanes >> choice->at.lane & 1) != 0 && chance_next(&walk->chance) >> 32 < walk->stays) {
        return (struct decision){.lane = choice->at.lane};
    }
    for (uint32_t skip = chance_below(&walk->chance, (uint32_t)__builtin_popcountll(lanes));
         skip > 0; skip--) {
        lanes &= lanes - 1;
    }
    return (struct decision){.lane = (uint8_t)__builtin_ctzll(lanes)};
}
static const struct strategy_kind walking = {.name = "walk", .choose = walk_choose};

static void walk_lane(void *context)
{
    const struct lane_walk *walk = context;
    for (uint32_t i = 0; i < walk->steps_per_lane; i++) {
        scheduler_step(walk->scheduler, &(struct step){.kind = STEP_OP});
        scheduler_progress(walk->scheduler);
    }
}

static void walk_main(void *context)
{
    struct lane_walk *walk = context;
    for (uint8_t lane = 1; lane < LANE_COUNT; lane++) {
        scheduler_client_start(walk->scheduler, lane, walk_lane, walk);
    }
    walk_lane(walk);
}

static void walk_run(struct lane_walk *walk, uint64_t run)
{
    struct scheduler_report report;
    const struct scheduler_plan plan = {.strategy = &walking,
                                        .strategy_state = walk,
                                        .body = walk_main,
                                        .context = walk,
                                        .client_count = LANE_COUNT};
    walk->chance = chance_of(SEED, run);
    scheduler_run(walk->scheduler, &plan, &report);
    CHECK(report.outcome == SCHEDULER_FINISHED);
    walk->switch_count += report.switch_count;
}

/* Nanoseconds for run_count runs after a first one, in which threads and tables come into being. */
static double walk_time(struct lane_walk *walk, enum scheduler_backend backend, uint64_t run_count)
{
    walk->scheduler = scheduler_create(backend);
    walk_run(walk, 0);
    walk->switch_count = 0;
    const double start_ns = read_cpu_ns();
    for (uint64_t run = 1; run <= run_count; run++) {
        walk_run(walk, run);
    }
    const double elapsed_ns = read_cpu_ns() - start_ns;
    scheduler_destroy(walk->scheduler);
    return elapsed_ns;
}

static void bench_switches(const struct amount *amount)
{
    double rates[REPEAT_COUNT_MAX];
    for (size_t b = 0; b < sizeof backends / sizeof backends[0]; b++) {
        for (uint32_t i = 0; i < amount->repeat_count; i++) {
            struct lane_walk walk = {.steps_per_lane = amount->steps_per_lane};
            const double elapsed_ns = walk_time(&walk, backends[b].backend, 2);
            rates[i] = (double)walk.switch_count / elapsed_ns * 1e9;
        }
        printf("%-8s %12.0f switches/s\n", backends[b].name,
               median_of_doubles(rates, amount->repeat_count));
    }
}

/* --- what a schedule is made of --- */

struct schedule_parts {
    double schedule_ns, empty_ns, scheduler_ns, target_ns;
    double steps, switches; /* of a schedule */
};

struct lane_subject {
    const struct target *target;
    struct setup setup;
    struct op_list ops;
    enum scheduler_backend backend;
};

static double measure_schedule(const struct lane_subject *subject, const struct op_list *ops,
                               uint64_t count, struct lanes_found *found)
{
    struct trial trial;
    char reason[RUN_REASON_BYTES];
    const struct lanes_search search = {.strategy = &strategy_random,
                                        .seed = SEED,
                                        .schedule_count_max = count,
                                        .backend = subject->backend};
    const double start_ns = read_cpu_ns();
    CHECK(
        lanes_search(subject->target, &subject->setup, ops, &search, NULL, &trial, found, reason));
    const double elapsed_ns = read_cpu_ns() - start_ns;
    CHECK(trial.first.kind == VERDICT_NONE);
    CHECK(found->schedule_count == count);
    trial_deinit(&trial);
    return elapsed_ns / (double)count;
}

/* The scheduler's part: as many lanes, steps and, nearly, switches, with nothing in between.  One
 * switch for each lane is its start; of the others a walk that never stays makes (LANE_COUNT - 1) /
 * LANE_COUNT a step. */
static double measure_scheduler(const struct lane_subject *subject,
                                const struct schedule_parts *parts, uint64_t run_count)
{
    const double most = parts->steps * (LANE_COUNT - 1) / LANE_COUNT;
    const double wanted = parts->switches > LANE_COUNT ? parts->switches - LANE_COUNT : 0;
    const double stays = wanted < most ? 1 - wanted / most : 0;
    struct lane_walk walk = {.steps_per_lane = (uint32_t)(parts->steps / LANE_COUNT + 0.5),
                             .stays = (uint32_t)(stays * UINT32_MAX)};
    return walk_time(&walk, subject->backend, run_count) / (double)run_count;
}

struct bare {
    struct target_instance *instance;
    uint64_t handles[64];
};

static void bare_call(const struct target *target, struct bare *bare, const struct op *op,
                      uint32_t number)
{
    struct target_block block = {0};
    const struct target_request request = {.id = number + 1,
                                           .size_bytes = op->size_bytes,
                                           .kind = op->kind == OP_DONATE ? BLOCK_OUTPUT
                                                                         : BLOCK_BUFFER,
                                           .tag_name = ""};
    const uint64_t handle = op->ref == OP_NONE ? 0 : bare->handles[op->ref];
    if (op->kind == OP_ALLOC) {
        (void)target->alloc(bare->instance, &request, &block);
    } else if (op->kind == OP_DONATE) {
        (void)target->donate(bare->instance, handle, &request, &block);
    } else if (op->kind == OP_USE) {
        (void)target->use(bare->instance, handle, number + 1);
    } else if (op->kind == OP_HOLD) {
        (void)target->hold(bare->instance, handle);
    } else if (op->kind == OP_RELEASE) {
        (void)target->release(bare->instance, handle);
    } else {
        (void)target->free(bare->instance, handle, op->kind == OP_FREE_AFTER ? number + 1 : 0);
    }
    bare->handles[number] = block.handle;
}

/* The target's part: the list in one piece, called through its table, with services that do
 * nothing. */
static double measure_target(const struct lane_subject *subject, uint64_t count)
{
    const struct target *target = subject->target;
    char reason[RUN_REASON_BYTES];
    const double start_ns = read_cpu_ns();
    for (uint64_t i = 0; i < count; i++) {
        struct bare bare = {0};
        CHECK(bare_open(target, &subject->setup, &bare.instance, reason, sizeof reason));
        for (uint32_t number = 0; number < subject->ops.count; number++) {
            bare_call(target, &bare, &subject->ops.ops[number], number);
        }
        target->close(bare.instance);
    }
    return (read_cpu_ns() - start_ns) / (double)count;
}

static void measure_parts(const struct lane_subject *subject, const struct amount *amount,
                          struct schedule_parts *parts)
{
    double schedule_ns[REPEAT_COUNT_MAX], empty_ns[REPEAT_COUNT_MAX],
        scheduler_ns[REPEAT_COUNT_MAX], target_ns[REPEAT_COUNT_MAX];
    struct op_list none;
    op_list_init(&none);
    for (uint32_t i = 0; i < amount->repeat_count; i++) {
        struct lanes_found found, ignored;
        schedule_ns[i] = measure_schedule(subject, &subject->ops, amount->schedule_count, &found);
        parts->steps = (double)found.point_count / (double)found.schedule_count;
        parts->switches = (double)found.switch_count / (double)found.schedule_count;
        empty_ns[i] = measure_schedule(subject, &none, amount->schedule_count, &ignored);
        scheduler_ns[i] = measure_scheduler(subject, parts, amount->scheduler_run_count);
        target_ns[i] = measure_target(subject, amount->schedule_count);
    }
    op_list_deinit(&none);
    parts->schedule_ns = median_of_doubles(schedule_ns, amount->repeat_count);
    parts->empty_ns = median_of_doubles(empty_ns, amount->repeat_count);
    parts->scheduler_ns = median_of_doubles(scheduler_ns, amount->repeat_count);
    parts->target_ns = median_of_doubles(target_ns, amount->repeat_count);
}

static void print_parts(const struct lane_subject *subject, const char *list, const char *backend,
                        const struct schedule_parts *parts)
{
    const double rest_ns = parts->schedule_ns - parts->scheduler_ns - parts->target_ns;
    printf("%-8s %-8s %-8s %12.0f %6.0f %8.0f %9.1f %9.1f %9.1f %9.1f %9.1f\n", backend,
           subject->target->name, list, 1e9 / parts->schedule_ns, parts->steps, parts->switches,
           parts->schedule_ns / 1e3, parts->target_ns / 1e3, parts->scheduler_ns / 1e3,
           rest_ns / 1e3, parts->empty_ns / 1e3);
    fflush(stdout);
}

static void bench_list(struct lane_subject *subject, size_t list, const struct amount *amount)
{
    struct ops_file_error error;
    struct schedule_parts parts = {0};
    op_list_init(&subject->ops);
    CHECK(ops_file_parse(lists[list].ops, strlen(lists[list].ops), &subject->setup, &subject->ops,
                         &error) == OPS_FILE_OK);
    for (size_t b = 0; b < sizeof backends / sizeof backends[0]; b++) {
        subject->backend = backends[b].backend;
        measure_parts(subject, amount, &parts);
        print_parts(subject, lists[list].name, backends[b].name, &parts);
    }
    op_list_deinit(&subject->ops);
}

static void bench_schedules(const struct amount *amount)
{
    struct lane_subject *subject = calloc(1, sizeof *subject);
    CHECK(subject != NULL);
    for (size_t t = 0; t < sizeof target_names / sizeof target_names[0]; t++) {
        subject->target = target_find(target_names[t]);
        CHECK(subject->target != NULL);
        for (size_t list = 0; list < sizeof lists / sizeof lists[0]; list++) {
            bench_list(subject, list, amount);
        }
    }
    free(subject);
}

int main(int argument_count, char **arguments)
{
    const bool is_quick = argument_count == 2 && strcmp(arguments[1], "--quick") == 0;
    if (argument_count > 1 && !is_quick) {
        fprintf(stderr, "usage: %s [--quick]\n", arguments[0]);
        return 2;
    }
    const struct amount *amount = is_quick ? &amount_quick : &amount_usual;
    printf("random walks, medians of %u repeats; %d lanes; seed %d\n", amount->repeat_count,
           LANE_COUNT, SEED);
    bench_switches(amount);
    printf("%-8s %-8s %-8s %12s %6s %8s %9s %9s %9s %9s %9s\n", "lanes", "target", "list",
           "schedules/s", "points", "switches", "us each", "target", "scheduler", "harness",
           "no ops");
    bench_schedules(amount);
    return 0;
}
