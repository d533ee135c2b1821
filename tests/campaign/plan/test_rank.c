/* Which rank a process is, from the variables of its launcher: which pair decides, and what is
 * refused. */
#include "campaign/plan/plan.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stddef.h>
#include <string.h>

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

struct found_case {
    const char *variables[2 * VARIABLE_COUNT_MAX + 1];
    uint64_t index, count;
};

TEST(each_launcher_has_its_pair_and_the_inner_one_decides)
{
    static const struct found_case cases[] = {
        {{OMPI("0", "1")}, 0, 1},
        {{OMPI("3", "4")}, 3, 4},
        {{PMI("1", "2")}, 1, 2},
        {{SLURM("7", "8")}, 7, 8},
        {{SLURM("999999", "1000000")}, 999999, 1000000},
        {{OMPI("3", "4"), SLURM("0", "2")}, 3, 4},
        {{PMI("3", "4"), SLURM("0", "2")}, 3, 4},
        {{OMPI("3", "4"), PMI("3", "4")}, 3, 4},
        /* The daemons of mpirun on other nodes are tasks of srun --mpi=pmi2. */
        {{OMPI("3", "4"), PMI("1", "2"), SLURM("1", "2")}, 3, 4},
        /* An outer pair that is half set or malformed matters to nobody. */
        {{OMPI("3", "4"), "SLURM_PROCID", "0"}, 3, 4},
        {{PMI("3", "4"), SLURM("x", "")}, 3, 4},
        /* Inside of a job of Slurm: a task of it, or a rank of mpirun. */
        {{SLURM("1", "2"), "SLURM_JOB_ID", "5", "SLURM_STEP_ID", "0"}, 1, 2},
        {{OMPI("1", "2"), SLURM("0", "8"), "SLURM_JOB_ID", "5"}, 1, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rank rank = {99, 99};
        char reason[RANK_REASON_BYTES] = "";
        environment = cases[i].variables;
        ck_assert_msg(rank_find(look_up, &rank, reason), "case %zu: %s", i, reason);
        ck_assert_uint_eq(rank.index, cases[i].index);
        ck_assert_uint_eq(rank.count, cases[i].count);
    }
}

struct refused_case {
    const char *variables[2 * VARIABLE_COUNT_MAX + 1];
    const char *reason; /* how it begins */
};

TEST(what_does_not_say_which_rank_it_is_is_refused)
{
    static const struct refused_case cases[] = {
        {{NULL}, "no rank in the environment"},
        {{"SLURM_JOB_ID", "5"}, "no rank in the environment"},
        {{"OMPI_COMM_WORLD_RANK", "0"}, "OMPI_COMM_WORLD_RANK is set, but OMPI_COMM_WORLD_SIZE"},
        {{"OMPI_COMM_WORLD_SIZE", "4"}, "OMPI_COMM_WORLD_SIZE is set, but OMPI_COMM_WORLD_RANK"},
        {{"PMI_RANK", "0"}, "PMI_RANK is set, but PMI_SIZE is not"},
        {{"SLURM_NTASKS", "2"}, "SLURM_NTASKS is set, but SLURM_PROCID is not"},
        /* A half pair is not made up for by an outer one. */
        {{"PMI_RANK", "0", SLURM("0", "2")}, "PMI_RANK is set, but PMI_SIZE is not"},
        {{OMPI("4", "4")}, "OMPI_COMM_WORLD_RANK is 4 and OMPI_COMM_WORLD_SIZE is 4: "},
        {{PMI("0", "0")}, "PMI_RANK is 0 and PMI_SIZE is 0: "},
        {{PMI("", "2")}, "PMI_RANK is '', which is not a number"},
        {{PMI("-1", "2")}, "PMI_RANK is '-1', which is not a number"},
        {{PMI("1 ", "2")}, "PMI_RANK is '1 ', which is not a number"},
        {{SLURM("0", "1000001")}, "SLURM_NTASKS is '1000001', which is not a number"},
        {{SLURM("0", "2(x3)")}, "SLURM_NTASKS is '2(x3)', which is not a number"},
        {{OMPI("1", "4"), PMI("2", "4")},
         "OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE say rank 1"},
        {{OMPI("1", "4"), PMI("1", "2")},
         "OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE say rank 1"},
        {{OMPI("1", "4"), PMI("2", "4"), SLURM("1", "4")}, "OMPI_COMM_WORLD_RANK and OMPI_COMM"},
        {{OMPI("1", "4"), "PMI_SIZE", "4"}, "PMI_SIZE is set, but PMI_RANK is not"},
        {{SLURM("0", "4"), "SLURM_JOB_ID", "5"}, "this is the script of a Slurm job"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rank rank = {99, 99};
        char reason[RANK_REASON_BYTES] = "";
        environment = cases[i].variables;
        ck_assert_msg(!rank_find(look_up, &rank, reason), "case %zu was accepted", i);
        ck_assert_msg(strncmp(reason, cases[i].reason, strlen(cases[i].reason)) == 0,
                      "case %zu: %s", i, reason);
        ck_assert_ptr_null(strchr(reason, '\n'));
        ck_assert_uint_eq(rank.index, 99);
        ck_assert_uint_eq(rank.count, 99);
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
