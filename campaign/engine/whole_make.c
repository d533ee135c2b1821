#include "campaign/engine/whole.h"
#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/base/order.h"

#include <stdlib.h>
#include <string.h>

static const char *const nothing[] = {NULL};

/* --- lines in the order of one run --- */

static void add_line(struct whole *whole, const struct whole_line *line)
{
    whole->sorted = array_grown(whole->sorted, whole->sorted_count, &whole->sorted_capacity,
                                sizeof *line);
    whole->sorted[whole->sorted_count++] = *line;
}

static bool find_part(const struct campaign_description *description,
                      const struct result_line *line, size_t *part)
{
    for (size_t i = 0; i < description->head.part_count; i++) {
        if (result_line_has(line, "scenario", description->parts[i].name)) {
            *part = i;
            return true;
        }
    }
    return false;
}

/* Returns where the lines of the queue begin. */
static size_t find_queue(const struct whole_shard *shard)
{
    const uint64_t at = shard->at.state.queue_bytes;
    return at == 0 || at > shard->lines.length ? shard->lines.length : at;
}

/* The line that begins at *at, which moves behind it. */
static struct result_line next_line(const struct writing *lines, size_t *at)
{
    const char *text = lines->bytes + *at;
    const char *end = memchr(text, '\n', lines->length - *at);
    CHECK(end != NULL);
    const struct result_line line = {.text = text, .length = (size_t)(end - text)};
    *at += line.length + 1;
    return line;
}

/* Adds all lines of a shard about trials: not the first line, nor those of the queue. */
static bool add_lines(struct whole *whole, size_t index)
{
    const struct whole_shard *shard = &whole->shards[index];
    const size_t end = find_queue(shard);
    size_t at = 0;
    for (uint64_t position = 0; at < end; position++) {
        struct whole_line line = {.shard = index, .position = position};
        line.line = next_line(&shard->lines, &at);
        if (position == 0) {
            continue;
        }
        const bool is_good = result_line_read(&line.line) &&
                             find_part(&shard->description, &line.line, &line.part) &&
                             result_line_find_number(&line.line, "trial", &line.trial);
        result_line_forget(&line.line); /* they are read again, trial by trial */
        if (!is_good) {
            return false;
        }
        add_line(whole, &line);
    }
    return true;
}

/* A trial of which only the queue knows has an empty line. */
static void add_queue(struct whole *whole, size_t index)
{
    const struct shrink_queue *queue = &whole->shards[index].at.queue;
    for (size_t i = 0; i < queue->count; i++) {
        const struct task *task = &queue->entries[i].task;
        const struct whole_line line = {
            .shard = index, .part = task->part, .trial = task->trial, .position = UINT64_MAX};
        add_line(whole, &line);
    }
}

static const struct campaign_description *sorted_description; /* of compare_lines() */

static uint64_t find_round(const struct whole_line *line)
{
    const struct campaign_part *part = &sorted_description->parts[line->part];
    return line->trial < part->head_start
               ? part->first_round
               : part->first_round + (line->trial - part->head_start + 1) * part->stride;
}

/* The canary, which is the last part, comes first in a round. */
static size_t find_turn(const struct whole_line *line)
{
    const struct campaign_head *head = &sorted_description->head;
    return head->has_canary && line->part + 1 == head->part_count ? 0 : line->part + 1;
}

static int compare_lines(const void *a, const void *b)
{
    const struct whole_line *one = a, *other = b;
    const int by_turn = compare_then(compare_numbers(find_round(one), find_round(other)),
                                     compare_numbers(find_turn(one), find_turn(other)));
    const int by_place = compare_then(compare_numbers(one->shard, other->shard),
                                      compare_numbers(one->position, other->position));
    return compare_then(by_turn, compare_then(compare_numbers(one->trial, other->trial), by_place));
}

const struct whole_shard *whole_read(struct whole *whole)
{
    for (size_t i = 0; i < whole->shard_count; i++) {
        if (!add_lines(whole, i)) {
            return &whole->shards[i];
        }
        add_queue(whole, i);
    }
    sorted_description = &whole->description;
    if (whole->sorted_count > 0) {
        qsort(whole->sorted, whole->sorted_count, sizeof *whole->sorted, compare_lines);
    }
    CHECK(whole_invariants_hold(whole));
    return NULL;
}

void whole_deinit(struct whole *whole)
{
    for (size_t i = 0; i < whole->shard_count; i++) {
        checkpoint_deinit(&whole->shards[i].at);
        campaign_description_deinit(&whole->shards[i].description);
        writing_deinit(&whole->shards[i].lines);
        free(whole->shards[i].seen_counts);
    }
    free(whole->shards);
    checkpoint_deinit(&whole->at);
    free(whole->sorted);
    findings_deinit(&whole->findings);
    for (size_t i = 0; i < whole->queue.count; i++) {
        result_line_forget(&whole->entries[i].line);
    }
    shrink_queue_deinit(&whole->queue);
    free(whole->entries);
    writing_deinit(&whole->lines);
    writing_deinit(&whole->dropped);
}

bool whole_invariants_hold(const struct whole *whole)
{
    bool hold = whole->sorted_count <= whole->sorted_capacity;
    for (size_t i = 0; i < whole->sorted_count; i++) {
        const struct whole_line *line = &whole->sorted[i];
        hold &= line->shard < whole->shard_count &&
                line->part < sorted_description->head.part_count &&
                (i == 0 || compare_lines(line - 1, line) <= 0);
    }
    return hold;
}

/* --- one trial --- */

/* The out-of-memories of a trial whose files the whole has, by their ops. */
struct kept_ooms {
    uint64_t ops[TRIAL_RESULT_SAVED_COUNT_MAX];
    size_t count;
};

static void drop_file(struct whole *whole, const struct result_line *line, const char *key)
{
    char name[FINDING_BASE_BYTES + 32];
    result_line_find_saved(line, key, name, sizeof name);
    if (name[0] != '\0') {
        writing_append_bytes(&whole->dropped, name, strlen(name) + 1);
    }
}

/* An out-of-memory that breaks no promise. */
static void take_oom(struct whole *whole, const struct whole_line *line, struct kept_ooms *kept)
{
    static const char *const saved[] = {"largest_served_bytes", "largest_served_at_least", "repro",
                                        "certificate", NULL};
    struct part_state *part = &whole->at.parts[line->part];
    const bool has_certificate = result_line_find_text(&line->line, "certificate") != NULL;
    uint64_t op = 0;
    bool is_wanted = true;
    if (has_certificate) {
        is_wanted = result_line_has(&line->line, "verdict", "unknown")
                        ? part->unknown_saved++ < TRIAL_RESULT_UNKNOWN_COUNT_MAX
                        : part->justified_saved++ < TRIAL_RESULT_JUSTIFIED_COUNT_MAX;
    }
    if (!is_wanted) {
        drop_file(whole, &line->line, "repro");
        drop_file(whole, &line->line, "certificate");
    } else if (has_certificate && kept->count < TRIAL_RESULT_SAVED_COUNT_MAX &&
               result_line_find_number(&line->line, "op", &op)) {
        kept->ops[kept->count++] = op;
    }
    result_line_copy(&line->line, whole->directory, is_wanted ? nothing : saved, &whole->lines);
}

static bool is_kept_oom(const struct kept_ooms *kept, const struct result_line *line)
{
    uint64_t op = 0;
    bool is_kept = false;
    for (size_t i = 0; i < kept->count && result_line_find_number(line, "op", &op); i++) {
        is_kept |= kept->ops[i] == op;
    }
    return is_kept;
}

/* The line of the trial itself, if results.jsonl was not full; NULL: it was. */
static const struct result_line *find_end(const struct whole_trial *trial)
{
    const struct result_line *end = NULL;
    for (size_t i = 0; i < trial->line_count; i++) {
        if (result_line_has(&trial->lines[i].line, "type", "trial")) {
            end = &trial->lines[i].line;
        }
    }
    return end;
}

/* The line after `found` of a finding says why it came; returns true if this is that line. */
static bool is_of_found(const struct whole_trial *trial, size_t i)
{
    return i > 0 && result_line_has(&trial->lines[i].line, "type", "diagnosis") &&
           result_line_has(&trial->lines[i - 1].line, "type", "found");
}

/* Takes the lines before its findings that whole_take_findings() does not handle. */
static void take_before(struct whole *whole, const struct whole_trial *trial, bool is_list_kept)
{
    struct kept_ooms kept = {.count = 0};
    for (size_t i = 0; i < trial->line_count; i++) {
        const struct result_line *line = &trial->lines[i].line;
        const bool is_finding = result_line_has(line, "type", "found") || is_of_found(trial, i) ||
                                (!result_line_has(line, "type", "disputed") &&
                                 result_line_find_text(line, "signature") != NULL);
        if (line->length == 0 || is_finding || result_line_has(line, "type", "trial")) {
            continue;
        }
        if (result_line_has(line, "type", "verdict")) {
            take_oom(whole, &trial->lines[i], &kept);
        } else if (!result_line_has(line, "type", "diagnosis") || is_list_kept ||
                   is_kept_oom(&kept, line)) {
            result_line_copy(line, whole->directory, nothing, &whole->lines);
        }
    }
}

static void take_trial(struct whole *whole, const struct whole_trial *trial)
{
    static const char *const output[] = {"output", NULL};
    const struct result_line *end = find_end(trial);
    const bool is_list_kept = end != NULL && result_line_find_text(end, "kept") != NULL;
    take_before(whole, trial, is_list_kept);
    const bool is_early = whole_take_findings(whole, trial);
    if (end == NULL) {
        return;
    }
    const bool has_output = is_early || trial->trial < OUTPUT_TRIAL_COUNT;
    if (!has_output) {
        drop_file(whole, end, "output");
    }
    result_line_copy(end, whole->directory, has_output ? nothing : output, &whole->lines);
}

static bool is_same_trial(const struct whole_line *a, const struct whole_line *b)
{
    return a->part == b->part && a->trial == b->trial;
}

/* --- the whole --- */

static bool has_own_repeats(const struct shrink_queue *queue)
{
    bool has = true;
    for (size_t i = 0; i < queue->count; i++) {
        const struct shrink_entry *entry = &queue->entries[i];
        has &= entry->state != SHRINK_UNREPEATED && entry->state != SHRINK_DISPUTED &&
               entry->state != SHRINK_WAITING && entry->before_count == 0;
    }
    return has;
}

static bool is_exact(const struct whole *whole)
{
    bool is = whole->shard_count == whole->shards[0].description.head.shard_count;
    for (size_t i = 0; i < whole->shard_count && is; i++) {
        const struct checkpoint *at = &whole->shards[i].at;
        is = at->state.is_finished && at->state.is_queue_told && !at->state.is_disputed &&
             has_own_repeats(&at->queue);
    }
    return is;
}

static void take_start(struct whole *whole)
{
    size_t at = 0;
    const struct writing *lines = &whole->shards[0].lines;
    if (lines->length > 0) {
        (void)next_line(lines, &at);
        writing_append_bytes(&whole->lines, lines->bytes, at);
    }
}

/* The lines of the queues as the shards have them; of files that the whole does not have, it says
 * nothing. */
static void take_queues(struct whole *whole)
{
    static const char *const files[] = {"repro", "certificate", NULL};
    char name[FINDING_BASE_BYTES + 32];
    for (size_t i = 0; i < whole->shard_count; i++) {
        const struct writing *lines = &whole->shards[i].lines;
        for (size_t at = find_queue(&whole->shards[i]); at < lines->length;) {
            struct result_line line = next_line(lines, &at);
            if (!result_line_read(&line)) {
                continue;
            }
            result_line_find_saved(&line, "repro", name, sizeof name);
            char *extension = strrchr(name, '.');
            if (extension != NULL) {
                *extension = '\0';
            }
            const char *base = strchr(name, '/');
            const bool is_there = base != NULL && findings_have_base(&whole->at.findings, base + 1);
            result_line_copy(&line, whole->directory, is_there ? nothing : files, &whole->lines);
            result_line_forget(&line);
        }
    }
}

static void flush_lines(struct whole *whole)
{
    output_line(&whole->output, &whole->lines);
    writing_clear(&whole->lines);
}

static void take_trials(struct whole *whole)
{
    struct whole_line *lines = whole->sorted;
    for (size_t i = 0, next; i < whole->sorted_count; i = next) {
        for (next = i; next < whole->sorted_count && is_same_trial(&lines[i], &lines[next]);
             next++) {
            (void)result_line_read(&lines[next].line); /* it could be read before; or it is empty */
        }
        const struct whole_trial trial = {.lines = lines + i,
                                          .line_count = next - i,
                                          .shard = lines[i].shard,
                                          .part = lines[i].part,
                                          .trial = lines[i].trial};
        take_trial(whole, &trial);
        flush_lines(whole);
        for (; i < next; i++) {
            result_line_forget(&lines[i].line);
        }
    }
}

void whole_make(struct whole *whole)
{
    whole->is_exact = is_exact(whole);
    for (uint64_t i = 0; i < whole->description.head.part_count && whole->is_exact; i++) {
        whole->at.parts[i].findings_only_counted = 0;
    }
    take_start(whole);
    take_trials(whole);
    if (whole->is_exact) {
        whole_end_findings(whole);
    } else {
        take_queues(whole);
    }
    flush_lines(whole);
}

bool whole_has(const struct whole *whole, const char *name)
{
    const struct writing *dropped = &whole->dropped;
    for (size_t at = 0; at < dropped->length; at += strlen(dropped->bytes + at) + 1) {
        if (strcmp(dropped->bytes + at, name) == 0) {
            return false;
        }
    }
    return true;
}

const struct whole_shard *whole_source(const struct whole *whole, const struct finding *finding)
{
    for (size_t i = 0; i < whole->shard_count && whole->is_exact; i++) {
        const struct shrink_queue *queue = &whole->shards[i].at.queue;
        for (size_t k = 0; k < queue->count; k++) {
            const struct shrink_entry *entry = &queue->entries[k];
            if (entry->state == SHRINK_SAVED && strcmp(entry->base, finding->base) == 0) {
                return &whole->shards[i];
            }
        }
    }
    return NULL;
}

/* Shards as one campaign: numbers and findings. */

/* --- numbers --- */

static void add_part(struct part_state *to, const struct part_state *from)
{
    to->progress.is_finished = to->progress.is_finished && from->progress.is_finished;
    to->progress.taken += from->progress.taken;
    to->progress.op_count += from->progress.op_count;
    run_totals_add(&to->totals, &from->totals);
    to->trials += from->trials;
    to->elapsed_ns += from->elapsed_ns;
    to->findings_only_counted += from->findings_only_counted;
    to->look_count += from->look_count;
    to->growing_count += from->growing_count;
    const uint64_t grown = from->growth.last_bytes - from->growth.first_bytes;
    const uint64_t most = to->growth.last_bytes - to->growth.first_bytes;
    if (grown > most || (grown > 0 && grown == most && from->growth_trial < to->growth_trial)) {
        to->growth = from->growth;
        to->growth_trial = from->growth_trial;
        memcpy(to->growing_tag, from->growing_tag, sizeof to->growing_tag);
    }
    if (from->note[0] != '\0' && (to->note[0] == '\0' || from->note_trial < to->note_trial)) {
        memcpy(to->note, from->note, sizeof to->note);
        to->note_trial = from->note_trial;
    }
}

static void add_state(struct campaign_state *to, const struct campaign_state *from)
{
    struct report_end *end = &to->end;
    end->trials += from->end.trials;
    run_totals_add(&end->totals, &from->end.totals);
    end->verdicts_omitted += from->end.verdicts_omitted;
    end->trials_omitted += from->end.trials_omitted;
    end->kept_count += from->end.kept_count;
    end->kept_bytes += from->end.kept_bytes;
    end->kept_omitted += from->end.kept_omitted;
    end->certificates_checked += from->end.certificates_checked;
    end->has_baseline = end->has_baseline && from->end.has_baseline;
    end->elapsed_ns = from->end.elapsed_ns > end->elapsed_ns ? from->end.elapsed_ns
                                                             : end->elapsed_ns;
    end->is_interrupted = end->is_interrupted || !from->is_finished;
    to->canary_trials += from->canary_trials;
    to->is_canary_reported = to->is_canary_reported && from->is_canary_reported;
    to->is_disputed = to->is_disputed || from->is_disputed;
    to->is_finished = to->is_finished && from->is_finished;
}

/* --- findings --- */

/* The first of both, and the shorter repro. */
static void join_findings(struct finding *known, const struct finding *finding)
{
    const struct finding before = *known;
    if (finding->base[0] != '\0' &&
        (known->base[0] == '\0' ||
         finding_repro_is_better(known, finding->op_count, finding->before_count,
                                 finding->is_unrepeated != 0))) {
        *known = *finding;
    }
    const bool is_earlier = finding->trial < before.trial ||
                            (finding->trial == before.trial && finding->part < before.part);
    const struct finding *first = is_earlier ? finding : &before;
    known->part = first->part;
    known->trial = first->trial;
    known->seed = first->seed;
    known->count = before.count + finding->count;
    known->first_order = before.first_order;
    known->seen_count = before.seen_count + finding->seen_count;
    known->stayed_count = before.stayed_count + finding->stayed_count;
    known->unrepeated_count = before.unrepeated_count + finding->unrepeated_count;
    known->moved_count = before.moved_count + finding->moved_count;
    known->is_known = before.is_known && finding->is_known;
}

static void add_finding(struct findings *findings, const struct finding *finding)
{
    struct finding *known = findings_find(findings, finding->signature);
    if (known == NULL) {
        known = findings_add(findings, finding);
        known->first_order = findings->count; /* shard by shard */
    } else {
        join_findings(known, finding);
    }
}

/* --- the whole --- */

void campaign_join_begin(struct checkpoint *whole, size_t part_count)
{
    *whole = (struct checkpoint){.parts = calloc(part_count, sizeof *whole->parts)};
    CHECK(whole->parts != NULL);
    for (size_t i = 0; i < part_count; i++) {
        whole->parts[i].progress.is_finished = true;
    }
    whole->state.is_finished = whole->state.is_canary_reported = true;
    whole->state.end.has_baseline = true;
}

void campaign_join_add(struct checkpoint *whole, struct checkpoint *shard, size_t part_count)
{
    findings_settle(&shard->findings); /* a shard that did not end has not done it */
    add_state(&whole->state, &shard->state);
    for (size_t i = 0; i < part_count; i++) {
        add_part(&whole->parts[i], &shard->parts[i]);
    }
    for (size_t i = 0; i < shard->findings.count; i++) {
        add_finding(&whole->findings, &shard->findings.findings[i]);
    }
}
