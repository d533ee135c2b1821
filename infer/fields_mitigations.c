/* What the experiments show of waiting, moving, evicting, and of their order; and of memory that is
 * kept for a stream or for a recording. */
#include "infer/private/fields.h"

#include <stdio.h>
#include <string.h>

/* --- moves --- */

void infer_defrag(const struct inference *inference, struct inference_line *line)
{
    const enum mitigation_answer slides = field_answer(&inference->declared[EXPERIMENT_slide], 'm');
    const enum mitigation_answer repacks = field_answer(&inference->declared[EXPERIMENT_repack],
                                                        'm');
    const char *inferred = repacks == ANSWER_YES && slides == ANSWER_YES ? "DEFRAG_REPACK"
                           : slides == ANSWER_YES                        ? "DEFRAG_SLIDE"
                                                                         : "DEFRAG_NONE";
    if (slides == ANSWER_OPEN && repacks == ANSWER_OPEN) {
        line->verdict = INFERENCE_OPEN;
        return;
    }
    line->experiment = slides == ANSWER_YES ? EXPERIMENT_repack : EXPERIMENT_slide;
    field_infer(line, inferred);
}

/* --- waiting, evicting --- */

void infer_queues_frees(const struct inference *inference, struct inference_line *line)
{
    const struct lab_trace *trace = field_trace(inference, EXPERIMENT_dying_blocks);
    if (inference->claimed[EXPERIMENT_dying_blocks].is_dead) {
        field_compare(line, ANSWER_NO);
        return;
    }
    if (!inference_contract(inference)->stream_ordered && inference_is_stream_ordered(inference)) {
        line->experiment = EXPERIMENT_streams; /* the memory waits, but not for its own stream */
        field_compare(line, ANSWER_YES);
        return;
    }
    const struct lab_sight *sight = trace_asked(trace);
    /* The refusal shows that the memory waits. */
    field_compare(line, sight == NULL || trace->why[0] != '\0' ? ANSWER_OPEN
                        : field_claim_is_kept(trace) && sight->seen.result != TARGET_OK
                            ? ANSWER_YES
                            : ANSWER_NO);
}

void infer_drains(const struct inference *inference, struct inference_line *line)
{
    const struct lab_trace *one = field_trace(inference, EXPERIMENT_drain);
    const struct lab_trace *several = field_trace(inference, EXPERIMENT_drain_several);
    const bool accepts = field_claim_is_kept(field_trace(inference, EXPERIMENT_dying_blocks));
    if (!accepts && strcmp(line->declared, "false") == 0) {
        field_compare(line, ANSWER_NO); /* there is nothing to await */
        return;
    }
    field_compare(line, field_join(field_answer(one, 'w'), field_answer(several, 'w')));
    if (field_answer(several, 'w') == ANSWER_OPEN) {
        line->experiment = EXPERIMENT_drain;
    }
}

void infer_programs(const struct inference *inference, struct inference_line *line)
{
    const struct lab_trace *trace = &inference->declared[EXPERIMENT_evict];
    for (size_t i = 0; i < trace->ops.count; i++) {
        if (trace->ops.ops[i].kind == OP_LOAD && trace->sights[i].seen.result == TARGET_OK) {
            line->op = (uint32_t)i;
            field_compare(line, ANSWER_YES);
            return;
        }
    }
    line->experiment = EXPERIMENT_COUNT;
    field_compare(line, inference->target->load == NULL ? ANSWER_NO : ANSWER_OPEN);
}

/* Without programs nothing can be evicted, so it is not. */
static bool is_without_programs(const struct inference *inference, struct inference_line *line)
{
    const bool is_without = inference->target->load == NULL;
    if (is_without) {
        field_compare(line, ANSWER_NO);
        line->experiment = EXPERIMENT_COUNT;
        field_see(line, "it has no load()");
    }
    return is_without;
}

void infer_evicts(const struct inference *inference, struct inference_line *line)
{
    if (!is_without_programs(inference, line)) {
        field_compare(
            line, field_join(field_answer(&inference->declared[EXPERIMENT_evict], 'u'),
                             field_answer(&inference->declared[EXPERIMENT_evict_several], 'u')));
    }
}

void infer_program_evicts_program(const struct inference *inference, struct inference_line *line)
{
    if (!is_without_programs(inference, line)) {
        field_compare(line, field_answer(&inference->declared[EXPERIMENT_evict_for_program], 'u'));
    }
}

/* --- the order --- */

/* An experiment in which either of two mitigations is enough alone. */
static const struct contest {
    enum experiment_number experiment;
    enum mitigation first, second; /* in the documented order */
} contests[] = {
    {EXPERIMENT_order_drain_move, MITIGATION_DRAIN, MITIGATION_DEFRAGMENT},
    {EXPERIMENT_order_drain_evict, MITIGATION_DRAIN, MITIGATION_EVICT},
    {EXPERIMENT_order_move_evict, MITIGATION_DEFRAGMENT, MITIGATION_EVICT},
};
enum { CONTEST_COUNT = sizeof contests / sizeof *contests };

/* Which of the two the target tried first; MITIGATION_NONE: neither. */
static enum mitigation find_winner(const struct inference *inference, const struct contest *contest)
{
    static const char letters[] = {
        [MITIGATION_DRAIN] = 'w', [MITIGATION_DEFRAGMENT] = 'm', [MITIGATION_EVICT] = 'u'};
    const struct lab_sight *sight = trace_asked(&inference->declared[contest->experiment]);
    if (sight == NULL || sight->seen.result != TARGET_OK) {
        return MITIGATION_NONE;
    }
    return sight->calls[0] == letters[contest->first]    ? contest->first
           : sight->calls[0] == letters[contest->second] ? contest->second
                                                         : MITIGATION_NONE;
}

/* Its place in the order; MITIGATION_ORDER_COUNT: it has none. */
static size_t find_place(const struct target_contract *contract, enum mitigation mitigation)
{
    size_t place = 0;
    while (place < MITIGATION_ORDER_COUNT && contract->order[place] != mitigation) {
        place++;
    }
    return place;
}

/* Promised, and made where it alone could help: what is not made at all has no place. */
static bool is_kept(const struct inference *inference, enum mitigation mitigation)
{
    const struct lab_trace *traces = inference->declared;
    const struct target_contract *contract = inference_contract(inference);
    switch (mitigation) {
    case MITIGATION_DRAIN:
        return contract->drains && field_answer(&traces[EXPERIMENT_drain], 'w') == ANSWER_YES;
    case MITIGATION_DEFRAGMENT:
        return contract->defrag != DEFRAG_NONE &&
               field_answer(&traces[EXPERIMENT_slide], 'm') == ANSWER_YES;
    case MITIGATION_EVICT:
        return contract->evicts && field_answer(&traces[EXPERIMENT_evict], 'u') == ANSWER_YES;
    case MITIGATION_NONE:
        break;
    }
    return false;
}

static bool is_promised(const struct inference *inference, enum mitigation mitigation)
{
    const struct target_contract *contract = inference_contract(inference);
    return find_place(contract, mitigation) < MITIGATION_ORDER_COUNT &&
           is_kept(inference, mitigation);
}

static const char *name_mitigation(enum mitigation mitigation)
{
    return mitigation == MITIGATION_DRAIN        ? "waits"
           : mitigation == MITIGATION_DEFRAGMENT ? "moves"
                                                 : "evicts";
}

/* The order of those that it made, by how many of the others each came before. */
static void print_order(const struct inference *inference, struct inference_line *line)
{
    unsigned wins[MITIGATION_EVICT + 1] = {0};
    bool is_seen[MITIGATION_EVICT + 1] = {false};
    struct target_contract inferred = {0};
    size_t count = 0;
    for (size_t i = 0; i < CONTEST_COUNT; i++) {
        const enum mitigation winner = find_winner(inference, &contests[i]);
        if (winner != MITIGATION_NONE) {
            wins[winner]++;
            is_seen[winner] = true;
            is_seen[winner == contests[i].first ? contests[i].second : contests[i].first] = true;
        }
    }
    for (unsigned most = CONTEST_COUNT; most <= CONTEST_COUNT; most--) {
        for (enum mitigation i = MITIGATION_DRAIN; i <= MITIGATION_EVICT; i++) {
            if (is_seen[i] && wins[i] == most && is_promised(inference, i) &&
                count < MITIGATION_ORDER_COUNT) {
                inferred.order[count++] = i;
            }
        }
    }
    field_print_order(inferred.order, line->inferred);
}

void infer_order(const struct inference *inference, struct inference_line *line)
{
    const struct target_contract *contract = inference_contract(inference);
    bool is_shown = false;
    for (size_t i = 0; i < CONTEST_COUNT; i++) {
        const struct contest *contest = &contests[i];
        const enum mitigation winner = find_winner(inference, contest);
        if (winner == MITIGATION_NONE || !is_promised(inference, contest->first) ||
            !is_promised(inference, contest->second)) {
            continue;
        }
        const enum mitigation other = winner == contest->first ? contest->second : contest->first;
        line->experiment = is_shown ? line->experiment : contest->experiment;
        is_shown = true;
        if (find_place(contract, other) < find_place(contract, winner)) {
            line->verdict = INFERENCE_REFUTED;
            line->experiment = contest->experiment;
            line->op = inference->declared[contest->experiment].asked;
            (void)snprintf(line->expected, sizeof line->expected, "it %s before it %s",
                           name_mitigation(other), name_mitigation(winner));
            field_see(line, "it %s first, though either is enough", name_mitigation(winner));
        }
    }
    if (!is_shown) {
        line->verdict = INFERENCE_OPEN;
        field_see(line, "no experiment met two mitigations of which either was enough");
        return;
    }
    print_order(inference, line);
}

/* --- memory that is kept --- */

/* A claim needs an experiment that went as far as the request that it is about. */
static bool is_claim_shown(const struct lab_trace *trace)
{
    const struct lab_sight *asked = trace_asked(trace);
    return field_claim_is_kept(trace) && asked != NULL && asked->seen.skipped == 0;
}

bool inference_is_stream_ordered(const struct inference *inference)
{
    return inference_contract(inference)->stream_ordered ||
           (is_claim_shown(&inference->claimed[EXPERIMENT_streams]) &&
            is_claim_shown(&inference->claimed[EXPERIMENT_stream_uses]));
}

/* What is not declared: it was held to it, unless the rest of its contract excludes that. */
static void compare_claim(struct inference_line *line, const struct lab_trace *claimed,
                          bool is_kept)
{
    const bool was_held = claimed->is_opened || claimed->is_dead;
    const bool is_open = claimed->is_opened && !claimed->is_dead && claimed->why[0] != '\0';
    field_compare(line, is_kept ? ANSWER_YES : is_open ? ANSWER_OPEN : ANSWER_NO);
    line->experiment = was_held ? line->experiment : EXPERIMENT_COUNT;
    field_see(line, "%s%s", was_held ? "" : "it cannot declare that: ", claimed->why);
}

static void infer_kept(const struct inference *inference, struct inference_line *line,
                       enum experiment_number number, bool is_claim_kept)
{
    const struct lab_trace *declared = &inference->declared[number];
    if (strcmp(line->declared, "true") != 0) {
        compare_claim(line, &inference->claimed[number], is_claim_kept);
        return;
    }
    const struct lab_sight *asked = trace_asked(declared);
    field_compare(line, asked == NULL || asked->seen.skipped != 0 || declared->why[0] != '\0'
                            ? ANSWER_OPEN
                            : ANSWER_YES);
}

void infer_stream_ordered(const struct inference *inference, struct inference_line *line)
{
    infer_kept(inference, line, EXPERIMENT_streams, inference_is_stream_ordered(inference));
}

void infer_records(const struct inference *inference, struct inference_line *line)
{
    infer_kept(inference, line, EXPERIMENT_recordings,
               is_claim_shown(&inference->claimed[EXPERIMENT_recordings]));
}
