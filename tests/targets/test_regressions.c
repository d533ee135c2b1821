/* Every list of ops that once broke a promise keeps it now: corpus/regressions, one file a bug. */
#include "harness/lanes/lanes.h"
#include "harness/op/ops_file.h"
#include "harness/run/run.h"
#include "harness/trial/trial_run.h"
#include "targets/targets.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER HBMSTRESS_SOURCE_DIR "/corpus/regressions"

static int is_ops_file(const struct dirent *entry)
{
    const size_t length = strlen(entry->d_name);
    return length > 4 && strcmp(entry->d_name + length - 4, ".ops") == 0;
}

static void read_file(const char *name, struct setup *setup, struct op_list *list)
{
    char path[1024];
    struct ops_file_error error;
    ck_assert_int_lt(snprintf(path, sizeof path, "%s/%s", FOLDER, name), (int)sizeof path);
    op_list_init(list);
    ck_assert_msg(ops_file_read(path, setup, list, &error) == OPS_FILE_OK, "%s:%zu:%zu: %s", name,
                  error.line, error.column, error.reason);
}

static void replay_file(const char *name)
{
    char reason[RUN_REASON_BYTES];
    struct setup setup;
    struct op_list list;
    struct trial trial;
    read_file(name, &setup, &list);
    const struct target *target = target_find(setup.target);
    ck_assert_msg(target != NULL, "%s: no target '%s'", name, setup.target);
    ck_assert_msg(trial_replay(target, &setup, &list, NULL, &trial, reason), "%s: %s", name,
                  reason);
    ck_assert_msg(trial.first.kind == VERDICT_NONE, "%s: op %u breaks %s again: %s", name,
                  trial.first.op, rule_info(trial.first.rule)->name, trial.first.reason);
    ck_assert_msg(trial.totals.unknown == 0, "%s: an OOM is unknown", name);
    /* With lanes it depends on the schedule which ops apply. */
    ck_assert_msg(trial.totals.skipped == 0 || lanes_are_in(&list), "%s: an op no longer applies",
                  name);
    trial_deinit(&trial);
    op_list_deinit(&list);
}

TEST(what_once_broke_a_promise_keeps_it)
{
    struct dirent **entries = NULL;
    const int count = scandir(FOLDER, &entries, is_ops_file, alphasort);
    ck_assert_int_gt(count, 0);
    for (int i = 0; i < count; i++) {
        replay_file(entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    printf("regressions: %d lists replayed\n", count);
}

/* What the list is about: blocks are freed after an event while others are in host memory, and such
 * a call tries to bring these back. */
TEST(a_block_is_freed_while_others_come_back_from_host_memory)
{
    char reason[RUN_REASON_BYTES];
    struct setup setup;
    struct op_list list;
    size_t freed_count = 0, moving_count = 0;
    read_file("hbm_moved_while_it_is_freed.ops", &setup, &list);
    struct run *run = run_create(target_find(setup.target), &setup, reason);
    ck_assert_msg(run != NULL, "%s", reason);
    for (size_t i = 0; i < list.count; i++) {
        const size_t absent_count = model_absent_count(run_model(run, 0));
        (void)run_step(run, &list.ops[i]);
        const struct observation *seen = run_observation(run);
        const bool is_freed = list.ops[i].kind == OP_FREE_AFTER && absent_count > 0;
        freed_count += is_freed;
        moving_count += is_freed && seen->copy_bytes > 0;
    }
    ck_assert_uint_gt(run_totals(run)->stagings, 0);
    ck_assert_uint_gt(freed_count, 0);
    ck_assert_uint_gt(moving_count, 0);
    run_destroy(run);
    op_list_deinit(&list);
}
