#include "harness/trial/related.h"

#include "harness/base/array.h"
#include "harness/base/hash.h"
#include "harness/device/device.h"
#include "harness/device/span_map.h"
#include "harness/lanes/lanes.h"
#include "harness/op/rounding.h"
#include "harness/run/run_state.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY_BYTES_MAX (UINT64_C(1) << 50)
/* A larger size is larger than any device, and twice of it may be no size any more. */
#define SCALED_BYTES_MAX (UINT64_C(1) << 62)

/* The state that the plain list showed in an op: 16 bytes, as there are millions. */
struct plain_step {
    uint64_t state;  /* digest_state(), at twice the size */
    uint32_t result; /* enum target_result */
    bool was_skipped, is_finding, had_fault;
};

/* The plain run, which has ended: a target may have one device in a process, and no second. */
struct plain {
    struct target_contract contract;
    struct plain_step *steps; /* of the ops before it broke, that one too */
    struct observation *seen; /* the same, for RELATED_NAMES; else NULL */
    size_t step_count;
    bool is_broken, is_end_finding;
};

struct related_pair {
    const struct plain *plain;
    struct run *other;
    enum related related;
    size_t compared_count; /* ops after which both were in the same state */
    struct verdict *broken;
};

/* --- what is asked --- */

static uint64_t scale_bytes(uint64_t bytes)
{
    return bytes > SCALED_BYTES_MAX ? bytes : bytes * 2;
}

bool related_scale_op(const struct op *op, struct op *scaled)
{
    const struct op_kind_info *info = op_kind_info((enum op_kind)op->kind);
    *scaled = *op;
    if (op->kind == OP_FAULT || info->has_point) {
        return true;
    }
    if (info->has_align && op->align_log2 == OP_ALIGN_LOG2_MAX) {
        return false;
    }
    scaled->size_bytes = info->has_size ? scale_bytes(op->size_bytes) : op->size_bytes;
    scaled->align_log2 = (uint8_t)(op->align_log2 + (info->has_align && op->align_log2 > 0));
    if (info->has_stack) {
        scaled->stack_bytes = scale_bytes(op->stack_bytes);
    } else if (info->has_unpadded) {
        scaled->unpadded_bytes = scale_bytes(op->unpadded_bytes);
    } else if (info->has_address) {
        scaled->address = scale_bytes(op->address);
    }
    return true;
}

/* Options whose values are no sizes, and the granule, which is scaled. */
static bool is_free_of_sizes(const char *key)
{
    static const char *const keys[] = {"defrag",
                                       "drains",
                                       "evicts",
                                       "granule",
                                       "log_allocations_on_oom",
                                       "message_code",
                                       "order",
                                       "program_evicts_program",
                                       "search_nodes",
                                       "sleep"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strcmp(key, keys[i]) == 0) {
            return true;
        }
    }
    return false;
}

bool related_sizes_scale(const struct setup *setup)
{
    bool scales = setup->capacity_bytes <= CAPACITY_BYTES_MAX / 2 && setup->granule_bytes > 0 &&
                  (!setup->has_rounding || rounding_is_plain(&setup->rounding));
    for (uint32_t i = 0; i < setup->option_count; i++) {
        scales = scales && is_free_of_sizes(setup->options[i].key);
    }
    return scales;
}

/* True if the promises are the same, in granules of twice the size. */
static bool has_same_contract(const struct related_pair *pair)
{
    const struct target_contract *a = &pair->plain->contract;
    const struct target_contract *b = model_contract(run_model(pair->other, 0));
    return b->granule_bytes == a->granule_bytes * 2 && rounding_is_plain(&a->rounding) &&
           rounding_is_plain(&b->rounding) && a->defrag == b->defrag &&
           a->queues_frees == b->queues_frees && a->drains == b->drains && !a->regions.grows &&
           !b->regions.grows && a->programs == b->programs && a->evicts == b->evicts &&
           a->program_evicts_program == b->program_evicts_program && a->resumes == b->resumes &&
           a->sleeps == b->sleeps && a->stream_ordered == b->stream_ordered &&
           a->records == b->records && a->limit == TARGET_LIMIT_DEVICE &&
           b->limit == TARGET_LIMIT_DEVICE;
}

/* --- what was found --- */

static const char *result_word(uint32_t result, bool was_skipped)
{
    static const char *const words[] = {[TARGET_OK] = "granted",
                                        [TARGET_NO_MEMORY] = "refused",
                                        [TARGET_INVALID] = "answered INVALID",
                                        [TARGET_FAILED] = "answered FAILED"};
    if (was_skipped) {
        return "not asked";
    }
    return result <= TARGET_FAILED ? words[result] : "answered with no result";
}

static const char *other_words(enum related related)
{
    return related == RELATED_NAMES ? "under other ids" : "at twice the size";
}

static void break_pair(struct related_pair *pair, size_t op, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void break_pair(struct related_pair *pair, size_t op, const char *format, ...)
{
    struct verdict *broken = pair->broken;
    va_list arguments;
    *broken = (struct verdict){.kind = VERDICT_BROKEN, .rule = RULE_RELATION, .op = (uint32_t)op};
    (void)snprintf(broken->mechanism, sizeof broken->mechanism, "differs %s",
                   other_words(pair->related));
    va_start(arguments, format);
    (void)vsnprintf(broken->reason, sizeof broken->reason, format, arguments);
    va_end(arguments);
}

static void break_by_result(struct related_pair *pair, size_t op, const struct plain_step *plain,
                            const struct observation *other)
{
    break_pair(pair, op, "%s, but %s %s, though all went alike before",
               result_word(plain->result, plain->was_skipped),
               result_word(other->result, other->skipped != 0), other_words(pair->related));
}

static void break_by_rule(struct related_pair *pair, size_t op, const struct verdict *verdict)
{
    break_pair(pair, op, "%s it breaks %s: %.300s", other_words(pair->related),
               rule_info(verdict->rule)->name, verdict->reason);
}

static void break_by_place(struct related_pair *pair, size_t op, const struct observation *plain,
                           const struct observation *other)
{
    const char *words = other_words(pair->related);
    if (plain->address != other->address || plain->size_bytes != other->size_bytes) {
        break_pair(pair, op,
                   "the block is [0x%" PRIx64 ", 0x%" PRIx64 "), but [0x%" PRIx64 ", 0x%" PRIx64
                   ") %s",
                   plain->address, plain->address + plain->size_bytes, other->address,
                   other->address + other->size_bytes, words);
    } else if (plain->call_count != other->call_count) {
        break_pair(pair, op, "it calls the device %" PRIu32 " times, but %" PRIu32 " times %s",
                   plain->call_count, other->call_count, words);
    } else {
        break_pair(pair, op, "it does something else to the device %s", words);
    }
}

/* --- comparing --- */

/* Not for rules on cost: its bounds are in bytes, and ops at twice the size move twice as many. */
static bool is_finding(const struct verdict *verdict)
{
    const enum rule rule = verdict->rule;
    const bool is_cost = rule == RULE_REGRET || rule == RULE_COST || rule == RULE_LATENCY;
    return (verdict->kind == VERDICT_BROKEN && !is_cost) || verdict->kind == VERDICT_PREMATURE;
}

/* Digests where every block of the host is; scale: addresses are multiplied by it. */
static uint64_t digest_map(const struct run *run, uint32_t host, uint64_t scale)
{
    const struct span_map *map = model_map(run_model(run, host));
    struct span span;
    uint64_t hash = HASH_START;
    EACH_SPAN(map, &span) {
        hash = hash_word(hash, span.start * scale);
        hash = hash_word(hash, span.end * scale);
        hash = hash_word(hash, span.owner);
    }
    return hash;
}

/* The state behind the last op; scale: what sizes and addresses are multiplied by. */
static uint64_t digest_state(const struct run *run, uint32_t host, uint64_t scale)
{
    const struct observation *seen = run_observation(run);
    const uint64_t words[] = {seen->now_ns,
                              seen->wait_count,
                              seen->copy_count,
                              seen->stage_count,
                              seen->unload_count,
                              seen->copy_bytes * scale,
                              seen->address * scale,
                              seen->size_bytes * scale,
                              seen->bytes_in_use * scale,
                              seen->bytes_reserved * scale};
    uint64_t hash = HASH_START;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        hash = hash_word(hash, words[i]);
    }
    const bool has_moved = seen->copy_count + seen->stage_count > 0;
    return has_moved ? hash_word(hash, digest_map(run, host, scale)) : hash;
}

/* Error texts may name ids. */
static bool is_same_but_for_text(const struct observation *plain, const struct observation *other)
{
    struct observation a = *plain;
    struct observation b = *other;
    a.message_digest = b.message_digest = 0;
    return memcmp(&a, &b, sizeof a) == 0;
}

/* True: both runs are in the same state after the op.  What the plain run breaks is found without
 * this rule; how a fault was met may depend on what nobody sees. */
static bool compare_step(struct related_pair *pair, size_t op, uint32_t host,
                         const struct verdict *other)
{
    const struct plain_step *plain = &pair->plain->steps[op];
    const struct observation *b = run_observation(pair->other);
    const bool is_same_result = plain->result == b->result && plain->was_skipped == b->skipped;
    const bool is_same = is_same_result &&
                         (pair->related == RELATED_NAMES
                              ? is_same_but_for_text(&pair->plain->seen[op], b)
                              : plain->state == digest_state(pair->other, host, 1));
    if (plain->is_finding || plain->had_fault || device_had_fault(run_device(pair->other, host))) {
        return is_same;
    }
    /* The numbers of a text are rounded: at twice the size it may show what was hidden. */
    if (is_finding(other) && other->rule == RULE_MESSAGE) {
        return false;
    }
    if (is_finding(other)) {
        break_by_rule(pair, op, other);
        return false;
    }
    if (!is_same_result) {
        break_by_result(pair, op, plain, b);
    } else if (!is_same && pair->related == RELATED_NAMES) {
        break_by_place(pair, op, &pair->plain->seen[op], b);
    }
    return is_same;
}

/* --- running --- */

static void record_step(struct plain *plain, const struct run *run, uint32_t host,
                        const struct verdict *verdict)
{
    const struct observation *seen = run_observation(run);
    if (plain->seen != NULL) {
        plain->seen[plain->step_count] = *seen;
    }
    plain->steps[plain->step_count++] = (struct plain_step){
        .state = digest_state(run, host, 2),
        .result = seen->result,
        .was_skipped = seen->skipped != 0,
        .is_finding = is_finding(verdict),
        .had_fault = device_had_fault(run_device(run, host))};
}

/* False: the target refuses the setup. */
static bool record_plain(const struct target *target, const struct trial *trial,
                         enum related related, struct plain *plain)
{
    char reason[RUN_REASON_BYTES];
    *plain = (struct plain){0};
    struct run *run = run_create(target, &trial->setup, reason);
    if (run == NULL) {
        return false;
    }
    plain->steps = array_zeroed(trial->ops.count + 1, sizeof *plain->steps);
    if (related == RELATED_NAMES) {
        plain->seen = array_zeroed(trial->ops.count + 1, sizeof *plain->seen);
    }
    run_expect(run, &trial->ops);
    plain->contract = *model_contract(run_model(run, 0));
    run_judge_promises_only(run);
    run_go_on(run);
    for (size_t i = 0; i < trial->ops.count && !run_is_broken(run); i++) {
        const struct op *op = &trial->ops.ops[i];
        record_step(plain, run, op->host, run_step(run, op));
    }
    plain->is_broken = run_is_broken(run);
    plain->is_end_finding = !plain->is_broken && is_finding(run_finish(run));
    run_destroy(run);
    return true;
}

/* False: what comes after is not compared. */
static bool step_other(struct related_pair *pair, const struct op *op, size_t number)
{
    struct op related = *op;
    if (number == pair->plain->step_count ||
        (pair->related == RELATED_SIZES && !related_scale_op(op, &related))) {
        return false;
    }
    const struct verdict *other = run_step(pair->other, &related);
    const bool is_same = compare_step(pair, number, op->host, other);
    pair->compared_count += is_same;
    return is_same && !run_is_broken(pair->other);
}

static void run_other(struct related_pair *pair, const struct op_list *ops)
{
    for (size_t i = 0; i < ops->count; i++) {
        if (!step_other(pair, &ops->ops[i], i)) {
            return;
        }
    }
    if (pair->plain->is_broken) {
        return;
    }
    const struct verdict *other = run_finish(pair->other);
    if (!pair->plain->is_end_finding && is_finding(other)) {
        break_by_rule(pair, ops->count, other);
    }
}

/* False: the option with the granule cannot be set. */
static bool scale_setup(struct setup *setup)
{
    char granule[SETUP_NAME_BYTES];
    setup->capacity_bytes *= 2;
    setup->shared_bytes *= 2;
    setup->granule_bytes *= 2;
    setup->chip[0] = '\0'; /* it has another capacity */
    (void)snprintf(granule, sizeof granule, "%" PRIu64, setup->granule_bytes);
    return setup_option(setup, "granule") == NULL || setup_set_option(setup, "granule", granule);
}

static struct run *create_other(const struct target *target, const struct setup *setup,
                                enum related related)
{
    char reason[RUN_REASON_BYTES];
    struct setup scaled = *setup;
    if (related == RELATED_SIZES && !scale_setup(&scaled)) {
        return NULL;
    }
    struct run *run = run_create(target, &scaled, reason);
    if (run != NULL) {
        run_judge_promises_only(run);
    }
    if (run != NULL && related == RELATED_NAMES) {
        run_rename(run);
    }
    return run;
}

bool related_breaks_one(const struct target *target, const struct trial *trial,
                        enum related related, struct verdict *broken, size_t *compared_count)
{
    struct plain plain;
    struct related_pair pair = {.plain = &plain, .related = related, .broken = broken};
    broken->kind = VERDICT_NONE;
    if (record_plain(target, trial, related, &plain)) {
        pair.other = create_other(target, &trial->setup, related);
    }
    if (pair.other != NULL && (related == RELATED_NAMES || has_same_contract(&pair))) {
        run_go_on(pair.other);
        run_other(&pair, &trial->ops);
    }
    run_destroy(pair.other);
    free(plain.steps);
    free(plain.seen);
    if (compared_count != NULL) {
        *compared_count = pair.compared_count;
    }
    return broken->kind != VERDICT_NONE;
}

/* One run, of which nothing is compared but its digest. */
static bool differs_under_names(const struct target *target, const struct trial *trial)
{
    struct run *run = create_other(target, &trial->setup, RELATED_NAMES);
    if (run == NULL) {
        return false;
    }
    run_expect(run, &trial->ops);
    run_go_on(run);
    for (size_t i = 0; i < trial->ops.count && !run_is_broken(run); i++) {
        (void)run_step(run, &trial->ops.ops[i]);
    }
    if (!run_is_broken(run)) {
        (void)run_finish(run);
    }
    const bool differs = run_digest(run) != trial->digest ||
                         run_findings(run)->count != trial->findings.count;
    run_destroy(run);
    return differs;
}

bool related_breaks(const struct target *target, const struct trial *trial, struct verdict *broken)
{
    broken->kind = VERDICT_NONE;
    if (lanes_are_in(&trial->ops)) {
        return false;
    }
    return (differs_under_names(target, trial) &&
            related_breaks_one(target, trial, RELATED_NAMES, broken, NULL)) ||
           (related_sizes_scale(&trial->setup) &&
            related_breaks_one(target, trial, RELATED_SIZES, broken, NULL));
}
