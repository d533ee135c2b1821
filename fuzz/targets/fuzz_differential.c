/* Checks that one op list, played on several allocators, gets answers that fit each other: on the
 * allocator that is fuzzed with defrag=none, slide and repack, and on first_fit, which awaits,
 * moves and evicts nothing.
 *
 * The contract that the input names leads: relative references and fits are resolved in its run,
 * and the others play what it recorded.  Faults and ops for one client alone (deal_is_for_one())
 * are taken out: their effects depend on the device calls that an allocator makes, and on whether
 * it sleeps or records.  These rules hold for any two of them:
 *
 *  1. Each run alone keeps every rule.
 *  2. Each verdict on an out-of-memory is what trying everything says, where the state is small
 *     enough.
 *  3. Room.  When both are in the same state (the blocks, where each is, and until when it is used,
 *     held, dying) and the right one promises all that the left one does, then the mitigations of
 *     the right one reach every state that those of the left one reach.  Where the left one found
 *     room, an out-of-memory of the right one is premature. The left one comes before the right one
 *     among first_fit, none, slide, repack.  Only the same state counts: contracts alone imply
 *     nothing about states that moves or another choice of holes have driven apart.  Neither does
 *     it count when the left one waited longer than the last queued free takes, which nobody
 *     promises.
 *  4. A request is invalid because of what is asked, whatever is in the heap: it is for all, or for
 *     none.
 *  5. As long as all answers were the same, at the same time, with the same events done, with
 *     blocks of the same size and without an eviction (after which images differ), the same bytes
 *     are in use and reserved, wherever blocks are.
 *
 * Not implied, and not checked: that a stronger contract meets more requests over a whole list
 * (what it met before may stand in the way), and anything about addresses. */
#include "fuzz/engine.h"
#include "fuzz/finding.h"
#include "fuzz/subject.h"
#include "fuzz/variant.h"
#include "harness/base/check.h"
#include "harness/generate/faulting.h"
#include "harness/lanes/deal.h"
#include "targets/targets.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The variants stand in the order of what they promise, the least first. */
enum { VARIANT_COUNT = 4, LEADER_DEFAULT = 3 };
/* Each op is run four times.  Hosts know nothing of each other: more of them only cost time. */
enum { OPS_MAX = 2048, HOSTS_MAX = 4 };

static const char name[] = "fuzz_differential";
static struct variant variants[VARIANT_COUNT];

static void open_variants(void)
{
    static const char *const defrags[VARIANT_COUNT] = {NULL, "none", "slide", "repack"};
    for (unsigned i = 0; i < VARIANT_COUNT; i++) {
        variants[i] = (struct variant){.fuzz_target = name,
                                       .target = defrags[i] == NULL ? &target_first_fit : subject(),
                                       .target_name = defrags[i] == NULL ? target_first_fit.name
                                                                         : subject_name(),
                                       .defrag = defrags[i]};
    }
}

static struct variant *find_leader(const struct setup *setup)
{
    const char *defrag = setup_option(setup, "defrag");
    for (unsigned i = 1; i < VARIANT_COUNT && defrag != NULL; i++) {
        if (strcmp(variants[i].defrag, defrag) == 0) {
            return &variants[i];
        }
    }
    return &variants[LEADER_DEFAULT];
}

/* Leaves what the comparison is about. */
static void reduce_size(struct input *input)
{
    static bool keep[OPS_MAX];
    struct op_list *ops = &input->ops;
    bool drops = false;
    input->faults = (struct fault_options){0};
    input_set_host_count(input,
                         input->setup.host_count < HOSTS_MAX ? input->setup.host_count : HOSTS_MAX);
    ops->count = ops->count < OPS_MAX ? ops->count : OPS_MAX;
    for (size_t i = 0; i < ops->count; i++) {
        const uint8_t kind = ops->ops[i].kind;
        ops->ops[i].host = (uint8_t)(ops->ops[i].host % input->setup.host_count);
        keep[i] = kind != OP_FAULT && kind != OP_SWITCH && !deal_is_for_one((enum op_kind)kind);
        drops = drops || !keep[i];
    }
    if (drops) {
        op_list_filter(ops, keep);
    }
}

/* --- two of them --- */

struct judge_pair {
    struct variant *left, *right;
    struct input *input; /* that both have played */
};

_Noreturn __attribute__((format(printf, 4, 5))) static void end_pair(const struct judge_pair *pair,
                                                                     size_t op,
                                                                     enum finding_check check,
                                                                     const char *reason, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, reason);
    (void)vsnprintf(text, sizeof text, reason, arguments);
    va_end(arguments);
    pair->input->ops.count = op + 1;
    finding_print_ops(pair->left->target_name, &pair->left->setup, &pair->input->ops);
    finding_print_ops(pair->right->target_name, &pair->right->setup, &pair->input->ops);
    finding_end_check(name, check, "op %zu, %s %s on the left, %s %s on the right: %s", op,
                      pair->left->target_name, pair->left->defrag == NULL ? "" : pair->left->defrag,
                      pair->right->target_name,
                      pair->right->defrag == NULL ? "" : pair->right->defrag, text);
}

static bool has_equal_blocks(const struct oom *a, const struct oom *b)
{
    bool are_equal = a->capacity_bytes == b->capacity_bytes &&
                     a->granule_bytes == b->granule_bytes && a->block_count == b->block_count;
    for (size_t i = 0; are_equal && i < a->block_count; i++) {
        const struct oom_block *x = &a->blocks[i], *y = &b->blocks[i];
        are_equal = x->address == y->address && x->size_bytes == y->size_bytes &&
                    x->align_bytes == y->align_bytes && x->stack_bytes == y->stack_bytes &&
                    x->used_until_ns == y->used_until_ns && x->freed_at_ns == y->freed_at_ns &&
                    x->op == y->op && x->hold_count == y->hold_count && x->kind == y->kind &&
                    x->state == y->state;
    }
    return are_equal;
}

static bool has_all_promises(const struct oom *right, const struct oom *left)
{
    return right->defrag >= left->defrag && right->drains >= left->drains &&
           right->evicts >= left->evicts &&
           right->program_evicts_program >= left->program_evicts_program;
}

/* When the last queued free that can go by itself is done; 0 when nobody may wait for it. */
static uint64_t find_last_free_ns(const struct oom *oom)
{
    uint64_t last_ns = 0;
    for (size_t i = 0; i < oom->block_count && oom->drains; i++) {
        const struct oom_block *block = &oom->blocks[i];
        const bool is_awaited = block->state == BLOCK_DYING && block->hold_count == 0 &&
                                block->freed_at_ns != DELAY_NEVER && block->freed_at_ns > last_ns;
        last_ns = is_awaited ? block->freed_at_ns : last_ns;
    }
    return last_ns;
}

/* The left one has found room and the right one has not, in what may be the same state: looks at it
 * whole. */
static void check_room(const struct judge_pair *pair, size_t op)
{
    static struct oom left, right;
    const uint8_t host = pair->input->ops.ops[op].host;
    const uint64_t now_ns = variant_state(pair->left, pair->input, op, host, &left);
    (void)variant_state(pair->right, pair->input, op, host, &right);
    const uint64_t last_ns = find_last_free_ns(&left);
    const bool has_waited_too_long = pair->left->notes[op].now_ns >
                                     (last_ns > now_ns ? last_ns : now_ns);
    if (has_equal_blocks(&left, &right) && has_all_promises(&right, &left) &&
        !has_waited_too_long) {
        end_pair(pair, op, FINDING_CONTRACT_LOSES_ROOM,
                 "in the same state the left finds room and the right reports out-of-memory");
    }
}

static void check_op(const struct judge_pair *pair, size_t i)
{
    const struct op *op = &pair->input->ops.ops[i];
    const struct variant_note *left = &pair->left->notes[i], *right = &pair->right->notes[i];
    if (!variant_op_is_request(op) || left->is_skipped || right->is_skipped) {
        return;
    }
    if (op->kind != OP_EXECUTE &&
        (left->result == TARGET_INVALID) != (right->result == TARGET_INVALID)) {
        end_pair(pair, i, FINDING_INVALID_DIFFERS,
                 "only one of them reports that the request is invalid");
    }
    if (left->state == right->state && left->result == TARGET_OK &&
        right->result == TARGET_NO_MEMORY) {
        check_room(pair, i);
    }
}

/* True if the op leaves the same live and dying blocks on both sides when they had the same
 * before. */
static bool is_kept_together(const struct variant_note *left, const struct variant_note *right)
{
    return left->is_skipped == right->is_skipped && left->result == right->result &&
           left->size_bytes == right->size_bytes && left->now_ns == right->now_ns &&
           left->pending == right->pending && left->unload_count == 0 && right->unload_count == 0;
}

static void compare_answers(const struct judge_pair *pair)
{
    const size_t count = pair->input->ops.count;
    bool are_together = true;
    CHECK(pair->left->note_count == count);
    CHECK(pair->right->note_count == count);
    for (size_t i = 0; i < count; i++) {
        const struct variant_note *left = &pair->left->notes[i], *right = &pair->right->notes[i];
        check_op(pair, i);
        are_together = are_together && is_kept_together(left, right);
        if (are_together && (left->in_use_bytes != right->in_use_bytes ||
                             left->reserved_bytes != right->reserved_bytes)) {
            end_pair(pair, i, FINDING_COUNTERS_DIFFER,
                     "in use %" PRIu64 " and %" PRIu64 " bytes, reserved %" PRIu64 " and %" PRIu64,
                     left->in_use_bytes, right->in_use_bytes, left->reserved_bytes,
                     right->reserved_bytes);
        }
    }
}

/* --- all of them --- */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static struct input input;
    bool is_there[VARIANT_COUNT] = {false};
    if (variants[0].target == NULL) {
        input_init(&input);
        open_variants();
    }
    input_decode(bytes, length, &input);
    reduce_size(&input);
    struct variant *leading = find_leader(&input.setup);
    const struct run *run = variant_play(leading, &input);
    if (run == NULL) {
        return 0;
    }
    op_list_copy(&input.ops, run_ops(run));
    for (unsigned i = 0; i < VARIANT_COUNT; i++) {
        is_there[i] = &variants[i] == leading || variant_play(&variants[i], &input) != NULL;
    }
    for (unsigned i = 0; i < VARIANT_COUNT; i++) {
        for (unsigned k = i + 1; k < VARIANT_COUNT; k++) {
            if (is_there[i] && is_there[k]) {
                compare_answers(&(struct judge_pair){&variants[i], &variants[k], &input});
            }
        }
    }
    return 0;
}
