/* Why it came: the causes that diagnosis/ finds. */
#include "cli/private/explain_parts.h"
#include "cli/wrap.h"
#include "diagnosis/cause.h"
#include "harness/base/check.h"
#include "harness/base/json.h"

#include <string.h>

enum { WIDTH = 118, INDENT = 4 };

static void append_foreign(struct writing *text, const char *sentences)
{
    struct writing visible;
    writing_init(&visible);
    writing_append_visible(&visible, sentences);
    writing_append_format(text, "%*s", INDENT, "");
    wrap_append(text, writing_string(&visible), INDENT, WIDTH);
    writing_append(text, "\n");
    writing_deinit(&visible);
}

static void append_cause(struct explanation *explanation, const struct diagnosis *diagnosis)
{
    writing_append_format(&explanation->text, "  %s (%s, %u %%): %s\n", diagnosis->cause->name,
                          confidence_name(diagnosis->confidence), diagnosis->confidence,
                          diagnosis->cause->summary);
    append_foreign(&explanation->text, diagnosis->text);
}

static void append_cause_line(struct explanation *explanation, const struct diagnosis *diagnosis)
{
    struct writing *text = &explanation->text;
    char name[SETUP_NAME_BYTES];
    json_open(text, "cause");
    causes_add_members(text, diagnosis, explain_tag_name(explanation->run, diagnosis->tag, name));
    json_close(text);
}

static void explain_heading(struct explanation *explanation, size_t count)
{
    struct writing *text = &explanation->text;
    const enum verdict_kind kind = explanation->verdict->kind;
    if (kind == VERDICT_NONE && count == 0) {
        return;
    }
    writing_append(text, "\nDiagnosis");
    if (kind == VERDICT_PREMATURE) {
        writing_append(text, " (the out-of-memory was premature)");
    }
    writing_append(text, "\n");
    if (count == 0) {
        writing_append(text, "  none of the usual causes was found\n");
    }
}

static void explain_history(struct explanation *explanation)
{
    if (explanation->history->has_lanes) {
        writing_append(
            &explanation->text,
            "  (With lanes, the history is recorded when calls are judged: calls that overlap count as one.)\n");
    }
}

void explain_causes(struct explanation *explanation)
{
    struct evidence evidence;
    struct diagnosis diagnoses[CAUSE_COUNT];
    if (explanation->verdict->kind == VERDICT_BROKEN) {
        return;
    }
    evidence_take(explanation->history, explanation->run, explanation->verdict, &evidence);
    const size_t count = causes_find(&evidence, diagnoses);
    if (!explanation->is_json) {
        explain_heading(explanation, count);
    }
    for (size_t i = 0; i < count; i++) {
        if (explanation->is_json) {
            append_cause_line(explanation, &diagnoses[i]);
        } else {
            append_cause(explanation, &diagnoses[i]);
        }
    }
    if (!explanation->is_json && count > 0) {
        explain_history(explanation);
    }
    evidence_deinit(&evidence);
}
