#include "infer/lab.h"

#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/base/hash.h"
#include "harness/base/order.h"
#include "harness/device/device.h"
#include "harness/model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* So many blocks of one unit fill a device whose capacity is a power of two. */
enum { UNIT_COUNT = 16, BLOCK_COUNT_MAX = 4096, REST_COUNT_MAX = 8 };

/* --- life --- */

static uint64_t power_below(uint64_t bytes)
{
    return bytes == 0 ? 0 : UINT64_C(1) << (63 - __builtin_clzll(bytes));
}

/* A power of two, so that size classes do not make it larger. */
static uint64_t choose_unit(const struct lab *lab)
{
    uint64_t unit = power_below(lab->capacity_bytes / UNIT_COUNT);
    if (lab->limits.largest_request_bytes != 0 && lab->limits.largest_request_bytes < unit) {
        unit = power_below(lab->limits.largest_request_bytes);
    }
    return unit < lab->granule_bytes ? lab->granule_bytes : unit;
}

bool lab_open(struct lab *lab, const struct target *target, const struct setup *setup,
              const struct limits *limits, struct lab_trace *trace)
{
    char reason[RUN_REASON_BYTES];
    *lab = (struct lab){.trace = trace, .target = target, .setup = setup, .limits = *limits};
    lab->run = run_create(target, setup, reason);
    if (lab->run == NULL) {
        (void)snprintf(trace->why, sizeof trace->why, "%.*s", TRACE_WHY_BYTES - 1, reason);
        return false;
    }
    run_go_on(lab->run);
    const struct model *model = run_model(lab->run, 0);
    trace->is_opened = 1;
    trace->contract = *model_contract(model);
    lab->granule_bytes = model_granule_bytes(model);
    lab->capacity_bytes = model_capacity_bytes(model);
    lab->unit_bytes = choose_unit(lab);
    return true;
}

void lab_close(struct lab *lab)
{
    if (!run_is_broken(lab->run)) {
        (void)run_finish(lab->run);
    }
    lab->trace->costs = run_totals(lab->run)->costs;
    run_findings_copy(&lab->trace->findings, run_findings(lab->run));
    op_list_copy(&lab->trace->ops, run_ops(lab->run));
    run_destroy(lab->run);
    free(lab->blocks);
    *lab = (struct lab){0};
}

void lab_give_up(struct lab *lab, const char *why)
{
    if (lab->trace->why[0] == '\0') {
        (void)snprintf(lab->trace->why, sizeof lab->trace->why, "%s", why);
    }
}

bool lab_is_over(const struct lab *lab)
{
    return lab->trace->why[0] != '\0' || run_is_broken(lab->run);
}

/* --- one op --- */

static char letter_of(const struct device_call *call)
{
    static const char letters[DEVICE_CALL_KIND_COUNT] = {
        [DEVICE_CALL_COPY] = 'm',        [DEVICE_CALL_STAGE_OUT] = 'm',
        [DEVICE_CALL_WAIT] = 'w',        [DEVICE_CALL_UNLOAD] = 'u',
        [DEVICE_CALL_REGION_TAKE] = 't', [DEVICE_CALL_REGION_GIVE] = 'g'};
    return call->result == DEVICE_OK || call->result == DEVICE_PARTIAL ? letters[call->kind] : '\0';
}

static void note_calls(const struct device *device, struct lab_sight *sight)
{
    size_t count = 0, length = 0;
    const struct device_call *calls = device_calls(device, &count);
    for (size_t i = 0; i < count; i++) {
        const char letter = letter_of(&calls[i]);
        sight->partial_count += calls[i].result == DEVICE_PARTIAL;
        if (letter == 't') {
            sight->region_bytes = calls[i].bytes;
        }
        if (letter != '\0' && length + 1 < sizeof sight->calls &&
            (length == 0 || sight->calls[length - 1] != letter)) {
            sight->calls[length++] = letter;
        }
    }
}

/* Counters that may be anything count as 0. */
static uint64_t digest_counters(const struct target_stats *stats,
                                const struct target_contract *contract)
{
    uint64_t words[sizeof *stats / sizeof(uint64_t)], digest = HASH_START;
    static_assert(offsetof(struct target_stats, free_bytes) ==
                      TARGET_COUNTER_COUNT * sizeof(uint64_t),
                  "the counters come in the order of enum target_counter, then the owners");
    memcpy(words, stats, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const bool is_counted = i < TARGET_COUNTER_COUNT
                                    ? contract->counting[i] != TARGET_COUNT_ABSENT
                                    : contract->counts_owners;
        digest = hash_word(digest, is_counted ? words[i] : 0);
    }
    return digest;
}

/* The sight of op number i, which is the last. */
static void note_sight(struct lab *lab, size_t i, const struct verdict *verdict)
{
    struct lab_trace *trace = lab->trace;
    trace->sights = array_grown(trace->sights, i, &trace->sight_capacity, sizeof *trace->sights);
    struct lab_sight *sight = &trace->sights[i];
    memset(sight, 0, sizeof *sight);
    sight->seen = *run_observation(lab->run);
    sight->verdict = (uint32_t)verdict->kind;
    (void)snprintf(sight->message, sizeof sight->message, "%s", run_message(lab->run));
    sight->counters_digest = digest_counters(run_stats(lab->run, 0), &trace->contract);
    note_calls(run_device(lab->run, 0), sight);
}

static void note_beginning(struct lab *lab, size_t number, const struct op *op)
{
    if (lab->journal != NULL && number < JOURNAL_OP_COUNT_MAX) {
        lab->journal->ops[number] = *op;
        lab->journal->count = (uint32_t)number + 1;
    }
}

uint32_t lab_step(struct lab *lab, const struct op *op)
{
    if (lab_is_over(lab)) {
        return OP_NONE;
    }
    const size_t number = run_ops(lab->run)->count;
    note_beginning(lab, number, op);
    const struct verdict *verdict = run_step(lab->run, op);
    CHECK(run_ops(lab->run)->count == number + 1);
    note_sight(lab, number, verdict);
    return (uint32_t)number;
}

uint32_t lab_alloc_aligned(struct lab *lab, uint64_t size_bytes, unsigned align_log2)
{
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = size_bytes;
    op.align_log2 = (uint8_t)align_log2;
    return lab_step(lab, &op);
}

uint32_t lab_alloc(struct lab *lab, uint64_t size_bytes)
{
    return lab_alloc_aligned(lab, size_bytes, 0);
}

uint32_t lab_ask(struct lab *lab, uint64_t size_bytes)
{
    lab->trace->asked = lab_alloc(lab, size_bytes);
    return lab->trace->asked;
}

uint32_t lab_alloc_on(struct lab *lab, uint64_t size_bytes, unsigned stream)
{
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = size_bytes;
    op_set_stream(&op, stream);
    return lab_step(lab, &op);
}

uint32_t lab_ask_elsewhere(struct lab *lab, uint64_t size_bytes)
{
    const unsigned stream = lab->trace->contract.stream_ordered ? 1 : 0;
    lab->trace->asked = lab_alloc_on(lab, size_bytes, stream);
    return lab->trace->asked;
}

uint32_t lab_load(struct lab *lab, uint64_t image_bytes, uint64_t stack_bytes)
{
    struct op op = op_make(OP_LOAD);
    op.size_bytes = image_bytes;
    op.stack_bytes = stack_bytes;
    return lab_step(lab, &op);
}

uint32_t lab_name(struct lab *lab, enum op_kind kind, uint32_t ref)
{
    struct op op = op_make(kind);
    op.ref = ref;
    return lab_step(lab, &op);
}

uint32_t lab_until_on(struct lab *lab, enum op_kind kind, uint32_t ref, uint64_t delay_ns,
                      unsigned stream)
{
    struct op op = op_make(kind);
    op.ref = ref;
    op.delay_ns = delay_ns;
    op_set_stream(&op, stream);
    return lab_step(lab, &op);
}

uint32_t lab_until(struct lab *lab, enum op_kind kind, uint32_t ref, uint64_t delay_ns)
{
    return lab_until_on(lab, kind, ref, delay_ns, 0);
}

void lab_complete(struct lab *lab, uint32_t event)
{
    struct op op = op_make(OP_COMPLETE);
    op.event = event;
    (void)lab_step(lab, &op);
}

void lab_fault(struct lab *lab, enum fault_kind kind, bool is_for_ever)
{
    struct op op = op_make(OP_FAULT);
    op.tag = (uint8_t)kind;
    op.size_bytes = 1;
    op.flags = is_for_ever ? OP_FOR_EVER : 0;
    (void)lab_step(lab, &op);
}

void lab_disarm(struct lab *lab, enum fault_kind kind)
{
    struct op op = op_make(OP_FAULT);
    op.tag = (uint8_t)kind;
    (void)lab_step(lab, &op);
}

void lab_report(struct lab *lab)
{
    if (lab->target->report != NULL) {
        (void)lab_name(lab, OP_REPORT, OP_NONE);
    }
}

bool lab_was_granted(const struct lab *lab)
{
    const struct observation *seen = run_observation(lab->run);
    return !lab_is_over(lab) && seen->skipped == 0 && seen->result == TARGET_OK;
}

/* --- many --- */

static int compare_blocks(const void *a, const void *b)
{
    return compare_numbers(((const struct lab_block *)a)->address,
                           ((const struct lab_block *)b)->address);
}

static void add_block(struct lab *lab, const struct block *block)
{
    if (block->state != BLOCK_LIVE || block->is_absent) {
        return; /* it has no place */
    }
    lab->blocks = array_grown(lab->blocks, lab->block_count, &lab->block_capacity,
                              sizeof *lab->blocks);
    lab->blocks[lab->block_count++] = (struct lab_block){
        .address = block->address,
        .size_bytes = block->size_bytes,
        .op = block->op,
        .is_unit = block->kind != BLOCK_PROGRAM && block->requested_bytes == lab->unit_bytes};
}

void lab_look(struct lab *lab)
{
    const struct model *model = run_model(lab->run, 0);
    lab->block_count = 0;
    for (size_t i = 0; i < model_live_count(model); i++) {
        add_block(lab, model_live(model, i));
    }
    for (size_t i = 0; i < model_program_count(model); i++) {
        add_block(lab, model_program(model, i));
    }
    if (lab->block_count > 0) {
        qsort(lab->blocks, lab->block_count, sizeof *lab->blocks, compare_blocks);
    }
}

void lab_fill(struct lab *lab)
{
    const struct model *model = run_model(lab->run, 0);
    size_t count = 0;
    if (lab->capacity_bytes / lab->unit_bytes > BLOCK_COUNT_MAX) {
        lab_give_up(lab, "to fill the device takes more than 4096 blocks of the largest size that "
                         "is granted");
        return;
    }
    bool is_granted = true;
    /* What is free beyond the regions is no hole: only the target can say that there is none. */
    while (is_granted && (lab->trace->contract.regions.grows ||
                          model_largest_hole_bytes(model) >= lab->unit_bytes)) {
        (void)lab_alloc(lab, lab->unit_bytes);
        is_granted = lab_was_granted(lab);
    }
    is_granted = is_granted || lab->trace->contract.regions.grows;
    while (is_granted && model_largest_hole_bytes(model) >= lab->granule_bytes &&
           count++ < REST_COUNT_MAX) {
        (void)lab_alloc(lab, model_largest_hole_bytes(model));
        is_granted = lab_was_granted(lab);
    }
    lab_look(lab);
}

static bool is_row(const struct lab *lab, size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct lab_block *block = &lab->blocks[first + i];
        if (!block->is_unit ||
            (i > 0 && block[-1].address + block[-1].size_bytes != block->address)) {
            return false;
        }
    }
    return true;
}

size_t lab_find_row(struct lab *lab, size_t from, size_t count)
{
    for (size_t first = from; first + count <= lab->block_count; first++) {
        if (is_row(lab, first, count)) {
            return first;
        }
    }
    lab_give_up(lab, "too few blocks lie side by side");
    return lab->block_count;
}

uint32_t lab_op(const struct lab *lab, size_t index)
{
    return index < lab->block_count ? lab->blocks[index].op : OP_NONE;
}

static bool is_among(size_t index, const size_t *indices, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (indices[i] == index) {
            return true;
        }
    }
    return false;
}

void lab_hold_others(struct lab *lab, const size_t *free, size_t count)
{
    for (size_t i = 0; i < lab->block_count; i++) {
        const struct block *block = model_find(run_model(lab->run, 0), lab->blocks[i].op);
        if (!is_among(i, free, count) && block != NULL && block->kind != BLOCK_PROGRAM) {
            (void)lab_name(lab, OP_HOLD, lab->blocks[i].op);
        }
    }
}

size_t lab_make_slide(struct lab *lab)
{
    const size_t row = lab_find_row(lab, 0, 3);
    if (lab_is_over(lab)) {
        return lab->block_count;
    }
    lab_hold_others(lab, (const size_t[]){row, row + 1, row + 2}, 3);
    (void)lab_name(lab, OP_FREE, lab->blocks[row].op);
    (void)lab_name(lab, OP_FREE, lab->blocks[row + 2].op);
    return row + 1;
}

void lab_load_and_fill(struct lab *lab, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        (void)lab_load(lab, lab->unit_bytes, 0);
    }
    lab_fill(lab);
    lab_hold_others(lab, NULL, 0);
}

bool lab_may_ask(struct lab *lab, uint64_t units)
{
    const uint64_t largest = lab->limits.largest_request_bytes;
    if (largest != 0 && units * lab->unit_bytes > largest) {
        lab_give_up(lab, "no request of so many blocks is granted");
    }
    return !lab_is_over(lab);
}

void lab_ask_again(struct lab *lab, size_t times)
{
    for (size_t i = 0; i < times && !lab_is_over(lab) && lab->trace->asked != OP_NONE; i++) {
        struct op op = run_ops(lab->run)->ops[lab->trace->asked];
        op.flags = 0;
        (void)lab_step(lab, &op);
    }
}

void lab_touch_all(struct lab *lab)
{
    for (size_t i = 0; i < lab->block_count; i++) {
        if (model_find(run_model(lab->run, 0), lab->blocks[i].op) != NULL) {
            (void)lab_name(lab, OP_TOUCH, lab->blocks[i].op);
        }
    }
}

/* --- traces --- */

void trace_init(struct lab_trace *trace)
{
    memset(trace, 0, sizeof *trace);
    trace->asked = OP_NONE;
    op_list_init(&trace->ops);
}

void trace_deinit(struct lab_trace *trace)
{
    op_list_deinit(&trace->ops);
    free(trace->sights);
    trace->sights = NULL;
    trace->sight_capacity = 0;
}

void trace_clear(struct lab_trace *trace)
{
    trace_deinit(trace);
    trace_init(trace);
}

void trace_add_begun(struct lab_trace *trace, const struct op *op)
{
    const size_t count = trace->ops.count;
    trace->sights = array_grown(trace->sights, count, &trace->sight_capacity,
                                sizeof *trace->sights);
    trace->sights[count] = (struct lab_sight){.seen = {.op = (uint32_t)count, .skipped = 1}};
    op_list_append(&trace->ops, op);
}

const struct lab_sight *trace_sight(const struct lab_trace *trace, uint32_t op)
{
    return op < trace->ops.count ? &trace->sights[op] : NULL;
}

const struct lab_sight *trace_asked(const struct lab_trace *trace)
{
    return trace_sight(trace, trace->asked);
}

/* --- as bytes --- */

/* All before the list. */
#define HEAD_BYTES offsetof(struct lab_trace, ops)

void trace_append(const struct lab_trace *trace, struct writing *bytes)
{
    const uint64_t count = trace->ops.count;
    writing_append_bytes(bytes, trace, HEAD_BYTES);
    writing_append_bytes(bytes, &count, sizeof count);
    for (size_t i = 0; i < count; i++) {
        writing_append_bytes(bytes, &trace->ops.ops[i], sizeof trace->ops.ops[i]);
        writing_append_bytes(bytes, &trace->sights[i], sizeof trace->sights[i]);
    }
}

/* Takes size bytes at *at; false: fewer are left. */
static bool take_bytes(void *to, size_t size, const char **at, size_t *left)
{
    if (size > *left) {
        return false;
    }
    memcpy(to, *at, size);
    *at += size;
    *left -= size;
    return true;
}

size_t trace_read(struct lab_trace *trace, const char *bytes, size_t length)
{
    const char *at = bytes;
    size_t left = length;
    uint64_t count;
    if (!take_bytes(trace, HEAD_BYTES, &at, &left) ||
        !take_bytes(&count, sizeof count, &at, &left)) {
        return 0;
    }
    op_list_clear(&trace->ops);
    for (uint64_t i = 0; i < count; i++) {
        struct op op;
        trace->sights = array_grown(trace->sights, i, &trace->sight_capacity,
                                    sizeof *trace->sights);
        if (!take_bytes(&op, sizeof op, &at, &left) ||
            !take_bytes(&trace->sights[i], sizeof trace->sights[i], &at, &left)) {
            return 0;
        }
        op_list_append(&trace->ops, &op);
    }
    return length - left;
}
