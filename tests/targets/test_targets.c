/* The table of targets, their options and contracts. */
#include "harness/base/target_option.h"
#include "harness/device/device.h"
#include "harness/device/timeline.h"
#include "targets/adapters/adapters.h"
#include "targets/plugin.h"
#include "targets/targets.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)

/* A target open on a device of its own. */
struct bench {
    const struct target *target;
    struct timeline *timeline;
    struct device *device;
    struct target_instance *instance;
    struct target_contract contract;
};

static void bench_open(struct bench *bench, const struct target *target, uint64_t capacity_bytes,
                       const char *key, const char *value)
{
    const struct target_option option = {key, value};
    const struct target_setup setup = {
        .capacity_bytes = capacity_bytes, .options = &option, .option_count = key != NULL};
    char reason[256] = "";
    bench->target = target;
    bench->timeline = timeline_create();
    bench->device = device_create(capacity_bytes, bench->timeline);
    const enum target_result result = target->open(&setup, device_services(bench->device),
                                                   &bench->instance, &bench->contract, reason,
                                                   sizeof reason);
    ck_assert_msg(result == TARGET_OK, "%s: %s", target->name, reason);
}

static void bench_close(struct bench *bench)
{
    bench->target->close(bench->instance);
    ck_assert_uint_eq(device_host_bytes(bench->device), 0);
    device_destroy(bench->device);
    timeline_destroy(bench->timeline);
}

/* What open() says when it refuses an option. */
static void check_refused(const struct target *target, const char *key, const char *value,
                          const char *words)
{
    const struct target_option option = {key, value};
    const struct target_setup setup = {
        .capacity_bytes = MIB, .options = &option, .option_count = 1};
    struct timeline *timeline = timeline_create();
    struct device *device = device_create(MIB, timeline);
    struct target_instance *instance = NULL;
    struct target_contract contract;
    char reason[256] = "";
    ck_assert_int_eq(
        target->open(&setup, device_services(device), &instance, &contract, reason, sizeof reason),
        TARGET_INVALID);
    ck_assert_msg(strstr(reason, words) != NULL, "%s %s=%s: '%s'", target->name, key, value,
                  reason);
    ck_assert_ptr_null(strchr(reason, '\n'));
    ck_assert_ptr_null(instance);
    ck_assert_uint_eq(device_host_bytes(device), 0);
    device_destroy(device);
    timeline_destroy(timeline);
}

/* --- the table --- */

TEST(names_are_unique_and_tables_complete)
{
    for (size_t i = 0; targets[i] != NULL; i++) {
        char reason[PLUGIN_REASON_BYTES] = "";
        ck_assert_msg(plugin_check_table(targets[i], reason) == PLUGIN_OK, "%s: %s",
                      targets[i]->name, reason);
        ck_assert_ptr_eq(target_find(targets[i]->name), targets[i]);
        ck_assert_uint_gt(strlen(targets[i]->summary), 0);
        /* A plant and nothing else says what it breaks. */
        ck_assert_int_eq(strncmp(targets[i]->name, "plant_", 6) == 0, targets[i]->breaks != NULL);
    }
    ck_assert_ptr_null(target_find("no_such_target"));
}

TEST(adapters_are_found_and_complete)
{
    for (size_t i = 0; adapters[i] != NULL; i++) {
        char reason[PLUGIN_REASON_BYTES] = "";
        ck_assert_msg(plugin_check_table(adapters[i], reason) == PLUGIN_OK, "%s: %s",
                      adapters[i]->name, reason);
        ck_assert(adapter_is_named(adapters[i]->name));
        ck_assert_ptr_eq(target_find(adapters[i]->name), adapters[i]);
        ck_assert_ptr_null(adapters[i]->breaks);
    }
    ck_assert_ptr_null(target_find("malloc:no_such_library"));
    ck_assert(!adapter_is_named("hbm"));
}

TEST(unknown_options_are_refused_with_the_valid_ones)
{
    check_refused(&target_hbm, "defarg", "none", "defrag, granule, order");
    check_refused(&target_hbm, "defrag", "sometimes", "none, slide, repack");
    check_refused(&target_hbm, "granule", "500", "powers of two");
    check_refused(&target_hbm, "order", "drain,drain,evict", "permutations");
    check_refused(&target_hbm, "order", "drain,defragment", "permutations");
    check_refused(&target_hbm, "order", "drain,defragment,evict,", "permutations");
    check_refused(&target_hbm, "program_evicts_program", "maybe", "yes, no");
    check_refused(&target_first_fit, "order", "drain,defragment,evict",
                  "defrag, granule, drains, evicts");
    check_refused(&target_null, "slot", "0", "sizes");
    check_refused(&target_null, "defrag", "none", "granule, slot");
    check_refused(target_find("plant_overlap"), "defrag", "sometimes", "none, slide, repack");
    check_refused(&target_hbm, "granule", "16G", "powers of two");
}

TEST(a_capacity_that_is_no_multiple_of_the_granule_is_refused)
{
    const struct target_setup setup = {.capacity_bytes = MIB + 512, .granule_bytes = 1024};
    struct timeline *timeline = timeline_create();
    struct device *device = device_create(2 * MIB, timeline);
    for (size_t i = 0; targets[i] != NULL; i++) {
        struct target_instance *instance = NULL;
        struct target_contract contract;
        char reason[256] = "";
        ck_assert_int_eq(targets[i]->open(&setup, device_services(device), &instance, &contract,
                                          reason, sizeof reason),
                         TARGET_INVALID);
        ck_assert_ptr_nonnull(strstr(reason, "multiple of the granule"));
    }
    device_destroy(device);
    timeline_destroy(timeline);
}

TEST(the_contract_is_what_was_asked_for)
{
    struct bench bench;
    bench_open(&bench, &target_hbm, MIB, NULL, NULL);
    ck_assert_int_eq(bench.contract.defrag, DEFRAG_REPACK);
    ck_assert_uint_eq(bench.contract.granule_bytes, 512);
    ck_assert(bench.contract.documented_messages);
    ck_assert(!bench.contract.program_evicts_program);
    bench_close(&bench);
    bench_open(&bench, &target_hbm, MIB, "order", "evict,drain,defragment");
    ck_assert_int_eq(bench.contract.order[0], MITIGATION_EVICT);
    ck_assert_int_eq(bench.contract.order[2], MITIGATION_DEFRAGMENT);
    bench_close(&bench);
    bench_open(&bench, &target_first_fit, MIB, "defrag", "slide");
    ck_assert_int_eq(bench.contract.defrag, DEFRAG_SLIDE);
    bench_close(&bench);
}

TEST(a_mitigation_that_is_off_is_declared_by_nobody)
{
    for (size_t i = 0; targets[i] != NULL; i++) {
        struct bench bench;
        const bool is_plant = strncmp(targets[i]->name, "plant_", strlen("plant_")) == 0;
        if (!target_has_option(targets[i], "drains")) {
            continue;
        }
        const bool leaks = is_plant && strcmp(targets[i]->breaks, "host_memory") == 0;
        if ((!is_plant && targets[i] != &target_hbm) || leaks) {
            continue;
        }
        bench_open(&bench, targets[i], MIB, "drains", "no");
        ck_assert_msg(!bench.contract.drains, "%s", targets[i]->name);
        bench_close(&bench);
        bench_open(&bench, targets[i], MIB, "evicts", "no");
        ck_assert_msg(!bench.contract.evicts, "%s", targets[i]->name);
        bench_close(&bench);
    }
}

/* --- what no list can ask --- */

/* libhbm, and plants of it that bend nothing here. */
static const char *const resuming[] = {"hbm", "plant_contents", "plant_overlap",
                                       "plant_premature_evicted_once"};

TEST(a_range_is_retired_once, .to = sizeof resuming / sizeof resuming[0])
{
    struct bench bench;
    bench_open(&bench, target_find(resuming[_i]), MIB, NULL, NULL);
    ck_assert(bench.contract.resumes);
    ck_assert_int_eq(bench.target->retire(bench.instance, MIB / 2, 1024), TARGET_OK);
    ck_assert_int_eq(bench.target->retire(bench.instance, MIB / 2, 512), TARGET_INVALID);
    bench_close(&bench);
}

TEST(targets_that_do_not_move_neither_resume_nor_retire)
{
    static const struct target *const plain[] = {&target_first_fit, &target_null};
    for (size_t i = 0; i < 2; i++) {
        struct bench bench;
        bench_open(&bench, plain[i], MIB, NULL, NULL);
        ck_assert(!bench.contract.resumes);
        ck_assert_ptr_null(bench.target->retire);
        bench_close(&bench);
    }
}
