/* Calls that overlap, in an order that the test chooses: begins and returns one by one, on one
 * thread.  The target is the scripted one; what it does to its device between two of these calls it
 * does during the overlap.  A call is made on the host of its op. */
#ifndef TESTS_HARNESS_RULES_OVERLAP_RIG_H
#define TESTS_HARNESS_RULES_OVERLAP_RIG_H

#include "harness/call/clients.h"
#include "harness/call/driver.h"
#include "harness/rules/overlap.h"
#include "tests/harness/run/scripted_target.h"

enum { CALL_COUNT_MAX = 96 };

/* By number of the op: the call, where it is in the overlap, and what was said of it. */
struct overlap_rig {
    struct clients *clients;
    struct overlap overlap;
    struct call calls[CALL_COUNT_MAX];
    uint64_t handles[CALL_COUNT_MAX];
    uint32_t in_overlap[CALL_COUNT_MAX];
    struct verdict verdicts[CALL_COUNT_MAX];
    bool counts;  /* calls are taken into the run, which goes on after what does no harm */
    bool ends;    /* after the first verdict that is told */
    bool is_good; /* what judge_overlap returned last */
};
extern struct overlap_rig rig;

/* For a script that the test has prepared. */
void open_lanes(uint32_t host_count);
/* The same for a target that is open. */
void begin_lanes(uint32_t host_count);
void stop_lanes(void);

/* The number of the op.  The call is under way until end_call. */
uint32_t begin_call(struct op op);
/* What is said of a call stands once the last of the overlap has returned. */
void end_call(uint32_t number);

uint32_t begin_alloc(uint64_t size_bytes);
/* An op that names what the op `ref` made. */
uint32_t begin_on(enum op_kind kind, uint32_t ref);

#endif
