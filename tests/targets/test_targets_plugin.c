#include "harness/run/run.h"
#include "harness/trial/trial_run.h"
#include "scenarios/scenarios.h"
#include "targets/plugin.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ELSEWHERE "/nonexistent/folder/mine.so"

/* Loading path must end in result, with one line that names the file and has `words`. */
static void check_refused(const char *path, enum plugin_result result, const char *words)
{
    struct plugin plugin = {0};
    char reason[PLUGIN_REASON_BYTES] = "";
    const enum plugin_result got = plugin_load(&plugin, path, reason);
    ck_assert_msg(got == result, "%s: result %d, not %d: %s", path, (int)got, (int)result, reason);
    ck_assert_msg(strstr(reason, words) != NULL, "'%s' lacks '%s'", reason, words);
    ck_assert_ptr_nonnull(strstr(reason, path));
    ck_assert_ptr_null(strchr(reason, '\n'));
    ck_assert_ptr_null(plugin.target);
    ck_assert_ptr_null(plugin.library);
}

TEST(files_that_are_no_plugin_are_refused)
{
    check_refused(ELSEWHERE, PLUGIN_MISSING, "No such file");
    check_refused("/", PLUGIN_UNLOADABLE, "directory");
    check_refused(HBMSTRESS_SOURCE_DIR "/tests/targets/test_targets_plugin.c", PLUGIN_UNLOADABLE,
                  "cannot be loaded as a shared object");
}

TEST(tables_that_are_wrong_are_refused)
{
    check_refused(BAD_PLUGIN_DIR "/bad_no_symbol.so", PLUGIN_NO_SYMBOL, "hbmstress_target");
    check_refused(BAD_PLUGIN_DIR "/bad_abi.so", PLUGIN_OTHER_ABI,
                  "version 42, but this program loads version 1: build it again");
    check_refused(BAD_PLUGIN_DIR "/bad_no_abi.so", PLUGIN_OTHER_ABI,
                  "version 0, but this program loads version 1: build it again");
    check_refused(BAD_PLUGIN_DIR "/bad_size.so", PLUGIN_TOO_SMALL, "sizeof(struct target)");
    check_refused(BAD_PLUGIN_DIR "/bad_no_stats.so", PLUGIN_LACKS_CALL, "lacks stats()");
    check_refused(BAD_PLUGIN_DIR "/bad_hold.so", PLUGIN_INCONSISTENT, "hold() but not release()");
    check_refused(BAD_PLUGIN_DIR "/bad_programs.so", PLUGIN_INCONSISTENT, "but not execute()");
    check_refused(BAD_PLUGIN_DIR "/bad_sleep.so", PLUGIN_INCONSISTENT, "sleep() but not wake()");
    check_refused(BAD_PLUGIN_DIR "/bad_defragment.so", PLUGIN_INCONSISTENT,
                  "defragment() but not locate()");
}

/* The first rule that the loose plug-in breaks; given: the user's rounding, NULL = none. */
static const char *run_loose(const struct target_rounding *given)
{
    struct plugin plugin = {0};
    struct setup setup;
    struct trial trial;
    char reason[PLUGIN_REASON_BYTES] = "";
    ck_assert_msg(plugin_load(&plugin, BAD_PLUGIN_DIR "/loose.so", reason) == PLUGIN_OK, "%s",
                  reason);
    ck_assert_uint_eq(plugin.target->abi_version, TARGET_ABI_VERSION);
    setup_init(&setup);
    (void)snprintf(setup.target, sizeof setup.target, "%s", plugin.target->name);
    setup.seed = 1;
    if (given != NULL) {
        setup.has_rounding = true;
        setup.rounding = *given;
    }
    const struct trial_plan plan = {.target = plugin.target,
                                    .scenario = scenario_find("fragmentation_storm"),
                                    .setup = &setup,
                                    .capacity_is_free = true,
                                    .op_count_max = 2000};
    ck_assert_msg(trial_run(&plan, NULL, &trial, reason), "%s", reason);
    const char *broken = trial.first.kind == VERDICT_NONE ? "none"
                                                          : rule_info(trial.first.rule)->name;
    const bool has_ooms = trial.totals.ooms > 0;
    ck_assert(has_ooms || trial.first.kind != VERDICT_NONE);
    trial_deinit(&trial);
    plugin_unload(&plugin);
    return broken;
}

TEST(a_plugin_is_held_to_granules_unless_the_user_asks_for_less)
{
    const struct target_rounding any = {.kind = ROUNDING_ANY};
    const struct target_rounding granule = {.kind = ROUNDING_GRANULE};
    ck_assert_str_eq(run_loose(&any), "none");
    ck_assert_str_eq(run_loose(&granule), "too_large");
    ck_assert_str_eq(run_loose(NULL), "too_large");
}

TEST(names_are_told_from_files)
{
    ck_assert(plugin_is_named("./mine.so"));
    ck_assert(plugin_is_named("mine.so"));
    ck_assert(plugin_is_named("folder/mine"));
    ck_assert(!plugin_is_named("hbm"));
    ck_assert(!plugin_is_named(".so"));
    ck_assert(!plugin_is_named("malloc:./mine.so"));
}

TEST(a_name_without_a_folder_is_looked_for_here)
{
    struct plugin plugin = {0};
    char reason[PLUGIN_REASON_BYTES] = "";
    ck_assert_int_eq(chdir(EXAMPLE_DIR), 0);
    ck_assert_msg(plugin_load(&plugin, "example.so", reason) == PLUGIN_OK, "%s", reason);
    plugin_unload(&plugin);
    ck_assert_ptr_null(plugin.target);
}

/* The example of docs/targets.md keeps its contract under every scenario that it takes part in. */
TEST(the_example_keeps_its_promises)
{
    struct plugin plugin = {0};
    char reason[PLUGIN_REASON_BYTES] = "";
    ck_assert_msg(plugin_load(&plugin, EXAMPLE_DIR "/example.so", reason) == PLUGIN_OK, "%s",
                  reason);
    uint64_t ooms = 0;
    for (size_t i = 0; scenarios[i] != NULL; i++) {
        if (scenarios[i]->shares_device) { /* it neither sleeps nor grows */
            continue;
        }
        struct setup setup;
        struct trial trial;
        setup_init(&setup);
        (void)snprintf(setup.target, sizeof setup.target, "%s", plugin.target->name);
        setup.seed = i + 1;
        const struct trial_plan plan = {.target = plugin.target,
                                        .scenario = scenarios[i],
                                        .setup = &setup,
                                        .capacity_is_free = true,
                                        .op_count_max = 1000};
        ck_assert_msg(trial_run(&plan, NULL, &trial, reason), "%s", reason);
        ck_assert_msg(trial.first.kind == VERDICT_NONE, "%s: %s", scenarios[i]->name,
                      trial.first.reason);
        ooms += trial.totals.ooms;
        trial_deinit(&trial);
    }
    ck_assert_uint_gt(ooms, 0);
    plugin_unload(&plugin);
}
