/* Whether a call returned, with the result that it can get, and with an error text that is right.
 */
#include "harness/base/check.h"
#include "harness/rules/judge_request.h"
#include "harness/rules/private/message.h"
#include "harness/rules/private/rules.h"

#include <inttypes.h>
#include <stdio.h>

#define REQUEST_BYTES_MAX ((uint64_t)1 << 63)

/* --- results --- */

/* What size_bytes makes of a request that can never be right. */
static bool is_invalid_request(const struct op *op)
{
    return (op->kind == OP_ALLOC || op->kind == OP_OUTPUT || op->kind == OP_LOAD) &&
           (op->size_bytes == 0 || op->size_bytes > REQUEST_BYTES_MAX ||
            (op->kind == OP_LOAD && op->stack_bytes > REQUEST_BYTES_MAX));
}

/* The op names a block whose contents are in host memory, and still are. */
static bool is_block_absent(const struct host *host, const struct call *call)
{
    const uint8_t kind = call->op.kind;
    const struct block *block = call->slot == SLOT_NONE ? NULL
                                                        : model_block(host->model, call->slot);
    return (kind == OP_USE || kind == OP_DONATE || kind == OP_EXECUTE) && block != NULL &&
           block->is_absent && device_has_staged(host->device, call->slot, block->requested_bytes);
}

static bool may_fail(const struct host *host, const struct call *call)
{
    /* To take note of memory that went bad needs nothing of the device. */
    const uint32_t excuses = call->op.kind == OP_RETIRE ? 1u << FAULT_HOST_MEMORY : UINT32_MAX;
    return (device_faults_fired(host->device) & excuses) != 0 || is_block_absent(host, call);
}

/* The call of the target that an op of this kind makes: some kinds share one. */
static const char *name_call(enum op_kind kind)
{
    const enum op_kind plain = kind == OP_OUTPUT       ? OP_ALLOC
                               : kind == OP_FREE_AFTER ? OP_FREE
                                                       : kind;
    return op_kind_info(plain)->name;
}

/* The op got a result that it cannot get. */
static bool break_result(const struct evidence *evidence, const char *result)
{
    char mechanism[VERDICT_MECHANISM_BYTES];
    const struct call *call = evidence->call;
    const char *op = op_kind_info(call->op.kind)->name;
    (void)snprintf(mechanism, sizeof mechanism, "%s returned %s", name_call(call->op.kind), result);
    const struct evidence named = evidence_named(evidence, mechanism);
    /* What a granted request that can never be right takes, nobody knows. */
    return call->result == TARGET_OK
               ? evidence_end(&named, RULE_STATUS, "%s returned %s", op, result)
               : evidence_break(&named, RULE_STATUS, "%s returned %s", op, result);
}

static bool judge_result(const struct evidence *evidence)
{
    static const char *const names[] = {"OK", "NO_MEMORY", "INVALID", "FAILED"};
    const struct call *call = evidence->call;
    const struct op *op = &call->op;
    if ((unsigned)call->result >= sizeof names / sizeof names[0]) {
        return evidence_end(evidence, RULE_STATUS, "the result is %u, which is no valid result",
                            (unsigned)call->result);
    }
    if (call->result == TARGET_FAILED && may_fail(evidence->host, call)) {
        return true;
    }
    if (is_invalid_request(op) != (call->result == TARGET_INVALID) ||
        call->result == TARGET_FAILED ||
        (call->result == TARGET_NO_MEMORY && !judge_is_request(op))) {
        return break_result(evidence, names[call->result]);
    }
    return true;
}

/* What is in host memory alone cannot be used. */
static bool judge_presence(const struct evidence *evidence)
{
    const uint8_t kind = evidence->call->op.kind;
    const bool needs_block = kind == OP_USE || kind == OP_DONATE || kind == OP_EXECUTE;
    return !needs_block || !evidence_block(evidence)->is_absent ||
           evidence_break(evidence, RULE_STATUS,
                          "%s returned OK, but the contents of block %" PRIu32
                          " are in host memory",
                          op_kind_info(kind)->name, evidence_block(evidence)->op);
}

/* A load that was granted: the oracle does not refute its stack; where it was not asked, the stack
 * is within the bound. */
static bool judge_loaded(const struct evidence *evidence)
{
    const struct verdict *proof = evidence->proof;
    const bool is_above_bound = evidence->size_bytes > evidence->reservable_bytes;
    const bool is_refuted = proof == NULL ? is_above_bound : proof->kind == VERDICT_JUSTIFIED;
    if (is_refuted && is_above_bound) {
        return evidence_break(evidence, RULE_STATUS,
                              "load returned OK for a stack of %" PRIu64
                              " bytes, but at most %" PRIu64 " can be reserved",
                              evidence->size_bytes, evidence->reservable_bytes);
    }
    return !is_refuted || evidence_break(evidence, RULE_STATUS,
                                         "load returned OK for a stack of %" PRIu64
                                         " bytes, but it cannot be reserved: %s",
                                         evidence->size_bytes, proof->reason);
}

bool rules_judge_status(const struct evidence *evidence)
{
    switch (evidence->sight) {
    case SIGHT_ABSENT:
        return judge_presence(evidence);
    case SIGHT_GONE: /* what the target took it for nobody knows */
        return evidence_end(evidence, RULE_STATUS,
                            "%s returned OK for block %" PRIu32 ", which was gone",
                            op_kind_info(evidence->call->op.kind)->name, evidence->call->op.ref);
    case SIGHT_STACK:
        return judge_loaded(evidence);
    default:
        return judge_result(evidence);
    }
}

/* Whether the call moved blocks or evicted programs. */
static bool has_made_room(const struct device *device)
{
    size_t count = 0;
    const struct device_call *calls = device_calls(device, &count);
    for (size_t i = 0; i < count; i++) {
        const enum device_call_kind kind = calls[i].kind;
        if (calls[i].result == DEVICE_OK &&
            (kind == DEVICE_CALL_COPY || kind == DEVICE_CALL_STAGE_IN ||
             kind == DEVICE_CALL_UNLOAD)) {
            return true;
        }
    }
    return false;
}

/* Whatever the contract promises: nothing but the target's own mind lies between the two. */
bool rules_judge_retry(const struct evidence *evidence)
{
    const struct call *call = evidence->call;
    if (call->result != TARGET_OK || !call->is_pinned || evidence->judge->is_refusal_settled) {
        return true;
    }
    const bool made_room = has_made_room(evidence->host->device);
    const struct evidence named = evidence_named(evidence, "granted when asked again");
    return evidence_break(&named, RULE_RETRY,
                          "%s was refused as op %" PRIu32 " and granted when it was asked again%s, "
                          "with no event and no time in between: the refusal was premature",
                          op_kind_info(call->op.kind)->name, call->number - 1,
                          made_room ? ", after moves or evictions of its own" : "");
}

/* --- texts --- */

/* An answer FAILED says why, unless there was no host memory to say it with. */
static bool judge_failure_text(const struct evidence *evidence)
{
    const uint32_t fired = device_faults_fired(evidence->host->device);
    const bool is_excused = (fired & 1u << FAULT_HOST_MEMORY) != 0;
    const struct evidence named = evidence_named(evidence, "empty text of a failure");
    return is_excused || evidence->judge->message[0] != '\0' ||
           evidence_break(
               &named, RULE_MESSAGE,
               "the call failed with an empty error text, though no host memory was refused");
}

/* A number of the text is that of a counter: where the contract leaves the counter open, it leaves
 * the number open.  What others of the process have taken is in none that the model knows. */
static void open_numbers(const struct target_contract *contract, struct message_expected *expected)
{
    const uint8_t *counting = contract->counting;
    const bool is_shared = contract->limit == TARGET_LIMIT_PROCESS;
    expected->is_reserved_open = counting[TARGET_COUNTER_BYTES_RESERVED] != TARGET_COUNT_EXACT;
    expected->is_free_open = is_shared || expected->is_reserved_open ||
                             counting[TARGET_COUNTER_BYTES_IN_USE] != TARGET_COUNT_EXACT ||
                             counting[TARGET_COUNTER_BYTES_LIMIT] != TARGET_COUNT_EXACT;
    expected->is_hole_open = is_shared || counting[TARGET_COUNTER_LARGEST_FREE_BLOCK_BYTES] !=
                                              TARGET_COUNT_EXACT;
    expected->has_fragmentation = expected->has_fragmentation && !expected->is_free_open;
    if (is_shared) {
        expected->is_reservable_open = true;
        expected->reservable_low_bytes = 0;
        expected->reservable_high_bytes = UINT64_MAX;
    }
}

/* The text follows the grammar, and its numbers are the model's. */
static bool judge_numbers(const struct evidence *evidence)
{
    const struct judge *judge = evidence->judge;
    const struct host *host = evidence->host;
    const struct call *call = evidence->call;
    const struct oom_bounds reservable = oom_reservable(&judge->oom);
    const struct model *model = host->model;
    const bool is_program = judge->oom.request.class == REQUEST_PROGRAM;
    const struct block *program = call->slot == SLOT_NONE ? NULL : model_block(model, call->slot);
    const uint64_t requested = judge->oom.request.asked_bytes;
    struct message_expected expected = {
        .is_program = is_program,
        .requested_bytes = requested,
        .stack_bytes = program != NULL ? program->stack_requested_bytes : call->op.stack_bytes,
        .free_bytes = model_free_bytes(model),
        .reserved_bytes = model_reserved_bytes(model),
        .reservable_low_bytes = reservable.low_bytes,
        .reservable_high_bytes = reservable.high_bytes,
        .largest_hole_bytes = model_largest_hole_bytes(model),
        .has_fragmentation = host->contract.defrag == DEFRAG_NONE &&
                             model_free_bytes(model) >= requested,
    };
    open_numbers(&host->contract, &expected);
    char reason[160];
    const char *lacking = NULL;
    if (message_is_right(judge->message, &expected, &lacking, reason, sizeof reason)) {
        return true;
    }
    const struct evidence named = evidence_named(evidence, lacking);
    return evidence_break(&named, RULE_MESSAGE, "%s", reason);
}

bool rules_judge_message(const struct evidence *evidence)
{
    if (evidence->call->result == TARGET_FAILED) {
        return judge_failure_text(evidence);
    }
    if (evidence->judge->message[0] == '\0') {
        const struct evidence named = evidence_named(evidence, "empty text");
        return evidence_break(&named, RULE_MESSAGE, "an out-of-memory without an error text");
    }
    return !evidence->has_numbers || !evidence->host->contract.documented_messages ||
           judge_numbers(evidence);
}

/* --- returning --- */

/* What the target is asked after the op may hang as well. */
bool rules_judge_hang(const struct evidence *evidence)
{
    if (!device_hung(evidence->host->device)) {
        return true;
    }
    if (evidence->sight == SIGHT_LATER) {
        return evidence_break(evidence, RULE_HANG,
                              "the target kept making device calls or polling outside of an op");
    }
    return evidence->judge->is_overlapping
               ? evidence_break(evidence, RULE_HANG,
                                "the calls kept polling or making device calls")
               : evidence_break(
                     evidence, RULE_HANG,
                     "the op kept polling or making device calls: more than 64 for each block and event");
}

/* --- costs --- */

bool rules_judge_regret(const struct evidence *evidence)
{
    const struct regret *regret = &evidence->judge->regret;
    const char *names[REGRET_KIND_COUNT];
    size_t name_count = 0;
    struct evidence named = *evidence;
    for (unsigned i = 0; i < REGRET_KIND_COUNT; i++) {
        if ((regret->kinds >> i & 1) != 0) {
            const struct regret_info *info = regret_info((enum regret_kind)i);
            named.mechanism = name_count == 0 ? info->name : named.mechanism;
            names[name_count++] = info->summary;
        }
    }
    CHECK(name_count > 0);
    return evidence_break(
        &named, RULE_REGRET,
        "regretted request number %" PRIu64 ": it %s%s%s; %" PRIu64
        " bytes of programs and %" PRIu64 " bytes of moves more than the cheapest plan",
        evidence->count, names[0], name_count > 1 ? " and " : "", name_count > 1 ? names[1] : "",
        regret->evicted_bytes, regret->moved_bytes);
}
