/* The findings of a whole campaign, counted trial by trial as campaign_findings.c counts those of
 * one run.  What is there already is what became of each list that a shard shrank. */
#include "campaign/engine/findings.h"
#include "campaign/engine/repro_store.h"
#include "campaign/engine/whole.h"
#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/base/hash.h"
#include "harness/base/random.h"
#include "present/json_lines.h"

#include <stdlib.h>
#include <string.h>

static const char *const nothing[] = {NULL};

/* --- one verdict --- */

/* A verdict as its shard has it: in the queue, or in a line alone. */
struct verdict_seen {
    const struct finding *finding;    /* of the shard */
    const struct shrink_entry *entry; /* NULL: it was only counted */
    const struct result_line *line;   /* NULL: it is in the queue */
    uint64_t number;                  /* of its signature in the shard, from 1 */
    uint64_t order;                   /* of all verdicts of the whole, from 1 */
};

/* Returns the seed that plan_trial_seed() returns. */
static uint64_t find_seed(const struct whole *whole, uint64_t part, uint64_t trial)
{
    const struct setup *setup = &whole->description.parts[part].setup;
    return random_derive(random_derive(setup->seed, hash_string(HASH_START, setup->scenario)),
                         trial);
}

/* Counts nothing yet, and has no files. */
static struct finding *add_finding(struct whole *whole, const struct finding *of_shard,
                                   const struct shrink_entry *entry)
{
    struct finding first;
    memset(&first, 0, sizeof first); /* what is saved has no bytes that nobody wrote */
    memcpy(first.signature, of_shard->signature, sizeof first.signature);
    memcpy(first.rule, of_shard->rule, sizeof first.rule);
    memcpy(first.reason, entry == NULL ? of_shard->reason : entry->seen.reason,
           sizeof first.reason);
    memcpy(first.message, entry == NULL ? of_shard->message : entry->message, sizeof first.message);
    first.has_largest = entry == NULL ? of_shard->has_largest : entry->has_largest;
    first.largest = entry == NULL ? of_shard->largest : entry->largest;
    first.is_known = of_shard->is_known;
    first.first_order = UINT64_MAX;
    return findings_add(&whole->findings, &first);
}

/* The line with which its shard announced it, and why it came. */
static void append_found(struct whole *whole, const struct whole_trial *trial,
                         const struct finding *known)
{
    for (size_t i = 0; i < trial->line_count; i++) {
        const struct result_line *line = &trial->lines[i].line;
        if (!result_line_has(line, "type", "found") ||
            !result_line_has(line, "signature", known->signature)) {
            continue;
        }
        result_line_copy(line, whole->directory, nothing, &whole->lines);
        if (i + 1 < trial->line_count &&
            result_line_has(&trial->lines[i + 1].line, "type", "diagnosis")) {
            result_line_copy(&trial->lines[i + 1].line, whole->directory, nothing, &whole->lines);
        }
        return;
    }
}

/* The line of a verdict, with its files where it has some. */
static void append_entry(struct whole *whole, const struct shrink_entry *entry,
                         const struct finding *known, bool has_files)
{
    struct repro_store_paths paths;
    const struct repro_store repro_store = {.directory = whole->directory};
    const struct campaign_part *part = &whole->description.parts[entry->task.part];
    struct report_finding finding = shrink_entry_report(entry, part->name, known);
    if (has_files) {
        repro_store_paths_init(&paths, &repro_store, "repros", entry->base);
        finding.repro = paths.repro;
        finding.certificate = entry->has_certificate ? paths.certificate : NULL;
        finding.repeats = before_report(whole->directory, entry->base, entry->before_count,
                                        entry->is_unrepeated != 0);
    }
    json_line_finding(&whole->lines, &finding);
    before_free_report(&finding.repeats);
}

/* Appends a verdict that is only counted. */
static void append_counted(struct whole *whole, const struct whole_trial *trial,
                           const struct verdict_seen *seen, const struct finding *known)
{
    if (seen->line != NULL) {
        result_line_copy(seen->line, whole->directory, nothing, &whole->lines);
    } else if (whole->is_exact) {
        struct shrink_entry entry = *seen->entry;
        entry.verdict = entry.seen;
        memcpy(entry.signature, entry.seen_as, sizeof entry.signature);
        append_entry(whole, &entry, known, false);
    }
    if (whole->is_exact) {
        whole->at.parts[trial->part].findings_only_counted += known->seen_count > 1;
    }
}

static void queue_verdict(struct whole *whole, const struct whole_trial *trial,
                          const struct verdict_seen *seen, const struct finding *known)
{
    struct shrink_entry entry;
    struct whole_entry beside = {.shard = trial->shard};
    memset(&entry, 0, sizeof entry);
    if (seen->entry != NULL) {
        entry = *seen->entry;
        beside.has_repro = entry.state == SHRINK_SAVED;
    } else {
        beside.line = *seen->line;
        (void)json_incref(beside.line.values);
        memcpy(entry.signature, known->signature, sizeof entry.signature);
        memcpy(entry.seen_as, known->signature, sizeof entry.seen_as);
        entry.task.part = (uint32_t)trial->part;
        entry.task.trial = trial->trial;
    }
    entry.order = seen->order;
    entry.number = known->seen_count;
    entry.state = SHRINK_COUNTED; /* whole_end_findings() looks at it again */
    entry.is_superseded = SUPERSEDED_NOT;
    whole->entries = array_grown(whole->entries, whole->queue.count, &whole->entry_capacity,
                                 sizeof beside);
    whole->entries[whole->queue.count] = beside;
    shrink_queue_restore(&whole->queue, &entry);
}

/* Returns how many verdicts of its signature there were up to this one. */
static uint64_t take_verdict(struct whole *whole, const struct whole_trial *trial,
                             const struct verdict_seen *seen)
{
    struct finding *known = findings_find(&whole->findings, seen->finding->signature);
    if (known == NULL) {
        known = add_finding(whole, seen->finding, seen->entry);
        finding_note_first(known, seen->order, trial->part, trial->trial,
                           find_seed(whole, trial->part, trial->trial));
    }
    known->count++;
    known->seen_count++;
    if (known->seen_count == 1) {
        append_found(whole, trial, known);
    }
    /* If its shard should have shrunk it, and did not, it has no list. */
    const bool has_list = seen->entry != NULL || !shrink_queue_takes(seen->number);
    if (whole->is_exact && has_list && shrink_queue_takes(known->seen_count)) {
        queue_verdict(whole, trial, seen, known);
    } else {
        append_counted(whole, trial, seen, known);
    }
    return known->seen_count;
}

/* --- those of a trial --- */

static const struct shrink_entry *find_entry(const struct shrink_queue *queue,
                                             const struct whole_trial *trial, uint64_t finding)
{
    for (size_t i = 0; i < queue->count; i++) {
        const struct shrink_entry *entry = &queue->entries[i];
        if (entry->task.part == trial->part && entry->task.trial == trial->trial &&
            entry->finding == finding) {
            return entry;
        }
    }
    return NULL;
}

/* The next line of one that was only counted, from *at on. */
static const struct result_line *next_counted(const struct whole_trial *trial, size_t *at)
{
    while (*at < trial->line_count) {
        const struct result_line *line = &trial->lines[(*at)++].line;
        if (result_line_find_text(line, "signature") != NULL &&
            (result_line_has(line, "type", "verdict") || result_line_has(line, "type", "broken"))) {
            return line;
        }
    }
    return NULL;
}

/* Finds the finding of the shard as which it was seen; false: none, which no campaign writes. */
static bool find_seen(struct whole *whole, const struct whole_trial *trial,
                      struct verdict_seen *seen)
{
    const struct findings *of_shard = &whole->shards[trial->shard].at.findings;
    for (size_t i = 0; i < of_shard->count; i++) {
        const char *signature = of_shard->findings[i].signature;
        if (seen->entry != NULL ? strcmp(seen->entry->seen_as, signature) == 0
                                : result_line_has(seen->line, "signature", signature)) {
            seen->finding = &of_shard->findings[i];
            seen->number = ++whole->shards[trial->shard].seen_counts[i];
            return true;
        }
    }
    return false;
}

bool whole_take_findings(struct whole *whole, const struct whole_trial *trial)
{
    const struct shrink_queue *queue = &whole->shards[trial->shard].at.queue;
    bool is_early = false;
    size_t at = 0;
    for (uint64_t i = 0; i < RUN_FINDING_COUNT_MAX; i++) {
        struct verdict_seen seen = {.entry = find_entry(queue, trial, i)};
        if (seen.entry == NULL) {
            seen.line = next_counted(trial, &at);
        }
        if ((seen.entry == NULL && seen.line == NULL) || !find_seen(whole, trial, &seen)) {
            break;
        }
        seen.order = ++whole->verdict_count;
        is_early |= take_verdict(whole, trial, &seen) <= OUTPUT_VERDICT_COUNT;
    }
    return is_early;
}

/* --- behind all trials --- */

/* The verdict turned out to be one of another finding. */
static void move_verdict(struct whole *whole, struct shrink_entry *entry, size_t shard)
{
    shrink_entry_move(entry, &whole->findings, entry->signature);
    struct finding *to = findings_find(&whole->findings, entry->signature);
    if (to == NULL) {
        const struct finding *of_shard = findings_find(&whole->shards[shard].at.findings,
                                                       entry->signature);
        CHECK(of_shard != NULL);
        to = add_finding(whole, of_shard, entry);
    }
    to->count++;
    finding_note_first(to, entry->order, entry->task.part, entry->task.trial,
                       find_seed(whole, entry->task.part, entry->task.trial));
}

/* Takes over how shrinking ended, if the turn of the entry comes. */
static void end_entry(struct whole *whole, size_t i)
{
    struct shrink_entry *entry = &whole->queue.entries[i];
    struct finding *known = findings_find(&whole->findings, entry->seen_as);
    if (!whole->entries[i].has_repro || !finding_is_to_shrink(known, entry->number)) {
        entry->verdict = entry->seen;
        memcpy(entry->signature, entry->seen_as, sizeof entry->signature);
        return;
    }
    if (strcmp(entry->signature, entry->seen_as) != 0) {
        move_verdict(whole, entry, whole->entries[i].shard);
    } else {
        known->stayed_count++;
    }
    known = findings_find(&whole->findings, entry->signature);
    if (finding_repro_is_better(known, entry->op_count, entry->before_count,
                                entry->is_unrepeated != 0)) {
        shrink_queue_take_files(&whole->queue, entry, known);
        entry->state = SHRINK_SAVED;
    } else {
        entry->verdict = entry->seen;
    }
}

static void append_queue(struct whole *whole)
{
    for (size_t i = 0; i < whole->queue.count; i++) {
        const struct shrink_entry *entry = &whole->queue.entries[i];
        const struct result_line *line = &whole->entries[i].line;
        const struct finding *known = findings_find(&whole->findings, entry->signature);
        if (!finding_is_shown(known)) {
            continue; /* all of it was another finding */
        }
        if (line->length > 0) {
            result_line_copy(line, whole->directory, nothing, &whole->lines);
        } else {
            append_entry(whole, entry, known,
                         entry->state == SHRINK_SAVED && entry->is_superseded == SUPERSEDED_NOT);
        }
    }
}

void whole_end_findings(struct whole *whole)
{
    for (size_t i = 0; i < whole->queue.count; i++) {
        end_entry(whole, i);
    }
    findings_settle(&whole->findings);
    append_queue(whole);
    findings_deinit(&whole->at.findings);
    whole->at.findings = whole->findings;
    whole->findings = (struct findings){.findings = NULL};
}
