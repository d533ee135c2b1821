/* The findings of a whole campaign, counted trial by trial as campaign_findings.c counts those of
 * one run.  What is there already is what became of each list that a shard shrank. */
#include "campaign/engine/before.h"
#include "campaign/engine/private/whole_state.h"
#include "campaign/engine/repro_store.h"
#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/base/hash.h"
#include "harness/base/random.h"
#include "present/json_lines.h"

#include <stdlib.h>
#include <string.h>

static const char *const nothing[] = {NULL};

static size_t count_shard_findings(const struct whole *whole, size_t shard_count)
{
    size_t count = 0;
    for (size_t i = 0; i < shard_count; i++) {
        count += whole->shards[i].at->findings.count;
    }
    return count;
}

void whole_findings_init(struct whole_findings *findings, struct whole *whole)
{
    *findings = (struct whole_findings){.whole = whole};
    findings->seen_counts = calloc(count_shard_findings(whole, whole->shard_count) + 1,
                                   sizeof *findings->seen_counts);
    CHECK(findings->seen_counts != NULL);
}

void whole_findings_deinit(struct whole_findings *findings)
{
    findings_deinit(&findings->findings);
    free(findings->entries);
    free(findings->seen_counts);
}

/* --- one verdict --- */

/* As its shard has it: in the queue, or in a line alone. */
struct verdict_seen {
    const struct finding *finding;    /* of the shard */
    const struct shrink_entry *entry; /* NULL: it was only counted */
    const struct result_line *line;   /* NULL: it is in the queue */
    uint64_t number;                  /* of its signature in the shard, from 1 */
    uint64_t order;                   /* of all verdicts of the whole, from 1 */
};

/* What plan_trial_seed() says. */
static uint64_t find_seed(const struct whole *whole, uint64_t part, uint64_t trial)
{
    const struct setup *setup = &whole->shards[0].description->parts[part].setup;
    return random_derive(random_derive(setup->seed, hash_string(HASH_START, setup->scenario)),
                         trial);
}

static void note_first(const struct whole *whole, struct finding *known, uint64_t part,
                       uint64_t trial, uint64_t order)
{
    known->part = part;
    known->trial = trial;
    known->seed = find_seed(whole, part, trial);
    known->first_order = order;
}

/* Counts nothing yet, and has no files. */
static struct finding *add_finding(struct whole_findings *findings, const struct finding *of_shard,
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
    return findings_add(&findings->findings, &first);
}

/* The line with which its shard announced it, and why it came. */
static void append_found(struct whole_findings *findings, const struct whole_trial *trial,
                         const struct finding *known)
{
    struct whole *whole = findings->whole;
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
    struct report_finding finding = {
        .place = {whole->shards[0].description->parts[entry->task.part].name, entry->task.trial},
        .verdict = &entry->verdict,
        .rule = rule_info(entry->verdict.rule)->name,
        .message = entry->message,
        .signature = entry->signature,
        .largest = entry->has_largest ? &entry->largest : NULL,
        .is_known = known->is_known != 0};
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

/* One that is only counted. */
static void append_counted(struct whole_findings *findings, const struct whole_trial *trial,
                           const struct verdict_seen *seen, const struct finding *known)
{
    struct whole *whole = findings->whole;
    if (seen->line != NULL) {
        result_line_copy(seen->line, whole->directory, nothing, &whole->lines);
    } else if (whole->is_exact) {
        struct shrink_entry entry = *seen->entry;
        entry.verdict = entry.seen;
        memcpy(entry.signature, entry.seen_as, sizeof entry.signature);
        append_entry(whole, &entry, known, false);
    }
    if (whole->is_exact) {
        whole->at->parts[trial->part].findings_only_counted += known->seen_count > 1;
    }
}

static void queue_verdict(struct whole_findings *findings, const struct whole_trial *trial,
                          const struct verdict_seen *seen, const struct finding *known)
{
    findings->entries = array_grown(findings->entries, findings->entry_count,
                                    &findings->entry_capacity, sizeof *findings->entries);
    struct whole_entry *entry = &findings->entries[findings->entry_count++];
    memset(entry, 0, sizeof *entry);
    entry->shard = trial->shard;
    if (seen->entry != NULL) {
        entry->entry = *seen->entry;
        entry->has_repro = seen->entry->state == SHRINK_SAVED;
    } else {
        entry->line = *seen->line;
        memcpy(entry->entry.signature, known->signature, sizeof known->signature);
        memcpy(entry->entry.seen_as, known->signature, sizeof known->signature);
        entry->entry.task.part = (uint32_t)trial->part;
        entry->entry.task.trial = trial->trial;
    }
    entry->entry.order = seen->order;
    entry->entry.number = known->seen_count;
    entry->entry.is_superseded = SUPERSEDED_NOT;
}

/* Returns how many verdicts of its signature there were up to this one. */
static uint64_t take_verdict(struct whole_findings *findings, const struct whole_trial *trial,
                             const struct verdict_seen *seen)
{
    struct finding *known = findings_find(&findings->findings, seen->finding->signature);
    if (known == NULL) {
        known = add_finding(findings, seen->finding, seen->entry);
        note_first(findings->whole, known, trial->part, trial->trial, seen->order);
    }
    known->count++;
    known->seen_count++;
    if (known->seen_count == 1) {
        append_found(findings, trial, known);
    }
    /* One that its shard would have shrunk, and did not, has no list. */
    const bool has_list = seen->entry != NULL || !shrink_queue_takes(seen->number);
    if (findings->whole->is_exact && has_list && shrink_queue_takes(known->seen_count)) {
        queue_verdict(findings, trial, seen, known);
    } else {
        append_counted(findings, trial, seen, known);
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
    struct result_line value;
    while (*at < trial->line_count) {
        const struct result_line *line = &trial->lines[(*at)++].line;
        if (result_line_find(line, "signature", &value) &&
            (result_line_has(line, "type", "verdict") || result_line_has(line, "type", "broken"))) {
            return line;
        }
    }
    return NULL;
}

/* Which of the shard's findings it was seen as; false: of none, which no campaign writes. */
static bool find_seen(struct whole_findings *findings, const struct whole_trial *trial,
                      struct verdict_seen *seen)
{
    const struct findings *of_shard = &findings->whole->shards[trial->shard].at->findings;
    for (size_t i = 0; i < of_shard->count; i++) {
        const char *signature = of_shard->findings[i].signature;
        if (seen->entry != NULL ? strcmp(seen->entry->seen_as, signature) == 0
                                : result_line_has(seen->line, "signature", signature)) {
            const size_t before = count_shard_findings(findings->whole, trial->shard);
            seen->finding = &of_shard->findings[i];
            seen->number = ++findings->seen_counts[before + i];
            return true;
        }
    }
    return false;
}

bool whole_findings_take(struct whole_findings *findings, const struct whole_trial *trial)
{
    const struct shrink_queue *queue = &findings->whole->shards[trial->shard].at->queue;
    bool is_early = false;
    size_t at = 0;
    for (uint64_t i = 0; i < RUN_FINDING_COUNT_MAX; i++) {
        struct verdict_seen seen = {.entry = find_entry(queue, trial, i)};
        if (seen.entry == NULL) {
            seen.line = next_counted(trial, &at);
        }
        if ((seen.entry == NULL && seen.line == NULL) || !find_seen(findings, trial, &seen)) {
            break;
        }
        seen.order = ++findings->verdict_count;
        is_early |= take_verdict(findings, trial, &seen) <= OUTPUT_VERDICT_COUNT;
    }
    return is_early;
}

/* --- behind all trials --- */

/* The verdict turned out to be one of another finding. */
static void move_verdict(struct whole_findings *findings, const struct whole_entry *moved)
{
    const struct shrink_entry *entry = &moved->entry;
    struct finding *from = findings_find(&findings->findings, entry->seen_as);
    from->moved_count++;
    memcpy(from->moved_to, entry->signature, sizeof from->moved_to);
    struct finding *to = findings_find(&findings->findings, entry->signature);
    if (to == NULL) {
        const struct finding *of_shard = findings_find(
            &findings->whole->shards[moved->shard].at->findings, entry->signature);
        CHECK(of_shard != NULL);
        to = add_finding(findings, of_shard, entry);
    }
    to->count++;
    if (entry->order < to->first_order) {
        note_first(findings->whole, to, entry->task.part, entry->task.trial, entry->order);
    }
}

static void supersede(struct whole_findings *findings, const char *base)
{
    for (size_t i = 0; i < findings->entry_count; i++) {
        struct shrink_entry *entry = &findings->entries[i].entry;
        if (entry->state == SHRINK_SAVED && strcmp(entry->base, base) == 0) {
            entry->is_superseded = SUPERSEDED_NOW;
        }
    }
}

static void take_files(struct whole_findings *findings, const struct shrink_entry *entry)
{
    struct finding *known = findings_find(&findings->findings, entry->signature);
    if (known->base[0] != '\0') {
        supersede(findings, known->base);
    }
    memcpy(known->base, entry->base, sizeof known->base);
    memcpy(known->reason, entry->verdict.reason, sizeof known->reason);
    memcpy(known->message, entry->message, sizeof known->message);
    known->has_largest = entry->has_largest;
    known->largest = entry->largest;
    known->op_count = entry->op_count;
    known->has_certificate = entry->has_certificate;
    known->before_count = entry->before_count;
    known->is_unrepeated = entry->is_unrepeated;
}

/* What shrinking made of it, if its turn comes. */
static void end_entry(struct whole_findings *findings, struct whole_entry *whole_entry)
{
    struct shrink_entry *entry = &whole_entry->entry;
    struct finding *known = findings_find(&findings->findings, entry->seen_as);
    entry->state = SHRINK_COUNTED;
    if (!whole_entry->has_repro || !finding_is_to_shrink(known, entry->number)) {
        entry->verdict = entry->seen;
        memcpy(entry->signature, entry->seen_as, sizeof entry->signature);
        return;
    }
    if (strcmp(entry->signature, entry->seen_as) != 0) {
        move_verdict(findings, whole_entry);
    } else {
        known->stayed_count++;
    }
    if (finding_repro_is_better(findings_find(&findings->findings, entry->signature),
                                entry->op_count, entry->before_count, entry->is_unrepeated != 0)) {
        take_files(findings, entry);
        entry->state = SHRINK_SAVED;
    } else {
        entry->verdict = entry->seen;
    }
}

static void append_queue(struct whole_findings *findings)
{
    struct whole *whole = findings->whole;
    for (size_t i = 0; i < findings->entry_count; i++) {
        const struct whole_entry *entry = &findings->entries[i];
        const struct finding *known = findings_find(&findings->findings, entry->entry.signature);
        if (!finding_is_shown(known)) {
            continue; /* all of it was another finding */
        }
        if (entry->line.length > 0) {
            result_line_copy(&entry->line, whole->directory, nothing, &whole->lines);
        } else {
            append_entry(whole, &entry->entry, known,
                         entry->entry.state == SHRINK_SAVED &&
                             entry->entry.is_superseded == SUPERSEDED_NOT);
        }
    }
}

void whole_findings_end(struct whole_findings *findings)
{
    for (size_t i = 0; i < findings->entry_count; i++) {
        end_entry(findings, &findings->entries[i]);
    }
    findings_settle(&findings->findings);
    append_queue(findings);
    findings_deinit(&findings->whole->at->findings);
    findings->whole->at->findings = findings->findings;
    findings->findings = (struct findings){.findings = NULL};
}
