/* Which rank a process is, from the variables of its launcher: which pair decides, and what is
 * refused. */
#include "campaign/plan/plan.h"
#include "tests/campaign/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

EVERY_TEST(.teardown = snap_rest);

enum { VARIABLE_COUNT_MAX = 8 };

/* The environment of one case: name and value in turns, and a NULL behind. */
static const char *const *environment;

static const char *look_up(const char *name)
{
    for (size_t i = 0; environment[i] != NULL; i += 2) {
        if (strcmp(environment[i], name) == 0) {
            return environment[i + 1];
        }
    }
    return NULL;
}

#define OMPI(rank, size) "OMPI_COMM_WORLD_RANK", rank, "OMPI_COMM_WORLD_SIZE", size
#define PMI(rank, size) "PMI_RANK", rank, "PMI_SIZE", size
#define SLURM(rank, size) "SLURM_PROCID", rank, "SLURM_NTASKS", size

static void show_rank(const char *const variables[])
{
    struct rank rank = {99, 99};
    char reason[RANK_REASON_BYTES] = "";
    environment = variables;
    const bool is_found = rank_find(look_up, &rank, reason);
    for (size_t i = 0; variables[i] != NULL; i += 2) {
        show("%s=%s ", variables[i], variables[i + 1]);
    }
    if (is_found) {
        show("is rank %u of %u\n", (unsigned)rank.index, (unsigned)rank.count);
    } else {
        show("%s\n", reason);
        ck_assert_ptr_null(strchr(reason, '\n'));
        ck_assert(rank.index == 99 && rank.count == 99);
    }
}

TEST(each_launcher_has_its_pair_and_the_inner_one_decides)
{
    static const char *const cases[][2 * VARIABLE_COUNT_MAX + 1] = {
        {OMPI("0", "1")},
        {OMPI("3", "4")},
        {PMI("1", "2")},
        {SLURM("7", "8")},
        {SLURM("999999", "1000000")},
        {OMPI("3", "4"), SLURM("0", "2")},
        {PMI("3", "4"), SLURM("0", "2")},
        {OMPI("3", "4"), PMI("3", "4")},
        /* The daemons of mpirun on other nodes are tasks of srun --mpi=pmi2. */
        {OMPI("3", "4"), PMI("1", "2"), SLURM("1", "2")},
        /* An outer pair that is half set or malformed matters to nobody. */
        {OMPI("3", "4"), "SLURM_PROCID", "0"},
        {PMI("3", "4"), SLURM("x", "")},
        /* Inside of a job of Slurm: a task of it, or a rank of mpirun. */
        {SLURM("1", "2"), "SLURM_JOB_ID", "5", "SLURM_STEP_ID", "0"},
        {OMPI("1", "2"), SLURM("0", "8"), "SLURM_JOB_ID", "5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        show_rank(cases[i]);
    }
}

TEST(what_does_not_say_which_rank_it_is_is_refused)
{
    static const char *const cases[][2 * VARIABLE_COUNT_MAX + 1] = {
        {NULL},
        {"SLURM_JOB_ID", "5"},
        {"OMPI_COMM_WORLD_RANK", "0"},
        {"OMPI_COMM_WORLD_SIZE", "4"},
        {"PMI_RANK", "0"},
        {"SLURM_NTASKS", "2"},
        /* A half pair is not made up for by an outer one. */
        {"PMI_RANK", "0", SLURM("0", "2")},
        {OMPI("4", "4")},
        {PMI("0", "0")},
        {PMI("", "2")},
        {PMI("-1", "2")},
        {PMI("1 ", "2")},
        {SLURM("0", "1000001")},
        {SLURM("0", "2(x3)")},
        {OMPI("1", "4"), PMI("2", "4")},
        {OMPI("1", "4"), PMI("1", "2")},
        {OMPI("1", "4"), PMI("2", "4"), SLURM("1", "4")},
        {OMPI("1", "4"), "PMI_SIZE", "4"},
        {SLURM("0", "4"), "SLURM_JOB_ID", "5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        show_rank(cases[i]);
    }
}

TEST(a_long_value_is_cut_in_the_reason)
{
    static char digits[2000];
    struct rank rank;
    char reason[RANK_REASON_BYTES];
    memset(digits, '7', sizeof digits - 1);
    const char *const variables[] = {PMI(digits, digits), NULL};
    environment = variables;
    ck_assert(!rank_find(look_up, &rank, reason));
    ck_assert_uint_lt(strlen(reason), RANK_REASON_BYTES - 1);
}
