/* Why a verdict on an out-of-memory holds: plain numbers, a plan, the log of a search,
 * or a table that can be made again.
 * docs/certificate.md says what each kind means and how it is checked. */
#ifndef HARNESS_ORACLE_PROOF_H
#define HARNESS_ORACLE_PROOF_H

#include "harness/oracle/packing/packing.h"
#include "harness/oracle/verdict.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum proof_kind {
    PROOF_NONE = 0,
    PROOF_STACK,    /* justified: no numbers, the state shows it */
    PROOF_SPANS,    /* the same */
    PROOF_SUM,      /* need and have: no addresses are known */
    PROOF_ROUNDING, /* unit; need and have in units */
    PROOF_SEARCH,   /* log, is_plain, least */
    PROOF_TABLE,    /* sets */
    PROOF_FILLS,    /* spans; unit and lost */
    PROOF_PATTERNS, /* sets */
    PROOF_PLAN,     /* premature */
    PROOF_BUDGET,   /* unknown: nodes, need, have, effort */
    PROOF_ASSUMED, /* unknown: two heaps that a message allows; as_it_is, other, premature_unless */
    PROOF_KIND_COUNT
};
const char *proof_kind_name(enum proof_kind kind); /* as in a certificate: "rounding", … */

#define PROOF_IN_HOST_MEMORY UINT64_MAX /* from or to of a move that is one half of a staging */

struct proof_move {
    uint32_t block; /* index into oom->blocks */
    uint64_t from, to, size_bytes;
};

/* The steps that make the request fit; the arrays belong to whoever made the plan. */
struct proof_plan {
    uint64_t until_ns;              /* events due by then are awaited; 0 = none */
    uint64_t frees_awaited;         /* queued frees that go by then */
    const uint32_t *evicted;        /* programs: indices into oom->blocks; evicted_count of them */
    const struct proof_move *moves; /* in an order that can be carried out; move_count of them */
    size_t evicted_count, move_count;
    uint64_t staged_count; /* blocks that go through host memory */
    uint64_t evicted_bytes, moved_bytes;
    uint64_t address; /* of the request; UINT64_MAX when it needs no block */
};

/* The work that was done in vain. */
struct proof_effort {
    uint64_t nodes_max;                   /* the budget */
    uint64_t nodes[PACKING_EFFORT_COUNT]; /* by method; their sum is the proof's */
    uint64_t until_ns;                    /* the time of the state that decides */
    enum oom_class oom_class;
};

/* Sizes in bytes; fields that the kind does not have are 0. */
struct proof {
    enum verdict_kind claim;
    enum proof_kind kind;
    uint64_t need, have, unit, least, nodes, sets, spans, lost;
    bool is_plain;   /* alignments play no part in the search */
    const char *log; /* NUL-terminated */
    size_t log_length;
    struct proof_plan plan;
    struct proof_effort effort;
    struct premature_unless premature_unless;
    /* of the state as it is, and of the other heap; they belong to whoever made the proof */
    const struct proof *as_it_is, *other;
};

#endif
