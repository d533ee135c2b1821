#include "bug/report_bug.h"

#include "campaign/base/interrupt.h"
#include "campaign/process/child.h"
#include "harness/base/check.h"
#include "harness/op/rounding.h"
#include "harness/run/run.h"
#include "recording/recording.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A block that the allocator has not got back. */
struct open_block {
    uint32_t op;        /* that made it, or took it over */
    uint32_t number;    /* of the call that made it */
    uint32_t last_wait; /* the last op that made it wait: queued frees end in this order */
};

/* The arrays lie behind it: calls, then blocks. */
struct bug_calls {
    size_t bytes; /* of the whole mapping */
    size_t call_capacity, block_capacity;
    size_t call_count, open_count;
    size_t listed_count; /* calls up to the last op; behind it the blocks that then go */
    uint32_t block_count;
    bool is_opened, has_finding;
    struct verdict verdict;
    struct bug bug; /* without pointers */
    char refusal[BUG_REFUSAL_BYTES];
    char reason[VERDICT_REASON_BYTES];
    struct bug_call calls[];
};

static struct open_block *open_blocks(struct bug_calls *calls)
{
    return (struct open_block *)(void *)&calls->calls[calls->call_capacity];
}

struct bug_calls *bug_calls_create(size_t op_count)
{
    /* Each op makes one call, and ends blocks that calls made. */
    const size_t call_capacity = 2 * op_count + 1;
    const size_t bytes = sizeof(struct bug_calls) + call_capacity * sizeof(struct bug_call) +
                         (op_count + 1) * sizeof(struct open_block);
    struct bug_calls *calls = shared_memory_create(bytes);
    if (calls == NULL) {
        return NULL;
    }
    calls->bytes = bytes;
    calls->call_capacity = call_capacity;
    calls->block_capacity = op_count + 1;
    return calls;
}

void bug_calls_destroy(struct bug_calls *calls)
{
    if (calls != NULL) {
        shared_memory_destroy(calls, calls->bytes);
    }
}

/* --- in the child: what each op did --- */

static struct bug_call *add_call(struct bug_calls *calls, enum bug_call_kind kind, uint32_t op,
                                 uint32_t block)
{
    CHECK(calls->call_count < calls->call_capacity);
    struct bug_call *call = &calls->calls[calls->call_count];
    *call = (struct bug_call){.kind = kind, .op = op, .block = block};
    calls->call_count++;
    return call;
}

/* Adds a free with the numbers of its request. */
static void add_free(struct bug_calls *calls, uint32_t op, uint32_t block)
{
    struct bug_call *call = add_call(calls, BUG_FREE, op, block);
    for (const struct bug_call *made = calls->calls; made < call; made++) {
        if (made->block == block) {
            *call = *made;
            call->kind = BUG_FREE;
            call->op = op;
            return;
        }
    }
}

static void add_request(struct bug_calls *calls, const struct op *op, uint32_t number,
                        enum bug_call_kind kind)
{
    const uint64_t granule = calls->bug.granule_bytes;
    const uint64_t align = op->align_log2 == 0 ? 0 : UINT64_C(1) << op->align_log2;
    struct bug_call *call = add_call(calls, kind, number, calls->block_count++);
    call->asked_bytes = op->size_bytes;
    call->size_bytes = (op->size_bytes + granule - 1) / granule * granule;
    call->align_bytes = align > granule ? align : 0;
}

static struct open_block *find_open(struct bug_calls *calls, uint32_t op)
{
    struct open_block *blocks = open_blocks(calls);
    for (size_t i = 0; i < calls->open_count; i++) {
        if (blocks[i].op == op) {
            return &blocks[i];
        }
    }
    return NULL;
}

/* Finds the block that is gone and waited first; NULL: none is. */
static struct open_block *find_gone(struct bug_calls *calls, const struct model *model)
{
    struct open_block *blocks = open_blocks(calls), *first = NULL;
    for (size_t i = 0; i < calls->open_count; i++) {
        if (model_slot_of_op(model, blocks[i].op) == SLOT_NONE &&
            (first == NULL || blocks[i].last_wait < first->last_wait)) {
            first = &blocks[i];
        }
    }
    return first;
}

/* Adds the frees of blocks that ended in the op, before its own request: a drain comes first. */
static void add_frees(struct bug_calls *calls, const struct model *model, uint32_t number)
{
    struct open_block *blocks = open_blocks(calls);
    for (struct open_block *gone; (gone = find_gone(calls, model)) != NULL;) {
        add_free(calls, number, gone->number);
        *gone = blocks[--calls->open_count];
    }
}

static void refuse_op(struct bug_calls *calls, const struct op *op, uint32_t number,
                      const char *why)
{
    snprintf(calls->refusal, sizeof calls->refusal, "op %" PRIu32 " (%s) %s", number,
             op_kind_info((enum op_kind)op->kind)->name, why);
}

/* Returns true if the kind is a call of an allocator, or one that the allocator does not see. */
static bool may_be_shown(enum op_kind kind)
{
    switch (kind) {
    case OP_ALLOC:
    case OP_OUTPUT:
    case OP_FREE:
    case OP_FREE_AFTER:
    case OP_USE:
    case OP_HOLD:
    case OP_RELEASE:
    case OP_DONATE:
    case OP_DEFRAGMENT:
    case OP_COMPLETE:
    case OP_ADVANCE:
    case OP_TOUCH:
    case OP_REPORT:
        return true;
    default:
        return false;
    }
}

static void take_waits(struct bug_calls *calls, const struct op *op, uint32_t number)
{
    const bool may_wait = op->kind == OP_FREE || op->kind == OP_FREE_AFTER || op->kind == OP_USE;
    struct open_block *block = may_wait || op->kind == OP_DONATE ? find_open(calls, op->ref) : NULL;
    if (block == NULL) {
        return;
    }
    if (may_wait) {
        block->last_wait = number;
    } else {
        block->op = number; /* the block is named by the new output */
    }
}

static void take_request(struct bug_calls *calls, const struct run *run, const struct op *op,
                         uint32_t number)
{
    const struct observation *seen = run_observation(run);
    if (seen->result == TARGET_NO_MEMORY) {
        add_request(calls, op, number, BUG_REFUSED);
    } else if (seen->result == TARGET_OK) {
        add_request(calls, op, number, BUG_ALLOC);
        struct bug_call *call = &calls->calls[calls->call_count - 1];
        call->address = seen->address;
        call->taken_bytes = seen->size_bytes;
        CHECK(calls->open_count < calls->block_capacity);
        open_blocks(calls)[calls->open_count++] = (struct open_block){
            .op = number, .number = call->block, .last_wait = number};
    }
}

/* False: the op is none that a program can show. */
static bool take_op(struct bug_calls *calls, const struct run *run, uint32_t number)
{
    const struct op *op = &run_ops(run)->ops[number];
    const struct observation *seen = run_observation(run);
    const struct model *model = run_model(run, 0);
    if (seen->skipped) {
        return true;
    }
    if (!may_be_shown((enum op_kind)op->kind)) {
        refuse_op(calls, op, number, "is no allocation and no free");
        return false;
    }
    if (op_stream(op) != 0 && model_contract(model)->stream_ordered) {
        refuse_op(calls, op, number, "is on a stream");
        return false;
    }
    if (seen->copy_count + seen->stage_count > 0) {
        refuse_op(calls, op, number, "moves blocks");
        return false;
    }
    if (seen->result == TARGET_OK) {
        take_waits(calls, op, number);
    }
    const bool is_request = op->kind == OP_ALLOC || op->kind == OP_OUTPUT;
    add_frees(calls, model, number);
    if (is_request) {
        take_request(calls, run, op, number);
    }
    return true;
}

/* --- in the child: what the finding is --- */

static bool find_sign(enum rule rule, enum bug_sign *sign)
{
    static const struct {
        enum rule rule;
        enum bug_sign sign;
    } signs[] = {
        {RULE_PREMATURE, BUG_SIGN_REFUSED}, {RULE_OVERLAP, BUG_SIGN_OVERLAP},
        {RULE_OUTSIDE, BUG_SIGN_OUTSIDE},   {RULE_MISALIGNED, BUG_SIGN_MISALIGNED},
        {RULE_TOO_SMALL, BUG_SIGN_TAKEN},   {RULE_TOO_LARGE, BUG_SIGN_TAKEN},
        {RULE_CONTENTS, BUG_SIGN_CONTENTS}, {RULE_CRASH, BUG_SIGN_CRASH},
        {RULE_HANG, BUG_SIGN_HANG},
    };
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (signs[i].rule == rule) {
            *sign = signs[i].sign;
            return true;
        }
    }
    return false;
}

/* The region that is held now and has the address; none: the whole device. */
static void set_bounds(struct bug *bug, const struct model *model, const struct proof_plan *plan)
{
    const struct device_region *region = model_region_of(model, plan->address, 1);
    bug->from = region == NULL ? 0 : region->address;
    bug->to = region == NULL ? bug->capacity_bytes : region->address + region->size_bytes;
    bug->witness_address = plan->address;
    /* A new region would be the memory of another one below. */
    bug->has_places = bug->has_places && (region != NULL || !model_contract(model)->regions.grows);
}

static bool take_plan(struct bug_calls *calls, const struct run *run, const struct op *op)
{
    const struct proof *proof = run_prove(run);
    const struct oom *oom = run_oom(run);
    struct bug *bug = &calls->bug;
    if (proof->plan.move_count > 0 || proof->plan.evicted_count > 0 ||
        proof->plan.frees_awaited > 0) {
        refuse_op(calls, op, calls->verdict.op,
                  "is served only after blocks were moved, programs evicted or frees awaited");
        return false;
    }
    bug->need_bytes = (oom->request.size_bytes + oom->granule_bytes - 1) / oom->granule_bytes *
                      oom->granule_bytes;
    bug->align_bytes = oom->request.align_bytes;
    set_bounds(bug, run_model(run, 0), &proof->plan);
    return true;
}

static void take_finding(struct bug_calls *calls, const struct run *run,
                         const struct verdict *verdict)
{
    const struct op *op = &run_ops(run)->ops[verdict->op];
    const struct model *model = run_model(run, 0);
    const struct target_contract *contract = model_contract(model);
    struct bug *bug = &calls->bug;
    calls->verdict = *verdict;
    snprintf(calls->reason, sizeof calls->reason, "%s", verdict->reason);
    bug->need_bytes = rounding_bytes_max(&contract->rounding, contract->granule_bytes,
                                         op->size_bytes);
    bug->least_bytes = op->size_bytes;
    bug->align_bytes = op->align_log2 == 0 ? contract->granule_bytes
                                           : UINT64_C(1) << op->align_log2;
    if (verdict->kind == VERDICT_DISPUTED) {
        refuse_op(calls, op, verdict->op, "is one on which the judges disagree");
    } else if (!find_sign(verdict->rule, &bug->sign) || verdict->rule == RULE_HANG) {
        snprintf(calls->refusal, sizeof calls->refusal,
                 "it breaks %s, which calls of the allocator's own API do not show",
                 rule_info(verdict->rule)->name);
    } else if (verdict->kind != VERDICT_PREMATURE || take_plan(calls, run, op)) {
        calls->has_finding = true;
    }
}

/* Adds what run_finish frees, in its order: dying blocks go first, then the first of the live ones,
 * whose place the last one takes. */
static void add_last_frees(struct bug_calls *calls, const struct run *run, uint32_t number)
{
    struct open_block *blocks = open_blocks(calls);
    const struct model *model = run_model(run, 0);
    size_t count = model_live_count(model);
    uint32_t *ops = calloc(count + 1, sizeof *ops);
    CHECK(ops != NULL);
    for (size_t i = 0; i < count; i++) {
        ops[i] = model_live(model, i)->op;
    }
    for (size_t i = 0; i < calls->open_count; i++) {
        const struct block *block = model_find(model, blocks[i].op);
        if (block == NULL) {
            add_free(calls, number, blocks[i].number);
        }
    }
    while (count > 0) {
        const struct open_block *block = find_open(calls, ops[0]);
        ops[0] = ops[--count];
        if (block != NULL) {
            add_free(calls, number, block->number);
        }
    }
    free(ops);
}

static bool is_finding(const struct verdict *verdict)
{
    return verdict->kind == VERDICT_BROKEN || verdict->kind == VERDICT_PREMATURE ||
           verdict->kind == VERDICT_DISPUTED;
}

static void replay_list(struct bug_calls *calls, struct run *run, const struct op_list *ops)
{
    const struct target_contract *contract = model_contract(run_model(run, 0));
    calls->bug.capacity_bytes = run_setup(run)->capacity_bytes;
    calls->bug.granule_bytes = contract->granule_bytes;
    calls->bug.header_bytes = contract->header_bytes;
    calls->bug.has_places = contract->placement == PLACEMENT_RANGES;
    calls->is_opened = true;
    for (size_t i = 0; i < ops->count; i++) {
        const struct verdict *verdict = run_step(run, &ops->ops[i]);
        if (!take_op(calls, run, (uint32_t)i)) {
            return;
        }
        calls->listed_count = calls->call_count;
        if (is_finding(verdict)) {
            take_finding(calls, run, verdict);
            return;
        }
    }
    add_last_frees(calls, run, (uint32_t)ops->count);
    const struct verdict *verdict = run_finish(run);
    if (is_finding(verdict)) {
        snprintf(calls->refusal, sizeof calls->refusal,
                 "it breaks %s behind its last op, which calls of the allocator's own API do not "
                 "show",
                 rule_info(verdict->rule)->name);
    }
}

struct bug_work {
    const struct recording *recording;
    struct bug_calls *calls;
};

static void replay_in_child(void *context, int file)
{
    const struct bug_work *work = context;
    char reason[RUN_REASON_BYTES];
    (void)file;
    struct run *run = run_create(work->recording->target, &work->recording->setup, reason);
    if (run != NULL) {
        replay_list(work->calls, run, &work->recording->ops);
        run_destroy(run);
    }
}

/* --- in the parent --- */

/* The call under way when the process ended. */
static void add_last_call(struct bug_calls *calls, const struct recording *recording,
                          const struct death *death)
{
    const uint32_t number = death->progress.op;
    if (death->progress.phase != PROGRESS_OP || number >= recording->ops.count) {
        return;
    }
    const struct op *op = &recording->ops.ops[number];
    calls->call_count = calls->listed_count;
    if (op->kind == OP_ALLOC || op->kind == OP_OUTPUT) {
        add_request(calls, op, number, BUG_ALLOC);
    } else if (op->kind == OP_FREE || op->kind == OP_FREE_AFTER) {
        const struct open_block *block = find_open(calls, op->ref);
        if (block != NULL) {
            add_free(calls, number, block->number);
        }
    } else if (!may_be_shown((enum op_kind)op->kind)) {
        refuse_op(calls, op, number, "is no allocation and no free");
    }
}

static void take_death(struct bug_calls *calls, const struct recording *recording,
                       const struct death *death)
{
    char words[DEATH_WORDS_BYTES];
    death_describe(death, words);
    snprintf(calls->reason, sizeof calls->reason, "%s", words);
    if (calls->refusal[0] != '\0') {
        return; /* what it was refused for came before */
    }
    if (!find_sign(death_rule(death), &calls->bug.sign)) {
        snprintf(calls->refusal, sizeof calls->refusal, "it breaks %s",
                 rule_info(death_rule(death))->name);
        return;
    }
    calls->has_finding = true;
    add_last_call(calls, recording, death);
}

/* Returns why no program can be made of such a list; NULL: one can. */
static const char *find_flaw(const struct recording *recording)
{
    if (recording->setup.host_count > 1) {
        return "it has several hosts, and a program has one heap";
    }
    return lanes_are_in(&recording->ops) ? "it has lanes, and a program has one thread" : NULL;
}

static enum exit_code conclude(const char *path, struct bug_calls *calls, struct bug *bug)
{
    if (calls->refusal[0] != '\0') {
        return message_fail(EXIT_USAGE, "%s: no program can show it: %s", path, calls->refusal);
    }
    if (!calls->has_finding) {
        return message_fail(EXIT_USAGE, "%s: no call of it breaks a promise", path);
    }
    *bug = calls->bug;
    bug->calls = calls->calls;
    bug->call_count = calls->call_count;
    bug->block_count = calls->block_count;
    bug->reason = calls->reason;
    return EXIT_KEPT;
}

static enum exit_code run_child(const char *path, const struct run_options *run,
                                const struct recording *recording, struct bug_calls *calls)
{
    struct death death;
    struct bug_work work = {recording, calls};
    struct writing answer = {0};
    enum child_end end;
    const enum exit_code code = target_child(run, &death, replay_in_child, &work, &answer, &end);
    writing_deinit(&answer);
    if (code != EXIT_KEPT) {
        return code;
    }
    if (death.kind == DEATH_NONE && !calls->is_opened) {
        return message_fail(EXIT_HARNESS,
                            "%s: the target now refuses the setup that it accepted before", path);
    }
    if (death.kind != DEATH_NONE) {
        take_death(calls, recording, &death);
    }
    return EXIT_KEPT;
}

enum exit_code bug_calls_replay(const char *path, const struct run_options *run,
                                const struct recording *recording, struct bug_calls *calls,
                                struct bug *bug)
{
    const char *flaw = find_flaw(recording);
    if (flaw != NULL) {
        return message_fail(EXIT_USAGE, "%s: no program can show it: %s", path, flaw);
    }
    const enum exit_code code = run_child(path, run, recording, calls);
    return code == EXIT_KEPT ? conclude(path, calls, bug) : code;
}
