/* What a rule is judged on.  The road of a call alone (judge_*.c) and that of calls that overlap
 * (overlap_*.c, judge_overlap.c) both fill it, and both ask the one function that the rule's row
 * names (harness/oracle/rule_list.h). */
#ifndef HARNESS_RULES_PRIVATE_EVIDENCE_H
#define HARNESS_RULES_PRIVATE_EVIDENCE_H

#include "harness/rules/judge.h"

/* What was looked at, for rules that are judged at more than one moment. */
enum sight {
    SIGHT_ANSWER,    /* what the call was answered: its result, its handle, its range */
    SIGHT_CLASH,     /* the range of the answer is that of `other` */
    SIGHT_STREAM,    /* the range of the answer meets memory that `other` left to its stream */
    SIGHT_RECORDING, /* the same of memory that `other` left to its recording */
    SIGHT_DONATION,  /* the answer to a donation of the block */
    SIGHT_IMAGE,     /* the answer to an execution of the block, whose image was there */
    SIGHT_STACK,     /* the stack of a program that was loaded or executed */
    SIGHT_ABSENT,    /* the block that the call needs may be in host memory alone */
    SIGHT_GONE,      /* the block that the call names is gone */
    SIGHT_COPY,      /* a copy or stage, `made`, that reads or writes where the block is */
    SIGHT_MOVE,      /* a copy or stage that is known to have moved the block to `address` */
    SIGHT_PLACE,     /* after the op the block is at `address` */
    SIGHT_NEIGHBOUR, /* the same, and its lower neighbour is at `below_address` */
    SIGHT_SIZE,      /* the same, and the target says that it has size_bytes */
    SIGHT_TAKEN,     /* the same, and another block is there */
    SIGHT_PASSED,    /* after calls that overlapped the block, which was above `other`, is at its
                        address */
    SIGHT_TOUCH,     /* where a block is that nothing was to move */
    SIGHT_STRANDED,  /* after the op the block is in host memory alone */
    SIGHT_STAYS,     /* it still is, though a range at `address` was free before and after the op */
    SIGHT_RETURN,    /* a block that was there is at `address` again */
    SIGHT_RETAKEN,   /* the same, and `other` is there */
    SIGHT_LOST,      /* the block has no address, and host memory does not hold it */
    SIGHT_READ,      /* the block has no address, and does not read as it was written */
    SIGHT_DEVICE,    /* what the device noticed during the call */
    SIGHT_LATER,     /* what it noticed after it */
    SIGHT_EFFORT,    /* what the failed call, which needed none of it, had the device do: `made` */
    SIGHT_STAGE,     /* a stage, taken out by `made`, that a failed call left in host memory */
    SIGHT_IMAGE_LEFT, /* after a failed call the target says that the image of the program in the
                         slot, which is evicted, is at `address` */
    SIGHT_ROW_LEFT,   /* after a failed call the report has a row, `address` and size_bytes, of what
                         it was asked for */
    SIGHT_MITIGATION, /* a mitigation, `made`, of a request, before it changed anything */
    SIGHT_KEPT,       /* after an out-of-memory the idle program in the slot is still loaded */
    SIGHT_REGION,     /* the region [address, address + size_bytes) that is given back, where the
                         block in the slot lies; SLOT_NONE: no region begins there */
    SIGHT_REPORT,     /* everything that the target can be asked about */
    SIGHT_SLEEP,      /* how much memory the target has, asleep or awake */
    SIGHT_WAKE,       /* what is left in host memory after a wake */
    SIGHT_COST,       /* what ops cost so far, in `costs` */
    SIGHT_CLOSE       /* the target is closed */
};

struct collective;
struct cost_history;

/* A rule reads the fields that its sights need; the others may be zero. */
struct evidence {
    struct judge *judge;              /* its verdict is set when the rule is broken */
    const struct host *host;          /* where */
    const struct call *call;          /* that is judged, or was under way */
    const struct device_call *made;   /* by the call */
    const struct target_stats *stats; /* what the target says of itself */
    enum sight sight;
    uint32_t slot;  /* of the block or program; SLOT_NONE where an eviction names none */
    uint32_t other; /* slot of the block in its way */
    uint64_t op;    /* eviction: the number of the program as the device was told it */
    uint64_t address, size_bytes; /* of the range that the block has now, or is said to have */
    uint64_t align_bytes;         /* that it must have */
    uint64_t asked_bytes;         /* that it must have at least */
    uint64_t below_address;       /* of its lower neighbour; 0 = none */
    uint64_t reservable_bytes;    /* SIGHT_STACK: of the size_bytes that it takes */
    const struct verdict *proof;  /* SIGHT_STACK: of the oracle, as if the stack had been refused
                                     then; NULL: it was not asked */
    const struct collective *awaited; /* SIGHT_MITIGATION: in vain, by a wait; else NULL */
    struct cost_history *costs;       /* of the host, the op among them */
    uint64_t count;                   /* of regretted requests; of regions that are still held */
    const char *mechanism;  /* of the finding; NULL: what was looked at tells it (enum sight) */
    bool may_evict;         /* some call that may evict this program is under way */
    bool has_moved;         /* something was copied or staged */
    bool has_ended;         /* the call ended the block */
    bool is_in_host_memory; /* SIGHT_TOUCH: the block is there alone */
    bool may_be_absent; /* calls overlap: the block may have been in host memory alone, where it has
                           no place to keep */
    bool with_holes;    /* the largest hole is compared, too, which costs a walk over the blocks */
    bool has_numbers;   /* judge->oom is the state that the error text speaks of */
};

/* Sets the verdict, unless a graver rule is broken already, or the run goes on and heard of the
 * same before.  Only for the function in the row of the rule, while it is asked.  Returns whether
 * the judging goes on as if the rule were kept, for `return evidence_break(…)`: the run goes on
 * after such findings, and the model still knows what the target has. */
bool evidence_break(const struct evidence *evidence, enum rule rule, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same where the model cannot follow the target: the run ends in any case.  Returns false. */
bool evidence_end(const struct evidence *evidence, enum rule rule, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same, of which findings are told apart by mechanism. */
static inline struct evidence evidence_named(const struct evidence *evidence, const char *mechanism)
{
    struct evidence named = *evidence;
    named.mechanism = mechanism;
    return named;
}

static inline const struct block *evidence_block(const struct evidence *evidence)
{
    return model_block(evidence->host->model, evidence->slot);
}

#endif
