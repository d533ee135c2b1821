/* One pass over an overlap (pass.c), as its parts share it: what is known of each call so far,
 * how far the log was read, where blocks are meanwhile, and when calls take effect in the model. */
#ifndef HARNESS_RULES_PRIVATE_PASS_H
#define HARNESS_RULES_PRIVATE_PASS_H

#include "harness/base/align.h"
#include "harness/rules/overlap.h"

#include <stddef.h>
#include <string.h>

/* --- stages.c --- */

/* The stages that are taken out of blocks, or brought back, while calls overlap: which block each
 * holds, and whether that may have lost its place to something else. */

/* The contents of a stage that was taken out, if a block was there. */
struct staged {
    const struct host *host;
    uint64_t stage;
    uint32_t slot, op;
    bool is_back;  /* what it held has a place since */
    bool may_stay; /* while nobody kept it in place the device refused a call, so that nobody knows
                      where the target stopped, or something else was written there: from then on it
                      may be in host memory alone, where a hold does not say at which address it is
                    */
};

/* Zero is a valid start. */
struct overlap_stages {
    struct staged *staged; /* count of them */
    size_t count, capacity;
};
void overlap_stages_deinit(struct overlap_stages *stages);

/* The next device call of the log, one that took a stage out. */
void overlap_stages_take_out(struct overlap_stages *stages, const struct host *host,
                             const struct device_call *made);
/* The next device call of the log, one that brings a stage back: what was taken out before any of
 * these calls, and is in host memory alone since, is known from here on. */
void overlap_stages_take_in(struct overlap_stages *stages, const struct host *host,
                            const struct device_call *made);
/* The next device call of the log, one that was refused. */
void overlap_stages_take_refused(const struct overlap_stages *stages, const struct host *host,
                                 const struct device_call *made);
/* Returns what is known of the stage, until the next is taken out; NULL: no block lay where it was
 * taken out, or it is gone. */
struct staged *overlap_stages_find(const struct overlap_stages *stages, const struct host *host,
                                   uint64_t stage);
/* True if a stage of the block was taken out: once its place is overwritten it is in host memory
 * alone.  is_alone: it may be there alone already, because device work on it had its place back
 * then; an event that it is freed with later keeps no place. */
bool overlap_stages_hold(const struct overlap_stages *stages, const struct host *host,
                         uint32_t slot, bool is_alone);

/* Something else lies where the block was. */
void overlap_stages_strand(const struct overlap_stages *stages, struct host *host, uint32_t slot);
/* Blocks in the range of which a stage was taken out have gone to host memory: something else was
 * placed there. */
void overlap_stages_strand_in(const struct overlap_stages *stages, struct host *host,
                              uint64_t start, uint64_t end);
/* Strands what may stay in host memory if the target gives no address for it: it is in host memory
 * alone.  A later hold, or its being freed, does not speak against that.  The caller writes the
 * stages before, and looks for places after. */
void overlap_stages_strand_refused(const struct overlap_stages *stages, struct host *host);
/* Writes the block to the stages that were taken out of it and have not ended. */
void overlap_stages_stamp(const struct overlap_stages *stages, const struct host *host,
                          uint32_t slot);

/* --- moves.c: moves --- */

/* Follows blocks while calls overlap.  A copy alone does not say that its block moved: the target
 * may have thought better of it.  Afterwards it says where each block is, and the copies that lead
 * there are the moves. */

struct overlap_slots {
    struct {
        const struct host *host;
        uint32_t slot;
    } * slots; /* count of them */
    size_t count, capacity;
};

/* A thing that an op made, at an address; so many of its bytes keep their contents. */
struct overlap_thing {
    uint32_t op;
    uint64_t bytes, address;
};

/* Zero is a valid start, but for let_go. */
struct overlap_moves {
    /* a held block moves: it was released before if it could be */
    void (*let_go)(void *context, const struct host *host, uint32_t slot);
    void *context;
    bool has_moved;             /* something was copied or staged */
    struct overlap_slots young; /* blocks that came into being meanwhile, or anew */
    /* where by the contract no block moves past another: those of each host, in the order in which
     * they lay before the first move; a bit for each such host */
    struct overlap_slots sequence;
    uint64_t noted_hosts;
    uint32_t *copied; /* the slots of the copy that is taken in */
    size_t copied_capacity;
    struct overlap_stages stages;
};
void overlap_moves_deinit(struct overlap_moves *moves);

void overlap_moves_add_young(struct overlap_moves *moves, const struct host *host, uint32_t slot);
/* The next device call of the log, a copy or stage that was granted.  False: a promise is broken.
 */
bool overlap_moves_take(struct overlap_moves *moves, struct judge *judge, struct host *host,
                        const struct device_call *made);
/* Every block has its place: those that are there from the first move to the end, and may not move
 * past each other, are in the same order, whatever happened in between.  False: a promise is
 * broken.
 */
bool overlap_moves_judge_order(const struct overlap_moves *moves, struct judge *judge,
                               const struct host *host);
/* True if what the op made is at the address in the end, as far as that can be asked. */
bool overlap_moves_ends_at(const struct host *host, uint32_t op, uint64_t address);
/* True if the copy or stage of the log, which begins with the thing's address, can have taken it to
 * where it is in the end, or if that cannot be asked. */
bool overlap_moves_may_have_taken(const struct host *host, const struct device_call *made,
                                  const struct overlap_thing *thing);
/* True if the copy or stage of the log took the thing away from its address, as far as that can be
 * asked: it leads to where the thing is in the end, and no later one leads there. */
bool overlap_moves_took_away(const struct host *host, const struct device_call *made,
                             const struct overlap_thing *thing);
/* Writes what came into being to the stages that were taken out of it and have not ended; before
 * places are looked for.  It may be in host memory alone though nothing was copied over its place:
 * that is kept for another block. */
void overlap_moves_stamp_staged(const struct overlap_moves *moves, const struct host *host);
/* Every block has its place: those that came into being are written where they are. */
void overlap_moves_stamp(const struct overlap_moves *moves, const struct host *host);

/* --- the pass --- */

/* A call as the pass knows it. */
struct pending {
    bool is_under_way, is_done; /* done: its effect is in the model */
    size_t return_index;        /* of the mark at which it returns */
    bool is_excused;            /* an out-of-memory: nothing fitted at some instant */
    bool is_unknown;            /* at some instant the search ended without an answer */
    bool was_blind;             /* at some instant it could not be told where a block was */
    bool has_oom;               /* oom is the state of the instant that decided */
    struct oom oom;
    uint64_t nodes;
    bool is_noted;          /* its effect broke a rule that does no harm: noted says which */
    struct verdict verdict; /* on that state; large, so only has_oom makes it mean something */
    struct verdict noted;   /* the same with is_noted: told when the call returns */
};
struct pass {
    struct judge *judge;
    struct overlap *overlap;
    struct pending *pending; /* by call */
    struct overlap_moves moves;
    struct oom oom; /* the state of the instant that is asked for; the judge's is that of the call
                       told last */
    uint32_t device_call_counts[OP_HOST_COUNT_MAX]; /* taken in */
    uint64_t in_use_before[OP_HOST_COUNT_MAX], taken_bytes[OP_HOST_COUNT_MAX];
    uint64_t peak_low_before[OP_HOST_COUNT_MAX];
    uint32_t current; /* the call that is blamed */
};

static inline struct overlap_call *call_at(const struct pass *pass, size_t i)
{
    return &pass->overlap->calls[i];
}

/* The rest of the reason means nothing, and it is large. */
static inline void clear_verdict(struct verdict *verdict, uint32_t op)
{
    memset(verdict, 0, offsetof(struct verdict, reason) + 1);
    verdict->kind = VERDICT_NONE;
    verdict->rule = RULE_NONE;
    verdict->op = op;
}

/* True if the call is under way and has not had its effect yet. */
static inline bool is_open(const struct pass *pass, size_t i)
{
    return pass->pending[i].is_under_way && !pass->pending[i].is_done;
}

/* The block or program that the call names. */
static inline uint32_t slot_named(const struct host *host, const struct call *call)
{
    const struct op_kind_info *info = op_kind_info(call->op.kind);
    return info->has_block || info->has_program ? model_slot_of_op(host->model, call->op.ref)
                                                : SLOT_NONE;
}

/* Returns what an execution reserves at the bottom; the model may not have the program yet. */
static inline uint64_t stack_of(const struct pass *pass, const struct overlap_call *over)
{
    const struct op_list *ops = pass->judge->ops;
    const uint32_t load = over->call.op.ref;
    if (over->call.op.kind != OP_EXECUTE || load >= ops->count || ops->ops[load].kind != OP_LOAD) {
        return 0;
    }
    return align_up(ops->ops[load].stack_bytes, over->host->contract.granule_bytes);
}

/* --- effects.c --- */

/* When calls that overlap take effect in the model: what takes memory as soon as its range is free
 * and nothing speaks against it, what gives memory back as late as the others' answers allow. */

/* True if the call gives memory back, now or when an event is done. */
bool overlap_effects_gives_back(const struct call *call);
/* True if the call takes a range of the device, whatever lies there now. */
bool overlap_effects_is_taking(const struct pass *pass, uint32_t number);

/* Something changed: whoever can take effect does.  False: a promise is broken, by the call
 * pass->current. */
bool overlap_effects_take(struct pass *pass);
/* The device was asked to write where made->to is: calls under way that give back what lies there
 * do so now. */
void overlap_effects_give_way(struct pass *pass, const struct host *host,
                              const struct device_call *made);
/* The call returns: at the latest now it has its effect.  False: a promise is broken. */
bool overlap_effects_finish(struct pass *pass, uint32_t number);

/* The log says that a call under way has had its effect: the program that the op loads is evicted;
 * what is copied is nothing that the model knows; a held block in the slot moves (context: the
 * pass), so that it was released.  False: a promise is broken. */
bool overlap_effects_bring(struct pass *pass, const struct host *host, uint64_t op);
bool overlap_effects_bring_source(struct pass *pass, const struct host *host,
                                  const struct device_call *made);
void overlap_effects_let_go(void *context, const struct host *host, uint32_t slot);

/* --- oom.c --- */

/* Out-of-memories of calls that overlap: each is held against every instant between its call and
 * its return, and one at which nothing fitted excuses it. */

/* Something changed: every out-of-memory under way that is not excused yet is held against what is
 * now.  Each costs one search, or two where calls under way may have had effects that leave less
 * room. */
void overlap_oom_ask(struct pass *pass);
/* The call returns: if it is an out-of-memory, the verdict on the instant that decided is the
 * judge's, and so is the state then.  False: a promise is broken. */
bool overlap_oom_finish(struct pass *pass, uint32_t number);

/* --- overlap_orders.c --- */

/* Other orders of the effects of calls that overlap.  The order of effects.c leaves least
 * room as long as nobody gets the place of what a call under way gives back: then room was made and
 * taken, and more may be taken than was given. */

enum { OVERLAP_ORDERS_TAKER_COUNT_MAX = 6 };

/* Calls under way on one host that take memory, and do not in the model, because
 * something lies there or speaks against it. */
struct overlap_orders {
    uint32_t takers[OVERLAP_ORDERS_TAKER_COUNT_MAX];
    uint32_t taker_count;
    bool has_more; /* than are looked at */
};

/* Returns the orders that are possible before the call `number`, under way, was answered. */
struct overlap_orders overlap_orders_find(const struct pass *pass, uint32_t number);

/* Puts into *oom, the state as the model has it, what the takers of the set got (bit per taker), in
 * the place of what may have gone for them.  False: those may not have been there together, and
 * *oom is of no use. */
bool overlap_orders_apply(const struct pass *pass, const struct overlap_orders *orders,
                          uint32_t set, struct oom *oom);

/* Returns what a call that takes memory got, no larger than the contract allows; the rest is
 * surplus. Of an execution it is the image, and in use. */
struct oom_block overlap_orders_make(const struct pass *pass, const struct overlap_call *over);

/* Puts the block into *oom, where nothing lies in its range: at its place among the others. */
void overlap_orders_put(struct oom *oom, const struct oom_block *block);

#endif
