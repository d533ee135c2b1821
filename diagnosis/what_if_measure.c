#include "diagnosis/what_if_row.h"

#include "diagnosis/private/what_if_parts.h"
#include "harness/base/check.h"
#include "harness/base/size.h"
#include "harness/run/run_state.h"

#include <stdio.h>
#include <stdlib.h>

/* --- what a row says --- */

const char *what_if_end_name(enum what_if_end end)
{
    static const char *const names[] = {[WHAT_IF_FITS] = "fits",
                                        [WHAT_IF_NO_MEMORY] = "out of memory",
                                        [WHAT_IF_BROKEN] = "broken",
                                        [WHAT_IF_REFUSED] = "refused",
                                        [WHAT_IF_DOES_NOT_APPLY] = "does not apply"};
    return names[end];
}

uint64_t what_if_headroom_bytes(const struct what_if_row *row)
{
    return row->end == WHAT_IF_FITS ? row->headroom_bytes : 0;
}

/* The tag that its parameter stands for. */
static const char *find_tag_name(const struct setup *setup, const struct what_if_row *row)
{
    const bool is_all_named = row->remedy == &remedy_checkpointing &&
                              row->parameter >= OP_TAG_COUNT;
    const bool has_tag = row->remedy == &remedy_release || row->remedy == &remedy_drop_copy ||
                         row->remedy == &remedy_bound ||
                         (row->remedy == &remedy_checkpointing && !is_all_named);
    const char *name = setup->tags[row->parameter & (OP_TAG_COUNT - 1)];
    return has_tag && name[0] != '\0' ? name : "what the row names";
}

void what_if_advice(const struct setup *setup, const struct what_if_row *row,
                    char words[ADVICE_WORDS_BYTES])
{
    char title[REMEDY_TITLE_BYTES];
    char size[SIZE_TEXT_BYTES];
    words[0] = '\0';
    if (row->remedy == NULL) {
        return;
    }
    snprintf(title, sizeof title, "%s", row->title);
    if (row->remedy == &remedy_capacity) {
        size_print_field(row->parameter, size);
        snprintf(title, sizeof title, "%s-%s", row->remedy->name, size);
    }
    advice_write(row->remedy, setup->system, find_tag_name(setup, row), title, words,
                 ADVICE_WORDS_BYTES);
}

/* --- the run --- */

/* Nobody asks here whether an out-of-memory was justified: a variant that runs out does not fit,
 * and that is all. */
enum { SEARCH_NODES_MAX = 20000 };

/* The numbers of the row, and whether the hole where least is free was looked for: that costs
 * O(blocks), so it waits until more is. */
struct measure_watch {
    struct what_if_row *row;
    bool is_tightest;
    uint32_t tightest_host;
    size_t tightest_count; /* ops up to then */
    bool is_missed; /* the hole was not looked for before it changed: a request gave more back than
                       it took */
    unsigned filler_tag;    /* setup_filler_tag() */
    uint64_t *in_use_bytes; /* by op: on the host that holds most; NULL: not wanted */
    size_t op_count;        /* that were run */
    uint64_t host_in_use_bytes[OP_HOST_COUNT_MAX];
};

static void note_largest_hole(struct measure_watch *watch, const struct run *run)
{
    if (watch->is_tightest) {
        watch->row->largest_hole_bytes = model_largest_hole_bytes(
            run_model(run, watch->tightest_host));
        watch->is_tightest = false;
    }
}

static uint64_t count_use(const struct measure_watch *watch, const struct model *model)
{
    return model_in_use_without(model, watch->filler_tag) + model_reserved_bytes(model);
}

static uint64_t count_free(const struct model *model, uint64_t in_use_bytes)
{
    return model_capacity_bytes(model) - model_retired_bytes(model) - in_use_bytes;
}

/* Notes how much the fullest host holds after the op. */
static void note_growth(struct measure_watch *watch, const struct run *run, uint8_t host,
                        uint64_t in_use_bytes)
{
    uint64_t most = 0;
    if (watch->in_use_bytes == NULL) {
        return;
    }
    watch->host_in_use_bytes[host] = in_use_bytes;
    for (uint32_t i = 0; i < run_setup(run)->host_count; i++) {
        const uint64_t bytes = watch->host_in_use_bytes[i];
        most = bytes > most ? bytes : most;
    }
    watch->in_use_bytes[watch->op_count++] = most;
}

static void note_use(struct measure_watch *watch, const struct run *run, uint8_t host,
                     size_t op_count)
{
    struct what_if_row *row = watch->row;
    const struct model *model = run_model(run, host);
    const uint64_t in_use_bytes = count_use(watch, model);
    note_growth(watch, run, host, in_use_bytes);
    row->peak_bytes = in_use_bytes > row->peak_bytes ? in_use_bytes : row->peak_bytes;
    if (count_free(model, in_use_bytes) < row->headroom_bytes) {
        row->headroom_bytes = count_free(model, in_use_bytes);
        watch->is_tightest = true;
        watch->is_missed = false;
        watch->tightest_host = host;
        watch->tightest_count = op_count;
        return;
    }
    const struct model *tightest = run_model(run, watch->tightest_host);
    if (watch->is_tightest &&
        count_free(tightest, count_use(watch, tightest)) > row->headroom_bytes) {
        watch->is_tightest = false;
        watch->is_missed = true;
    }
}

static bool may_only_raise(uint8_t kind)
{
    return kind == OP_ALLOC || kind == OP_OUTPUT || kind == OP_HOLD || kind == OP_TOUCH ||
           kind == OP_REPORT;
}

/* False: it failed, and the run is over. */
static bool note_step(struct measure_watch *watch, const struct run *run,
                      const struct verdict *verdict, uint32_t i, uint8_t host)
{
    struct what_if_row *row = watch->row;
    const bool is_broken = verdict->kind == VERDICT_BROKEN;
    if (!is_broken && run_observation(run)->result != TARGET_NO_MEMORY) {
        return true;
    }
    row->end = is_broken ? WHAT_IF_BROKEN : WHAT_IF_NO_MEMORY;
    row->failed_op = i;
    row->requested_bytes = verdict->requested_bytes;
    row->largest_hole_bytes = model_largest_hole_bytes(run_model(run, host));
    watch->is_tightest = watch->is_missed = false;
    return false;
}

/* False: memory that must not be used is used here, which is another device. */
static bool is_retired_too(struct measure_watch *watch, const struct run *run, const struct op *op,
                           uint32_t i)
{
    if (op->kind != OP_RETIRE || run_observation(run)->skipped == 0) {
        return true;
    }
    watch->row->end = WHAT_IF_DOES_NOT_APPLY;
    snprintf(
        watch->row->note, sizeof watch->row->note,
        "not decided: op %u of this variant retires memory that is in use there, or beyond the end of the device",
        i);
    return false;
}

static bool run_host_ops(struct measure_watch *watch, struct run *run, const struct op_list *ops)
{
    for (uint32_t i = 0; i < ops->count; i++) {
        const struct op *op = &ops->ops[i];
        if (!may_only_raise(op->kind)) {
            note_largest_hole(watch, run);
        }
        if (!note_step(watch, run, run_step(run, op), i, op->host) ||
            !is_retired_too(watch, run, op, i)) {
            return false;
        }
        note_use(watch, run, op->host, i + 1);
    }
    note_largest_hole(watch, run);
    return true;
}

/* The run once more, up to the moment. */
static void find_missed_hole(struct measure_watch *watch, const struct target *target,
                             const struct setup *setup, const struct op_list *ops)
{
    char reason[RUN_REASON_BYTES];
    struct run *run = run_create(target, setup, reason);
    if (run == NULL) {
        return; /* it was opened a moment ago */
    }
    run_judge_promises_only(run);
    for (size_t i = 0; i < watch->tightest_count; i++) {
        (void)run_step(run, &ops->ops[i]);
    }
    watch->row->largest_hole_bytes = model_largest_hole_bytes(run_model(run, watch->tightest_host));
    run_destroy(run);
}

/* in_use_bytes: a place for each op, or NULL.  Returns how many ops were run and have one. */
static size_t measure(const struct target *target, const struct setup *setup,
                      const struct op_list *ops, struct what_if_row *row, uint64_t *in_use_bytes)
{
    char reason[RUN_REASON_BYTES];
    struct setup bounded = *setup;
    if (bounded.search_nodes_max == 0 || bounded.search_nodes_max > SEARCH_NODES_MAX) {
        bounded.search_nodes_max = SEARCH_NODES_MAX;
    }
    row->op_count = ops->count;
    row->capacity_bytes = setup->capacity_bytes;
    row->headroom_bytes = setup->capacity_bytes;
    row->peak_bytes = row->largest_hole_bytes = row->requested_bytes = 0;
    row->failed_op = OP_NONE;
    struct run *run = run_create(target, &bounded, reason);
    if (run == NULL) {
        row->end = WHAT_IF_REFUSED;
        snprintf(row->note, sizeof row->note, "%.*s", REMEDY_NOTE_BYTES - 1, reason);
        return 0;
    }
    /* If the list uses nothing, the tightest moment is its beginning. */
    struct measure_watch watch = {.row = row,
                                  .is_tightest = true,
                                  .filler_tag = setup_filler_tag(setup),
                                  .in_use_bytes = in_use_bytes};
    run_judge_promises_only(run);
    row->end = WHAT_IF_FITS;
    if (run_host_ops(&watch, run, ops) && run_finish(run)->kind != VERDICT_NONE) {
        row->end = WHAT_IF_BROKEN;
        row->failed_op = (uint32_t)ops->count;
    }
    run_destroy(run);
    if (watch.is_missed) {
        find_missed_hole(&watch, target, &bounded, ops);
    }
    return watch.op_count;
}

void what_if_measure(const struct target *target, const struct setup *setup,
                     const struct op_list *ops, struct what_if_row *row, struct forecast *forecast)
{
    struct remedy_lives lives;
    struct remedy_steps steps;
    struct op_list ran = *ops;
    if (forecast == NULL) {
        (void)measure(target, setup, ops, row, NULL);
        return;
    }
    uint64_t *in_use_bytes = calloc(ops->count + 1, sizeof *in_use_bytes);
    CHECK(in_use_bytes != NULL);
    ran.count = measure(target, setup, ops, row, in_use_bytes);
    remedy_lives_init(&lives, &ran, NULL, setup->granule_bytes);
    remedy_steps_init(&steps, &ran, &lives);
    forecast_take(in_use_bytes, ran.count, &steps, setup->capacity_bytes, forecast);
    remedy_steps_deinit(&steps);
    remedy_lives_deinit(&lives);
    free(in_use_bytes);
}
