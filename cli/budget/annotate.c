/* What budget found, beside the change that is reviewed. */
#include "cli/budget/budget.h"

static void annotate_row(const struct budget *budget, const struct budget_row *row,
                         struct annotations *annotations)
{
    struct writing title, message;
    writing_init(&title);
    writing_init(&message);
    writing_append_format(&title, "budget exceeded: %s", budget_limit_name(row->limit->kind));
    budget_describe(budget, row, &message);
    annotations_add(annotations, &(struct annotation){.level = ANNOTATION_ERROR,
                                                      .file = budget->arguments->words[0],
                                                      .line = row->line,
                                                      .title = writing_string(&title),
                                                      .message = writing_string(&message),
                                                      .rule = budget_limit_name(row->limit->kind)});
    writing_deinit(&title);
    writing_deinit(&message);
}

/* At the line of the op in which it came. */
static void annotate_op(const struct budget *budget, uint32_t op, const char *title,
                        const char *message, const char *rule, struct annotations *annotations)
{
    annotations_add(annotations,
                    &(struct annotation){.level = ANNOTATION_ERROR,
                                         .file = budget->arguments->words[0],
                                         .line = op == OP_NONE ? 0 : budget_line_of(budget, op),
                                         .title = title,
                                         .message = message,
                                         .rule = rule});
}

void budget_annotate(const struct budget *budget, bool died, struct annotations *annotations)
{
    if (died) {
        char words[DEATH_WORDS_BYTES];
        death_describe(budget->death, words);
        annotate_op(budget, budget_death_op(budget), "nothing was measured", words, "death",
                    annotations);
        return;
    }
    for (size_t i = 0; i < budget->row_count; i++) {
        if (budget->rows[i].is_exceeded) {
            annotate_row(budget, &budget->rows[i], annotations);
        }
    }
    if (budget->run.code == EXIT_BROKEN) {
        annotate_op(budget, budget->run.first_op, "a promise was broken", budget->run.first_reason,
                    "broken", annotations);
    }
}
