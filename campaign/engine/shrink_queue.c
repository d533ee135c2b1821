#include "campaign/engine/findings.h"

#include "harness/base/array.h"
#include "harness/base/check.h"

#include <stdlib.h>
#include <string.h>

/* --- lists --- */

/* Copies the members of a trial that shrinking the selected finding needs. */
static struct trial_result *copy_selected(const struct trial_result *trial_result)
{
    struct trial_result *copy = malloc(sizeof *copy);
    CHECK(copy != NULL);
    trial_result_init(copy);
    copy->head = trial_result->head;
    copy->setup = trial_result->setup;
    op_list_copy(&copy->ops, &trial_result->ops);
    writing_append_bytes(&copy->certificates, trial_result->certificates.bytes,
                         trial_result->certificates.length);
    earlier_tasks_copy(&copy->earlier, &trial_result->earlier);
    return copy;
}

static void forget_list(struct shrink_queue *queue, size_t i)
{
    if (queue->lists[i] != NULL) {
        trial_result_deinit(queue->lists[i]);
        free(queue->lists[i]);
        queue->lists[i] = NULL;
    }
}

/* --- the queue --- */

void shrink_queue_deinit(struct shrink_queue *queue)
{
    for (size_t i = 0; i < queue->count; i++) {
        forget_list(queue, i);
    }
    free(queue->entries);
    free(queue->lists);
    *queue = (struct shrink_queue){.entries = NULL};
}

bool shrink_queue_invariants_hold(const struct shrink_queue *queue)
{
    bool hold = queue->next <= queue->count && queue->count <= queue->capacity;
    for (size_t i = 0; i < queue->count; i++) {
        const struct shrink_entry *entry = &queue->entries[i];
        const bool is_waiting = entry->state == SHRINK_WAITING;
        hold &= (!is_waiting || i >= queue->next) && (is_waiting || queue->lists[i] == NULL) &&
                (entry->is_superseded == SUPERSEDED_NOT || entry->state == SHRINK_SAVED);
    }
    return hold;
}

bool shrink_queue_takes(uint64_t number)
{
    return number <= FINDING_SHRUNK_COUNT_MAX || (number & (number - 1)) == 0;
}

static struct shrink_entry *append_entry(struct shrink_queue *queue)
{
    queue->entries = array_grown(queue->entries, queue->count, &queue->capacity,
                                 sizeof *queue->entries);
    queue->lists = realloc(queue->lists, queue->capacity * sizeof(struct trial_result *));
    CHECK(queue->lists != NULL);
    queue->lists[queue->count] = NULL;
    struct shrink_entry *entry = &queue->entries[queue->count++];
    memset(entry, 0, sizeof *entry); /* what is saved has no bytes that nobody wrote */
    return entry;
}

struct shrink_entry *shrink_queue_add(struct shrink_queue *queue,
                                      const struct trial_result *trial_result, size_t finding)
{
    struct shrink_entry *entry = append_entry(queue);
    const struct trial_result_head *head = &trial_result->head;
    CHECK(head->has_list && finding < head->findings.count);
    entry->task = head->task;
    entry->finding = finding;
    entry->verdict = entry->seen = head->first;
    memcpy(entry->seen_as, head->signature, sizeof entry->seen_as);
    memcpy(entry->signature, head->signature, sizeof entry->signature);
    memcpy(entry->message, head->message, sizeof entry->message);
    queue->lists[queue->count - 1] = copy_selected(trial_result);
    return entry;
}

void shrink_queue_restore(struct shrink_queue *queue, const struct shrink_entry *entry)
{
    *append_entry(queue) = *entry;
}

struct report_finding shrink_entry_report(const struct shrink_entry *entry, const char *part_name,
                                          const struct finding *known)
{
    return (struct report_finding){.place = {part_name, entry->task.trial},
                                   .verdict = &entry->verdict,
                                   .rule = rule_info(entry->verdict.rule)->name,
                                   .message = entry->message,
                                   .signature = entry->signature,
                                   .largest = entry->has_largest ? &entry->largest : NULL,
                                   .is_known = known->is_known != 0};
}

struct shrink_entry *shrink_queue_first(struct shrink_queue *queue)
{
    while (queue->next < queue->count && queue->entries[queue->next].state != SHRINK_WAITING) {
        queue->next++;
    }
    return queue->next == queue->count ? NULL : &queue->entries[queue->next];
}

struct trial_result *shrink_queue_list(const struct shrink_queue *queue,
                                       const struct shrink_entry *entry)
{
    return queue->lists[entry - queue->entries];
}

void shrink_queue_end(struct shrink_queue *queue, struct shrink_entry *entry,
                      enum shrink_state state)
{
    CHECK(entry->state == SHRINK_WAITING && state != SHRINK_WAITING);
    entry->state = state;
    forget_list(queue, (size_t)(entry - queue->entries));
}

/* The files of that name gave way to others. */
static void supersede(struct shrink_queue *queue, const char *base)
{
    for (size_t i = 0; i < queue->count && base[0] != '\0'; i++) {
        struct shrink_entry *entry = &queue->entries[i];
        if (entry->state == SHRINK_SAVED && strcmp(entry->base, base) == 0) {
            entry->is_superseded = SUPERSEDED_NOW;
        }
    }
}

void shrink_entry_move(struct shrink_entry *entry, const struct findings *findings,
                       const char *signature)
{
    struct finding *from = findings_find(findings, entry->seen_as);
    from->moved_count++;
    memcpy(from->moved_to, signature, sizeof from->moved_to);
    memmove(entry->signature, signature, sizeof entry->signature);
}

void shrink_queue_take_files(struct shrink_queue *queue, const struct shrink_entry *entry,
                             struct finding *finding)
{
    supersede(queue, finding->base);
    memcpy(finding->base, entry->base, sizeof finding->base);
    memcpy(finding->reason, entry->verdict.reason, sizeof finding->reason);
    memcpy(finding->message, entry->message, sizeof finding->message);
    finding->has_largest = entry->has_largest;
    finding->largest = entry->largest;
    finding->op_count = entry->op_count;
    finding->has_certificate = entry->has_certificate;
    finding->before_count = entry->before_count;
    finding->is_unrepeated = entry->is_unrepeated;
}

/* --- trials that are run again --- */

static bool is_same_trial(const struct task *a, const struct task *b)
{
    return a->part == b->part && a->trial == b->trial;
}

static bool is_missing(const struct shrink_queue *queue, size_t i)
{
    return queue->entries[i].state == SHRINK_WAITING && queue->lists[i] == NULL;
}

bool shrink_queue_missing(const struct shrink_queue *queue, size_t *at, struct task *task)
{
    while (*at < queue->count) {
        const size_t i = (*at)++;
        /* The findings of one trial follow each other. */
        const bool is_begun = i > 0 && is_missing(queue, i - 1) &&
                              is_same_trial(&queue->entries[i].task, &queue->entries[i - 1].task);
        if (is_missing(queue, i) && !is_begun) {
            *task = queue->entries[i].task;
            return true;
        }
    }
    return false;
}

/* Returns true if the trial shows the entry's finding again; then that finding is selected. */
static bool select_same(struct trial_result *trial_result, const struct shrink_entry *entry)
{
    struct trial_result_head *head = &trial_result->head;
    for (size_t i = 0; i < head->findings.count && head->has_list; i++) {
        if (strcmp(head->findings.findings[i].signature, entry->seen_as) == 0) {
            trial_result_select(trial_result, i);
            return trial_result_rule(trial_result) != NULL;
        }
    }
    return false;
}

bool shrink_queue_put(struct shrink_queue *queue, struct trial_result *trial_result)
{
    bool was_wanted = false;
    for (size_t i = queue->next; i < queue->count; i++) {
        struct shrink_entry *entry = &queue->entries[i];
        if (!is_missing(queue, i) || !is_same_trial(&entry->task, &trial_result->head.task)) {
            continue;
        }
        was_wanted = true;
        if (select_same(trial_result, entry)) {
            queue->lists[i] = copy_selected(trial_result);
        } else {
            shrink_queue_end(queue, entry, SHRINK_COUNTED);
        }
    }
    return was_wanted;
}
