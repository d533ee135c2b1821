#include "campaign/engine/private/campaign_state.h"

#include "campaign/base/interrupt.h"
#include "campaign/base/message.h"
#include "campaign/trials/earlier.h"
#include "harness/base/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How far the state on the disk may lag behind, and how long to wait for the syncer before looking
 * again. */
enum { CHECKPOINT_MS = 1000, WAIT_SYNCER_MS = 20 };
/* The time after which a run that ends early waits no longer for the disk. */
#define SYNCER_END_NS UINT64_C(1500000000)

static void fail_save(struct campaign *campaign, int error)
{
    (void)message_fail(EXIT_HARNESS, "%s/checkpoint: %s", campaign->repro_store.directory,
                       error == 0 ? "the process that forces it to the disk is gone"
                                  : strerror(error));
    campaign->is_failed = true;
}

/* The state takes its name, and files that it no longer names go. */
static void commit_state(struct campaign *campaign)
{
    struct shrink_queue *queue = &campaign->at->queue;
    if (!checkpoint_commit(campaign->repro_store.directory)) {
        fail_save(campaign, errno);
        return;
    }
    if (campaign->repro_store.keeps_all) {
        return;
    }
    for (size_t i = 0; i < queue->count; i++) {
        if (queue->entries[i].is_superseded == SUPERSEDED_SAVED) {
            repro_store_forget(&campaign->repro_store, queue->entries[i].base,
                               queue->entries[i].before_count);
            queue->entries[i].is_superseded = SUPERSEDED_GONE;
        }
    }
}

static void note_superseded(struct shrink_queue *queue)
{
    for (size_t i = 0; i < queue->count; i++) {
        if (queue->entries[i].is_superseded == SUPERSEDED_NOW) {
            queue->entries[i].is_superseded = SUPERSEDED_SAVED;
        }
    }
}

/* Asks the syncer for all files that the state needs, and for the state under its other name. */
static void ask_syncer(struct campaign *campaign)
{
    struct writing *paths = &campaign->unsynced;
    if (!campaign->is_described) {
        writing_append_format(paths, "%.3800s/campaign%c", campaign->repro_store.directory, 0);
        campaign->is_described = true;
    }
    writing_append_format(paths, "%s%c%.3800s/" CHECKPOINT_STAGED_NAME "%c", campaign->output.path,
                          0, campaign->repro_store.directory, 0);
    syncer_ask(&campaign->syncer, paths);
    writing_clear(paths);
}

static bool stage_state(struct campaign *campaign)
{
    struct checkpoint *at = campaign->at;
    campaign->checkpoint_ns = clock_now_ns();
    campaign->is_save_due = false;
    output_flush(&campaign->output);
    at->state.mark = trials_save(campaign->trials, &at->parts->progress, sizeof *at->parts);
    at->state.end.elapsed_ns = campaign_elapsed_ns(campaign);
    at->state.results_bytes = campaign->output.results_bytes;
    if (!campaign_is_sound(campaign)) {
        return false;
    }
    note_superseded(&at->queue);
    if (!checkpoint_stage(at, campaign->description, campaign->repro_store.directory)) {
        fail_save(campaign, errno);
        return false;
    }
    return true;
}

/* True: the syncer is idle. */
static bool poll_syncer(struct campaign *campaign, int wait_ms)
{
    int error;
    if (!campaign->syncer.is_busy) {
        return true;
    }
    switch (syncer_take(&campaign->syncer, wait_ms, &error)) {
    case SYNCER_BUSY:
        return false;
    case SYNCER_FAILED:
        fail_save(campaign, error);
        return true;
    case SYNCER_DONE:
        break;
    }
    if (campaign_is_sound(campaign)) {
        commit_state(campaign);
    }
    return true;
}

void campaign_save(struct campaign *campaign, bool is_due)
{
    const uint64_t due_ns = campaign->checkpoint_ns + CHECKPOINT_MS * UINT64_C(1000000);
    if (!poll_syncer(campaign, 0) ||
        (!is_due && !campaign->is_save_due && clock_now_ns() < due_ns)) {
        return;
    }
    if (stage_state(campaign)) {
        ask_syncer(campaign);
    }
}

void campaign_save_first(struct campaign *campaign)
{
    if (!campaign->is_resumed && stage_state(campaign)) {
        commit_state(campaign);
    }
    campaign_save(campaign, true);
}

/* Returns true if the disk had its moment, after an early end of the run or a user's ctrl-C. */
static bool is_waited_enough(struct campaign *campaign)
{
    if (campaign->stop_ns == 0 && interrupt_is_requested()) {
        campaign->stop_ns = clock_now_ns();
    }
    return campaign->stop_ns != 0 && clock_now_ns() - campaign->stop_ns > SYNCER_END_NS;
}

/* False: it was too slow. */
static bool wait_for_syncer(struct campaign *campaign)
{
    while (!poll_syncer(campaign, WAIT_SYNCER_MS)) {
        if (is_waited_enough(campaign)) {
            return false;
        }
    }
    return true;
}

void campaign_save_last(struct campaign *campaign)
{
    bool is_synced = wait_for_syncer(campaign);
    if (!stage_state(campaign)) {
        return;
    }
    if (is_synced) {
        ask_syncer(campaign);
        is_synced = wait_for_syncer(campaign);
    }
    if (is_synced) {
        return;
    }
    /* It is as safe from a kill as it ever is; from a power cut it will be. */
    message_note(
        "%s: written, but the disk has not confirmed it yet: results.jsonl, checkpoint and "
        "the files of the last findings; after a power cut now, --resume continues from "
        "an earlier state",
        campaign->repro_store.directory);
    syncer_stop(&campaign->syncer);
    commit_state(campaign);
}

void campaign_sync_reports(struct campaign *campaign)
{
    struct writing paths;
    if (campaign->syncer.child.process == 0 || campaign->syncer.is_busy ||
        !campaign_is_sound(campaign)) {
        return;
    }
    writing_init(&paths);
    for (size_t i = 0; report_sinks[i] != NULL; i++) {
        if (report_sinks[i]->form == REPORT_DOCUMENT) {
            writing_append_format(&paths, "%.3800s/%s%c", campaign->repro_store.directory,
                                  report_sinks[i]->name, 0);
        }
    }
    syncer_ask(&campaign->syncer, &paths);
    writing_deinit(&paths);
    int error;
    enum syncer_result result;
    while ((result = syncer_take(&campaign->syncer, WAIT_SYNCER_MS, &error)) == SYNCER_BUSY &&
           !is_waited_enough(campaign)) {
        continue;
    }
    if (result == SYNCER_FAILED) {
        fail_save(campaign, error);
    }
}

/* --- for one that goes on --- */

void campaign_clean(struct campaign *campaign)
{
    const struct shrink_queue *queue = &campaign->at->queue;
    repro_store_clean(&campaign->repro_store, false);
    for (size_t i = 0; i < queue->count; i++) {
        const struct shrink_entry *entry = &queue->entries[i];
        const bool may_be_there = entry->state == SHRINK_WAITING ||
                                  (entry->is_superseded != 0 && !campaign->repro_store.keeps_all);
        if (may_be_there && !findings_have_base(&campaign->at->findings, entry->base)) {
            repro_store_forget(&campaign->repro_store, entry->base, EARLIER_LIST_COUNT_MAX);
        }
    }
}

bool campaign_can_go_on(const struct plan *plan, const struct checkpoint *at)
{
    return trials_can_restore(plan, &at->state.mark, &at->parts->progress, sizeof *at->parts);
}
