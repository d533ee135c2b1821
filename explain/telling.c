/* What explain says of a list, in order: what the log tells, the verdict or that nothing failed,
 * and what follows them. */
#include "diagnosis/waits.h"
#include "explain/private/explanation.h"
#include "explain/private/files.h"
#include "harness/op/ops_file.h"

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
    explain_lines(&explanation->facts, "What the file says", "told", explanation->recording->told);
    explain_lines(&explanation->facts, EXPLAIN_ASSUMED_HEADING, "assumed",
                  explanation->recording->assumed);
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
    explain_log(&explanation->facts, &explanation->recording->story);
    explain_failure(explanation);
    explanation->moment.is_taken = explanation->op != NULL; /* all is freed after the list */
    explain_waits(explanation);
    explain_more(explanation);
}

void explain_without_oom(struct explanation *explanation, const struct run *run)
{
    static const struct verdict nothing = {.kind = VERDICT_NONE};
    explanation->run = run;
    explanation->verdict = &nothing;
    explanation->contract = model_contract(run_model(run, explanation->moment.host));
    explain_waits(explanation);
    explain_peak(explanation);
    explain_more(explanation);
}

/* The last request that failed by the file, on the device and with the target of the file; OP_NONE:
 * there is none, or the command line has others. */
static uint32_t find_said_failure(const struct explanation *explanation)
{
    const struct recording *recording = explanation->recording;
    for (size_t i = explanation->options->changes_setup ? 0 : recording->said_count; i-- > 0;) {
        if (recording->said[i].kind == SAID_FAILED) {
            return recording->said[i].op;
        }
    }
    return OP_NONE;
}

/* That this request failed by the file and is served on its list: the verdict is unknown. */
static void tell_served(struct explanation *explanation, uint32_t failed)
{
    static const char reason[] =
        "by the file this request failed, and on its list it is served: the failure does not "
        "repeat, and the file does not say what stood in its way";
    struct facts *facts = &explanation->facts;
    char op_text[OP_TEXT_BYTES];
    explanation->is_served = true;
    op_print(&explanation->recording->ops.ops[failed], op_text);
    facts_open(facts, "explanation");
    facts_text(facts, "verdict", verdict_name(VERDICT_UNKNOWN));
    facts_count(facts, "op", failed);
    facts_text(facts, "op_text", op_text);
    facts_boolean(facts, "is_served", true);
    facts_text(facts, "reason", reason);
    facts_close(facts);
    facts_answer(facts, "op %" PRIu32 ": %s", failed, op_text);
    if (explanation->recording->message[0] != '\0') {
        facts_answer(facts, "the file says: %s", explanation->recording->message);
    }
    facts_heading(facts, "Verdict: unknown");
    facts_answer(facts, "  %s", reason);
}

static void say_nothing_failed(struct explanation *explanation, size_t op_count,
                               uint64_t excused_count)
{
    struct facts *facts = &explanation->facts;
    const bool has_waited = hangs_are_there(&explanation->hangs) ||
                            explanation->shortages.total > 0;
    const char *who = has_waited ? "No request" : "Nothing";
    if (explanation->recording->view == IMPORT_SUMS) {
        facts_answer(facts, "No failure to judge: the file has the sums of one moment.");
    } else if (excused_count > 0) {
        facts_answer(facts,
                     "%s broke: %zu op%s, %" PRIu64
                     " out-of-memor%s that cannot be judged, every promise kept.",
                     who, op_count, plural(op_count, "", "s"), excused_count,
                     plural(excused_count, "y", "ies"));
    } else {
        facts_answer(facts, "%s failed: %zu op%s, no out-of-memory, every promise kept.", who,
                     op_count, plural(op_count, "", "s"));
    }
}

void explain_nothing(struct explanation *explanation, const struct op_list *ops,
                     uint64_t excused_count)
{
    struct facts *facts = &explanation->facts;
    const uint32_t failed = excused_count > 0 ? OP_NONE : find_said_failure(explanation);
    const size_t op_count = ops->count - lanes_switch_count(ops);
    explain_log(facts, &explanation->recording->story);
    if (failed != OP_NONE) {
        tell_served(explanation, failed);
        return;
    }
    facts_open(facts, "explanation");
    facts_text(facts, "verdict", verdict_name(VERDICT_NONE));
    facts_count(facts, "ops", op_count);
    if (excused_count > 0) {
        facts_count(facts, "excused", excused_count);
    }
    facts_text(facts, "reason",
               excused_count > 0 ? "no out-of-memory can be judged, every promise kept"
                                 : "no out-of-memory, every promise kept");
    facts_close(facts);
    say_nothing_failed(explanation, op_count, excused_count);
}
