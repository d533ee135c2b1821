/* Shards as one campaign: numbers and findings. */
#include "campaign/engine/whole.h"

#include "harness/base/check.h"

#include <stdlib.h>
#include <string.h>

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
