/* The judgement on an out-of-memory: does a placement exist in a state that the mitigations of this
 * request's class can reach?  docs/promise.md says what is promised. */
#ifndef HARNESS_ORACLE_H
#define HARNESS_ORACLE_H

#include "harness/model_update.h"
#include "harness/verdict.h"

/* 4 million steps: a fraction of a second, and on any machine the same verdict. */
#define ORACLE_NODES_DEFAULT UINT64_C(4000000)

enum request_class { REQUEST_BUFFER = 0, REQUEST_PROGRAM };

/* What was refused. */
struct oracle_request {
    enum request_class class;
    uint64_t size_bytes;    /* as asked; 0 = no block is needed (a loaded program's stack alone) */
    uint64_t align_bytes;   /* at least the granule */
    uint64_t stack_bytes;   /* programs: rounded up to granules */
    uint32_t own_slot;      /* the program that is being executed or reloaded; SLOT_NONE */
    uint32_t faults_fired;  /* bit per fault_kind: these calls were refused during the op */
    uint64_t nodes_max;     /* 0 = ORACLE_NODES_DEFAULT */
};

/* Buffers that the oracle keeps from one judgement to the next. */
struct oracle;
struct oracle *oracle_create(void);
void oracle_destroy(struct oracle *oracle);

/* Judges an OOM in the state that the model says.  Sets kind (justified, premature, unknown), rule, nodes
 * and reason of *verdict, nothing else.  It decides in the state with every completable queued free done and every
 * evictable idle program gone: whatever else the mitigations reach has no more room and no more freedom to
 * move, so a placement exists in some reachable state if and only if one exists there. */
void oracle_judge(struct oracle *oracle, const struct model *model, const struct oracle_request *request,
                  struct verdict *verdict);

/* The most that could be reserved at the bottom: bounds of what the message may print as reservable.  Where
 * movable blocks have alignments above the granule, high leaves out what aligning them costs. */
struct oracle_bounds {
    uint64_t low_bytes, high_bytes;
};
struct oracle_bounds oracle_reservable(struct oracle *oracle, const struct model *model);

#endif
