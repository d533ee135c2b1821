/* Trace events as JSON, which ui.perfetto.dev and chrome://tracing open: a process per host, a
 * thread per lane with its ops, one for mitigations, the device's queue, and counters of memory.
 *
 * Virtual time stands still in most ops.  So that none is hidden behind another, each op takes
 * 1 us of the trace in addition to the virtual time that passed in it: the time of the trace is
 * virtual time and 1 us for each op before. */
#include "formats/export/export.h"
#include "formats/export/private/document.h"
#include "formats/export/private/stays.h"
#include "harness/base/array.h"
#include "harness/base/search.h"
#include "harness/base/size.h"
#include "harness/op/fault.h"
#include "harness/op/ops_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define OP_NS UINT64_C(1000)
enum { PRINTED_BYTES = 1 << 16 }; /* a write each */

/* Threads of a process: ids are unique among all processes, which some readers expect. */
enum { THREAD_COUNT = 1000, THREAD_MITIGATIONS = 100, THREAD_QUEUE = 200 };

enum perfetto_counter {
    COUNTER_IN_USE,
    COUNTER_STACK,
    COUNTER_HOLE,
    COUNTER_QUEUED,
    COUNTER_COUNT
};

struct perfetto_host {
    uint64_t now_ns; /* virtual time after its last op */
    uint64_t queued_bytes;
    uint64_t counters[COUNTER_COUNT]; /* as printed last; UINT64_MAX: never */
    uint64_t lanes;                   /* that have their name, a bit each */
};

struct perfetto_state {
    struct export_document out;
    struct stays stays;
    struct perfetto_host hosts[OP_HOST_COUNT_MAX];
    struct trace_execution {
        uint32_t op;
        uint8_t host;
        bool is_pending;
    } * executions; /* under way: execution_count of them */
    size_t execution_count, execution_room;
    size_t pending_count;        /* events of the run after the last op */
    uint64_t op_count;           /* printed so far */
    struct export_event *events; /* event_count of the op under way */
    size_t event_count, event_room;
};

/* --- one event --- */

/* The members that every event has; more may follow, and "}". */
static void open_event(struct perfetto_state *state, const char *phase, uint32_t host,
                       uint32_t thread, uint64_t time_ns, const char *name)
{
    document_write(&state->out, "~ { ph:s pid:n tid:n ts:u name:s", phase, UINT64_C(1) + host,
                   (UINT64_C(1) + host) * THREAD_COUNT + thread, time_ns, name);
}

static void name_track(struct perfetto_state *state, uint32_t host, uint32_t thread,
                       const char *kind, const char *name, uint64_t order)
{
    char event[32];
    snprintf(event, sizeof event, "%s_name", kind);
    open_event(state, "M", host, thread, 0, event);
    document_write(&state->out, "args:{ name:s } }", name);
    snprintf(event, sizeof event, "%s_sort_index", kind);
    open_event(state, "M", host, thread, 0, event);
    document_write(&state->out, "args:{ sort_index:n } }", order);
}

static void name_lane(struct perfetto_state *state, uint32_t host, uint32_t lane)
{
    struct perfetto_host *of_host = &state->hosts[host];
    if ((of_host->lanes >> lane & 1) != 0) {
        return;
    }
    char name[32];
    of_host->lanes |= UINT64_C(1) << lane;
    snprintf(name, sizeof name, "lane %u", lane);
    name_track(state, host, lane, "thread", name, lane);
}

static void name_host(struct perfetto_state *state, const struct setup *setup, uint32_t host)
{
    char name[SETUP_VALUE_BYTES + 64];
    char capacity[SIZE_TEXT_BYTES];
    size_print(setup->capacity_bytes, capacity);
    snprintf(name, sizeof name, "host %u: %s, %s", host, setup->target, capacity);
    name_track(state, host, 0, "process", name, host);
    name_track(state, host, THREAD_MITIGATIONS, "thread", "mitigations", THREAD_MITIGATIONS);
    name_track(state, host, THREAD_QUEUE, "thread", "device queue", THREAD_QUEUE);
}

static bool begin_perfetto(struct export *export)
{
    struct perfetto_state *state = export->state;
    document_init(&state->out, false);
    document_write(&state->out, "{ displayTimeUnit=ns otherData:{ source:s time:s } traceEvents:[",
                   export->source, "virtual time, and 1 us for each op before");
    for (uint32_t i = 0; i < export->setup->host_count; i++) {
        memset(state->hosts[i].counters, 0xFF, sizeof state->hosts[i].counters);
        name_host(state, export->setup, i);
    }
    return true;
}

/* Hosts have one time, or each has its own. */
static struct perfetto_host *find_clock(const struct export *export, uint32_t host)
{
    struct perfetto_state *state = export->state;
    return &state->hosts[export->setup->has_clocks ? host : 0];
}

/* Returns when the op under way ends, in the time of a host. */
static uint64_t find_end(const struct export *export, uint32_t host)
{
    const struct perfetto_state *state = export->state;
    return find_clock(export, host)->now_ns + (state->op_count + 1) * OP_NS;
}

/* --- the device's queue: slices that overlap, each on a track of its own --- */

/* A block or an execution is named by host and op. */
static void put_queued(struct perfetto_state *state, const char *phase, uint64_t time_ns,
                       uint32_t host, uint32_t op, const char *name)
{
    char id[32];
    snprintf(id, sizeof id, "0x%" PRIx64, (uint64_t)(host + 1) << 32 | op);
    open_event(state, phase, host, THREAD_QUEUE, time_ns, name);
    document_write(&state->out, "cat:s id:s", name, id);
}

static void end_queued(struct perfetto_state *state, uint64_t time_ns, uint32_t host, uint32_t op,
                       const char *name)
{
    put_queued(state, "e", time_ns, host, op, name);
    document_write(&state->out, "}");
}

/* stay->begin_ns is a time of the trace. */
static void begin_queued_free(struct export *export, const struct stay *stay)
{
    struct perfetto_state *state = export->state;
    char tag[SETUP_NAME_BYTES];
    put_queued(state, "b", stay->begin_ns, stay->host, stay->block, "queued free");
    document_write(&state->out, "args:{ tag:s bytes:n address:n block:n } }",
                   export_tag(export->setup, stay->tag, tag), stay->size_bytes, stay->address,
                   (uint64_t)stay->block);
}

/* They are kept by op, which of ops that overlap is not the order in which they come. */
static void begin_execution(struct perfetto_state *state, const struct export_op *op,
                            uint64_t time_ns)
{
    const struct trace_execution begun = {.op = op->number, .host = op->op->host};
    put_queued(state, "b", time_ns, begun.host, begun.op, "execution");
    document_write(&state->out, "args:{ op:n program:n } }", (uint64_t)begun.op,
                   (uint64_t)op->op->ref);
    ARRAY_ADD(state->executions, state->execution_count, state->execution_room) = begun;
    size_t place = state->execution_count - 1;
    for (; place > 0 && state->executions[place - 1].op > begun.op; place--) {
        state->executions[place] = state->executions[place - 1];
    }
    state->executions[place] = begun;
}

/* True if an event may have completed.  It has not if one more is pending than before, or as many
 * as before an op that makes none. */
static bool may_have_completed(const struct perfetto_state *state, const struct export_op *op)
{
    const size_t count = model_event_count(op->model);
    return count != state->pending_count + 1 &&
           (count != state->pending_count || op_kind_info(op->op->kind)->makes_event);
}

/* Executions that are no longer pending end. */
static void end_executions(struct export *export, const struct export_op *op)
{
    struct perfetto_state *state = export->state;
    size_t kept = 0;
    for (size_t i = 0; i < model_event_count(op->model) && state->execution_count > 0; i++) {
        const uint32_t pending = model_event_op(op->model, i);
        size_t place;
        SEARCH_FIRST(place, 0, state->execution_count, state->executions[place].op >= pending);
        if (place < state->execution_count && state->executions[place].op == pending) {
            state->executions[place].is_pending = true;
        }
    }
    for (size_t i = 0; i < state->execution_count; i++) {
        struct trace_execution execution = state->executions[i];
        if (!execution.is_pending) {
            end_queued(state, find_end(export, execution.host), execution.host, execution.op,
                       "execution");
            continue;
        }
        execution.is_pending = false;
        state->executions[kept++] = execution;
    }
    state->execution_count = kept;
}

/* --- mitigations --- */

/* NULL: what the allocator keeps books with. */
static const char *name_call(enum device_call_kind kind)
{
    static const char *const names[DEVICE_CALL_KIND_COUNT] = {
        [DEVICE_CALL_COPY] = "move",
        [DEVICE_CALL_STAGE_OUT] = "stage out",
        [DEVICE_CALL_STAGE_IN] = "stage in",
        [DEVICE_CALL_WAIT] = "drain",
        [DEVICE_CALL_UNLOAD] = "evict",
        [DEVICE_CALL_MAP] = "map",
        [DEVICE_CALL_REGION_TAKE] = "take region",
        [DEVICE_CALL_REGION_GIVE] = "give region"};
    return names[kind];
}

static void add_call_args(struct export_document *out, const struct device_call *call)
{
    static const char *const results[] = {[DEVICE_OK] = "ok",
                                          [DEVICE_LOST] = "lost",
                                          [DEVICE_REFUSED] = "refused",
                                          [DEVICE_PARTIAL] = "partial"};
    document_write(out, "args:{ result:s", results[call->result]);
    if (call->kind == DEVICE_CALL_COPY || call->kind == DEVICE_CALL_STAGE_OUT) {
        document_write(out, "from:n", call->from);
    }
    if (call->kind == DEVICE_CALL_COPY || call->kind == DEVICE_CALL_STAGE_IN) {
        document_write(out, "to:n", call->to);
    }
    if (call->kind != DEVICE_CALL_WAIT && call->kind != DEVICE_CALL_UNLOAD) {
        document_write(out, "bytes:n", call->bytes);
    }
    document_write(out, "} }");
}

/* The arrow from an op to what it caused: "s" where it begins, "t" on its way, "f" at its end. */
static void put_flow(struct perfetto_state *state, const char *phase, uint32_t host,
                     uint32_t thread, uint64_t time_ns)
{
    open_event(state, phase, host, thread, time_ns, "mitigates");
    document_write(&state->out,
                   strcmp(phase, "f") == 0 ? "cat=mitigates id:n bp=e }" : "cat=mitigates id:n }",
                   state->op_count + 1);
}

struct op_span {
    uint64_t begin_ns, end_ns; /* of the trace */
};

/* Writes the calls in their order.  All virtual time passes in waits, which share it; the
 * microsecond of the op is shared by all calls. */
static void put_calls(struct perfetto_state *state, const struct export_op *op,
                      const struct op_span *span)
{
    uint64_t count = 0, waits = 0, done = 0, time_ns = span->begin_ns;
    for (size_t i = 0; i < op->call_count; i++) {
        count += name_call(op->calls[i].kind) != NULL;
        waits += op->calls[i].kind == DEVICE_CALL_WAIT;
    }
    for (size_t i = 0; i < op->call_count; i++) {
        const struct device_call *call = &op->calls[i];
        const char *name = name_call(call->kind);
        if (name == NULL) {
            continue;
        }
        const uint64_t elapsed_ns = span->end_ns - span->begin_ns - OP_NS;
        const uint64_t duration_ns = OP_NS / count +
                                     (call->kind == DEVICE_CALL_WAIT ? elapsed_ns / waits : 0);
        open_event(state, "X", op->op->host, THREAD_MITIGATIONS, time_ns, name);
        document_write(&state->out, "dur:u cat=mitigation", duration_ns);
        add_call_args(&state->out, call);
        if (done == 0) {
            put_flow(state, "s", op->op->host, op->op->lane, span->begin_ns);
        }
        done++;
        put_flow(state, done == count ? "f" : "t", op->op->host, THREAD_MITIGATIONS, time_ns);
        time_ns += duration_ns;
    }
}

/* --- ops --- */

static const char *name_result(const struct export_op *op)
{
    static const char *const names[] = {[TARGET_OK] = "ok",
                                        [TARGET_NO_MEMORY] = "out of memory",
                                        [TARGET_INVALID] = "invalid",
                                        [TARGET_FAILED] = "failed"};
    return op->is_skipped ? "skipped" : names[op->result];
}

static void put_op(struct export *export, const struct export_op *op, const struct op_span *span)
{
    struct perfetto_state *state = export->state;
    const struct op_kind_info *info = op_kind_info(op->op->kind);
    char line[OP_TEXT_BYTES], tag[SETUP_NAME_BYTES], name[SETUP_NAME_BYTES + 32];
    const char *what = "";
    if (op->op->kind == OP_FAULT) {
        what = fault_info((enum fault_kind)op->op->tag)->name;
    } else if (info->has_tag) {
        what = export_tag(export->setup, op->op->tag, tag);
    }
    snprintf(name, sizeof name, "%s%s%s", info->name, what[0] == '\0' ? "" : " ", what);
    open_event(state, "X", op->op->host, op->op->lane, span->begin_ns, name);
    document_write(&state->out, "dur:u cat=op args:{ op:n text:s result:s",
                   span->end_ns - span->begin_ns, (uint64_t)op->number, op_print(op->op, line),
                   name_result(op));
    if (!op->is_skipped && op->result == TARGET_OK && info->makes_block) {
        document_write(&state->out, "address:n bytes:n", op->address, op->size_bytes);
    }
    document_write(&state->out, "} }");
}

/* Writes an instant without duration: an out-of-memory with its verdict, or a broken promise. */
static void put_failure(struct export *export, const struct export_op *op, uint64_t time_ns)
{
    struct perfetto_state *state = export->state;
    const struct verdict *verdict = op->verdict;
    const bool is_failure = !op->is_skipped && op->result == TARGET_NO_MEMORY;
    if (!is_failure && verdict->kind == VERDICT_NONE) {
        return;
    }
    open_event(state, "i", op->op->host, op->op->lane, time_ns,
               is_failure ? "out of memory" : "broken promise");
    const bool is_judged = verdict->kind != VERDICT_NONE;
    document_write(&state->out,
                   "cat=verdict s=p args:{ op:n verdict:s reason:s requested:n message:s } }",
                   (uint64_t)op->number, is_judged ? verdict_name(verdict->kind) : "not judged",
                   is_judged ? verdict->reason : "", verdict->requested_bytes, op->message);
}

/* --- memory --- */

static void put_counters(struct perfetto_state *state, const struct export_memory *memory,
                         uint32_t host, uint64_t time_ns)
{
    static const char *const names[COUNTER_COUNT] = {[COUNTER_IN_USE] = "in use",
                                                     [COUNTER_STACK] = "reserved for stacks",
                                                     [COUNTER_HOLE] = "largest hole",
                                                     [COUNTER_QUEUED] = "queued frees"};
    struct perfetto_host *of_host = &state->hosts[host];
    const uint64_t values[COUNTER_COUNT] = {[COUNTER_IN_USE] = memory->in_use_bytes,
                                            [COUNTER_STACK] = memory->reserved_bytes,
                                            [COUNTER_HOLE] = memory->largest_hole_bytes,
                                            [COUNTER_QUEUED] = of_host->queued_bytes};
    for (unsigned i = 0; i < COUNTER_COUNT; i++) {
        if (values[i] == of_host->counters[i]) {
            continue;
        }
        of_host->counters[i] = values[i];
        open_event(state, "C", host, 0, time_ns, names[i]);
        document_write(&state->out, "args:{ bytes:n } }", values[i]);
    }
}

/* --- the exporter's calls --- */

/* The time of an event is that of its op, which comes later. */
static void keep_event(struct export *export, const struct export_event *event)
{
    struct perfetto_state *state = export->state;
    ARRAY_ADD(state->events, state->event_count, state->event_room) = *event;
}

/* A free that completes in the op that asked for it never was in the queue. */
static void end_queued_free(struct export *export, uint64_t time_ns, const struct stay *stay)
{
    struct perfetto_state *state = export->state;
    state->hosts[stay->host].queued_bytes -= stay->size_bytes;
    if (stay->begin_ns < time_ns) {
        begin_queued_free(export, stay);
        end_queued(state, time_ns, stay->host, stay->block, "queued free");
    }
}

static void put_stays(struct export *export)
{
    struct perfetto_state *state = export->state;
    for (size_t i = 0; i < state->event_count; i++) {
        struct export_event *event = &state->events[i];
        event->now_ns = find_end(export, event->host);
        const struct stay_change change = stays_take(&state->stays, event);
        if (change.has_ended && change.ended.state == STAY_QUEUED) {
            end_queued_free(export, event->now_ns, &change.ended);
        }
        if (change.has_begun && change.begun.state == STAY_QUEUED) {
            state->hosts[change.begun.host].queued_bytes += change.begun.size_bytes;
        }
    }
    state->event_count = 0;
}

/* When the op began and ended. */
static struct op_span find_span(const struct export *export, const struct export_op *op)
{
    const struct perfetto_state *state = export->state;
    struct perfetto_host *clock = find_clock(export, op->op->host);
    const uint64_t before_ns = clock->now_ns;
    /* Room for the microsecond of each op, whatever time is. */
    const uint64_t now_ns = op->now_ns < UINT64_MAX / 2 ? op->now_ns : UINT64_MAX / 2;
    clock->now_ns = now_ns > before_ns ? now_ns : before_ns;
    return (struct op_span){.begin_ns = before_ns + state->op_count * OP_NS,
                            .end_ns = find_end(export, op->op->host)};
}

static void put_perfetto_op(struct export *export, const struct export_op *op)
{
    struct perfetto_state *state = export->state;
    const struct op_span span = find_span(export, op);
    name_lane(state, op->op->host, op->op->lane);
    put_op(export, op, &span);
    put_calls(state, op, &span);
    put_failure(export, op, span.end_ns);
    put_stays(export);
    if (op->op->kind == OP_EXECUTE && !op->is_skipped && op->result == TARGET_OK) {
        begin_execution(state, op, span.end_ns);
    }
    if (may_have_completed(state, op)) {
        end_executions(export, op);
    }
    state->pending_count = model_event_count(op->model);
    for (uint32_t i = 0; i < export->setup->host_count; i++) {
        put_counters(state, &op->memory[i], i, find_end(export, i));
    }
    state->op_count++;
    struct writing *text = &state->out.text;
    if (text->length > PRINTED_BYTES) {
        /* The comma before the next event goes by the last character. */
        const char last = text->bytes[text->length - 1];
        text->bytes[--text->length] = '\0';
        document_print(&state->out, export->stream);
        writing_append_bytes(text, &last, 1);
    }
}

static bool end_perfetto(struct export *export, const struct export_final *final)
{
    struct perfetto_state *state = export->state;
    for (size_t i = 0; i < state->stays.count; i++) {
        if (state->stays.stays[i].state == STAY_QUEUED) {
            begin_queued_free(export, &state->stays.stays[i]);
        }
    }
    if (final != NULL) {
        document_write(&state->out, ". ] }");
        document_end(&state->out);
        document_print(&state->out, export->stream);
    }
    document_deinit(&state->out);
    stays_deinit(&state->stays);
    free(state->executions);
    free(state->events);
    return true;
}

const struct exporter exporter_perfetto = {
    .name = "perfetto",
    .suffix = ".perfetto.json",
    .summary = "trace events for ui.perfetto.dev and chrome://tracing",
    .state_bytes = sizeof(struct perfetto_state),
    .begin = begin_perfetto,
    .event = keep_event,
    .op = put_perfetto_op,
    .end = end_perfetto,
};
