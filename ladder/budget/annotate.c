/* What budget found, beside the change that is reviewed. */
#include "ladder/budget/budget.h"

#include <inttypes.h>

/* The fingerprint is made of it: it is another one for each limit and host. */
static void append_title(const struct budget *budget, const struct budget_row *row,
                         struct writing *title)
{
    char tag[SETUP_NAME_BYTES];
    writing_append_format(title, "budget exceeded: %s", budget_limit_name(row->limit->kind));
    if (row->limit->kind == BUDGET_TAG_PEAK) {
        writing_append_format(title, " of '%s'",
                              setup_tag_name(&budget->recording.setup, row->limit->tag, tag));
    }
    if (budget->recording.setup.host_count > 1 && row->limit->kind != BUDGET_OOMS) {
        writing_append_format(title, " on host %" PRIu32, row->host);
    }
}

static void annotate_row(const struct budget *budget, const struct budget_row *row,
                         struct annotations *annotations)
{
    struct writing title, message;
    writing_init(&title);
    writing_init(&message);
    append_title(budget, row, &title);
    budget_describe(budget, row, &message);
    annotations_add(annotations, &(struct annotation){.level = ANNOTATION_ERROR,
                                                      .file = budget->options->path,
                                                      .line = row->line,
                                                      .title = writing_string(&title),
                                                      .message = writing_string(&message),
                                                      .rule = budget_limit_name(row->limit->kind)});
    writing_deinit(&title);
    writing_deinit(&message);
}

/* At the line of the op in which it came. */
static void annotate_op(const struct budget *budget, uint32_t op,
                        const struct annotation *annotation, struct annotations *annotations)
{
    struct annotation placed = *annotation;
    placed.file = budget->options->path;
    placed.line = op == OP_NONE ? 0 : budget_line_of(budget, op);
    annotations_add(annotations, &placed);
}

static void annotate_death(const struct budget *budget, struct annotations *annotations)
{
    char words[DEATH_WORDS_BYTES];
    death_describe(&budget->death, words);
    annotate_op(budget, budget_death_op(budget),
                &(struct annotation){.level = ANNOTATION_ERROR,
                                     .title = "nothing was measured",
                                     .message = words,
                                     .rule = "death"},
                annotations);
}

/* What decides the exit code beside the limits. */
static void annotate_verdict(const struct budget *budget, struct annotations *annotations)
{
    static const struct annotation verdicts[] = {
        [EXIT_BROKEN] = {.level = ANNOTATION_ERROR,
                         .title = "a promise was broken",
                         .rule = "broken"},
        [EXIT_UNKNOWN] = {.level = ANNOTATION_WARNING,
                          .title = "an out-of-memory stayed unknown",
                          .rule = "unknown"},
        [EXIT_HARNESS] = {
            .level = ANNOTATION_ERROR, .title = "the judges disagree", .rule = "disputed"}};
    struct annotation annotation = verdicts[budget->run.code];
    if (annotation.title != NULL) {
        annotation.message = budget->run.first_reason;
        annotate_op(budget, budget->run.first_op, &annotation, annotations);
    }
}

void budget_annotate(const struct budget *budget, bool died, struct annotations *annotations)
{
    if (died) {
        annotate_death(budget, annotations);
        return;
    }
    for (size_t i = 0; i < budget->row_count; i++) {
        if (budget->rows[i].is_exceeded) {
            annotate_row(budget, &budget->rows[i], annotations);
        }
    }
    annotate_verdict(budget, annotations);
}
