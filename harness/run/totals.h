/* Counts of what a run, or many of them together, did: ops, verdicts, device calls and probes. */
#ifndef HARNESS_RUN_TOTALS_H
#define HARNESS_RUN_TOTALS_H

#include "harness/op/not_checked.h"
#include "harness/op/op.h"
#include "harness/oracle/regret.h"
#include "harness/oracle/verdict.h"
#include "harness/run/op_costs.h"
#include "harness/run/probe.h"

#include <stdint.h>

/* The totals are in ops, requests, device calls and bytes, as the fields say. */
struct run_totals {
    uint64_t ops; /* acted, skipped ones not counted */
    uint64_t skipped;
    uint64_t ooms, justified, premature, unknown, broken, disputed;
    uint64_t drains, moves, moved_bytes, stagings, evictions; /* device calls that were granted */
    uint64_t unknown_by_class[OOM_CLASS_COUNT];
    uint64_t unrepeated; /* verdicts of lanes that nobody scheduled, and that nobody could repeat */
    uint64_t excused;    /* OOMs that were not judged: a block was in host memory */
    uint64_t not_modelled; /* trials that ended because a lane waited for what nobody sees */
    uint64_t retries;      /* out-of-memories that were asked again; ... */
    uint64_t retries_granted, late; /* ... granted with time pinned, and where it was not */
    /* of hosts that waited for one that did not come (hangs.h): all, because that one ran out of
     * memory, because it left without a word */
    uint64_t hangs, hangs_of_oom, hangs_without_word;
    /* all clients waited for memory (standstills.h): in all, those that one of them could have
     * ended, and those of which that is not known */
    uint64_t standstills, standstills_ordered, standstills_unknown;
    uint64_t shortages; /* calls that a shared device refused, as other hosts had the memory */
    uint64_t search_nodes;
    uint64_t second_opinions;            /* OOMs that the exhaustive judge judged, too */
    uint64_t relations_checked;          /* questions about states related to those of OOMs */
    uint64_t regretted, regrets_unknown; /* requests; regret.h says what */
    uint64_t regrets[REGRET_KIND_COUNT]; /* the same by kind; one request may have several */
    uint64_t regretted_evicted_bytes, regretted_moved_bytes; /* beyond the cheapest plans */
    uint64_t by_kind[OP_KIND_COUNT];                         /* acted */
    uint64_t skipped_by_kind[OP_KIND_COUNT];
    uint64_t schedules, points,
        switches;                 /* of lanes: runs, steps, and how often another one went on */
    uint64_t probes[PROBE_COUNT]; /* ops that hit them */
    uint64_t not_checked[NOT_CHECKED_COUNT]; /* runs on a contract that leaves it open */
    struct op_costs costs;                   /* not of lanes, nor where a fault struck */
};
void run_totals_add(struct run_totals *to, const struct run_totals *from);

#endif
