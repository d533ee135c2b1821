/* What explain says of a list, in order: what the log tells, the verdict or that nothing failed,
 * and what follows them. */
#include "diagnosis/hang.h"
#include "explain/log.h"
#include "explain/private/explain_parts.h"

#include <inttypes.h>

static bool is_on_oom(const struct verdict *verdict)
{
    return verdict->kind != VERDICT_NONE && verdict->kind != VERDICT_BROKEN;
}

/* A program keeps its stack while its image varies, which says little of other requests. */
static void take_largest(struct explanation *explanation)
{
    const struct oom *oom = run_oom(explanation->run);
    explanation->largest = run_find_largest(explanation->run, 0);
    if (oom->request.class == REQUEST_BUFFER) {
        explanation->moment.headroom.largest = explanation->largest;
    }
}

/* The last row of a timeline is the failure. */
static void end_rows(struct explanation *explanation)
{
    const struct moment *moment = &explanation->moment;
    const size_t count = explanation->row_count;
    if (explanation->options->has_timeline && moment->host == explanation->host &&
        count <= SURVEY_ROW_COUNT && (count == 0 || explanation->rows[count - 1].op < moment->op)) {
        explanation->rows[explanation->row_count++] = (struct moment_row){moment->op,
                                                                          moment->headroom};
    }
}

/* What follows the verdict, or the peak. */
static void explain_more(struct explanation *explanation)
{
    explain_causes(explanation);
    explain_settings(explanation);
    explain_largest_batch(explanation);
    explain_give_back(explanation);
    explain_numbers(explanation);
    explain_pictures(explanation);
    explain_told(explanation);
    explain_assumed(explanation);
    explain_next(explanation);
    explain_draw_svg(explanation);
}

void explain_now(struct explanation *explanation, const struct run *run,
                 const struct verdict *verdict)
{
    explanation->run = run;
    explanation->verdict = verdict;
    explanation->op = verdict->op >= run_ops(run)->count ? NULL : &run_ops(run)->ops[verdict->op];
    const uint32_t host = explanation->op == NULL ? 0 : explanation->op->host;
    explanation->contract = model_contract(run_model(run, host));
    explain_take_moment(explanation, run, host, verdict->op);
    if (is_on_oom(verdict)) {
        take_largest(explanation);
    }
    end_rows(explanation);
    explain_log(&explanation->recording->story, explanation->is_json, &explanation->text);
    if (explanation->is_json) {
        explain_in_json(explanation);
    } else {
        explain_in_words(explanation);
    }
    explanation->moment.is_taken = explanation->op != NULL; /* all is freed after the list */
    explain_hangs(explanation);
    explain_shortages(explanation);
    explain_more(explanation);
}

void explain_without_oom(struct explanation *explanation, const struct run *run)
{
    static const struct verdict nothing = {.kind = VERDICT_NONE};
    explanation->run = run;
    explanation->verdict = &nothing;
    explanation->contract = model_contract(run_model(run, explanation->moment.host));
    explain_hangs(explanation);
    explain_shortages(explanation);
    explain_peak(explanation);
    explain_more(explanation);
}

void explain_nothing(struct explanation *explanation, const struct op_list *ops,
                     uint64_t excused_count)
{
    const uint32_t failed = excused_count > 0 ? OP_NONE : explain_find_said_failure(explanation);
    const size_t op_count = ops->count - lanes_switch_count(ops);
    struct writing *text = &explanation->text;
    explain_log(&explanation->recording->story, explanation->is_json, &explanation->text);
    if (failed != OP_NONE) {
        explain_served(explanation, failed);
        return;
    }
    if (explanation->is_json) {
        explain_nothing_in_json(explanation, op_count, excused_count);
        return;
    }
    if (explanation->recording->view == IMPORT_SUMS) {
        writing_append(text, "No failure to judge: the file has the sums of one moment.\n");
        return;
    }
    const bool has_waited = hangs_are_there(&explanation->hangs) ||
                            explanation->shortages.total > 0;
    writing_append_format(text, "%s %s: %zu op%s, ", has_waited ? "No request" : "Nothing",
                          excused_count > 0 ? "broke" : "failed", op_count,
                          op_count == 1 ? "" : "s");
    if (excused_count > 0) {
        writing_append_format(text, "%" PRIu64 " out-of-memor%s that cannot be judged",
                              excused_count, excused_count == 1 ? "y" : "ies");
    } else {
        writing_append(text, "no out-of-memory");
    }
    writing_append(text, ", every promise kept.\n");
}
