/* What a run did goes out whole: events that replay to the state at the end, and come in again. */
#include "campaign/plan/run_options.h"
#include "formats/export/private/stays.h"
#include "formats/formats.h"
#include "harness/generate/faulting.h"
#include "harness/op/ops_file.h"
#include "harness/trial/trial_run.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"
#include "tests/cli/export_rig.h"
#include "tests/helpers/snap.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCENARIO_OPS = 300 };

EVERY_TEST(.timeout_s = 300);

TEST(the_table_has_a_row_for_all_that_became_of_a_block)
{
    struct told told;
    char *text = told_export(told_list, &exporter_csv, &told);
    snap(text);
    free(text);
    told_deinit(&told);
}

TEST(the_list_comes_out_as_it_was_run)
{
    struct told told;
    char *text = told_export(told_list, &exporter_run_ops, &told);
    snap_lines(text, ": |granule");
    free(text);
    told_deinit(&told);
}

/* --- events tell everything --- */

/* Blocks by address, as the events alone tell it. */
struct image {
    struct export_event *blocks; /* count of them, in no order */
    size_t count;
};

static size_t image_find(const struct image *image, const struct export_event *event)
{
    for (size_t i = 0; i < image->count; i++) {
        if (image->blocks[i].host == event->host && image->blocks[i].address == event->address) {
            return i;
        }
    }
    return SIZE_MAX;
}

static void image_enter(struct image *image, const struct export_event *event)
{
    for (size_t i = 0; i < image->count; i++) {
        const struct export_event *other = &image->blocks[i];
        ck_assert_msg(other->host != event->host ||
                          other->address >= event->address + event->size_bytes ||
                          event->address >= other->address + other->size_bytes,
                      "op %" PRIu32 ": %s at %" PRIu64 " overlaps the %s of op %" PRIu32, event->op,
                      export_action_name(event->action), event->address,
                      export_action_name(other->action), other->op);
    }
    image->blocks[image->count++] = *event;
}

static void image_leave(struct image *image, const struct export_event *event)
{
    const size_t found = image_find(image, event);
    ck_assert_msg(found != SIZE_MAX && image->blocks[found].size_bytes == event->size_bytes,
                  "op %" PRIu32 ": %s at %" PRIu64 ": no such block", event->op,
                  export_action_name(event->action), event->address);
    image->blocks[found] = image->blocks[--image->count];
}

static void image_take(struct image *image, const struct export_event *event)
{
    switch (event->action) {
    case EXPORT_ALLOC:
    case EXPORT_MOVED_IN:
    case EXPORT_RETIRED:
        image_enter(image, event);
        return;
    case EXPORT_FREE_COMPLETED:
    case EXPORT_EVICTED:
    case EXPORT_MOVED_OUT:
        image_leave(image, event);
        return;
    default:
        return;
    }
}

/* Events replay without an overlap to the blocks that are there at the end. */
static void check_events(const char *name, struct told *told)
{
    struct image image = {.blocks = calloc(told->count + 1, sizeof *image.blocks)};
    size_t count = 0;
    for (size_t i = 0; i < told->count; i++) {
        image_take(&image, &told->events[i]);
    }
    const struct export_block *blocks = block_events_blocks(told->block_events, &count);
    ck_assert_msg(image.count == count, "%s: %zu blocks told, %zu there", name, image.count, count);
    for (size_t i = 0; i < count; i++) {
        const struct export_event at = {.host = blocks[i].host, .address = blocks[i].address};
        const size_t found = image_find(&image, &at);
        ck_assert_msg(found != SIZE_MAX && image.blocks[found].size_bytes == blocks[i].size_bytes,
                      "%s", name);
    }
    free(image.blocks);
}

/* So do the stays that pictures are made of: each block that is there has one, at its place. */
static void check_stays(const char *name, struct told *told)
{
    struct stays stays = {.count = 0};
    size_t count = 0;
    for (size_t i = 0; i < told->count; i++) {
        (void)stays_take(&stays, &told->events[i]);
    }
    const struct export_block *blocks = block_events_blocks(told->block_events, &count);
    ck_assert_msg(stays.count == count, "%s: %zu stays, %zu blocks", name, stays.count, count);
    for (size_t i = 0; i < count; i++) {
        const uint32_t place = number_map_find(&stays.places, blocks[i].op);
        ck_assert_msg(place != NUMBER_NONE, "%s", name);
        ck_assert_uint_eq(stays.stays[place].address, blocks[i].address);
        ck_assert_uint_eq(stays.stays[place].size_bytes, blocks[i].size_bytes);
        ck_assert_int_eq(stays.stays[place].state == STAY_QUEUED, blocks[i].is_dying);
    }
    stays_deinit(&stays);
}

/* What is in use on the host of the last op is the sum of its blocks. */
struct summing {
    struct told told;
    size_t op_count;
    uint64_t in_use_bytes[OP_HOST_COUNT_MAX];
};

static void sum_judged(void *context, const struct run *run, const struct verdict *verdict)
{
    struct summing *summing = context;
    if (run_observation(run)->op < run_ops(run)->count &&
        summing->op_count != run_ops(run)->count) {
        summing->op_count = run_ops(run)->count;
        for (uint32_t i = 0; i < run_setup(run)->host_count; i++) {
            summing->in_use_bytes[i] = model_in_use_bytes(run_model(run, i));
        }
    }
    told_judged(&summing->told, run, verdict);
}

/* Blocks that are stranded on the host, and memory that goes bad. */
static struct fault_options all_faults(void)
{
    struct fault_options wanted = {0};
    ck_assert_ptr_null(op_options_parse_faults("all", &wanted));
    return wanted;
}

static void run_scenario(const struct scenario *scenario, uint64_t seed, const char *defrag,
                         uint64_t *moves)
{
    static struct summing summing;
    const struct run_listener listener = {&summing, sum_judged};
    struct setup setup;
    struct trial trial;
    char reason[RUN_REASON_BYTES];
    setup_init(&setup);
    setup.capacity_bytes = UINT64_C(64) << 20;
    setup.seed = seed;
    ck_assert(setup_set_option(&setup, "defrag", defrag));
    const struct trial_plan plan = {.target = target_find("hbm"),
                                    .scenario = scenario,
                                    .setup = &setup,
                                    .capacity_is_free = true,
                                    .op_count_max = SCENARIO_OPS,
                                    .faults = seed % 2 == 0 ? all_faults()
                                                            : (struct fault_options){0}};
    memset(&summing, 0, sizeof summing);
    told_init(&summing.told, NULL, NULL);
    ck_assert_msg(trial_run(&plan, &listener, &trial, reason), "%s: %s", scenario->name, reason);
    check_events(scenario->name, &summing.told);
    check_stays(scenario->name, &summing.told);
    size_t count = 0;
    const struct export_block *blocks = block_events_blocks(summing.told.block_events, &count);
    for (size_t i = 0; i < count; i++) {
        summing.in_use_bytes[blocks[i].host] -= blocks[i].size_bytes;
    }
    for (uint32_t i = 0; i < trial.setup.host_count; i++) {
        ck_assert_msg(summing.in_use_bytes[i] == 0, "%s: host %u", scenario->name, i);
    }
    for (size_t i = 0; i < summing.told.count; i++) {
        moves[summing.told.events[i].action]++;
    }
    trial_deinit(&trial);
    told_deinit(&summing.told);
}

TEST(events_of_every_scenario_replay_to_its_end)
{
    static const char *const contracts[] = {"none", "slide", "repack"};
    uint64_t counts[EXPORT_ACTION_COUNT] = {0};
    for (size_t i = 0; scenarios[i] != NULL; i++) {
        for (uint64_t seed = 1; seed <= 3; seed++) {
            run_scenario(scenarios[i], seed, contracts[(i + seed) % 3], counts);
        }
    }
    for (int i = 0; i < EXPORT_ACTION_COUNT; i++) {
        printf("  %s: %" PRIu64 " events\n", export_action_name((enum export_action)i), counts[i]);
        ck_assert_uint_gt(counts[i], 0);
    }
}

static void assert_comes_in(const char *name, const char *text, size_t length)
{
    static struct import import;
    struct import_error error = {0};
    import_init(&import);
    const enum import_result result = import_text(text, length, "torch_snapshot", NULL, &import,
                                                  &error);
    ck_assert_msg(result == IMPORT_OK || strstr(error.reason, "no block in a segment") != NULL,
                  "%s: %s", name, error.reason);
    import_deinit(&import);
}

/* Lists that once broke a promise, most of them with lanes whose calls overlap. */
static void run_recorded(const char *path)
{
    static struct setup setup;
    struct told told;
    struct op_list recorded;
    struct ops_file_error error;
    struct trial trial;
    char reason[RUN_REASON_BYTES];
    char *text = NULL;
    size_t length = 0;
    const struct run_listener listener = {&told, told_judged};
    setup_init(&setup);
    op_list_init(&recorded);
    ck_assert_msg(ops_file_read(path, &setup, &recorded, &error) == OPS_FILE_OK, "%s: %s", path,
                  error.reason);
    const struct target *target = target_find(setup.target);
    told_init(&told, &exporter_torch_snapshot, open_memstream(&text, &length));
    if (target != NULL && trial_replay(target, &setup, &recorded, &listener, &trial, reason)) {
        check_events(path, &told);
        check_stays(path, &told);
        told_finish(&told, &trial);
        assert_comes_in(path, text, length);
        trial_deinit(&trial);
    } else {
        fclose(told.feed.export.stream);
    }
    free(text);
    told_deinit(&told);
    op_list_deinit(&recorded);
}

TEST(events_of_every_recorded_list_replay_to_its_end_and_come_in_again)
{
    static const char directory_name[] = HBMSTRESS_SOURCE_DIR "/corpus/regressions";
    DIR *directory = opendir(directory_name);
    size_t count = 0;
    ck_assert_ptr_nonnull(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char path[4096];
        const char *dot = strrchr(entry->d_name, '.');
        if (dot == NULL || strcmp(dot, ".ops") != 0) {
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", directory_name, entry->d_name);
        run_recorded(path);
        count++;
    }
    closedir(directory);
    ck_assert_uint_gt(count, 0);
}

TEST(exporters_have_names_of_their_own)
{
    for (size_t i = 0; exporters[i] != NULL; i++) {
        ck_assert_ptr_eq(exporter_find(exporters[i]->name), exporters[i]);
        ck_assert(exporters[i]->summary[0] != '\0');
    }
    ck_assert_ptr_null(exporter_find("nonsense"));
}
