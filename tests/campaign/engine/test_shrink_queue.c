/* Verdicts that are to be shrunk: which enter the queue, whose turn it is, and how lists that are
 * gone come back; and the process that waits for the disk meanwhile. */
#include "campaign/engine/findings.h"
#include "campaign/process/background.h"
#include "tests/campaign/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

EVERY_TEST(.teardown = snap_rest);

enum { WAIT_MS = 60000 };

/* A trial with two findings, that many ops in the list of each. */
static struct trial_result make_trial(uint64_t trial, size_t op_count)
{
    struct trial_result result;
    trial_result_init(&result);
    struct trial_result_head *head = &result.head;
    head->task = (struct task){.part = 1, .trial = trial};
    head->has_list = true;
    head->findings.count = 2;
    for (size_t i = 0; i < 2; i++) {
        struct run_finding *finding = &head->findings.findings[i];
        *finding = (struct run_finding){
            .verdict = {.kind = VERDICT_BROKEN, .rule = i == 0 ? RULE_OVERLAP : RULE_COUNTERS},
            .count = 1};
        (void)snprintf(finding->signature, sizeof finding->signature, "finding %zu", i);
    }
    for (size_t i = 0; i < op_count; i++) {
        op_list_append(&result.ops, &(struct op){.kind = OP_REPORT});
    }
    trial_result_select(&result, 0);
    return result;
}

static void add_trial(struct shrink_queue *queue, uint64_t trial, size_t op_count)
{
    struct trial_result result = make_trial(trial, op_count);
    for (size_t i = 0; i < 2; i++) {
        trial_result_select(&result, i);
        struct shrink_entry *entry = shrink_queue_add(queue, &result, i);
        (void)snprintf(entry->base, sizeof entry->base, "base-%llu-%zu", (unsigned long long)trial,
                       i);
    }
    trial_result_deinit(&result);
}

TEST(the_first_three_enter_and_then_ever_fewer)
{
    for (uint64_t number = 1; number <= 1024; number++) {
        show(shrink_queue_takes(number) ? "%u " : "", (unsigned)number);
    }
    ck_assert_str_eq(shown_take(), "1 2 3 4 8 16 32 64 128 256 512 1024 ");
}

/* All that are in it, and how long their lists are. */
static void show_queue(const struct shrink_queue *queue)
{
    static const char *const states[] = {"waits", "saved", "counted", "unrepeated", "disputed"};
    for (size_t i = 0; i < queue->count; i++) {
        const struct shrink_entry *entry = &queue->entries[i];
        const struct trial_result *list = shrink_queue_list(queue, entry);
        show("%s of trial %u %s%s", entry->seen_as, (unsigned)entry->task.trial,
             states[entry->state], entry->is_superseded == SUPERSEDED_NOW ? ", superseded" : "");
        show(list == NULL ? "" : ", a list of %zu ops that shows %s",
             list == NULL ? 0 : list->ops.count, list == NULL ? "" : list->head.signature);
        show("\n");
    }
}

TEST(one_waits_after_the_other_each_with_a_list_of_its_own)
{
    struct shrink_queue queue = {.entries = NULL};
    ck_assert_ptr_null(shrink_queue_first(&queue));
    add_trial(&queue, 7, 3);
    add_trial(&queue, 8, 5);
    struct shrink_entry *first = shrink_queue_first(&queue);
    ck_assert_ptr_eq(first, &queue.entries[0]);
    ck_assert_uint_eq(first->verdict.rule, RULE_OVERLAP);
    show_queue(&queue);
    shrink_queue_end(&queue, first, SHRINK_SAVED);
    ck_assert_ptr_eq(shrink_queue_first(&queue), &queue.entries[1]);
    show("its list is needed no more:\n");
    show_queue(&queue);
    struct finding finding = {.base = "base-8-0"}; /* it has no files yet */
    shrink_queue_take_files(&queue, &queue.entries[3], &finding);
    ck_assert_str_eq(finding.base, queue.entries[3].base);
    strcpy(finding.base, "base-7-0");
    shrink_queue_take_files(&queue, &queue.entries[3], &finding);
    show("the base of its finding gives way:\n");
    show_queue(&queue);
    ck_assert(shrink_queue_invariants_hold(&queue));
    for (size_t i = 1; i < 4; i++) {
        shrink_queue_end(&queue, shrink_queue_first(&queue), SHRINK_COUNTED);
        ck_assert(shrink_queue_invariants_hold(&queue));
    }
    queue.entries[1].state = SHRINK_WAITING; /* behind which the queue went on */
    ck_assert(!shrink_queue_invariants_hold(&queue));
    queue.entries[1].state = SHRINK_COUNTED;
    ck_assert_ptr_null(shrink_queue_first(&queue));
    shrink_queue_deinit(&queue);
}

/* As another process reads it: without lists. */
TEST(a_trial_that_is_run_again_brings_its_lists_back)
{
    struct shrink_queue queue = {.entries = NULL}, read = {.entries = NULL};
    struct task task;
    size_t at = 0;
    add_trial(&queue, 7, 3);
    add_trial(&queue, 8, 5);
    shrink_queue_end(&queue, &queue.entries[0], SHRINK_SAVED);
    for (size_t i = 0; i < queue.count; i++) {
        shrink_queue_restore(&read, &queue.entries[i]);
    }
    show_queue(&read);
    while (shrink_queue_missing(&read, &at, &task)) { /* once for both of its findings */
        SHOW(task.trial);
    }
    struct trial_result result = make_trial(9, 1);
    ck_assert(!shrink_queue_put(&read, &result)); /* nobody waits for that one */
    trial_result_deinit(&result);
    result = make_trial(8, 5);
    strcpy(result.head.findings.findings[1].signature, "another"); /* one does not show again */
    ck_assert(shrink_queue_put(&read, &result));
    trial_result_deinit(&result);
    show_queue(&read);
    shrink_queue_deinit(&queue);
    shrink_queue_deinit(&read);
}

/* --- the disk --- */

static void append_path(struct writing *paths, const char *path)
{
    writing_append_bytes(paths, path, strlen(path) + 1);
}

static enum syncer_result ask(struct syncer *syncer, const struct writing *paths, int *error)
{
    syncer_ask(syncer, paths);
    enum syncer_result result;
    while ((result = syncer_take(syncer, WAIT_MS, error)) == SYNCER_BUSY) {
        continue;
    }
    return result;
}

TEST(files_are_forced_to_the_disk_and_those_that_are_gone_left_out)
{
    struct syncer syncer;
    struct writing paths;
    int error = -1;
    folder_enter("syncer");
    folder_write("file", "");
    ck_assert(syncer_start(&syncer));
    writing_init(&paths);
    append_path(&paths, folder_path("file"));
    append_path(&paths, "/nowhere/at/all");
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(ask(&syncer, &paths, &error), SYNCER_DONE);
        ck_assert_int_eq(error, 0);
        ck_assert(!syncer.is_busy);
    }
    append_path(&paths, "/proc/self/mem/x"); /* where no file can be */
    ck_assert_int_eq(ask(&syncer, &paths, &error), SYNCER_FAILED);
    ck_assert_int_eq(error, ENOTDIR);
    (void)signal(SIGPIPE, SIG_IGN); /* as the program does */
    (void)kill(syncer.child.process, SIGKILL);
    ck_assert_int_eq(ask(&syncer, &paths, &error), SYNCER_FAILED);
    ck_assert_int_eq(error, 0);
    syncer_stop(&syncer);
    writing_deinit(&paths);
    folder_leave();
}
