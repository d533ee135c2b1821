/* The state of judging one run: what is held against the promises of rule_list.h, and where the
 * verdict goes; and the judging of calls one by one. */
#ifndef HARNESS_RULES_JUDGE_H
#define HARNESS_RULES_JUDGE_H

#include "harness/call/call.h"
#include "harness/call/driver.h"
#include "harness/call/host.h"
#include "harness/device/span_map.h"
#include "harness/device/timeline.h"
#include "harness/model/model_update.h"
#include "harness/oracle/assumed.h"
#include "harness/oracle/oom.h"
#include "harness/oracle/oracle.h"
#include "harness/oracle/reach.h"
#include "harness/oracle/regret.h"
#include "harness/oracle/relations.h"
#include "harness/oracle/verdict.h"
#include "harness/rules/cost_class.h"

/* The answer that the sums of a host's state give for a request: see spmd.c. */
enum judge_sums { JUDGE_SUMS_DO_NOT_DECIDE = 0, JUDGE_SUMS_FIT, JUDGE_SUMS_DO_NOT_FIT };

/* One round of an OP_SPMD group: the same request, once for each host. */
struct judge_round {
    uint64_t hosts_seen; /* bit per host; 0 = there was none yet */
    /* the first for which sums decide, else the latest; result and sums are its */
    uint32_t first_op;
    uint8_t result;
    uint8_t sums; /* enum judge_sums */
};
/* Hosts may be so many requests apart. */
enum { JUDGE_ROUND_COUNT = 16 };
struct judge_group {
    uint32_t run;    /* judge.run */
    uint32_t oldest; /* of the rounds, which are a ring */
    struct judge_round rounds[JUDGE_ROUND_COUNT];
};

/* Room for what is read of each block after a call that may have moved some. */
struct judge_places {
    uint64_t *addresses; /* capacity of each */
    uint32_t *stranded;
    size_t capacity;
    struct judge_met {
        uint64_t from; /* where the block was before the op */
        uint32_t slot;
    } * met;             /* met_capacity of each */
    uint32_t *met_slots; /* the same blocks */
    uint64_t *met_addresses;
    size_t met_capacity;
};

/* The findings that a run that goes on has reported already: it reports each once. */
enum { JUDGE_TOLD_COUNT_MAX = 16 };
struct judge_told {
    struct {
        enum rule rule;
        char mechanism[VERDICT_MECHANISM_BYTES];
    } findings[JUDGE_TOLD_COUNT_MAX]; /* count of them */
    size_t count;
};

/* The holes that were free before an op. */
struct judge_holes {
    struct judge_hole {
        uint64_t start, end;
    } * holes; /* count of them, ascending */
    size_t count, capacity;
};

struct counter_history;
struct cost_history;

/* The state, apart from the host, that judging one run needs. */
struct judge {
    struct host *hosts; /* host_count of them */
    uint32_t host_count;
    const struct op_list *ops; /* recorded */
    const struct setup *setup; /* of the list */
    struct oracle *oracle;
    struct assumed *assumed;
    struct oom oom;          /* the last one judged */
    struct oom reservable;   /* scratch: the state in which a stack was said to be reservable, or of
                                which sums are taken */
    struct oom before;       /* of a request: the state before its first eviction or move */
    struct planner *planner; /* for regrets */
    struct regret_spent spent; /* by the op under way */
    struct regret regret;      /* of the last op */
    bool looks_back;           /* regrets are judged */
    bool is_spending;          /* before and spent are of the op under way */
    bool is_cheapest;      /* no plan moves fewer bytes than this op, and before is not taken: see
                              regret.c */
    bool is_granule_short; /* is_cheapest: the largest hole was a granule too small */
    bool is_overlapping; /* the call under way met others: where blocks are, and what they hold, is
                            looked at when none is under way any more */
    bool hosts_differ;   /* a fault struck one of them, or it lost memory: their answers may differ
                            from then on */
    bool goes_on;        /* the run goes on after what does no harm: see rule_gravity() */
    bool had_absent;     /* a block was in host memory when the op under way began */
    bool has_wrong_status; /* the call under way was answered with a result that it cannot get */
    /* the last out-of-memory was premature or is excused: that it is granted when it is asked again
     * says no more */
    bool is_refusal_settled;
    bool cannot_follow; /* the model does not know any more what the target has */
    struct judge_told told;
    enum verdict_kind oom_kind; /* on the call under way; NONE: not judged, or no OOM */
    bool hides_oom;             /* *verdict is on a broken rule, and oom_verdict on the OOM */
    struct verdict oom_verdict;
    bool has_second_opinion;    /* the exhaustive judge judged the last op, too */
    uint32_t relations_checked; /* of the out-of-memory of the last op */
    uint64_t oom_count;         /* judged so far */
    uint64_t nodes_max;
    /* by host: completed events of its timeline that the models know; where hosts share one, of the
     * first of them */
    uint64_t absorbed_counts[OP_HOST_COUNT_MAX];
    uint64_t absorbed_beside;   /* of all timelines together, when all were absorbed last */
    enum rule asked;            /* the rule that is being judged */
    struct verdict *verdict;    /* of the op under way */
    const char *message;        /* its error text, taken right after the call; "" = none */
    struct judge_group *groups; /* by op.group; NULL until a first OP_SPMD */
    enum judge_sums sums;       /* of the last op, where it is of an OP_SPMD group */
    const struct target_contract *promised; /* that sums are of; NULL: the first host's */
    uint32_t run;       /* of the runs that this judge has seen: groups of others are none */
    struct reach reach; /* scratch of sums */
    struct relations relations;
    struct judge_places places;
    /* by host: of blocks that were looked at since all were: see met.c */
    uint64_t looked_counts[OP_HOST_COUNT_MAX];
    /* by host: of host memory, in bytes, after the last wake, and 1 more; 0 = since then something
     * else was called, or a call of the sleep failed */
    uint64_t woken_bytes[OP_HOST_COUNT_MAX];
    /* host_count of them once a counter that may be late was looked at in this run; else NULL */
    struct counter_history *histories;
    /* the same once the cost of an op was judged */
    struct cost_history *costs;
    struct op_cost cost;      /* of the op under way, where it is counted */
    bool is_cost_counted;     /* the last op is one of those whose cost is judged */
    struct judge_holes holes; /* before the op under way, while a block is in host memory */
};
void judge_init(struct judge *judge);
void judge_deinit(struct judge *judge);
/* True when a run that goes on heard of it before, or of too much; from now on it has. */
bool judge_was_told(struct judge *judge, enum rule rule, const char *mechanism);
/* Forgets everything that a run gave it; the memory that it works with is kept for another run. */
void judge_reset(struct judge *judge);

/* --- request.c: the request of a call, as the oracle takes it --- */

bool judge_is_request(const struct op *op);
/* The alignment that the block must have: what the op asks for, at least the granule, and its size
 * class where the contract aligns naturally.  What is larger than the device lies nowhere: it keeps
 * what it asks for. */
uint64_t judge_align_bytes(const struct host *host, const struct op *op);
/* Returns the bytes that a request of so many bytes needs by the host's contract. */
uint64_t judge_needed_bytes(const struct host *host, uint64_t asked_bytes);
/* The request of the call as the model stands now. */
struct oom_request judge_request(const struct host *host, const struct call *call);

/* --- call.c: judging a call that met no other one --- */

/* Holds what was observed against what was promised: takes the device calls and the answer of one
 * op into the model and names the first broken rule.  Nearly all calls take the short road: a
 * buffer is allocated or freed, and nothing else happens. */

/* The part of a call that is left to be judged. */
enum judge_road {
    JUDGE_ROAD_LONG = 0, /* all of it */
    JUDGE_ROAD_REPORTS,  /* the model has taken it in, but not all that the target says is exact */
    JUDGE_ROAD_SHORT     /* nothing: it was granted, nothing else happened, no rule is broken */
};
/* After driver_call: the short road of a call that is plain.  Where it ends in JUDGE_ROAD_SHORT
 * there is no verdict. */
enum judge_road judge_short(struct judge *judge, struct host *host, const struct call *call);

/* Forgets what is kept of one call alone, and read when it is over. */
static inline void judge_forget_answer(struct judge *judge)
{
    judge->oom_kind = VERDICT_NONE;
    judge->sums = JUDGE_SUMS_DO_NOT_DECIDE;
    judge->hides_oom = false;
}

/* The rest of it, from where the short road ended.  Brings the models up to date, checks every
 * rule, judges an OOM; sets *judge->verdict. */
void judge_call(struct judge *judge, struct host *host, const struct call *call,
                enum judge_road road);
/* Looks at all blocks at the end of a run, if some were not looked at after the last moves. */
void judge_look_again(struct judge *judge, struct host *host);
/* After everything was freed, before close: one hole of the whole heap. */
void judge_empty_heap(struct judge *judge, struct host *host);
/* After close: the host memory of the target. */
void judge_closed(struct judge *judge, struct host *host);

/* Breaks RULE_REGRET for the regret of the last op, the count-th one. */
void judge_regret(struct judge *judge, uint64_t count);

/* --- completed events, taken into the models of the hosts whose time they are of --- */

/* The first completed_count of the host's timeline; those that the models know already stay as they
 * are. */
void judge_absorb_until(struct judge *judge, const struct host *host, uint64_t completed_count);
/* Absorbs all events, also those that completed outside of a call. */
void judge_absorb(struct judge *judge, const struct host *host);
/* Absorbs all events of all hosts. */
void judge_absorb_all(struct judge *judge);

#endif
