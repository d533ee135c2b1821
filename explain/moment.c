/* What explain keeps of its second run: memory over time, and the state of the moment that is
 * described. */
#include "explain/private/explain_parts.h"

static void take_headroom(struct explanation *explanation, const struct run *run, uint32_t host,
                          struct headroom *headroom)
{
    headroom_take(run_model(run, host), explanation->oracle, &explanation->oom,
                  ORACLE_LARGEST_NODES, headroom);
}

void explain_take_moment(struct explanation *explanation, const struct run *run, uint32_t host,
                         uint32_t op)
{
    struct moment *moment = &explanation->moment;
    const struct model *model = run_model(run, host);
    moment->is_taken = true;
    moment->host = host;
    moment->op = op;
    occupancy_take(model, &moment->occupancy);
    heap_map_take(model, &moment->heap);
    moment->headroom = (struct headroom){0};
    if (explanation->verdict == NULL || explanation->verdict->kind != VERDICT_BROKEN) {
        take_headroom(explanation, run, host, &moment->headroom);
    }
    explanation->occupancy = moment->occupancy;
}

/* The rows of a survey are in the order of time. */
static void note_row(struct explanation *explanation, const struct run *run, uint32_t op)
{
    const struct survey_peak *rows = explanation->survey->rows[explanation->host];
    while (explanation->row_next < SURVEY_ROW_COUNT &&
           (!rows[explanation->row_next].is_seen ||
            rows[explanation->row_next].turn < explanation->turn)) {
        explanation->row_next++;
    }
    if (explanation->row_next < SURVEY_ROW_COUNT &&
        rows[explanation->row_next].turn == explanation->turn) {
        struct moment_row *row = &explanation->rows[explanation->row_count++];
        row->op = op;
        take_headroom(explanation, run, explanation->host, &row->headroom);
        explanation->row_next++;
    }
}

void explain_hear(struct explanation *explanation, const struct run *run)
{
    const uint32_t op = run_observation(run)->op;
    if (op >= run_ops(run)->count || explanation->turn >= explanation->survey->turn_count) {
        return;
    }
    const uint32_t host = run_ops(run)->ops[op].host;
    survey_curves_add(explanation->curves, explanation->survey, run, op, explanation->turn);
    if (host == explanation->host) {
        if (explanation->survey->peaks[host].turn == explanation->turn) {
            explain_take_moment(explanation, run, host, op);
        }
        if (explanation->options->has_timeline) {
            note_row(explanation, run, op);
        }
    }
    explanation->turn++;
}
