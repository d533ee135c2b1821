#include "cli/arguments.h"
#include "cli/private/watch_parts.h"

#include "campaign/process/child.h"
#include "campaign/process/shared_memory.h"
#include "harness/lanes/lanes_list.h"
#include "harness/model/model.h"
#include "harness/op/system.h"
#include "harness/trial/trial_run.h"
#include "recording/device_name.h"
#include "recording/list_growth.h"
#include "recording/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* In memory that the child shares: what was seen before a target dies is there. */
struct seen {
    struct memory_track tracks[OP_HOST_COUNT_MAX]; /* by host */
    struct list_use uses[OP_HOST_COUNT_MAX];       /* the same */
    uint64_t op_count;                             /* that have ended */
    struct verdict first;
    struct run_totals totals;
    bool is_refused; /* behind a refusal the list is no longer what the job did */
    bool is_done;
};

struct work {
    const struct recording *recording;
    const struct step_axis *axis;
    uint64_t op_count;   /* that will end */
    unsigned filler_tag; /* setup_filler_tag() */
    struct seen *seen;
};

/* The last promises are judged after the last op, when all is freed: that is no use of the list's.
 * Ops count in the order in which they end, from 0: without lanes that is their number in the list.
 */
static void sample_memory(void *context, const struct run *run, const struct verdict *verdict)
{
    const struct work *work = context;
    struct seen *seen = work->seen;
    const struct observation *observation = run_observation(run);
    const uint32_t op = observation->op;
    (void)verdict;
    if (seen->op_count == work->op_count || op >= work->recording->ops.count) {
        return;
    }
    const uint8_t host = work->recording->ops.ops[op].host;
    const struct model *model = run_model(run, host);
    const struct memory_point point = {
        seen->op_count, model_in_use_without(model, work->filler_tag) + model_reserved_bytes(model),
        model_capacity_bytes(model) - model_retired_bytes(model)};
    seen->is_refused = seen->is_refused ||
                       (observation->skipped == 0 && observation->result == TARGET_NO_MEMORY);
    if (point.capacity_bytes > 0) {
        memory_track_add(&seen->tracks[host], point);
        if (!seen->is_refused) {
            list_use_add(&seen->uses[host], work->axis, op, point.used_bytes);
        }
    }
    seen->op_count++;
}

static void run_list(void *context, int file)
{
    struct work *work = context;
    const struct run_listener listener = {work, sample_memory};
    struct trial trial;
    char reason[RUN_REASON_BYTES];
    (void)file;
    const struct recording *recording = work->recording;
    if (!trial_repeat(recording->target, &recording->setup, &recording->ops, &listener, &trial,
                      reason)) {
        return; /* it was opened once before */
    }
    work->seen->first = trial.first;
    work->seen->totals = trial.totals;
    work->seen->is_done = true;
    trial_deinit(&trial);
}

static void show_hosts(struct watching *watching, const struct work *work)
{
    const struct seen *seen = work->seen;
    int64_t slopes[OP_HOST_COUNT_MAX];
    struct memory_device devices[OP_HOST_COUNT_MAX];
    char names[OP_HOST_COUNT_MAX][DEVICE_NAME_BYTES];
    size_t count = 0;
    for (unsigned host = 0; host < OP_HOST_COUNT_MAX; host++) {
        if (seen->tracks[host].point_count == 0) {
            continue;
        }
        struct list_growth growth;
        list_growth_find(&seen->uses[host], work->axis, &growth);
        slopes[count] = list_growth_per_1000_ops(&growth);
        devices[count] = (struct memory_device){device_name(work->recording, host, names[count]),
                                                &seen->tracks[host], &slopes[count]};
        count++;
    }
    if (count == 0) {
        message_note("%s: the op list is empty", watching->arguments->words[0]);
    }
    watching_show(watching, devices, count);
}

static enum exit_code print_end(const struct watching *watching, const struct seen *seen,
                                enum child_end end, const struct death *death)
{
    const char *path = watching->arguments->words[0];
    char words[DEATH_WORDS_BYTES];
    death_describe(death, words);
    if (end == CHILD_NOT_BORN) {
        return message_fail(EXIT_HARNESS, "%s: cannot start another process: %s", path,
                            strerror(errno));
    }
    if (end == CHILD_STOPPED && death->kind == DEATH_NONE) {
        return message_fail(EXIT_HARNESS, "%s: interrupted after %" PRIu64 " ops", path,
                            seen->op_count);
    }
    if (end != CHILD_DONE) {
        return message_fail(death->kind == DEATH_CHECK ? EXIT_HARNESS : EXIT_BROKEN,
                            "%s: the target ended after %" PRIu64 " ops: %s", path, seen->op_count,
                            words);
    }
    if (!seen->is_done) {
        return message_fail(EXIT_USAGE, "%s: the target refuses the setup", path);
    }
    if (seen->first.kind == VERDICT_NONE || seen->first.kind == VERDICT_JUSTIFIED) {
        return totals_exit_code(&seen->totals);
    }
    return message_fail(seen->first.kind == VERDICT_DISPUTED ? EXIT_HARNESS : EXIT_BROKEN,
                        "%s: op %lu broke a promise, and the run ended there: %s", path,
                        (unsigned long)seen->first.op, seen->first.reason);
}

static enum exit_code run_and_show(struct watching *watching, const struct recording *recording,
                                   struct seen *seen)
{
    struct step_axis axis;
    step_axis_init(&axis, recording->said, recording->said_count,
                   recording->view == IMPORT_EVENTS ? &recording->ops : NULL,
                   recording->setup.granule_bytes);
    struct work work = {.recording = recording,
                        .axis = &axis,
                        .seen = seen,
                        .filler_tag = setup_filler_tag(&recording->setup),
                        .op_count = recording->ops.count - lanes_switch_count(&recording->ops)};
    const struct child_job job = {.work = run_list,
                                  .context = &work,
                                  .duration_ns = watching->arguments->run.trial_timeout_ns,
                                  .is_interruptible = true};
    struct death death;
    struct writing answer;
    death_set_op_timeout(watching->arguments->run.op_timeout_ns);
    writing_init(&answer);
    const enum child_end end = child_work(&job, &answer, &death);
    writing_deinit(&answer);
    if (end != CHILD_NOT_BORN) {
        show_hosts(watching, &work);
    }
    step_axis_deinit(&axis);
    return print_end(watching, seen, end, &death);
}

enum exit_code watching_list(struct watching *watching)
{
    struct recording recording;
    enum exit_code code = recording_read(watching->arguments->words[0],
                                         arguments_reading(watching->arguments), true, &recording);
    if (code == EXIT_KEPT) {
        struct seen *seen = shared_memory_create(sizeof *seen);
        if (seen == NULL) {
            code = message_fail(EXIT_HARNESS, "cannot map shared memory: %s", strerror(errno));
        } else {
            code = run_and_show(watching, &recording, seen);
            shared_memory_destroy(seen, sizeof *seen);
        }
    }
    recording_deinit(&recording);
    return code;
}
