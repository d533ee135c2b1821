#include "campaign/plan/plan.h"

#include "harness/base/size.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The inner launcher comes first: one that was started by another inherits its variables. */
enum { OPEN_MPI, PMI, SLURM, PAIR_COUNT };
static const struct {
    const char *rank, *size;
} pairs[PAIR_COUNT] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                       {"PMI_RANK", "PMI_SIZE"},
                       {"SLURM_PROCID", "SLURM_NTASKS"}};

static bool is_set(rank_variable *variable, int pair)
{
    return variable(pairs[pair].rank) != NULL || variable(pairs[pair].size) != NULL;
}

static bool read_number(const char *name, const char *text, uint64_t *number,
                        char reason[RANK_REASON_BYTES])
{
    if (number_parse(text, strlen(text), number) && *number <= RANK_COUNT_MAX) {
        return true;
    }
    snprintf(reason, RANK_REASON_BYTES, "%s is '%.40s', which is not a number from 0 to %d", name,
             text, RANK_COUNT_MAX);
    return false;
}

static bool read_pair(rank_variable *variable, int pair, struct rank *rank,
                      char reason[RANK_REASON_BYTES])
{
    const char *index = variable(pairs[pair].rank), *count = variable(pairs[pair].size);
    struct rank found;
    if (index == NULL || count == NULL) {
        snprintf(reason, RANK_REASON_BYTES, "%s is set, but %s is not",
                 index == NULL ? pairs[pair].size : pairs[pair].rank,
                 index == NULL ? pairs[pair].rank : pairs[pair].size);
        return false;
    }
    if (!read_number(pairs[pair].rank, index, &found.index, reason) ||
        !read_number(pairs[pair].size, count, &found.count, reason)) {
        return false;
    }
    if (found.index >= found.count) {
        snprintf(reason, RANK_REASON_BYTES,
                 "%s is %.20s and %s is %.20s: ranks go from 0 to the size less 1",
                 pairs[pair].rank, index, pairs[pair].size, count);
        return false;
    }
    *rank = found;
    return true;
}

static bool is_same_text(const char *one, const char *other)
{
    return one != NULL && other != NULL && strcmp(one, other) == 0;
}

/* srun --mpi=pmi2 sets both pairs alike; Slurm's own daemons of mpirun inherit them. */
static bool is_pmi_of_srun(rank_variable *variable)
{
    return is_same_text(variable(pairs[PMI].rank), variable(pairs[SLURM].rank)) &&
           is_same_text(variable(pairs[PMI].size), variable(pairs[SLURM].size));
}

/* Refuses two MPI launchers that disagree: nobody knows which of them is the inner one. */
static bool check_other(rank_variable *variable, const struct rank *rank,
                        char reason[RANK_REASON_BYTES])
{
    struct rank other;
    if (!is_set(variable, PMI) || is_pmi_of_srun(variable)) {
        return true;
    }
    if (!read_pair(variable, PMI, &other, reason)) {
        return false;
    }
    if (other.index == rank->index && other.count == rank->count) {
        return true;
    }
    snprintf(reason, RANK_REASON_BYTES,
             "%s and %s say rank %s of %s, but %s and %s say %s of %s; unset one pair",
             pairs[OPEN_MPI].rank, pairs[OPEN_MPI].size, variable(pairs[OPEN_MPI].rank),
             variable(pairs[OPEN_MPI].size), pairs[PMI].rank, pairs[PMI].size,
             variable(pairs[PMI].rank), variable(pairs[PMI].size));
    return false;
}

/* A batch script has a rank of its own, 0, and would run one shard for all. */
static bool check_step(rank_variable *variable, char reason[RANK_REASON_BYTES])
{
    if (variable("SLURM_JOB_ID") == NULL || variable("SLURM_STEP_ID") != NULL) {
        return true;
    }
    snprintf(reason, RANK_REASON_BYTES,
             "this is the script of a Slurm job, not one of its tasks; start hbmstress with srun");
    return false;
}

bool rank_find(rank_variable *variable, struct rank *rank, char reason[RANK_REASON_BYTES])
{
    struct rank found;
    int pair = 0;
    while (pair < PAIR_COUNT && !is_set(variable, pair)) {
        pair++;
    }
    if (pair == PAIR_COUNT) {
        snprintf(reason, RANK_REASON_BYTES,
                 "no rank in the environment (OMPI_COMM_WORLD_RANK, PMI_RANK or SLURM_PROCID); "
                 "start hbmstress with mpirun or srun, or give --shard I/N");
        return false;
    }
    if ((pair == SLURM && !check_step(variable, reason)) ||
        !read_pair(variable, pair, &found, reason) ||
        (pair == OPEN_MPI && !check_other(variable, &found, reason))) {
        return false;
    }
    *rank = found;
    return true;
}
