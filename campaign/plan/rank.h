/* Finds which of the processes that mpirun or srun started this one is, from the variables that
 * they set.  A campaign with --shard auto takes its shard from it. */
#ifndef CAMPAIGN_PLAN_RANK_H
#define CAMPAIGN_PLAN_RANK_H

#include <stdbool.h>
#include <stdint.h>

enum { RANK_COUNT_MAX = 1000000, RANK_REASON_BYTES = 320 };

struct rank {
    uint64_t index, count; /* index from 0, below count; count up to RANK_COUNT_MAX */
};

/* A variable of the environment: its text, which must last until rank_find() returns, or NULL. */
typedef const char *rank_variable(const char *name);

/* Reads three pairs of variables.  The first pair of which a variable is set decides:
 *   OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE   Open MPI
 *   PMI_RANK and PMI_SIZE                           MPICH and others, and srun --mpi=pmi2
 *   SLURM_PROCID and SLURM_NTASKS                   srun; mpirun inside of an allocation of Slurm
 *                                                   inherits others
 * False, with one line in reason: none is set; the pair is half set or malformed; its rank is not
 * below its size; both Open MPI and PMI are set and differ, and the PMI pair is not that of srun;
 * or only Slurm's are set, by a batch script (SLURM_JOB_ID without SLURM_STEP_ID), which is no task
 * of srun.  Then *rank is unchanged. */
bool rank_find(rank_variable *variable, struct rank *rank, char reason[RANK_REASON_BYTES]);

#endif
