/* The evidence for a rule.  The road of a call alone and that of overlapping calls both fill it,
 * and both ask the one function that the rule's row names (harness/oracle/rule_list.h). */
#ifndef HARNESS_RULES_PRIVATE_EVIDENCE_H
#define HARNESS_RULES_PRIVATE_EVIDENCE_H

#include "harness/rules/judge.h"

enum sight {
#define SIGHT(enumerator, mechanism) SIGHT_##enumerator,
#include "harness/rules/private/sight_list.h"
#undef SIGHT
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
    bool may_evict;                   /* some call that may evict this program is under way */
    bool has_moved;                   /* something was copied or staged */
    bool has_ended;                   /* the call ended the block */
    bool is_in_host_memory;           /* SIGHT_TOUCH: the block is there alone */
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

/* Breaks in the same way, told apart by mechanism; NULL: what was looked at tells it. */
bool evidence_break_as(const struct evidence *evidence, enum rule rule, const char *mechanism,
                       const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Breaks in the same way if the model cannot follow the target: the run ends.  Returns false. */
bool evidence_end(const struct evidence *evidence, enum rule rule, const char *mechanism,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Returns the evidence seen of a call, or (NULL) next to one; the rest is zero. */
static inline struct evidence evidence_of(struct judge *judge, const struct host *host,
                                          const struct call *call, enum sight sight)
{
    return (struct evidence){.judge = judge, .host = host, .call = call, .sight = sight};
}

/* Returns the same for the block in the slot. */
static inline struct evidence evidence_on(struct judge *judge, const struct host *host,
                                          const struct call *call, enum sight sight, uint32_t slot)
{
    return (struct evidence){
        .judge = judge, .host = host, .call = call, .sight = sight, .slot = slot};
}

static inline const struct block *evidence_block(const struct evidence *evidence)
{
    return model_block(evidence->host->model, evidence->slot);
}

/* Asks the function that the rule's row names.  True: the rule is kept.  False: it is broken, or
 * another of the same function is; *judge->verdict has the first broken one, with its reason. */
bool rule_judge(enum rule rule, const struct evidence *evidence);

/* bool rules_judge_overlap(const struct evidence *evidence); and so on, one for each row. */
#define JUDGE(function) bool function(const struct evidence *evidence);
#define ROAD(name)
#define RULE(enumerator, name, gravity, promise, judge, plant) judge
#include "harness/oracle/rule_list.h"
#undef RULE
#undef ROAD
#undef JUDGE

#endif
