#include "diagnosis/history.h"

#include "harness/base/check.h"
#include "harness/model/model.h"

#include <stdlib.h>
#include <string.h>

void history_init(struct history *history)
{
    memset(history, 0, sizeof *history);
}

void history_deinit(struct history *history)
{
    for (uint32_t i = 0; i < OP_HOST_COUNT_MAX; i++) {
        free(history->hosts[i].samples);
    }
    memset(history, 0, sizeof *history);
}

uint32_t history_age_class(uint64_t age)
{
    uint32_t age_class = 0;
    while (age > 0 && age_class < HISTORY_AGE_COUNT - 1) {
        age >>= 1;
        age_class++;
    }
    return age_class;
}

uint64_t history_age_of(uint32_t age_class)
{
    CHECK(age_class < HISTORY_AGE_COUNT);
    return age_class == 0 ? 0 : UINT64_C(1) << (age_class - 1);
}

/* --- samples --- */

static void widen_tag(struct history_sample *sample, uint8_t tag, uint64_t bytes)
{
    sample->floor_bytes[tag] = bytes < sample->floor_bytes[tag] ? bytes : sample->floor_bytes[tag];
    sample->top_bytes[tag] = bytes > sample->top_bytes[tag] ? bytes : sample->top_bytes[tag];
}

/* The state at the end of a sample is that of the later one. */
static void join_samples(struct history_sample *into, const struct history_sample *a,
                         const struct history_sample *b)
{
    struct history_sample joined = *b;
    joined.first_op = a->first_op;
    for (int tag = 0; tag < OP_TAG_COUNT; tag++) {
        widen_tag(&joined, (uint8_t)tag, a->floor_bytes[tag]);
        widen_tag(&joined, (uint8_t)tag, a->top_bytes[tag]);
        joined.counts[tag] = a->counts[tag] < b->counts[tag] ? a->counts[tag] : b->counts[tag];
    }
    joined.top_in_use_bytes = a->top_in_use_bytes > b->top_in_use_bytes ? a->top_in_use_bytes
                                                                        : b->top_in_use_bytes;
    joined.made_count += a->made_count;
    joined.freed_count += a->freed_count;
    joined.executed_count += a->executed_count;
    *into = joined;
}

static void halve_samples(struct history_host *host)
{
    for (uint32_t i = 0; i < HISTORY_SAMPLE_COUNT_MAX / 2; i++) {
        join_samples(&host->samples[i], &host->samples[2 * i], &host->samples[2 * i + 1]);
    }
    host->count = HISTORY_SAMPLE_COUNT_MAX / 2;
    host->interval *= 2;
}

static void open_sample(struct history_host *host, uint64_t op, const uint64_t *tag_bytes)
{
    struct history_sample *sample = &host->samples[host->count++];
    memset(sample, 0, sizeof *sample);
    sample->first_op = op / host->interval * host->interval;
    memcpy(sample->floor_bytes, tag_bytes, sizeof sample->floor_bytes);
    memcpy(sample->top_bytes, tag_bytes, sizeof sample->top_bytes);
}

static void begin_host(struct history_host *host)
{
    host->samples = malloc(HISTORY_SAMPLE_COUNT_MAX * sizeof *host->samples);
    CHECK(host->samples != NULL);
    host->interval = 1;
}

/* The sample that op belongs to; *is_new: it begins with this op. */
static struct history_sample *find_sample(struct history_host *host, uint64_t op,
                                          const uint64_t *tag_bytes, bool *is_new)
{
    *is_new = false;
    if (host->samples == NULL) {
        begin_host(host);
    }
    if (host->count == 0 || op >= host->samples[host->count - 1].first_op + host->interval) {
        if (host->count == HISTORY_SAMPLE_COUNT_MAX) {
            halve_samples(host);
        }
        const bool is_inside = host->count > 0 &&
                               op < host->samples[host->count - 1].first_op + host->interval;
        if (!is_inside) {
            open_sample(host, op, tag_bytes);
            *is_new = true;
        }
    }
    return &host->samples[host->count - 1];
}

/* --- what samples would miss --- */

static void note_rise(struct history_host *host, uint32_t op, uint64_t in_use_bytes)
{
    const struct history_rise rise = {op, in_use_bytes - host->in_use_bytes, host->in_use_bytes,
                                      host->peak_bytes};
    uint32_t place = host->rise_count;
    while (place > 0 && host->rises[place - 1].bytes < rise.bytes) {
        place--;
    }
    if (place == HISTORY_RISE_COUNT_MAX) {
        return;
    }
    host->rise_count += host->rise_count < HISTORY_RISE_COUNT_MAX;
    memmove(&host->rises[place + 1], &host->rises[place],
            (host->rise_count - place - 1) * sizeof rise);
    host->rises[place] = rise;
}

static void note_in_use(struct history_host *host, uint32_t op, uint64_t in_use_bytes)
{
    if (in_use_bytes > host->in_use_bytes) {
        note_rise(host, op, in_use_bytes);
    }
    if (in_use_bytes > host->peak_bytes) {
        host->peak_bytes = in_use_bytes;
        host->peak_op = op;
    }
    host->in_use_bytes = in_use_bytes;
}

static void note_counts(struct history_host *host, struct history_sample *sample,
                        const struct history_note *note)
{
    if (note->makes) {
        widen_tag(sample, note->made_tag, note->tag_bytes[note->made_tag]);
    }
    if (note->frees) {
        widen_tag(sample, note->freed_tag, note->tag_bytes[note->freed_tag]);
        host->deaths[note->freed_tag][history_age_class(note->freed_age)]++;
    }
    sample->made_count += note->makes;
    sample->freed_count += note->frees;
    sample->executed_count += note->executes;
    sample->in_use_bytes = note->in_use_bytes;
    if (note->in_use_bytes > sample->top_in_use_bytes) {
        sample->top_in_use_bytes = note->in_use_bytes;
    }
}

/* Returns the sample when this op began it, else NULL: the dear part of a sample is taken once. */
static struct history_sample *add_note(struct history *history, const struct history_note *note)
{
    struct history_host *host = &history->hosts[note->host];
    bool is_new = false;
    struct history_sample *sample = find_sample(host, note->op, note->tag_bytes, &is_new);
    note_counts(host, sample, note);
    note_in_use(host, note->op, note->in_use_bytes);
    if (history->op_count <= note->op) {
        history->op_count = (uint64_t)note->op + 1;
    }
    return is_new ? sample : NULL;
}

void history_take(struct history *history, const struct history_note *note)
{
    CHECK(note->host < OP_HOST_COUNT_MAX);
    add_note(history, note);
    struct history_host *host = &history->hosts[note->host];
    if (note->requested_bytes > host->largest_request_bytes) {
        host->largest_request_bytes = note->requested_bytes;
    }
}

/* --- invariants --- */

static bool sample_invariants_hold(const struct history_sample *sample)
{
    bool hold = sample->in_use_bytes <= sample->top_in_use_bytes;
    for (int tag = 0; tag < OP_TAG_COUNT; tag++) {
        hold = hold && sample->floor_bytes[tag] <= sample->top_bytes[tag];
    }
    return hold;
}

static bool host_invariants_hold(const struct history_host *host)
{
    if (host->samples == NULL) {
        return host->count == 0;
    }
    bool hold = host->count >= 1 && host->count <= HISTORY_SAMPLE_COUNT_MAX &&
                host->in_use_bytes <= host->peak_bytes &&
                host->rise_count <= HISTORY_RISE_COUNT_MAX &&
                host->eviction_count <= HISTORY_EVICTION_COUNT_MAX;
    for (uint32_t i = 0; hold && i < host->count; i++) {
        hold = (i == 0 || host->samples[i - 1].first_op < host->samples[i].first_op) &&
               sample_invariants_hold(&host->samples[i]);
    }
    for (uint32_t i = 1; hold && i < host->rise_count; i++) {
        hold = host->rises[i - 1].bytes >= host->rises[i].bytes;
    }
    return hold;
}

bool history_invariants_hold(const struct history *history)
{
    bool hold = true;
    for (uint32_t host = 0; host < OP_HOST_COUNT_MAX; host++) {
        hold = hold && host_invariants_hold(&history->hosts[host]);
    }
    return hold;
}

/* --- from a run --- */

static void add_eviction(struct history_host *host, uint32_t program, uint32_t op)
{
    if (host->eviction_count == HISTORY_EVICTION_COUNT_MAX) {
        memmove(host->evictions, host->evictions + 1,
                (HISTORY_EVICTION_COUNT_MAX - 1) * sizeof *host->evictions);
        host->eviction_count--;
    }
    host->evictions[host->eviction_count++] = (struct history_eviction){program, op};
}

/* The id under which the device knows a program is the op that loaded it, and one more. */
static void note_evictions(struct history_host *host, const struct device *device, uint32_t op)
{
    EACH_DEVICE_CALL(device, made) {
        if (made->kind == DEVICE_CALL_UNLOAD && made->result == DEVICE_OK) {
            add_eviction(host, (uint32_t)(made->from - 1), op);
        }
    }
}

/* The dear part: O(tags + blocks). */
static void fill_sample(struct history_sample *sample, const struct model *model)
{
    sample->free_bytes = model_free_bytes(model);
    sample->stack_bytes = model_reserved_bytes(model);
    sample->largest_hole_bytes = model_largest_hole_bytes(model);
    sample->hole_count = (uint32_t)model_hole_count(model);
    sample->dying_count = (uint32_t)model_dying_count(model);
    for (size_t i = 0; i < model_program_count(model); i++) {
        sample->program_count += model_program(model, i)->state != BLOCK_GONE;
    }
    for (int tag = 0; tag < OP_TAG_COUNT; tag++) {
        sample->counts[tag] = (uint32_t)model_tag_count(model, (uint8_t)tag);
    }
}

static void describe_op(const struct run *run, const struct op *op, struct history_note *note)
{
    const struct op_kind_info *info = op_kind_info((enum op_kind)op->kind);
    const bool ends = op->kind == OP_FREE || op->kind == OP_FREE_AFTER || op->kind == OP_DONATE ||
                      op->kind == OP_UNLOAD;
    note->makes = info->makes_block || info->makes_program;
    note->made_tag = op->tag;
    note->executes = op->kind == OP_EXECUTE;
    note->frees = ends && op->ref < run_ops(run)->count;
    if (note->frees) {
        note->freed_tag = run_ops(run)->ops[op->ref].tag;
        note->freed_age = note->op - (uint64_t)op->ref;
    }
}

static uint64_t count_requested_bytes(const struct op *op)
{
    const struct op_kind_info *info = op_kind_info((enum op_kind)op->kind);
    const bool asks = (info->makes_block || info->makes_program) && op->kind != OP_DONATE;
    return asks ? op->size_bytes + (info->has_stack ? op->stack_bytes : 0) : 0;
}

void history_step(struct history *history, const struct run *run)
{
    const struct observation *seen = run_observation(run);
    if (seen->op >= run_ops(run)->count) {
        return; /* of what the run does after the list */
    }
    const struct op *op = &run_ops(run)->ops[seen->op];
    const struct model *model = run_model(run, op->host);
    struct history_host *host = &history->hosts[op->host];
    if (history->op_count == 0) {
        history->filler_tag = setup_filler_tag(run_setup(run));
    }
    struct history_note note = {
        .host = op->host, .op = seen->op, .tag_bytes = model_tag_bytes(model)};
    note.in_use_bytes = model_in_use_without(model, history->filler_tag);
    if (seen->skipped == 0 && seen->result == TARGET_OK) {
        describe_op(run, op, &note);
    }
    note.requested_bytes = count_requested_bytes(op);
    if (seen->unload_count > 0) {
        note_evictions(host, run_device(run, op->host), seen->op);
    }
    struct history_sample *sample = add_note(history, &note);
    if (sample != NULL) {
        fill_sample(sample, model);
    }
    if (seen->result == TARGET_OK && note.requested_bytes > host->largest_request_bytes) {
        host->largest_request_bytes = note.requested_bytes;
    }
}
