/* The job of the scenario `training`: its mesh of hosts as groups, and which hosts fail. */
#include "scenarios/private/training.h"
#include "scenarios/scenarios.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>

static struct setup setup;
static struct training_job job;

static void set_option(const char *key, uint32_t value)
{
    struct setup_option *option = &setup.scenario_options[setup.scenario_option_count++];
    snprintf(option->key, sizeof option->key, "%s", key);
    snprintf(option->value, sizeof option->value, "%u", value);
}

/* A job of 100 steps. */
static void start(uint32_t host_count, uint32_t tensor, uint32_t pipeline)
{
    setup_init(&setup);
    setup_set_hosts(&setup, host_count);
    setup.until_step = 100;
    set_option("tensor", tensor);
    set_option("pipeline", pipeline);
}

static void begin(uint64_t seed)
{
    struct random random;
    random_init(&random, seed);
    job = (struct training_job){0};
    training_job_begin(&job, &scenario_training, &random, &setup);
}

TEST(each_mesh_of_each_number_of_hosts_has_groups_enough)
{
    uint32_t most = 0;
    for (uint32_t hosts = 1; hosts <= OP_HOST_COUNT_MAX; hosts++) {
        for (uint32_t tensor = 1; tensor <= hosts; tensor++) {
            for (uint32_t pipeline = 1; tensor * pipeline <= hosts; pipeline++) {
                start(hosts, tensor, pipeline);
                if (training_refuses(&setup) == NULL) {
                    begin(1);
                    most = setup.group_count > most ? setup.group_count : most;
                }
            }
        }
    }
    ck_assert_uint_eq(most, 124);
    ck_assert_uint_le(most, SETUP_GROUP_COUNT_MAX);
}

TEST(stages_are_in_pairs_with_their_neighbours)
{
    start(8, 1, 4);
    begin(1);
    ck_assert_uint_eq(setup.group_count, 4 + 6); /* data; two pipelines with three pairs */
    for (uint32_t host = 0; host < 8; host++) {
        ck_assert(training_has_next(&job, host) == (host % 4 != 3));
        ck_assert(training_has_previous(&job, host) == (host % 4 != 0));
        if (training_has_next(&job, host)) {
            ck_assert_uint_eq(setup_members(&setup, training_pair(host)), UINT64_C(3) << host);
        }
    }
    ck_assert_str_eq(setup_group_name(&setup, training_pair(5)), "pipeline 1 stage 1 to 2");
}

TEST(the_host_that_leaves_is_in_another_copy_of_the_model_than_the_one_that_leaks)
{
    uint64_t leaking = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        start(8, 2, 1);
        set_option("silent", 2);
        begin(seed);
        leaking |= job.leaking;
        ck_assert_uint_eq(job.leaving, 2);
    }
    ck_assert_uint_eq(leaking, 0xF3); /* all but 2 and its partner 3 */
    leaking = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        start(4, 4, 1);
        set_option("killed", 3);
        begin(seed);
        leaking |= job.leaking;
    }
    ck_assert_uint_eq(leaking, 7); /* one copy: all but itself */
}

TEST(wrong_hosts_and_meshes_are_refused)
{
    start(4, 3, 1);
    ck_assert_str_eq(training_refuses(&setup),
                     "tensor * pipeline is 3, and --hosts 4 is no multiple of it");
    start(4, 1, 1);
    set_option("killed", 4);
    ck_assert_str_eq(training_refuses(&setup), "killed=4: the hosts are 0 to 3 (--hosts 4)");
    start(4, 1, 1);
    set_option("killed", 1);
    set_option("silent", 2);
    ck_assert_str_eq(training_refuses(&setup),
                     "silent and killed: one host leaves a job, so give one of them");
}
