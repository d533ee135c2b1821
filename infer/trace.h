/* What one experiment saw: the ops that it made, the answer to each, and what the oracle found.
 * Plain data that a child process can send. */
#ifndef INFER_TRACE_H
#define INFER_TRACE_H

#include "harness/base/writing.h"
#include "harness/call/call.h"
#include "harness/op/op.h"
#include "harness/oracle/verdict.h"
#include "harness/run/run.h"
#include "harness/target.h"

#include <stdbool.h>
#include <stdint.h>

enum { SIGHT_CALLS_BYTES = 16, TRACE_WHY_BYTES = 160 };

/* One op of an experiment. */
struct sight {
    struct observation seen;
    uint32_t verdict;         /* enum verdict_kind */
    uint32_t partial_count;   /* device calls that were done in part */
    uint64_t counters_digest; /* FNV-1a over the counters of which the contract says something */
    uint64_t region_bytes;    /* of the last region that was taken; 0 = none was */
    /* Which device calls were done, in their order, equal neighbours once: w(ait), m(ove),
     * u(nload), t(ake a region), g(ive one back). */
    char calls[SIGHT_CALLS_BYTES];
    char message[OBSERVATION_MESSAGE_BYTES]; /* the error text; "" = none */
};

/* Numbers that an experiment measures; 0 = it did not. */
enum fact {
    FACT_LARGEST_REQUEST, /* bytes granted on an empty device */
    FACT_LARGEST_ALIGN,   /* bytes */
    FACT_SMALLEST_CAPACITY,
    FACT_LARGEST_CAPACITY,
    FACT_HOST_OPEN, /* bytes of host memory: after open */
    FACT_HOST_FULL, /* with every block there */
    FACT_HOST_END,  /* after the last free */
    FACT_BLOCK_COUNT,
    FACT_COUNT
};

/* An open value; trace_init makes it empty. */
struct trace {
    struct target_contract contract; /* as the target declared it, or as it was claimed */
    uint64_t facts[FACT_COUNT];
    struct op_costs costs; /* of its ops, as the rule `cost` counts them */
    uint32_t is_opened;    /* 0: the target refused the setup; why says so */
    uint32_t is_dead;      /* the target took the process with it, or hung; why says how */
    uint32_t asked; /* the op whose answer the experiment is about; OP_NONE: it was not made */
    char why[TRACE_WHY_BYTES]; /* why the experiment was not made, or not to its end; "" = it was */
    struct run_findings findings;
    struct op_list ops;
    struct sight *sights; /* ops.count of them */
    size_t sight_capacity;
};

void trace_init(struct trace *trace);
void trace_deinit(struct trace *trace);

/* Empties it. */
void trace_clear(struct trace *trace);
/* Adds an op that was begun and never ended: nothing was seen of it. */
void trace_add_begun(struct trace *trace, const struct op *op);

/* What the op saw; NULL: the trace has no such op. */
const struct sight *trace_sight(const struct trace *trace, uint32_t op);
/* The same for the op that the experiment is about. */
const struct sight *trace_asked(const struct trace *trace);

/* Appends it as bytes for another process of the same program. */
void trace_append(const struct trace *trace, struct writing *bytes);
/* Reads it back from bytes[length] into *trace, initialised by the caller; returns how many bytes
 * it took.  0: they are too few. */
size_t trace_read(struct trace *trace, const char *bytes, size_t length);

#endif
