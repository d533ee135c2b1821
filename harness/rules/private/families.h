/* The families of rules, as the road of a call alone (call.c) and that of calls that overlap
 * (pass.c) ask them; the functions of the rules themselves are in the rows of
 * harness/oracle/rule_list.h.
 *
 * Where nothing else is said, a function that returns bool sets the first broken rule in
 * *judge->verdict and returns false, or returns true. */
#ifndef HARNESS_RULES_PRIVATE_FAMILIES_H
#define HARNESS_RULES_PRIVATE_FAMILIES_H

#include "harness/oracle/oom.h"
#include "harness/oracle/reach.h"
#include "harness/rules/cost_class.h"
#include "harness/rules/judge.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct overlap_stages;

/* --- evidence.c: the evidence for a rule --- */

/* The road of a call alone and that of overlapping calls both fill it, and both ask the one
 * function that the rule's row names (harness/oracle/rule_list.h). */
enum evidence_sight {
#define SIGHT(enumerator, mechanism) SIGHT_##enumerator,
#include "harness/rules/private/sight_list.h"
#undef SIGHT
};

struct collective;

/* A rule reads the fields that its sights need; the others may be zero. */
struct rule_evidence {
    struct judge *judge;              /* its verdict is set when the rule is broken */
    const struct host *host;          /* where */
    const struct call *call;          /* that is judged, or was under way */
    const struct device_call *made;   /* by the call */
    const struct target_stats *stats; /* what the target says of itself */
    enum evidence_sight sight;
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
 * same before.  Only for the function in the row of the rule, while it is asked.  The format names
 * facts of the evidence in braces ("block {block} went to {at}": see evidence.c).  Returns whether
 * the judging goes on as if the rule were kept, for `return evidence_break(…)`: the run goes on
 * after such findings, and the model still knows what the target has. */
bool evidence_break(const struct rule_evidence *evidence, enum rule rule, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Breaks in the same way, told apart by mechanism; NULL: what was looked at tells it. */
bool evidence_break_as(const struct rule_evidence *evidence, enum rule rule, const char *mechanism,
                       const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Breaks in the same way if the model cannot follow the target: the run ends.  Returns false. */
bool evidence_end(const struct rule_evidence *evidence, enum rule rule, const char *mechanism,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Returns the evidence seen of a call, or (NULL) next to one; the rest is zero. */
static inline struct rule_evidence evidence_of(struct judge *judge, const struct host *host,
                                               const struct call *call, enum evidence_sight sight)
{
    return (struct rule_evidence){.judge = judge, .host = host, .call = call, .sight = sight};
}

/* Returns the same for the block in the slot. */
static inline struct rule_evidence evidence_on(struct judge *judge, const struct host *host,
                                               const struct call *call, enum evidence_sight sight,
                                               uint32_t slot)
{
    return (struct rule_evidence){
        .judge = judge, .host = host, .call = call, .sight = sight, .slot = slot};
}

static inline const struct block *evidence_block(const struct rule_evidence *evidence)
{
    return model_block(evidence->host->model, evidence->slot);
}

/* Asks the function that the rule's row names.  True: the rule is kept.  False: it is broken, or
 * another of the same function is; *judge->verdict has the first broken one, with its reason. */
bool rule_judge(enum rule rule, const struct rule_evidence *evidence);

/* bool rules_judge_overlap(const struct rule_evidence *evidence); and so on, one for each row. */
#define JUDGE(function) bool function(const struct rule_evidence *evidence);
#define ROAD(name)
#define RULE(enumerator, name, gravity, promise, judge, plant) judge
#include "harness/oracle/rule_list.h"
#undef RULE
#undef ROAD
#undef JUDGE

/* --- places.c: blocks in host memory come back as soon as they can --- */

/* Before the op is taken into the model: what is free, if a block is in host memory. */
void judge_note_holes(struct judge *judge, const struct host *host);
/* After it: no live block is still there that a range had room for before the op and has after it,
 * if the target was called and the device refused nothing. */
bool judge_absent(struct judge *judge, const struct host *host, const struct call *call);

/* --- answer.c: what the answer of a call does to the model --- */

/* Takes an answer OK into the model that ended a block, or a hold of one: that breaks no rule. */
void judge_take_end(struct host *host, const struct call *call);
/* Takes an answer OK into the model. */
bool judge_take_success(struct judge *judge, struct host *host, const struct call *call);
/* The result is one that the request can get, and an answer FAILED says why. */
bool judge_status(struct judge *judge, const struct host *host, const struct call *call);

/* --- contents.c: the bytes that mark a block as itself, and whether they are still there --- */

/* The block's bytes are its own from now on; and whether they still are. */
void judge_stamp(const struct host *host, uint32_t slot);
bool judge_has_contents(const struct host *host, uint32_t slot);
/* Every block's bytes are its own, and nothing else is known of the memory. */
void judge_stamp_all(const struct host *host);
/* Clear what became free of its contents; the second also tells a target without queued frees. */
void judge_clear_gone(struct host *host);
void judge_free_deferred(struct host *host);
/* The block is nowhere, or without its contents: breaks the rule that says so. */
bool judge_lost(struct judge *judge, const struct host *host, uint32_t slot);
/* Every block's contents, after moves. */
bool judge_contents(struct judge *judge, const struct host *host);
/* Writes stamps into blocks without an address and reads them back (stamps.h).  The block that the
 * call names was read before it, each live one is read at a report. */
bool judge_stamps(struct judge *judge, const struct host *host, const struct call *call);

/* --- cost.c: what an op cost, held against what the contract promises of it --- */

/* Right after a call alone: judge->cost is what it cost.  The target may be asked about itself
 * afterwards, and that is no part of it. */
void judge_note_cost(struct judge *judge, const struct host *host, const struct call *call);
/* Does the same for a plain call, which is counted: judge->cost.calls is set. */
void judge_take_plain_cost(struct judge *judge, const struct call *call);
/* After the call was judged.  Says whether its cost is counted: not where a fault struck, and not
 * what nobody counts: sleep, wake, defragment.  Of a host that has_cost it is added to what ops
 * cost so far; sets *judge->verdict where a promise is broken, unless something graver is. */
void judge_op_cost(struct judge *judge, const struct host *host, const struct call *call);

/* --- counters.c, report.c: what the target says of itself, held against the model --- */

/* The counters equal the model's; with_holes: the largest hole, too, which costs a walk over the
 * blocks. */
bool judge_counters(struct judge *judge, const struct host *host, const struct target_stats *stats,
                    bool with_holes);
/* True if each counter is exact, as it nearly always is after an op.  That is right whatever the
 * contract says of it, unless late ones are followed.  Holes are not looked at. */
static inline bool judge_counters_are_exact(const struct judge *judge, const struct host *host,
                                            const struct target_stats *stats)
{
    const struct model_counters *is = model_counters(host->model);
    return judge->histories == NULL && stats->bytes_in_use == is->in_use_bytes &&
           stats->num_allocs == is->block_count && stats->bytes_limit == is->capacity_bytes &&
           stats->bytes_reserved == is->reserved_bytes &&
           stats->peak_bytes_reserved == is->peak_reserved_bytes &&
           stats->peak_bytes_in_use >= is->peak_low_bytes &&
           stats->peak_bytes_in_use <= is->peak_high_bytes &&
           stats->largest_alloc_size == is->largest_block_bytes;
}
/* Narrows the peak to what the target reports, which it cannot take back.  If it may have had that
 * peak, no more is left open. */
static inline void judge_narrow_peak(struct host *host, uint64_t peak_bytes)
{
    const struct model_counters *is = model_counters(host->model);
    if (is->peak_low_bytes != is->peak_high_bytes &&
        host->contract.counting[TARGET_COUNTER_PEAK_BYTES_IN_USE] == TARGET_COUNT_EXACT &&
        peak_bytes >= is->peak_low_bytes && peak_bytes <= is->peak_high_bytes) {
        model_widen_peak(host->model, peak_bytes, peak_bytes);
    }
}
/* The allocations report names each block once, largest first, and no two things share a handle. */
bool judge_report(struct judge *judge, const struct host *host);
/* True if all that the row says holds for the block, its address left out. */
static inline bool reported_row_is_of(const struct target_row *row, const struct block *block)
{
    return block->size_bytes == row->size_bytes && (enum block_kind)block->kind == row->kind &&
           (row->kind == BLOCK_PROGRAM || row->kind == BLOCK_RETIRED || /* neither is told a tag */
            block->tag == row->tag);
}

/* --- failed.c: a call that failed left all that can be seen of the target as it was --- */

/* True if the call, which failed, may have moved, evicted and awaited before that.  An answer that
 * is wrong by itself says nothing of what was needed, and any call may bring blocks back from host
 * memory. */
bool judge_may_mitigate(const struct judge *judge, const struct call *call);
/* A call that failed and may not mitigate did not; it left no stage in host memory but those of
 * blocks that are there alone; no evicted program has an image; and, of a call alone, the report
 * lists nothing of what it was asked for.  The last two are O(blocks): of out-of-memories one in
 * eight is looked at so, which depends on the number of the op.  Where blocks are and how large is
 * looked at with all places, numbers with all counters. */
bool judge_failed(struct judge *judge, const struct host *host, const struct call *call);

/* --- mitigations.c: when a request mitigates --- */

/* Judges a call alone.  The made call was granted, and the model shows the moment before it;
 * has_moved: something was copied or staged before it.  A request does not wait in vain for a
 * collective although it fits without that wait. */
bool judge_held_back(struct judge *judge, const struct host *host, const struct call *call,
                     const struct device_call *made, bool has_moved);
/* Judges in the same way that mitigations come in the order that binds them; completed_after:
 * completions when it returned. */
bool judge_order(struct judge *judge, const struct host *host, const struct call *call,
                 const struct device_call *made, uint64_t completed_after, bool has_moved);
/* Judges a call alone: an out-of-memory left no program that it had to evict. */
bool judge_last_eviction(struct judge *judge, const struct host *host, const struct call *call);

/* --- host_memory.c: the target's memory on the host --- */

/* Both rules are kept at this moment, after as many blocks, events and programs as there are. */
static inline bool judge_keeps_host_memory(const struct host *host)
{
    return device_keeps_host_memory(host->device, model_counters(host->model)->block_count +
                                                      timeline_pending_count(host->timeline) +
                                                      model_program_count(host->model));
}
/* After each call, or after calls that overlapped. */
bool judge_host_memory(struct judge *judge, const struct host *host);
/* After close: everything is given back. */
void judge_host_closed(struct judge *judge, const struct host *host);

/* --- log.c: the device calls of the log --- */

/* Slot of the program that the unload names; SLOT_NONE: no op made one of that number. */
uint32_t judge_unloaded_slot(const struct host *host, const struct device_call *unload);
/* True if the contract lets the op evict programs. */
bool judge_may_evict(const struct host *host, const struct op *op);
/* True if the block in the slot is an idle program, other than that of the call. */
bool judge_is_evictable(const struct call *call, uint32_t slot, const struct block *block);
/* The program that is unloaded may be evicted; may_evict: a call for which is under way. */
bool judge_eviction(struct judge *judge, const struct host *host, const struct device_call *unload,
                    bool may_evict);
/* Nothing lies where copy->made writes that is still needed.  stages: of calls that overlap; NULL:
 * every block has its place. */
bool judge_written(const struct rule_evidence *copy, const struct overlap_stages *stages);
/* Bounds that no single device call breaks. */
bool judge_bounds(struct judge *judge, const struct host *host);
/* Replays the log of a call alone in its order, takes what it did into the model, and says whether
 * it might; *moved is set when blocks were moved. */
bool judge_device_calls(struct judge *judge, struct host *host, const struct call *call,
                        bool *moved);

/* --- message.c: the error text of an out-of-memory --- */

/* The parts that the text must have. */
struct message_expected {
    bool is_program;
    uint64_t requested_bytes; /* of the block; 0 = only the stack can have failed */
    uint64_t stack_bytes;     /* of a program, as asked */
    uint64_t free_bytes, reserved_bytes;
    uint64_t reservable_low_bytes, reservable_high_bytes;
    uint64_t largest_hole_bytes;
    bool has_fragmentation; /* nothing ever moves and the free bytes would do: the text must say so
                             */
    /* Any size will do there: the contract does not say how much it is. */
    bool is_free_open, is_reserved_open, is_reservable_open, is_hole_open;
};

/* True when the text follows the grammar and each number that is not open prints as the model's.
 * Else reason says what is wrong, and *lacking which part it is, without its numbers. */
bool message_is_right(const char *text, const struct message_expected *expected,
                      const char **lacking, char *reason, size_t reason_bytes);

/* --- met.c: the blocks that the device calls of an op met, without a look at the others --- */

/* After a granted request that copied or staged.  True: those blocks are where they may be, with
 * their contents, and model and device say so, as after judge_places() and judge_contents().
 * False: nothing changed, and all blocks are to be looked at: there is something else to judge, or
 * something may be wrong, or they are few, or as many were looked at since all were.  So what a
 * target says of a block that no call met is asked at the latest when as many were moved as there
 * are, or when the run ends (judge_look_again).
 * O(met log blocks). */
bool judge_moves(struct judge *judge, struct host *host, const struct call *call);

/* --- oom.c: an out-of-memory, and a stack that was granted --- */

/* Judges the out-of-memory and its error text into *judge->verdict, with room for what is in host
 * memory; while a block is there and a call was refused in the op, and where others of the process
 * take from the device, the verdict stays NONE.  False: a promise is broken and the run ends, or
 * our judges disagree. */
bool judge_no_memory(struct judge *judge, struct host *host, const struct call *call);
/* A load returned OK, and its image is in the model: *proof is the oracle's verdict on the state
 * after it, as if the stack alone had been refused there.  NONE: it can be reserved for certain.
 * DISPUTED: our judges disagree, and *judge->verdict says so.  judge->oom is that state. */
void judge_loaded_stack(struct judge *judge, const struct host *host, const struct call *call,
                        uint64_t stack_bytes, struct verdict *proof);

/* --- places.c: where blocks are after an op, as far as the target and the log can say --- */

enum block_place {
    PLACE_DEVICE, /* at an address */
    PLACE_HOST,   /* in host memory alone: the block is absent */
    PLACE_NONE    /* the target says of no place that it is there, and it is not in host memory */
};
/* at->address is set for PLACE_DEVICE alone; so is at->size_bytes: 0 = the target was not asked, or
 * does not say. */
enum block_place judge_find_place(const struct judge *judge, const struct host *host,
                                  const struct call *call, uint32_t slot, struct target_block *at);
/* The op took the handle of the block that it names. */
bool judge_ended_handle(const struct call *call, uint32_t slot);
/* Asks where all blocks are now and checks each change of place; moved: blocks were copied. */
bool judge_places(struct judge *judge, struct host *host, const struct call *call, bool moved);
/* Nothing was moved since the last op, and the block is where it was, with its contents. */
bool judge_touched(struct judge *judge, const struct host *host, const struct call *call);

/* --- regions.c: which regions of the device the target holds, and where the blocks lie --- */

/* All are true at once if the contract does not grow. */

/* A region was given back in the call: nothing lay there but what the call ends. */
bool judge_region_given(struct judge *judge, const struct host *host, const struct call *call,
                        const struct device_call *given);
/* The model takes the regions that the device shows, and each block lies in one.  call: what it
 * ends is not asked about yet; NULL: all are.  O(blocks) after a change. */
bool judge_regions(struct judge *judge, struct host *host, const struct call *call);
/* The target is closed: it holds none. */
void judge_regions_closed(struct judge *judge, const struct host *host);
/* After oom_take() of a request that was refused: where a shared device has no room for the region
 * that it needs, also once all is done that the contract promises before, the device and *oom take
 * that for a region refused.  Nothing where the device is not shared, or nothing grows. */
void judge_pool(const struct host *host, struct oom *oom);

/* --- regret.c: what a request cost beyond what it had to --- */

/* The first eviction or move of a request: what it spends is held against the cheapest plan from
 * here.  judge->before becomes the state, unless the model knows that no plan moves fewer bytes
 * than the calls of the op do; then judge->is_cheapest is set, and judge->is_granule_short says of
 * the state what a probe asks. */
void judge_begin_spending(struct judge *judge, const struct host *host, const struct call *call);
/* Sets judge->regret to what the op regrets. */
void judge_look_back(struct judge *judge, const struct host *host, const struct call *call);

/* --- sleep.c: a target that sleeps and wakes --- */

/* OP_SLEEP or OP_WAKE. */
bool judge_is_sleep(const struct op *op);
/* After any call: takes a sleep or a wake that was OK into the model, and looks at how much memory
 * the target has. */
bool judge_take_sleep(struct judge *judge, struct host *host, const struct call *call);
/* After a sleep or a wake that leaves the target awake, once its places are known: what its blocks
 * hold, and what is left of the sleep in host memory. */
bool judge_after_sleep(struct judge *judge, struct host *host, const struct call *call);

#endif
