/* The words of a limit that is exceeded: what, where, by how much, who holds it; and the
 * annotations beside the change that is reviewed, which are made of them. */
#include "ladder/budget/budget.h"
#include "recording/recording.h"

#include <inttypes.h>

const char *budget_limit_name(enum budget_kind kind)
{
    static const char *const names[] = {[BUDGET_PEAK] = "peak",
                                        [BUDGET_TAG_PEAK] = "tag_peak",
                                        [BUDGET_GROWTH] = "growth_per_step",
                                        [BUDGET_FRAGMENTATION] = "fragmentation",
                                        [BUDGET_OOMS] = "ooms"};
    return names[kind];
}

/* --- the moment of a row --- */

const struct budget_moment *budget_moment_of(const struct budget *budget,
                                             const struct budget_row *row)
{
    const struct budget_moment *moment = row->limit->kind == BUDGET_OOMS
                                             ? &budget->run.oom
                                             : &budget->hosts[row->host]
                                                    .moments[row->limit - budget->limits];
    return moment->is_seen ? moment : NULL;
}

void budget_find_holders(const struct budget *budget, const struct budget_row *row,
                         struct budget_holders *holders)
{
    const struct budget_moment *moment = budget_moment_of(budget, row);
    const struct budget_floor *floors = budget->hosts[row->host].floors;
    uint64_t bytes[OP_TAG_COUNT] = {0};
    for (size_t tag = 0; tag < OP_TAG_COUNT; tag++) {
        const uint64_t before = floors[BUDGET_HALF_FIRST].tag_bytes[tag];
        const uint64_t after = floors[BUDGET_HALF_LAST].tag_bytes[tag];
        if (row->limit->kind == BUDGET_GROWTH) {
            bytes[tag] = after > before ? after - before : 0;
        } else if (moment != NULL) {
            bytes[tag] = moment->tag_bytes[tag];
        }
    }
    for (holders->count = 0; holders->count < BUDGET_HOLDER_COUNT_MAX; holders->count++) {
        unsigned most = 0;
        for (unsigned tag = 1; tag < OP_TAG_COUNT; tag++) {
            most = bytes[tag] > bytes[most] ? tag : most;
        }
        if (bytes[most] == 0) {
            return;
        }
        holders->items[holders->count].tag = (uint8_t)most;
        holders->items[holders->count].bytes = bytes[most];
        bytes[most] = 0;
    }
}

/* --- numbers --- */

struct size_text budget_value_text(const struct budget_row *row, uint64_t value)
{
    struct size_text text = size_text_of(value);
    if (row->limit->kind == BUDGET_OOMS) {
        snprintf(text.text, sizeof text.text, "%" PRIu64, value);
    }
    return text;
}

struct size_text budget_limit_text(const struct budget_row *row)
{
    struct size_text text = budget_value_text(row, row->limit->most);
    if (row->limit->kind == BUDGET_FRAGMENTATION) {
        snprintf(text.text, sizeof text.text, "%" PRIu64 " %%", row->limit->most);
    }
    return text;
}

/* --- words of a row that is exceeded --- */

static void append_host(const struct budget *budget, const struct budget_row *row,
                        struct writing *words)
{
    char name[DEVICE_NAME_BYTES];
    if (budget->recording.setup.host_count > 1) {
        writing_append_format(words, " on %s", device_name(&budget->recording, row->host, name));
    }
}

static void append_where(const struct budget *budget, const struct budget_row *row,
                         struct writing *words)
{
    append_host(budget, row, words);
    writing_append_format(words, " at op %" PRIu32, row->op);
    step_axis_append(&budget->steps.axis, row->op, ", ", words);
}

static void append_over(const struct budget_row *row, struct writing *words)
{
    writing_append_format(words, ": %s more than the limit of %s",
                          budget_value_text(row, row->over).text, budget_limit_text(row).text);
}

static void describe_use(const struct budget *budget, const struct budget_row *row,
                         struct writing *words)
{
    char tag[SETUP_NAME_BYTES];
    writing_append_format(words, "%s (%" PRIu64 " bytes) ", size_text_of(row->measured).text,
                          row->measured);
    if (row->limit->kind == BUDGET_TAG_PEAK) {
        writing_append_format(words, "of '%s' ",
                              setup_tag_name(&budget->recording.setup, row->limit->tag, tag));
    }
    writing_append(words, "in use");
    append_where(budget, row, words);
    append_over(row, words);
}

static void append_floor(const struct budget *budget, const struct budget_floor *floor,
                         struct writing *words)
{
    writing_append_format(words, "%s (op %" PRIu32, size_text_of(floor->in_use_bytes).text,
                          floor->op);
    step_axis_append(&budget->steps.axis, floor->op, ", ", words);
    writing_append(words, ")");
}

static void describe_growth(const struct budget *budget, const struct budget_row *row,
                            struct writing *words)
{
    const struct budget_floor *floors = budget->hosts[row->host].floors;
    writing_append_format(words, "%s (%" PRIu64 " bytes) a step", size_text_of(row->measured).text,
                          row->measured);
    append_host(budget, row, words);
    append_over(row, words);
    if (!budget_has_floors(&budget->hosts[row->host])) {
        return;
    }
    writing_append(words, ". The least in use rose from ");
    append_floor(budget, &floors[BUDGET_HALF_FIRST], words);
    writing_append(words, " to ");
    append_floor(budget, &floors[BUDGET_HALF_LAST], words);
    writing_append(words, " in ");
    writing_append_count(words, budget->steps.distance, "step");
}

static void describe_fragmentation(const struct budget *budget, const struct budget_row *row,
                                   struct writing *words)
{
    const struct budget_moment *moment = budget_moment_of(budget, row);
    writing_append_share(words, moment->lost_bytes, moment->free_bytes);
    writing_append(words, " of what is free");
    append_where(budget, row, words);
    writing_append_format(
        words, ": %s of %s lie outside the largest hole, %s more than %" PRIu64 " %%",
        size_text_of(moment->lost_bytes).text, size_text_of(moment->free_bytes).text,
        size_text_of(row->over).text, row->limit->most);
}

static void describe_ooms(const struct budget *budget, const struct budget_row *row,
                          struct writing *words)
{
    writing_append_count(words, row->measured, "request");
    writing_append_format(words, " %s refused, %" PRIu64 " may be; %s of %s",
                          plural(row->measured, "was", "were"), row->limit->most,
                          row->limit->most == 0 ? "the first one" : "the first one too many",
                          size_text_of(budget->run.oom_bytes).text);
    append_where(budget, row, words);
}

void budget_describe(const struct budget *budget, const struct budget_row *row,
                     struct writing *words)
{
    static void (*const describe[])(const struct budget *, const struct budget_row *,
                                    struct writing *) = {
        [BUDGET_PEAK] = describe_use,
        [BUDGET_TAG_PEAK] = describe_use,
        [BUDGET_GROWTH] = describe_growth,
        [BUDGET_FRAGMENTATION] = describe_fragmentation,
        [BUDGET_OOMS] = describe_ooms};
    const char *between = row->limit->kind == BUDGET_GROWTH ? "; grew: " : "; held by: ";
    struct budget_holders holders;
    char tag[SETUP_NAME_BYTES];
    describe[row->limit->kind](budget, row, words);
    budget_find_holders(budget, row, &holders);
    for (size_t i = 0; i < holders.count; i++, between = ", ") {
        writing_append_format(words, "%s%s %s", between,
                              setup_tag_name(&budget->recording.setup, holders.items[i].tag, tag),
                              size_text_of(holders.items[i].bytes).text);
    }
}

/* --- beside the change --- */

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
    struct writing title = {0}, message = {0};
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
static void annotate_op(const struct budget *budget, uint32_t op, const char *message,
                        struct annotation annotation, struct annotations *annotations)
{
    annotation.message = message;
    annotation.file = budget->options->path;
    annotation.line = op == OP_NONE ? 0 : budget_line_of(budget, op);
    annotations_add(annotations, &annotation);
}

void budget_annotate(const struct budget *budget, const char *death,
                     struct annotations *annotations)
{
    /* What decides the exit code beside the limits. */
    static const struct annotation died = {
        .level = ANNOTATION_ERROR, .title = "nothing was measured", .rule = "death"};
    static const struct annotation verdicts[] = {
        [EXIT_BROKEN] = {.level = ANNOTATION_ERROR,
                         .title = "a promise was broken",
                         .rule = "broken"},
        [EXIT_UNKNOWN] = {.level = ANNOTATION_WARNING,
                          .title = "an out-of-memory stayed unknown",
                          .rule = "unknown"},
        [EXIT_HARNESS] = {
            .level = ANNOTATION_ERROR, .title = "the judges disagree", .rule = "disputed"}};
    if (death != NULL) {
        annotate_op(budget, budget_death_op(budget), death, died, annotations);
        return;
    }
    for (size_t i = 0; i < budget->row_count; i++) {
        if (budget->rows[i].is_exceeded) {
            annotate_row(budget, &budget->rows[i], annotations);
        }
    }
    if (verdicts[budget->run.code].title != NULL) {
        annotate_op(budget, budget->run.first_op, budget->run.first_reason,
                    verdicts[budget->run.code], annotations);
    }
}
