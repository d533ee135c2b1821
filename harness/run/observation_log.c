#include "harness/run/observation_log.h"

#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/base/json.h"
#include "harness/device/timeline.h"
#include "harness/op/rounding.h"
#include "harness/run/run_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The place of a block when it was told last. */
struct told_place {
    uint64_t address;
    uint32_t op; /* its block; another block may have the slot by now */
    bool is_absent;
};
struct told_host {
    struct told_place *places; /* by slot; capacity of them */
    size_t capacity;
    struct device_region *regions; /* region_count of them, ascending */
    size_t region_count, region_capacity;
};

struct observation_log {
    struct told_host hosts[OP_HOST_COUNT_MAX];
    uint64_t *due_ns; /* by event: what a reader of the lines so far would say */
    size_t due_capacity;
    struct {
        uint64_t completed_count, now_ns; /* as told last */
    } clocks[OP_HOST_COUNT_MAX];          /* by host.clock */
};

struct observation_log *observation_log_create(void)
{
    struct observation_log *log = array_zeroed(1, sizeof *log);
    return log;
}

void observation_log_destroy(struct observation_log *log)
{
    if (log == NULL) {
        return;
    }
    for (size_t i = 0; i < OP_HOST_COUNT_MAX; i++) {
        free(log->hosts[i].places);
        free(log->hosts[i].regions);
    }
    free(log->due_ns);
    free(log);
}

/* --- the head --- */

static void append_host(struct writing *text, const struct target_contract *contract)
{
    char rounding[ROUNDING_TEXT_BYTES];
    rounding_print(&contract->rounding, rounding);
    json_nest(text, NULL, '{');
    json_add_number(text, "granule", contract->granule_bytes);
    json_add_string(text, "rounding", rounding);
    json_add_string(text, "defrag", defrag_contract_name(contract->defrag));
    json_add_boolean(text, "drains", contract->drains);
    json_add_boolean(text, "evicts", contract->evicts);
    json_add_boolean(text, "program_evicts_program", contract->program_evicts_program);
    if (contract->placement != PLACEMENT_RANGES || contract->header_bytes > 0) {
        json_add_string(text, "placement", placement_name(contract->placement));
        json_add_number(text, "header", contract->header_bytes);
    }
    if (contract->aligns_naturally) {
        json_add_boolean(text, "aligns_naturally", true);
    }
    if (contract->regions.grows) {
        const uint64_t step = contract->regions.step_bytes;
        json_add_boolean(text, "trims", contract->regions.trims);
        json_add_number(text, "step", step != 0 ? step : contract->granule_bytes);
    }
    if (contract->stream_ordered) {
        json_add_boolean(text, "stream_ordered", true);
    }
    if (contract->records) {
        json_add_boolean(text, "records", true);
    }
    json_unnest(text, '}');
}

void observation_log_print_head(const struct run *run, struct writing *text)
{
    const struct setup *setup = &run->setup;
    text->is_spaced = true;
    writing_append(text, "{");
    json_add_string(text, "format", "hbmstress-observations");
    json_add_number(text, "version", 1);
    setup_add_target_json(setup, text);
    json_add_number(text, "capacity", setup->capacity_bytes);
    json_nest(text, "hosts", '[');
    for (uint32_t i = 0; i < setup->host_count; i++) {
        append_host(text, model_contract(run->models[i]));
    }
    json_unnest(text, ']');
    json_close(text);
    text->is_spaced = false;
}

/* --- one op --- */

static void append_time(struct writing *text, const char *name, uint64_t time_ns)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, time_ns);
    json_add_string(text, name, time_ns == DELAY_NEVER ? "never" : digits);
}

/* A list is begun by what is first in it, and is not there if nothing is. */
static void begin_entry(struct writing *text, const char *name, bool *is_open)
{
    if (!*is_open) {
        json_nest(text, name, '[');
        *is_open = true;
    }
}

static void end_list(struct writing *text, bool is_open)
{
    if (is_open) {
        json_unnest(text, ']');
    }
}

static struct told_place *find_told(struct told_host *host, uint32_t slot)
{
    if (slot >= host->capacity) {
        const size_t capacity = 2 * (size_t)slot + 64;
        host->places = array_resized(host->places, capacity * sizeof *host->places);
        for (size_t i = host->capacity; i < capacity; i++) {
            host->places[i] = (struct told_place){.op = OP_NONE};
        }
        host->capacity = capacity;
    }
    return &host->places[slot];
}

static void note_place(struct told_host *host, uint32_t slot, const struct block *block)
{
    *find_told(host, slot) = (struct told_place){block->address, block->op, block->is_absent};
}

/* The place of what the op made, or of the image that it brought back, is in its answer. */
static void note_answer(struct told_host *host, const struct model *model, uint32_t op)
{
    const uint32_t slot = model_slot_of_op(model, op);
    if (slot != SLOT_NONE && model_block(model, slot)->state != BLOCK_GONE) {
        note_place(host, slot, model_block(model, slot));
    }
}

static bool has_moved(const struct told_place *told, const struct block *block)
{
    return block->state != BLOCK_GONE && told->op == block->op &&
           (told->is_absent != block->is_absent ||
            (!block->is_absent && told->address != block->address));
}

static void append_moved(struct writing *text, struct told_host *host, const struct model *model)
{
    bool is_open = false;
    for (uint32_t slot = 0; slot < model_slot_count(model); slot++) {
        const struct block *block = model_block(model, slot);
        if (!has_moved(find_told(host, slot), block)) {
            continue;
        }
        begin_entry(text, "moved", &is_open);
        json_nest(text, NULL, '[');
        json_add_number(text, NULL, block->op);
        if (block->is_absent) {
            json_add_no_number(text, NULL);
        } else {
            json_add_number(text, NULL, block->address);
        }
        json_unnest(text, ']');
        note_place(host, slot, block);
    }
    end_list(text, is_open);
}

/* Forgets the image's place: the answer to its execution says where it comes back to. */
static void forget_image(struct told_host *host, const struct model *model, uint32_t program)
{
    const uint32_t slot = model_slot_of_op(model, program);
    if (slot != SLOT_NONE) {
        find_told(host, slot)->op = OP_NONE;
    }
}

static bool is_move(const struct device_call *call)
{
    return call->kind == DEVICE_CALL_COPY || call->kind == DEVICE_CALL_STAGE_OUT ||
           call->kind == DEVICE_CALL_STAGE_IN;
}

static void append_device_calls(struct writing *text, struct told_host *host, const struct run *run,
                                const struct op *op)
{
    bool is_open = false, moves = false;
    EACH_DEVICE_CALL(run->hosts[op->host].device, made) {
        moves = moves || is_move(made);
        if (made->kind == DEVICE_CALL_UNLOAD && made->result == DEVICE_OK) {
            begin_entry(text, "evicted", &is_open);
            json_add_number(text, NULL, made->from - 1);
            forget_image(host, run->models[op->host], (uint32_t)(made->from - 1));
        }
    }
    end_list(text, is_open);
    if (moves) {
        append_moved(text, host, run->models[op->host]);
    }
}

static void append_refused(struct writing *text, const struct device *device)
{
    bool is_open = false;
    for (unsigned i = 0; i < FAULT_KIND_COUNT; i++) {
        if (fault_refuses((enum fault_kind)i) && (device_faults_fired(device) >> i & 1) != 0) {
            begin_entry(text, "refused", &is_open);
            json_add_string(text, NULL, fault_info((enum fault_kind)i)->name);
        }
    }
    end_list(text, is_open);
}

/* --- regions --- */

/* An out-of-memory is judged by those that were held when it was answered. */
static const struct device_region *find_regions(const struct run *run, const struct op *op,
                                                size_t *count)
{
    const bool is_oom = run->observation.skipped == 0 &&
                        run->observation.result == TARGET_NO_MEMORY;
    *count = run->judge.oom.region_count;
    return is_oom ? run->judge.oom.regions : model_regions(run->models[op->host], count);
}

static bool has_region(const struct device_region *regions, size_t count,
                       const struct device_region *region)
{
    size_t i = 0;
    while (i < count && regions[i].address < region->address) {
        i++;
    }
    return i < count && regions[i].address == region->address &&
           regions[i].size_bytes == region->size_bytes;
}

static void append_given(struct writing *text, const struct told_host *host,
                         const struct device_region *regions, size_t count)
{
    bool is_open = false;
    for (size_t i = 0; i < host->region_count; i++) {
        if (!has_region(regions, count, &host->regions[i])) {
            begin_entry(text, "given", &is_open);
            json_add_number(text, NULL, host->regions[i].address);
        }
    }
    end_list(text, is_open);
}

static void append_taken(struct writing *text, const struct told_host *host,
                         const struct device_region *regions, size_t count)
{
    bool is_open = false;
    for (size_t i = 0; i < count; i++) {
        if (!has_region(host->regions, host->region_count, &regions[i])) {
            begin_entry(text, "taken", &is_open);
            json_nest(text, NULL, '[');
            json_add_number(text, NULL, regions[i].address);
            json_add_number(text, NULL, regions[i].address + regions[i].size_bytes);
            json_unnest(text, ']');
        }
    }
    end_list(text, is_open);
}

static void append_regions(struct writing *text, struct told_host *host, const struct run *run,
                           const struct op *op)
{
    size_t count = 0;
    const struct device_region *regions = find_regions(run, op, &count);
    append_given(text, host, regions, count);
    append_taken(text, host, regions, count);
    if (count > host->region_capacity) {
        host->region_capacity = 2 * count;
        host->regions = array_resized(host->regions, host->region_capacity * sizeof *host->regions);
    }
    if (count > 0) {
        memcpy(host->regions, regions, count * sizeof *regions);
    }
    host->region_count = count;
}

/* --- events --- */

/* An out-of-memory is judged by what the target must have seen: the rest is told with the next op.
 */
static uint64_t told_count(const struct run *run, const struct host *host, const struct host *of_op)
{
    const bool is_oom = run->observation.skipped == 0 &&
                        run->observation.result == TARGET_NO_MEMORY;
    return is_oom && host->timeline == of_op->timeline ? device_seen_count(of_op->device)
                                                       : timeline_completed_count(host->timeline);
}

/* One host of each time. */
static const struct host *first_of_clock(const struct run *run, uint32_t host)
{
    return run->hosts[host].clock == host ? &run->hosts[host] : NULL;
}

static void append_done(struct writing *text, struct observation_log *log, const struct run *run,
                        const struct host *of_op)
{
    bool is_open = false;
    for (uint32_t i = 0; i < run->setup.host_count; i++) {
        const struct host *host = first_of_clock(run, i);
        if (host == NULL) {
            continue;
        }
        const uint64_t count = told_count(run, host, of_op);
        uint64_t *told = &log->clocks[i].completed_count;
        for (; *told < count; (*told)++) {
            begin_entry(text, "done", &is_open);
            json_add_number(text, NULL, timeline_completed_at(host->timeline, *told) - 1);
        }
    }
    end_list(text, is_open);
}

/* When the list says that the op's own event is due. */
static void expect_event(struct observation_log *log, const struct run *run, const struct op *op,
                         const struct observation *seen)
{
    const uint32_t number = seen->op;
    const uint64_t now_ns = seen->now_ns;
    const uint64_t before_ns = log->clocks[run->hosts[op->host].clock].now_ns;
    const uint64_t event = (uint64_t)number + 1;
    if (event >= log->due_capacity) {
        log->due_capacity = 2 * event + 64;
        log->due_ns = array_resized(log->due_ns, log->due_capacity * sizeof *log->due_ns);
    }
    log->due_ns[event] = op->kind != OP_EXECUTE ? delay_after_ns(before_ns, op->delay_ns)
                         : (op->flags & OP_COLLECTIVE) != 0
                             ? delay_after_ns(now_ns, setup_collective_bound_ns(&run->setup))
                             : delay_after_ns(now_ns, op->delay_ns);
}

static void append_other_due(struct writing *text, struct observation_log *log, uint64_t event,
                             uint64_t due_ns, bool *is_open)
{
    if (due_ns == log->due_ns[event]) {
        return;
    }
    begin_entry(text, "due", is_open);
    json_nest(text, NULL, '[');
    json_add_number(text, NULL, event - 1);
    append_time(text, NULL, due_ns);
    json_unnest(text, ']');
    log->due_ns[event] = due_ns;
}

/* Only a fault, the last host of a collective, or its stream changes when an event is due.  What an
 * out-of-memory need not have seen was not to be awaited. */
static void append_due(struct writing *text, struct observation_log *log, const struct run *run)
{
    bool is_open = false;
    for (uint32_t k = 0; k < run->setup.host_count; k++) {
        if (first_of_clock(run, k) == NULL) {
            continue;
        }
        const struct timeline *timeline = run->hosts[k].timeline;
        for (size_t i = 0; i < timeline_pending_count(timeline); i++) {
            const uint64_t event = timeline_pending_at(timeline, i);
            append_other_due(text, log, event, timeline_due_ns(timeline, event), &is_open);
        }
        const uint64_t count = timeline_completed_count(timeline);
        for (uint64_t i = log->clocks[k].completed_count; i < count; i++) {
            append_other_due(text, log, timeline_completed_at(timeline, i), DELAY_NEVER, &is_open);
        }
    }
    end_list(text, is_open);
}

/* --- the line --- */

static bool is_execution(const struct op_kind_info *info)
{
    return info->has_program && info->makes_event;
}

static void append_answer(struct writing *text, const struct observation *seen,
                          const struct op_kind_info *info)
{
    static const char *const answers[] = {"ok", "no_memory", "invalid", "failed"};
    const bool is_known = seen->result < sizeof answers / sizeof *answers;
    json_add_string(text, "answer",
                    seen->skipped != 0 ? "skipped"
                    : is_known         ? answers[seen->result]
                                       : "failed");
    append_time(text, "now", seen->now_ns);
    if (seen->skipped == 0 && seen->result == TARGET_OK &&
        (info->makes_block || info->makes_program || is_execution(info))) {
        json_add_number(text, "address", seen->address);
        json_add_number(text, "size", seen->size_bytes);
    }
}

static void append_effects(struct writing *text, struct observation_log *log, const struct run *run,
                           const struct op *op)
{
    const struct device *device = run->hosts[op->host].device;
    const struct op_kind_info *info = op_kind_info(op->kind);
    struct told_host *host = &log->hosts[op->host];
    if (run->observation.skipped == 0) {
        append_device_calls(text, host, run, op);
        note_answer(host, run->models[op->host],
                    is_execution(info) ? op->ref : run->observation.op);
    }
    append_regions(text, host, run, op);
    append_done(text, log, run, &run->hosts[op->host]);
    if (device_faults_struck(device) != 0 || (op->flags & OP_COLLECTIVE) != 0 ||
        (run->hosts[op->host].contract.stream_ordered && info->makes_event)) {
        append_due(text, log, run);
    }
    if (run->observation.skipped == 0) {
        append_refused(text, device);
    }
}

void observation_log_print_op(struct observation_log *log, const struct run *run,
                              struct writing *text)
{
    const struct observation *seen = &run->observation;
    CHECK(seen->op < run->ops.count);
    const struct op *op = &run->ops.ops[seen->op];
    expect_event(log, run, op, seen);
    text->is_spaced = true;
    writing_append(text, "{");
    json_add_number(text, "op", seen->op);
    append_answer(text, seen, op_kind_info(op->kind));
    append_effects(text, log, run, op);
    json_close(text);
    text->is_spaced = false;
    log->clocks[run->hosts[op->host].clock].now_ns = seen->now_ns;
}
