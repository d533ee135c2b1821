/* Each measurement of compare, in a process of its own. */
#include "campaign/plan/lookup.h"
#include "harness/base/check.h"
#include "harness/op/limits.h"
#include "harness/run/run.h"
#include "infer/inference.h"
#include "ladder/versus/versus.h"
#include "measure/judged.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What no list needs, however wasteful the target is. */
enum { CAPACITY_TIMES_MAX = 64, PRECISION_PARTS = 1000 };

/* One side on one list, as a child needs it. */
struct versus_task {
    struct versus *versus;
    const struct versus_side *side;
    const struct judged_held *held;
    const struct setup *setup;
    const struct versus_list *list;
    enum exit_code code; /* of a search, in the parent */
};

/* The target as it is judged, and the setup for it. */
static void prepare(const struct versus_task *task, struct target *target, struct setup *setup)
{
    setup_init(setup);
    setup_copy(setup, task->setup);
    (void)snprintf(setup->target, sizeof setup->target, "%s", task->side->name);
    held_make(task->held, versus_load(task->side), target, setup);
}

void versus_make_setup(const struct versus *versus, const struct versus_list *list, size_t side,
                       struct setup *setup)
{
    const struct run_options *options = versus->options->run;
    const struct target_limits *limits = &versus->sides[side].limits;
    const uint64_t step = limits->capacity_step_bytes;
    setup_init(setup);
    setup_copy(setup, &list->setup);
    (void)snprintf(setup->target, sizeof setup->target, "%s", versus->sides[side].name);
    for (uint32_t i = 0; i < options->option_count; i++) {
        (void)setup_set_option(setup, options->options[i].key, options->options[i].value);
    }
    if (setup->capacity_bytes < limits->smallest_capacity_bytes) {
        setup->capacity_bytes = limits->smallest_capacity_bytes;
    }
    if (step > 1 && setup->capacity_bytes % step != 0) {
        setup->capacity_bytes += step - setup->capacity_bytes % step;
    }
}

/* --- what it declares, what experiments show --- */

struct declared {
    enum exit_code code; /* a message was given */
    struct target_limits limits;
    struct target_contract contract;
};

/* On the device of the first list, if the target takes it. */
static void make_first_setup(struct versus *versus, const struct versus_side *side,
                             struct setup *setup)
{
    versus_make_setup(versus, &versus->lists[0], (size_t)(side - versus->sides), setup);
    limits_keep_setup(&side->limits, setup);
}

static void open_target(void *context, int file)
{
    const struct versus_task *task = context;
    struct declared declared = {0};
    const struct target *target;
    struct setup setup;
    char reason[RUN_REASON_BYTES];
    declared.code = lookup_target(task->side->name, &target);
    if (declared.code == EXIT_KEPT) {
        struct versus_side *asked = &task->versus->sides[task->side - task->versus->sides];
        asked->limits = declared.limits = target->limits;
        make_first_setup(task->versus, asked, &setup);
        struct run *run = run_create(target, &setup, reason);
        if (run != NULL) {
            declared.contract = *model_contract(run_model(run, 0));
            run_destroy(run);
        } else {
            declared.code = message_fail(EXIT_USAGE, "%s: %s", task->side->name, reason);
        }
    }
    (void)file_write_all(file, &declared, sizeof declared);
}

enum exit_code versus_ask_contract(struct versus *versus, size_t side)
{
    struct versus_side *asked = &versus->sides[side];
    struct versus_task task = {.versus = versus, .side = asked};
    struct declared declared;
    const struct target_reply reply = versus_ask(versus, open_target, &task, &declared,
                                                 sizeof declared);
    if (!reply.is_whole) {
        return reply.code != EXIT_KEPT
                   ? reply.code
                   : message_fail(EXIT_BROKEN, "%s ended its process while it was opened: %s",
                                  asked->name, reply.words);
    }
    asked->limits = declared.limits;
    asked->contract = declared.contract;
    return declared.code;
}

struct shown_rounding {
    struct target_rounding rounding;
    bool is_known;
};

static void make_experiments(void *context, int file)
{
    const struct versus_task *task = context;
    const struct target *target = versus_load(task->side);
    struct shown_rounding shown = {0};
    struct lab_trace *traces = experiment_traces_create();
    struct limits limits = {0};
    for (size_t i = 0; i < EXPERIMENT_COUNT; i++) {
        if (i == EXPERIMENT_LIMIT_COUNT) {
            limits = experiment_limits(traces);
        }
        experiment_make((enum experiment_number)i, target, task->setup, &limits, NULL, &traces[i]);
    }
    const struct inference inference = {target, traces, traces};
    shown.is_known = inference_rounding(&inference, &shown.rounding);
    experiment_traces_destroy(traces);
    (void)file_write_all(file, &shown, sizeof shown);
}

/* On the device on which infer makes its experiments, if the target takes it. */
enum exit_code versus_ask_rounding(struct versus *versus, size_t side)
{
    struct versus_side *asked = &versus->sides[side];
    struct setup small;
    struct shown_rounding shown = {0};
    make_first_setup(versus, asked, &small);
    small.capacity_bytes = experiment_capacity_bytes(asked->contract.regions.grows);
    limits_keep_setup(&asked->limits, &small);
    struct versus_task task = {.versus = versus, .side = asked, .setup = &small};
    const struct target_reply reply = versus_ask(versus, make_experiments, &task, &shown,
                                                 sizeof shown);
    if (reply.is_whole && shown.is_known) {
        asked->held = (struct judged_held){.kind = HELD_ROUNDING, .rounding = shown.rounding};
        return EXIT_KEPT;
    }
    return reply.code != EXIT_KEPT
               ? reply.code
               : message_fail(EXIT_BROKEN, "%s: no rounding can be inferred%s%s", asked->name,
                              reply.words[0] == '\0' ? "" : ": ", reply.words);
}

/* --- judged --- */

static void judge_list(void *context, int file)
{
    const struct versus_task *task = context;
    const size_t op_count = task->list->ops.count;
    struct target target;
    struct setup setup;
    struct judged judged;
    uint8_t *answers = calloc(op_count + 1, 1);
    CHECK(answers != NULL);
    prepare(task, &target, &setup);
    judged_run(&target, &setup, &task->list->ops, &judged, answers);
    (void)(file_write_all(file, &judged, sizeof judged) && file_write_all(file, answers, op_count));
    free(answers);
}

/* answers may be NULL. */
static enum exit_code measure_judged(struct versus_task *task, struct judged *judged,
                                     uint8_t *answers)
{
    const struct target_question question = {task->versus->options->run, &task->versus->death,
                                             judge_list, task};
    const struct target_reply reply = target_ask(&question, judged, sizeof *judged, answers,
                                                 task->list->ops.count);
    if (reply.code == EXIT_KEPT && !reply.is_whole) {
        *judged = (struct judged){.end = JUDGED_DIED, .end_op = task->versus->death.progress.op};
        (void)snprintf(judged->why, sizeof judged->why, "%s", reply.words);
    }
    return reply.code;
}

/* --- the others --- */

static void find_room(void *context, int file)
{
    const struct versus_task *task = context;
    struct target target;
    struct setup setup;
    uint64_t bytes;
    prepare(task, &target, &setup);
    if (room_measure(&target, &setup, &task->list->ops, task->list->peak.op, &bytes)) {
        (void)file_write_all(file, &bytes, sizeof bytes);
    }
}

static void find_cost(void *context, int file)
{
    const struct versus_task *task = context;
    struct cost cost;
    cost_measure(versus_load(task->side), task->setup, &task->list->ops, &cost);
    (void)file_write_all(file, &cost, sizeof cost);
}

static void find_refused(void *context, int file)
{
    const struct versus_task *task = context;
    struct target target;
    struct setup setup;
    prepare(task, &target, &setup);
    const uint32_t op = judged_first_refused(&target, &setup, &task->list->ops);
    (void)file_write_all(file, &op, sizeof op);
}

struct target_reply versus_ask_refused(struct versus *versus, size_t side,
                                       const struct setup *setup, const struct op_list *ops,
                                       uint32_t *op)
{
    const struct versus_list list = {.ops = *ops};
    struct versus_task task = {.versus = versus,
                               .side = &versus->sides[side],
                               .held = &versus->sides[side].held,
                               .setup = setup,
                               .list = &list};
    return versus_ask(versus, find_refused, &task, op, sizeof *op);
}

/* A target that dies does not serve. */
static bool serves_list(void *context, uint64_t capacity_bytes, bool *goes_on)
{
    struct versus_task *search = context;
    struct setup setup;
    uint32_t refused = 0;
    setup_init(&setup);
    setup_copy(&setup, search->setup);
    setup_set_capacity(&setup, capacity_bytes);
    const struct target_reply reply = versus_ask_refused(
        search->versus, (size_t)(search->side - search->versus->sides), &setup, &search->list->ops,
        &refused);
    search->code = reply.code;
    *goes_on = reply.code == EXIT_KEPT;
    return reply.is_whole && refused == search->list->ops.count;
}

static enum exit_code measure_smallest(struct versus_task *task, struct smallest *smallest)
{
    const uint64_t peak = task->list->peak.bytes == 0 ? 1 : task->list->peak.bytes;
    struct smallest_search search = {
        .from_bytes = peak,
        .to_bytes = peak > UINT64_MAX / CAPACITY_TIMES_MAX ? UINT64_MAX : peak * CAPACITY_TIMES_MAX,
        .step_bytes = task->side->contract.granule_bytes,
        .precision_bytes = peak / PRECISION_PARTS,
        .serves = serves_list,
        .context = task};
    smallest_keep_limits(&search, &task->side->limits);
    *smallest = smallest_find(&search);
    return task->code;
}

enum exit_code versus_measure(struct versus *versus, size_t list, size_t side)
{
    struct versus_row *row = &versus->rows[list * versus->side_count + side];
    const struct versus_side *measured = &versus->sides[side];
    const struct judged_held without = {.kind = HELD_NONE, .contract = measured->contract};
    struct versus_task task = {.versus = versus,
                               .side = measured,
                               .held = &without,
                               .setup = &row->setup,
                               .list = &versus->lists[list]};
    struct target_reply reply = {0};
    versus_make_setup(versus, task.list, side, &row->setup);
    row->answers = calloc(task.list->ops.count + 1, 1);
    CHECK(row->answers != NULL);
    enum exit_code code = measure_judged(&task, &row->without, NULL);
    task.held = &measured->held;
    code = code == EXIT_KEPT ? measure_judged(&task, &row->judged, row->answers) : code;
    if (code != EXIT_KEPT || row->judged.end == JUDGED_REFUSED) {
        return code;
    }
    if (task.list->peak.op != OP_NONE) {
        reply = versus_ask(versus, find_room, &task, &row->room_bytes, sizeof row->room_bytes);
    }
    row->has_room = reply.is_whole;
    code = reply.code == EXIT_KEPT ? measure_smallest(&task, &row->smallest) : reply.code;
    return code == EXIT_KEPT
               ? versus_ask(versus, find_cost, &task, &row->cost, sizeof row->cost).code
               : code;
}
