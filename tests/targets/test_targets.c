/* The table of targets, their options, and what hbm, first_fit and null do on a simulated device.
 */
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

static void bench_start(struct bench *bench, const struct target *target, uint64_t capacity_bytes)
{
    bench->target = target;
    bench->timeline = timeline_create();
    bench->device = device_create(capacity_bytes, bench->timeline);
}

static void bench_open_on(struct bench *bench, const struct target_setup *setup,
                          const struct device_services *services)
{
    char reason[256] = "";
    const enum target_result result = bench->target->open(setup, services, &bench->instance,
                                                          &bench->contract, reason, sizeof reason);
    ck_assert_msg(result == TARGET_OK, "%s: %s", bench->target->name, reason);
}

static void bench_open(struct bench *bench, const struct target *target, uint64_t capacity_bytes,
                       const char *key, const char *value)
{
    const struct target_option option = {key, value};
    const struct target_setup setup = {
        .capacity_bytes = capacity_bytes, .options = &option, .option_count = key != NULL};
    bench_start(bench, target, capacity_bytes);
    bench_open_on(bench, &setup, device_services(bench->device));
}

static void bench_close(struct bench *bench)
{
    bench->target->close(bench->instance);
    ck_assert_uint_eq(device_host_bytes(bench->device), 0);
    device_destroy(bench->device);
    timeline_destroy(bench->timeline);
}

static enum target_result bench_alloc(struct bench *bench, uint64_t id, uint64_t size,
                                      struct target_block *block)
{
    const struct target_request request = {
        .id = id, .size_bytes = size, .tag = 3, .tag_name = "test"};
    return bench->target->alloc(bench->instance, &request, block);
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

/* --- calls --- */

static const struct target *const allocators[] = {&target_hbm, &target_first_fit};

TEST(blocks_are_placed_from_the_top_and_counted, .to = sizeof allocators / sizeof allocators[0])
{
    struct bench bench;
    struct target_block first;
    struct target_block second;
    struct target_stats stats;
    bench_open(&bench, allocators[_i], MIB, NULL, NULL);
    ck_assert_int_eq(bench_alloc(&bench, 1, 1000, &first), TARGET_OK);
    ck_assert_int_eq(bench_alloc(&bench, 2, 512, &second), TARGET_OK);
    ck_assert_uint_eq(first.address, MIB - 1024);
    ck_assert_uint_eq(first.size_bytes, 1024);
    ck_assert_uint_eq(second.address, MIB - 1024 - 512);
    ck_assert_uint_ne(first.handle, second.handle);
    bench.target->stats(bench.instance, &stats);
    ck_assert_uint_eq(stats.num_allocs, 2);
    ck_assert_uint_eq(stats.bytes_in_use, 1536);
    ck_assert_uint_eq(stats.largest_free_block_bytes, MIB - 1536);
    ck_assert_uint_eq(stats.bytes_limit, MIB);
    bench_close(&bench);
}

TEST(a_free_keeps_its_place_until_its_event_is_done, .to = sizeof allocators / sizeof allocators[0])
{
    struct bench bench;
    struct target_block block;
    struct target_stats stats;
    bench_open(&bench, allocators[_i], MIB, NULL, NULL);
    timeline_add(bench.timeline, 7, 1000);
    ck_assert_int_eq(bench_alloc(&bench, 1, MIB, &block), TARGET_OK);
    ck_assert_int_eq(bench.target->free(bench.instance, block.handle, 7), TARGET_OK);
    bench.target->stats(bench.instance, &stats);
    ck_assert_uint_eq(stats.bytes_in_use, MIB);
    timeline_advance(bench.timeline, 1000);
    bench.target->stats(bench.instance, &stats);
    ck_assert_uint_eq(stats.bytes_in_use, 0);
    ck_assert_uint_eq(stats.largest_free_block_bytes, MIB);
    bench_close(&bench);
}

TEST(only_the_reference_waits_for_a_queued_free, .to = sizeof allocators / sizeof allocators[0])
{
    struct bench bench;
    struct target_block block;
    bench_open(&bench, allocators[_i], MIB, NULL, NULL);
    timeline_add(bench.timeline, 7, 1000);
    ck_assert_int_eq(bench_alloc(&bench, 1, MIB, &block), TARGET_OK);
    ck_assert_int_eq(bench.target->free(bench.instance, block.handle, 7), TARGET_OK);
    const enum target_result result = bench_alloc(&bench, 2, MIB, &block);
    ck_assert_int_eq(result, bench.contract.drains ? TARGET_OK : TARGET_NO_MEMORY);
    ck_assert_uint_eq(timeline_now_ns(bench.timeline), bench.contract.drains ? 1000 : 0);
    bench_close(&bench);
}

TEST(a_refusal_is_told_in_the_documented_words, .to = sizeof allocators / sizeof allocators[0])
{
    struct bench bench;
    struct target_block blocks[4];
    bench_open(&bench, allocators[_i], 4 * MIB, "defrag", "none");
    for (uint64_t i = 0; i < 4; i++) {
        ck_assert_int_eq(bench_alloc(&bench, i + 1, MIB, &blocks[i]), TARGET_OK);
    }
    ck_assert_int_eq(bench_alloc(&bench, 5, 3 * MIB / 2, &blocks[0]), TARGET_NO_MEMORY);
    ck_assert_str_eq(
        bench.target->message(bench.instance),
        "RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate 1.50M. That was not "
        "possible. There are 0B free.; (0x0x0_HBM0)");
    ck_assert_int_eq(bench.target->free(bench.instance, blocks[1].handle, 0), TARGET_OK);
    ck_assert_int_eq(bench.target->free(bench.instance, blocks[3].handle, 0), TARGET_OK);
    ck_assert_int_eq(bench_alloc(&bench, 6, 3 * MIB / 2, &blocks[0]), TARGET_NO_MEMORY);
    ck_assert_str_eq(
        bench.target->message(bench.instance),
        "RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate 1.50M. That was not "
        "possible. There are 2.00M free. Due to fragmentation, the largest contiguous region of free "
        "memory is 1.00M.; (0x0x0_HBM0)");
    bench_close(&bench);
}

TEST(impossible_sizes_are_invalid_and_not_out_of_memory,
     .to = sizeof allocators / sizeof allocators[0])
{
    struct bench bench;
    struct target_block block;
    bench_open(&bench, allocators[_i], MIB, NULL, NULL);
    ck_assert_int_eq(bench_alloc(&bench, 1, 0, &block), TARGET_INVALID);
    ck_assert_int_eq(bench_alloc(&bench, 2, UINT64_MAX, &block), TARGET_INVALID);
    ck_assert_int_eq(bench_alloc(&bench, 3, (UINT64_C(1) << 63) + 1, &block), TARGET_INVALID);
    ck_assert_int_eq(bench_alloc(&bench, 4, UINT64_C(1) << 63, &block), TARGET_NO_MEMORY);
    bench_close(&bench);
}

TEST(a_program_needs_its_stack_at_the_bottom, .to = sizeof allocators / sizeof allocators[0])
{
    struct bench bench;
    struct target_block block;
    struct target_block image;
    struct target_stats stats;
    const struct target_program large = {
        .id = 2, .image_bytes = 512, .stack_bytes = MIB, .name = "large"};
    const struct target_program small = {
        .id = 3, .image_bytes = 512, .stack_bytes = 4096, .name = "small"};
    bench_open(&bench, allocators[_i], MIB, "defrag", "none");
    ck_assert_int_eq(bench_alloc(&bench, 1, 512, &block), TARGET_OK);
    ck_assert_int_eq(bench.target->load(bench.instance, &large, &image), TARGET_NO_MEMORY);
    ck_assert_ptr_nonnull(strstr(bench.target->message(bench.instance), "at the bottom of memory"));
    ck_assert_int_eq(bench.target->load(bench.instance, &small, &image), TARGET_OK);
    timeline_add(bench.timeline, 9, 1000);
    ck_assert_int_eq(bench.target->execute(bench.instance, image.handle, 9, &image), TARGET_OK);
    bench.target->stats(bench.instance, &stats);
    ck_assert_uint_eq(stats.bytes_reserved, 4096);
    timeline_advance(bench.timeline, 1000);
    bench.target->stats(bench.instance, &stats);
    ck_assert_uint_eq(stats.bytes_reserved, 0);
    ck_assert_uint_eq(stats.peak_bytes_reserved, 4096);
    bench_close(&bench);
}

TEST(null_hands_out_every_slot_and_takes_it_back)
{
    struct bench bench;
    struct target_block blocks[16];
    struct target_block none;
    bench_open(&bench, &target_null, MIB, NULL, NULL);
    for (uint64_t i = 0; i < 16; i++) {
        ck_assert_int_eq(bench_alloc(&bench, i + 1, 1, &blocks[i]), TARGET_OK);
        ck_assert_uint_eq(blocks[i].address, i * 64 * 1024);
    }
    ck_assert_int_eq(bench_alloc(&bench, 17, 1, &none), TARGET_NO_MEMORY);
    for (uint64_t i = 0; i < 16; i++) {
        ck_assert_int_eq(bench.target->free(bench.instance, blocks[i].handle, 0), TARGET_OK);
    }
    struct target_stats stats;
    bench.target->stats(bench.instance, &stats);
    ck_assert_uint_eq(stats.num_allocs, 0);
    ck_assert_uint_eq(stats.bytes_in_use, 0);
    ck_assert_uint_eq(stats.peak_bytes_in_use, MIB);
    ck_assert_uint_eq(stats.largest_free_block_bytes, MIB);
    bench_close(&bench);
}

/* --- memory that goes bad, and calls that are done in part --- */

/* libhbm, and plants of it that bend nothing here. */
static const char *const resuming[] = {"hbm", "plant_contents", "plant_overlap",
                                       "plant_premature_evicted_once"};

static void take_retired(void *context, const struct target_row *row)
{
    if (row->kind == BLOCK_RETIRED) {
        *(struct target_row *)context = *row;
    }
}

TEST(what_is_retired_is_counted_reported_and_never_given_out,
     .to = sizeof resuming / sizeof resuming[0])
{
    struct bench bench;
    struct target_block block;
    struct target_stats stats;
    struct target_row row = {0};
    bench_open(&bench, target_find(resuming[_i]), MIB, NULL, NULL);
    ck_assert_int_eq(bench.target->retire(bench.instance, MIB / 2, 1024), TARGET_OK);
    ck_assert_int_eq(bench.target->retire(bench.instance, MIB / 2, 512), TARGET_INVALID);
    bench.target->stats(bench.instance, &stats);
    ck_assert_uint_eq(stats.num_allocs, 1);
    ck_assert_uint_eq(stats.bytes_in_use, 1024);
    ck_assert_uint_eq(stats.largest_free_block_bytes, MIB / 2);
    ck_assert_int_eq(bench_alloc(&bench, 1, MIB / 2, &block), TARGET_OK);
    ck_assert_uint_eq(block.address, 0);
    if (_i == 0) { /* a plant may leave the only row out, or lie about the place */
        bench.target->report(bench.instance, take_retired, &row);
        ck_assert_uint_eq(row.address, MIB / 2);
        ck_assert_uint_eq(row.size_bytes, 1024);
    }
    bench_close(&bench);
}

/* A device that answers every copy and every unload in part first. */
struct halving {
    const struct device_services *device;
    uint64_t partial_count;
    bool is_partial;
};

static bool halving_stops(struct halving *halving)
{
    halving->is_partial = !halving->is_partial;
    halving->partial_count += halving->is_partial;
    return halving->is_partial;
}

static struct halving halving;

static enum device_result halving_copy(void *context, uint64_t from, uint64_t to, uint64_t bytes)
{
    return halving_stops(&halving) ? DEVICE_PARTIAL
                                   : halving.device->copy(context, from, to, bytes);
}

static enum device_result halving_unload(void *context, uint64_t program)
{
    return halving_stops(&halving) ? DEVICE_PARTIAL : halving.device->unload(context, program);
}

TEST(what_was_done_in_part_is_asked_for_again, .to = sizeof resuming / sizeof resuming[0])
{
    struct bench bench;
    struct target_block blocks[4];
    const struct target_setup setup = {.capacity_bytes = MIB};
    const struct target_program program = {.id = 1, .image_bytes = MIB / 2, .name = "idle"};
    bench_start(&bench, target_find(resuming[_i]), MIB);
    halving = (struct halving){.device = device_services(bench.device)};
    struct device_services services = *halving.device;
    services.copy = halving_copy;
    services.unload = halving_unload;
    bench_open_on(&bench, &setup, &services);
    ck_assert(bench.contract.resumes);
    for (uint64_t i = 0; i < 4; i++) {
        ck_assert_int_eq(bench_alloc(&bench, i + 1, MIB / 4, &blocks[i]), TARGET_OK);
    }
    ck_assert_int_eq(bench.target->free(bench.instance, blocks[0].handle, 0), TARGET_OK);
    ck_assert_int_eq(bench.target->free(bench.instance, blocks[2].handle, 0), TARGET_OK);
    ck_assert_int_eq(bench_alloc(&bench, 5, MIB / 2, &blocks[0]), TARGET_OK);
    ck_assert_uint_eq(halving.partial_count, 1);
    ck_assert_int_eq(bench.target->free(bench.instance, blocks[0].handle, 0), TARGET_OK);
    ck_assert_int_eq(bench.target->load(bench.instance, &program, &blocks[2]), TARGET_OK);
    ck_assert_int_eq(bench_alloc(&bench, 6, MIB / 2, &blocks[0]), TARGET_OK);
    ck_assert_uint_eq(halving.partial_count, 2);
    ck_assert(!halving.is_partial);
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
