#include "campaign/process/target_probe.h"

#include "campaign/base/interrupt.h"
#include "campaign/base/message.h"
#include "campaign/process/child.h"
#include "harness/lanes/lanes.h"
#include "targets/adapters/adapters.h"

#include <errno.h>
#include <string.h>

/* The context of the child, and what it answers. */
struct probe_work {
    const struct target *target;
    const struct setup *setup;
};
struct probe_answer {
    bool is_taken;
    struct target_probe opened;
    char reason[RUN_REASON_BYTES];
};

static void open_and_answer(void *context, int file)
{
    const struct probe_work *work = context;
    struct probe_answer answer;
    memset(&answer, 0, sizeof answer);
    struct run *run = run_create(work->target, work->setup, answer.reason);
    if (run != NULL) {
        answer.is_taken = true;
        const struct target_contract *contract = model_contract(run_model(run, 0));
        const char *why = lanes_why_not(contract);
        answer.opened.has_programs = contract->programs;
        answer.opened.has_regions = contract->regions.grows;
        answer.opened.sleeps = contract->sleeps != SLEEP_NONE;
        snprintf(answer.opened.why_no_lanes, sizeof answer.opened.why_no_lanes, "%s",
                 why == NULL ? "" : why);
        run_destroy(run);
    }
    (void)file_write_all(file, &answer, sizeof answer);
}

/* Returns true if the name is that of an adapter that this machine cannot run. */
static bool is_unusable(const char *name)
{
    char reason[ADAPTER_REASON_BYTES];
    size_t index;
    return adapter_find(name, &index) && !adapter_is_usable(index, reason);
}

static enum exit_code report_failure(enum child_end end, const char *prefix, const char *target,
                                     const char *death)
{
    if (end == CHILD_NOT_BORN) {
        return message_fail(EXIT_HARNESS, "cannot start another process: %s", strerror(errno));
    }
    if (end == CHILD_FAULTY) {
        return message_fail(EXIT_HARNESS, "%sinternal error: %s. Please report this.", prefix,
                            death);
    }
    if (end == CHILD_STOPPED && interrupt_is_requested()) {
        return message_fail(EXIT_HARNESS, "interrupted");
    }
    if (end == CHILD_STOPPED) {
        return message_fail(EXIT_BROKEN, "%starget %s does not return from open", prefix, target);
    }
    return message_fail(EXIT_BROKEN, "%starget %s ended its process when it was opened: %s", prefix,
                        target, death);
}

enum exit_code target_probe_run(const struct target *target, const struct setup *setup,
                                const char *where, uint64_t duration_ns,
                                struct target_probe *target_probe)
{
    struct probe_work work = {target, setup};
    struct writing bytes;
    struct probe_answer answer;
    char prefix[SETUP_VALUE_BYTES] = "", death[CHILD_DEATH_BYTES];
    if (where != NULL) {
        snprintf(prefix, sizeof prefix, "%.250s: ", where);
    }
    writing_init(&bytes);
    const enum child_end end = child_run(open_and_answer, &work, duration_ns, true, &bytes, death);
    const bool is_whole = end == CHILD_DONE && bytes.length == sizeof answer;
    if (is_whole) {
        memcpy(&answer, bytes.bytes, sizeof answer);
    }
    writing_deinit(&bytes);
    if (!is_whole) {
        return report_failure(end, prefix, setup->target,
                              end == CHILD_DONE ? "it exited early" : death);
    }
    if (!answer.is_taken) {
        return message_fail(EXIT_USAGE, "%starget %s refuses: %s%s", prefix, setup->target,
                            answer.reason,
                            is_unusable(setup->target) ? "; see hbmstress doctor" : "");
    }
    *target_probe = answer.opened;
    return EXIT_KEPT;
}
