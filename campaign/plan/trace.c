#include "campaign/plan/plan.h"

#include "campaign/base/file.h"
#include "campaign/plan/lookup.h"
#include "formats/formats.h"
#include "harness/base/check.h"
#include "harness/base/hash.h"
#include "harness/generate/faulting.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct scenario scenario_trace = {
    .name = "trace",
    .summary = "a field trace: as it is, repeated, interleaved, on several hosts, in other sizes",
    .source = "the file that the part names",
    .ops_per_trial = UINT32_MAX,
};

/* One file, as a list. */
struct trace_workload {
    struct setup setup;
    struct op_list ops;
    uint64_t hash; /* of the file */
};

/* second is its own workload, or that of the other file. */
struct trace {
    struct trace_workload own, other;
    bool has_other;
    char path[TRACE_PATH_BYTES];
    struct variation_bounds bounds;
    uint64_t digest;
};

static bool fail_reading(char reason[TRACE_REASON_BYTES], const char *path, const char *why)
{
    (void)snprintf(reason, TRACE_REASON_BYTES, "%.700s: %.300s", path, why);
    return false;
}

static bool hash_file(const char *path, uint64_t *hash, char reason[TRACE_REASON_BYTES])
{
    FILE *file = fopen(path, "re");
    unsigned char bytes[1 << 14];
    size_t got;
    if (file == NULL) {
        return fail_reading(reason, path, strerror(errno));
    }
    *hash = HASH_START;
    while ((got = fread(bytes, 1, sizeof bytes, file)) > 0) {
        *hash = hash_bytes(*hash, bytes, got);
    }
    const bool is_read = ferror(file) == 0;
    if (!is_read) {
        (void)fail_reading(reason, path, strerror(errno));
    }
    (void)fclose(file);
    return is_read;
}

/* A format of that name, or "auto". */
static bool check_format(const char *name, char reason[TRACE_REASON_BYTES])
{
    const char *names[128];
    size_t count = 0;
    if (strcmp(name, "auto") == 0 || format_find(name) != NULL) {
        return true;
    }
    for (; formats[count] != NULL; count++) {
        CHECK(count < sizeof names / sizeof *names);
        names[count] = formats[count]->name;
    }
    const char *near = message_nearest(name, names, count);
    (void)snprintf(reason, TRACE_REASON_BYTES, "unknown format '%s'; %s%s%s", name,
                   near == NULL ? "" : "did you mean '",
                   near == NULL ? "see hbmstress list formats" : near, near == NULL ? "" : "'?");
    return false;
}

/* Returns true if no block is freed or donated and no program unloaded.  Some formats have the
 * blocks of one moment, or one program, as ops in an order of their own. */
static bool ends_nothing(const struct op_list *ops)
{
    for (size_t i = 0; i < ops->count; i++) {
        const enum op_kind kind = (enum op_kind)ops->ops[i].kind;
        if (kind == OP_FREE || kind == OP_FREE_AFTER || kind == OP_DONATE || kind == OP_UNLOAD) {
            return false;
        }
    }
    return true;
}

/* Returns what a trial needs and this import does not have; NULL: it can be run. */
static const char *why_no_workload(const struct import *import)
{
    if (import->view == IMPORT_MOMENT) {
        return "it shows the blocks of one moment; a workload needs what was allocated and freed, "
               "one after the other";
    }
    if (import->view == IMPORT_SUMS) {
        return "it shows the sums of one moment; a workload needs what was allocated and freed, "
               "one after the other";
    }
    return ends_nothing(&import->ops)
               ? "nothing ends in it: it shows what is there, or one program, and a workload needs "
                 "what was allocated and freed, one after the other"
               : NULL;
}

/* Several threads become one client, in the order of the list, which needs no schedule. */
static void join_lanes(struct op_list *ops)
{
    bool *keep = calloc(ops->count + 1, sizeof *keep);
    CHECK(keep != NULL);
    for (size_t i = 0; i < ops->count; i++) {
        ops->ops[i].lane = 0;
        keep[i] = ops->ops[i].kind != OP_SWITCH;
    }
    op_list_filter(ops, keep);
    free(keep);
}

/* Drops the file's options if the target is not the file's own: that target never promised them.
 * Options that the user gave come again with the part's. */
static void drop_options(const struct run_options *options, const struct import *import,
                         struct setup *setup)
{
    if (options->target != NULL && import->named_target[0] != '\0' &&
        strcmp(options->target, import->named_target) != 0) {
        setup->option_count = 0;
        setup->has_rounding = false;
    }
}

/* Drops what a list says of its own verdicts: it does not hold for the lists made from it. */
static void drop_judgement(struct setup *setup)
{
    setup->search_nodes_max = 0;
    setup->has_regret_max = false;
    setup->regret_max = 0;
    setup->reported = (struct setup_reported){0};
    setup->checks_races = false;
}

static bool take_import(const char *path, const struct run_options *options,
                        const struct import *import, struct trace_workload *workload,
                        char reason[TRACE_REASON_BYTES])
{
    const char *why = why_no_workload(import);
    const struct chip *chip = chip_find(import->setup.chip);
    if (why != NULL) {
        return fail_reading(reason, path, why);
    }
    setup_copy(&workload->setup, &import->setup);
    op_list_copy(&workload->ops, &import->ops);
    join_lanes(&workload->ops);
    drop_options(options, import, &workload->setup);
    drop_judgement(&workload->setup);
    if (workload->setup.capacity_bytes == 0 && chip != NULL) {
        workload->setup.capacity_bytes = chip->capacity_bytes;
    }
    if (workload->setup.capacity_bytes == 0) {
        fail_reading(reason, path, "it names no capacity; give capacity or chip");
        return false;
    }
    return true;
}

static bool import_workload(const char *path, const struct run_options *options,
                            struct trace_workload *workload, char reason[TRACE_REASON_BYTES])
{
    struct run_options device = *options;
    struct setup fixed = {0};
    device.host_count = 0;
    device.has_seed = false;
    if (setup_override(&fixed, &device) != EXIT_KEPT) {
        reason[0] = '\0'; /* it was said */
        return false;
    }
    const struct import_options import_options = {.fixed = &fixed};
    struct import import;
    struct import_error error = {0};
    import_init(&import);
    bool is_taken = false;
    if (import_file(path, options->vary.format, &import_options, &import, &error) == IMPORT_OK) {
        is_taken = take_import(path, options, &import, workload, reason);
    } else {
        (void)import_error_print(path, &error, reason, TRACE_REASON_BYTES);
    }
    import_deinit(&import);
    return is_taken;
}

static bool read_workload(const char *path, const struct run_options *options,
                          struct trace_workload *workload, char reason[TRACE_REASON_BYTES])
{
    if (strcmp(path, "-") == 0) {
        return fail_reading(reason, path,
                            "a workload is a file: it is read again when the run goes on");
    }
    return hash_file(path, &workload->hash, reason) &&
           import_workload(path, options, workload, reason);
}

/* --- what trials may make of it --- */

static const struct trace_workload *second_of(const struct trace *trace)
{
    return trace->has_other ? &trace->other : &trace->own;
}

static struct variation_source source_of(const struct trace_workload *workload)
{
    return (struct variation_source){.setup = &workload->setup, .ops = &workload->ops};
}

static void set_bounds(const struct run_options *options, struct trace *trace)
{
    const struct trace_vary *vary = &options->vary;
    const uint32_t own_hosts = trace->own.setup.host_count;
    trace->bounds = (struct variation_bounds){
        .repeat_count_max = (uint32_t)vary->repeat_count_max,
        .is_interleaved = strcmp(vary->interleave, "none") != 0,
        .percent_count = vary->percent_count,
        .keeps_capacity = options->chip != NULL || options->capacity_bytes != 0,
        .host_count = options->host_count == 0 ? own_hosts : (uint32_t)options->host_count,
        .skew_ns = vary->skew_ns};
    memcpy(trace->bounds.percents, vary->percents, sizeof trace->bounds.percents);
}

/* Returns true if hosts and lists go together. */
static bool check_hosts(const struct run_options *options, const struct trace *trace,
                        char reason[TRACE_REASON_BYTES])
{
    const uint32_t own = trace->own.setup.host_count;
    if (own > 1 && trace->bounds.host_count != own) {
        (void)snprintf(
            reason, TRACE_REASON_BYTES,
            "%.800s: it has %u hosts of its own; only the trace of one host is run on others",
            options->trace, own);
        return false;
    }
    if (trace->has_other && (own > 1 || trace->other.setup.host_count > 1)) {
        (void)snprintf(
            reason, TRACE_REASON_BYTES,
            "%.400s: only traces of one host each are interleaved; it has %u, %.400s has %u",
            options->trace, own, options->vary.interleave, trace->other.setup.host_count);
        return false;
    }
    return true;
}

static bool read_other(const struct run_options *options, struct trace *trace,
                       char reason[TRACE_REASON_BYTES])
{
    if (!trace_vary_names_file(&options->vary)) {
        return true;
    }
    trace->has_other = true;
    if (!read_workload(options->vary.interleave, options, &trace->other, reason)) {
        return false;
    }
    variation_adopt_tags(&trace->own.setup, &trace->other.setup, &trace->other.ops);
    return true;
}

static uint64_t compute_digest(const struct trace *trace)
{
    const struct variation_bounds *bounds = &trace->bounds;
    const uint64_t words[] = {
        trace->own.hash,          trace->has_other,       trace->other.hash,
        bounds->repeat_count_max, bounds->is_interleaved, bounds->percent_count,
        bounds->keeps_capacity,   bounds->host_count,     bounds->skew_ns,
        trace->own.ops.count,     trace->other.ops.count};
    uint64_t digest = hash_bytes(HASH_START, words, sizeof words);
    return hash_bytes(digest, bounds->percents, sizeof bounds->percents);
}

static struct trace *create_trace(void)
{
    struct trace *trace = calloc(1, sizeof *trace);
    CHECK(trace != NULL);
    setup_init(&trace->own.setup);
    setup_init(&trace->other.setup);
    op_list_init(&trace->own.ops);
    op_list_init(&trace->other.ops);
    return trace;
}

struct trace *trace_open(const struct run_options *options, char reason[TRACE_REASON_BYTES])
{
    struct trace *trace = create_trace();
    struct run_options completed = *options;
    if (!options->has_vary) {
        trace_vary_init(&completed.vary);
    }
    bool is_good = check_format(completed.vary.format, reason) &&
                   read_workload(options->trace, &completed, &trace->own, reason) &&
                   read_other(&completed, trace, reason);
    if (is_good) {
        set_bounds(&completed, trace);
        is_good = check_hosts(&completed, trace, reason);
    }
    if (!is_good) {
        trace_close(trace);
        return NULL;
    }
    trace->digest = compute_digest(trace);
    (void)snprintf(trace->path, sizeof trace->path, "%s", options->trace);
    return trace;
}

void trace_close(struct trace *trace)
{
    if (trace == NULL) {
        return;
    }
    op_list_deinit(&trace->own.ops);
    op_list_deinit(&trace->other.ops);
    free(trace);
}

const struct setup *trace_setup(const struct trace *trace)
{
    return &trace->own.setup;
}

const char *trace_path(const struct trace *trace)
{
    return trace->path;
}

uint64_t trace_digest(const struct trace *trace)
{
    return trace->digest;
}

uint64_t trace_op_count_max(const struct trace *trace)
{
    const struct variation_source own = source_of(&trace->own),
                                  second = source_of(second_of(trace));
    const uint64_t longest = variation_op_count_max(&own, &second, &trace->bounds);
    /* Each repetition may be ended, which takes fewer ops than it has; and faults come between. */
    return 2 * longest + OP_HOST_COUNT_MAX + 2 * longest / (FAULTING_OPS_PER_FAULT - 1) + 1;
}

/* Takes over the made setup; what is the part's own stays. */
static void take_made(const struct setup *made, const struct trace *trace, struct setup *setup)
{
    setup_set_hosts(setup, made->host_count);
    setup->has_clocks = made->has_clocks;
    memcpy(setup->clocks, made->clocks, sizeof setup->clocks);
    setup->group_count = made->group_count;
    memcpy(setup->groups, made->groups, sizeof setup->groups);
    if (made->capacity_bytes != trace->own.setup.capacity_bytes) {
        setup->capacity_bytes = made->capacity_bytes;
        setup->chip[0] = '\0';
    }
}

void trace_make_trial(const struct trace *trace, uint64_t trial, struct setup *setup,
                      struct op_list *ops)
{
    const struct variation_source own = source_of(&trace->own),
                                  second = source_of(second_of(trace));
    const struct variation variation = variation_draw(&own, &second, &trace->bounds, trial,
                                                      setup->seed);
    struct setup made;
    setup_init(&made);
    variation_make(&own, &second, &variation, setup->seed, &made, ops);
    take_made(&made, trace, setup);
}
