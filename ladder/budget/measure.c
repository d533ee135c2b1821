/* What a list comes to, measured in a process of its own, and held against the limits. */
#include "harness/base/check.h"
#include "harness/lanes/lanes_list.h"
#include "harness/trial/trial_run.h"
#include "ladder/budget/budget.h"
#include "measure/headroom.h"
#include "recording/recording.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of a byte: a slope that is whole but for the rounding of a quotient is not rounded up. */
static const double ROUNDING = 0.001;

/* Of the child. */
struct budget_watch {
    const struct budget *budget;
    struct budget_run *run;
    struct budget_host *hosts;
    struct list_use *uses; /* by host; NULL: growth has no limit */
    unsigned filler_tag;
    size_t fragmentation; /* the limit of it; limit_count: there is none */
    uint64_t oom_max;
    uint64_t turn, turn_count; /* ops that were judged, and that will be */
    struct oracle *oracle;     /* and oom: scratch */
    struct oom oom;
    struct headroom worst[OP_HOST_COUNT_MAX];
};

/* --- one op --- */

static uint64_t sum_in_use(const struct budget_watch *watch, const struct model *model)
{
    return model_in_use_without(model, watch->filler_tag) + model_reserved_bytes(model);
}

static void take_moment(const struct budget_watch *watch, const struct model *model, uint32_t op,
                        struct budget_moment *moment)
{
    *moment = (struct budget_moment){.is_seen = true,
                                     .op = op,
                                     .in_use_bytes = sum_in_use(watch, model),
                                     .stack_bytes = model_reserved_bytes(model)};
    memcpy(moment->tag_bytes, model_tag_bytes(model), sizeof moment->tag_bytes);
    if (watch->filler_tag < OP_TAG_COUNT) {
        moment->tag_bytes[watch->filler_tag] = 0;
    }
}

/* What is in use of a limit's kind: of all tags, or of its own. */
static uint64_t find_use(const struct budget_limit *limit, uint64_t in_use_bytes,
                         const uint64_t *tag_bytes)
{
    return limit->kind == BUDGET_PEAK ? in_use_bytes : tag_bytes[limit->tag];
}

static void note_peaks(const struct budget_watch *watch, const struct model *model, uint32_t op,
                       struct budget_host *host)
{
    const struct budget *budget = watch->budget;
    for (size_t i = 0; i < budget->limit_count; i++) {
        const struct budget_limit *limit = &budget->limits[i];
        struct budget_moment *peak = &host->moments[i];
        if ((limit->kind == BUDGET_PEAK || limit->kind == BUDGET_TAG_PEAK) &&
            (!peak->is_seen || find_use(limit, sum_in_use(watch, model), model_tag_bytes(model)) >
                                   find_use(limit, peak->in_use_bytes, peak->tag_bytes))) {
            take_moment(watch, model, op, peak);
        }
    }
}

/* Half full, and no filler is in the way of what is free. */
static bool does_fragmentation_count(const struct budget_watch *watch, const struct model *model,
                                     size_t place)
{
    const struct budget_steps *steps = &watch->budget->steps;
    const bool is_warm = steps->axis.count == 0 || steps->warmup_count == 0 ||
                         (place < steps->axis.count && place >= steps->warmup_count);
    const bool has_filler = watch->filler_tag < OP_TAG_COUNT &&
                            model_tag_count(model, (uint8_t)watch->filler_tag) > 0;
    const uint64_t device_bytes = model_capacity_bytes(model) - model_retired_bytes(model);
    return is_warm && !has_filler &&
           sum_in_use(watch, model) >=
               device_bytes / BUDGET_FULL_DIVISOR + device_bytes % BUDGET_FULL_DIVISOR;
}

static void note_fragmentation(struct budget_watch *watch, const struct model *model, uint32_t op,
                               size_t place, uint32_t host_index)
{
    struct headroom *worst = &watch->worst[host_index];
    struct budget_moment *moment = &watch->hosts[host_index].moments[watch->fragmentation];
    if (watch->fragmentation == watch->budget->limit_count ||
        !does_fragmentation_count(watch, model, place) ||
        !headroom_take_if_worse(model, watch->oracle, &watch->oom, ORACLE_LARGEST_NODES, worst)) {
        return;
    }
    take_moment(watch, model, op, moment);
    moment->free_bytes = worst->free_bytes;
    moment->largest_hole_bytes = worst->free_bytes - worst->lost_bytes;
    moment->lost_bytes = worst->lost_bytes;
}

static void lower_floor(const struct budget_watch *watch, const struct model *model, uint32_t op,
                        struct budget_floor *floor)
{
    const uint64_t *tag_bytes = model_tag_bytes(model);
    const uint64_t in_use_bytes = sum_in_use(watch, model);
    if (!floor->is_seen) {
        *floor = (struct budget_floor){.is_seen = true, .op = op, .in_use_bytes = in_use_bytes};
        memcpy(floor->tag_bytes, tag_bytes, sizeof floor->tag_bytes);
        return;
    }
    if (in_use_bytes < floor->in_use_bytes) {
        floor->in_use_bytes = in_use_bytes;
        floor->op = op;
    }
    for (size_t tag = 0; tag < OP_TAG_COUNT; tag++) {
        floor->tag_bytes[tag] = tag_bytes[tag] < floor->tag_bytes[tag] ? tag_bytes[tag]
                                                                       : floor->tag_bytes[tag];
    }
}

static bool is_in_half(const struct budget_steps *steps, size_t start, size_t place)
{
    return place < steps->axis.count && place >= start && place - start < steps->half_count;
}

/* Behind a refusal the list is no longer what the job did. */
static void note_floors(const struct budget_watch *watch, const struct model *model, uint32_t op,
                        size_t place, struct budget_host *host)
{
    const struct budget_steps *steps = &watch->budget->steps;
    const uint32_t host_index = (uint32_t)(host - watch->hosts);
    if (watch->run->oom_count > 0) {
        return;
    }
    if (watch->uses != NULL && place >= steps->first && place + 1 < steps->axis.count) {
        list_use_add(&watch->uses[host_index], &steps->axis, op, sum_in_use(watch, model));
    }
    if (is_in_half(steps, steps->first, place)) {
        lower_floor(watch, model, op, &host->floors[BUDGET_HALF_FIRST]);
    }
    if (is_in_half(steps, steps->last, place)) {
        lower_floor(watch, model, op, &host->floors[BUDGET_HALF_LAST]);
    }
}

static void note_refusal(const struct budget_watch *watch, const struct run *run, uint32_t op,
                         uint32_t host)
{
    struct budget_run *seen = watch->run;
    const struct op *asked = &run_ops(run)->ops[op];
    if (seen->oom_count++ == watch->oom_max) {
        take_moment(watch, run_model(run, host), op, &seen->oom);
        seen->oom_host = host;
        seen->oom_bytes = asked->size_bytes + asked->stack_bytes;
    }
}

/* What comes after the list, when all is freed and judged, is no use of its own. */
static void hear(void *context, const struct run *run, const struct verdict *verdict)
{
    struct budget_watch *watch = context;
    const struct observation *seen = run_observation(run);
    const uint32_t op = seen->op;
    (void)verdict;
    if (watch->turn == watch->turn_count || op >= watch->budget->recording.ops.count) {
        return;
    }
    watch->turn++;
    const uint8_t host = watch->budget->recording.ops.ops[op].host;
    const struct model *model = run_model(run, host);
    const size_t place = step_axis_place(&watch->budget->steps.axis, op);
    watch->run->is_hidden = watch->run->is_hidden ||
                            model_contract(model)->placement == PLACEMENT_HIDDEN;
    note_peaks(watch, model, op, &watch->hosts[host]);
    note_floors(watch, model, op, place, &watch->hosts[host]);
    note_fragmentation(watch, model, op, place, host);
    if (seen->skipped == 0 && seen->result == TARGET_NO_MEMORY) {
        note_refusal(watch, run, op, host);
    }
}

/* --- the run --- */

static void note_totals(const struct trial *trial, struct budget_run *run)
{
    run->is_whole = 1;
    run->totals = trial->totals;
    run->code = totals_exit_code(&trial->totals);
    run->first_op = trial->first.op;
    snprintf(run->first_reason, sizeof run->first_reason, "%s", trial->first.reason);
}

static void find_options(struct budget_watch *watch)
{
    const struct budget *budget = watch->budget;
    watch->fragmentation = budget->limit_count;
    for (size_t i = 0; i < budget->limit_count; i++) {
        const struct budget_limit *limit = &budget->limits[i];
        watch->fragmentation = limit->kind == BUDGET_FRAGMENTATION ? i : watch->fragmentation;
        watch->oom_max = limit->kind == BUDGET_OOMS ? limit->most : watch->oom_max;
        if (limit->kind == BUDGET_GROWTH) {
            watch->uses = calloc(budget->recording.setup.host_count, sizeof *watch->uses);
            CHECK(watch->uses != NULL);
        }
    }
}

static void judge_growth(struct budget_watch *watch, size_t host_count)
{
    for (size_t i = 0; watch->uses != NULL && i < host_count; i++) {
        list_growth_find(&watch->uses[i], &watch->budget->steps.axis, &watch->hosts[i].growth);
    }
}

/* In the child. */
static void run_list(void *context, int file)
{
    const struct budget *budget = context;
    const struct recording *recording = &budget->recording;
    const size_t host_count = recording->setup.host_count;
    struct budget_watch *watch = calloc(1, sizeof *watch);
    struct budget_run run = {0};
    struct trial trial;
    char reason[RUN_REASON_BYTES];
    CHECK(watch != NULL);
    watch->budget = budget;
    watch->run = &run;
    watch->hosts = budget->hosts; /* the child's own copy */
    watch->filler_tag = setup_filler_tag(&recording->setup);
    watch->turn_count = recording->ops.count - lanes_switch_count(&recording->ops);
    watch->oracle = oracle_create();
    find_options(watch);
    const struct run_listener listener = {watch, hear};
    if (trial_repeat(recording->target, &recording->setup, &recording->ops, &listener, &trial,
                     reason)) {
        note_totals(&trial, &run);
        judge_growth(watch, host_count);
        trial_deinit(&trial);
    }
    (void)(file_write_all(file, &run, sizeof run) &&
           file_write_all(file, budget->hosts, host_count * sizeof *budget->hosts));
    oracle_destroy(watch->oracle);
    oom_deinit(&watch->oom);
    free(watch->uses);
    free(watch);
}

/* --- rows --- */

bool budget_has_floors(const struct budget_host *host)
{
    return host->floors[BUDGET_HALF_FIRST].is_seen && host->floors[BUDGET_HALF_LAST].is_seen;
}

static void measure_growth(const struct budget_host *host, struct budget_row *row)
{
    const struct list_growth *growth = &host->growth;
    row->is_measured = growth->answer != TREND_SHORT && growth->answer != TREND_FILLS;
    if (growth->answer == TREND_GROWS) {
        row->measured = (uint64_t)ceil(growth->bytes_per_step - ROUNDING);
    }
    if (row->is_measured && budget_has_floors(host)) {
        row->op = host->floors[BUDGET_HALF_LAST].op;
    }
}

static void measure_row(const struct budget *budget, struct budget_row *row)
{
    const struct budget_limit *limit = row->limit;
    const struct budget_moment *moment = budget_moment_of(budget, row);
    uint64_t most = limit->most;
    if (limit->kind == BUDGET_GROWTH) {
        measure_growth(&budget->hosts[row->host], row);
    } else if (limit->kind == BUDGET_OOMS) {
        row->is_measured = true;
        row->measured = budget->run.oom_count;
        row->op = moment != NULL ? moment->op : OP_NONE;
    } else if (moment != NULL) {
        const bool is_share = limit->kind == BUDGET_FRAGMENTATION;
        row->is_measured = true;
        row->measured = is_share ? moment->lost_bytes
                                 : find_use(limit, moment->in_use_bytes, moment->tag_bytes);
        row->op = moment->op;
        most = is_share ? (uint64_t)((__uint128_t)moment->free_bytes * most / 100) : most;
    }
    row->over = row->measured > most ? row->measured - most : 0;
    row->is_exceeded = row->over > 0;
    row->line = row->is_exceeded ? budget_line_of(budget, row->op) : 0;
}

static void make_rows(struct budget *budget)
{
    const uint32_t host_count = budget->recording.setup.host_count;
    budget->rows = calloc(budget->limit_count * host_count, sizeof *budget->rows);
    CHECK(budget->rows != NULL);
    for (size_t i = 0; i < budget->limit_count; i++) {
        const bool is_of_all = budget->limits[i].kind == BUDGET_OOMS;
        for (uint32_t host = 0; host < (is_of_all ? 1 : host_count); host++) {
            struct budget_row *row = &budget->rows[budget->row_count++];
            *row = (struct budget_row){.limit = &budget->limits[i],
                                       .host = is_of_all ? budget->run.oom_host : host,
                                       .op = OP_NONE};
            measure_row(budget, row);
        }
    }
}

size_t budget_line_of(const struct budget *budget, uint32_t op)
{
    return budget->recording.format == &format_ops ? op_line_find(budget->options->path, op) : 0;
}

uint32_t budget_death_op(const struct budget *budget)
{
    const struct call_progress *progress = &budget->death.progress;
    return progress->phase == PROGRESS_OP && progress->op < budget->recording.ops.count
               ? progress->op
               : OP_NONE;
}

size_t budget_count_exceeded(const struct budget *budget)
{
    size_t count = 0;
    for (size_t i = 0; i < budget->row_count; i++) {
        count += budget->rows[i].is_exceeded;
    }
    return count;
}

/* --- all --- */

static enum exit_code check_answer(const struct budget *budget)
{
    const char *path = budget->options->path;
    if (budget->run.is_whole != 1) {
        return message_fail(EXIT_USAGE, "%s: the target refuses the setup", path);
    }
    for (size_t i = 0; i < budget->limit_count; i++) {
        if (budget->limits[i].kind == BUDGET_FRAGMENTATION && budget->run.is_hidden) {
            return message_fail(EXIT_USAGE,
                                "%s: --fragmentation: target %s tells nobody where its blocks lie",
                                path, budget->recording.setup.target);
        }
    }
    return EXIT_KEPT;
}

enum exit_code budget_measure(struct budget *budget, bool *died)
{
    const struct target_question question = {budget->options->reading.run, &budget->death, run_list,
                                             budget};
    const struct target_reply reply = target_ask(
        &question, &budget->run, sizeof budget->run, budget->hosts,
        budget->recording.setup.host_count * sizeof *budget->hosts);
    *died = reply.is_dead;
    if (reply.code != EXIT_KEPT || reply.is_dead) {
        return reply.code;
    }
    const enum exit_code code = reply.is_whole
                                    ? check_answer(budget)
                                    : message_fail(EXIT_HARNESS, "%s: nothing was measured",
                                                   budget->options->path);
    if (code == EXIT_KEPT) {
        make_rows(budget);
    }
    return code;
}
