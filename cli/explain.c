/* explain: the first broken promise of a list, or else its first out-of-memory, in words and numbers. */
#include "cli/census.h"
#include "cli/child.h"
#include "cli/interrupt.h"
#include "cli/lane_columns.h"
#include "cli/lookup.h"
#include "cli/output.h"
#include "cli/recording.h"
#include "cli/subcommands.h"
#include "harness/check.h"
#include "harness/ops_file.h"
#include "harness/shell.h"
#include "harness/size.h"
#include "reports/json_lines.h"
#include "reports/table.h"

#include <stdlib.h>
#include <string.h>

/* What is explained; op is NULL when the last promises broke, after the list. */
struct explanation {
    const struct run *run;
    const struct verdict *verdict;
    const struct op *op;
    const struct target_contract *contract;
    const char *path; /* of the file */
    struct census census;
    struct writing text;
};

static void append_size(struct writing *text, uint64_t size_bytes)
{
    char size[SIZE_TEXT_BYTES];
    size_print_field(size_bytes, size);
    writing_append(text, size);
    writing_append_format(text, " (%llu bytes)", (unsigned long long)size_bytes);
}

static void append_sum(struct writing *text, const struct census_sum *sum, const char *what)
{
    char size[SIZE_TEXT_BYTES];
    size_print_field(sum->bytes, size);
    writing_append_format(text, "%llu %s%s holding %s", (unsigned long long)sum->count, what, sum->count == 1 ? "" : "s", size);
}

static const char *tag_name(const struct run *run, uint8_t tag, char name[SETUP_NAME_BYTES])
{
    const char *given = run_setup(run)->tags[tag];
    if (given[0] == '\0')
        snprintf(name, SETUP_NAME_BYTES, "tag %u", tag);
    else
        snprintf(name, SETUP_NAME_BYTES, "%s", given);
    return name;
}

static void explain_request(struct explanation *explanation)
{
    struct writing *text = &explanation->text;
    const struct verdict *verdict = explanation->verdict;
    char op[OP_TEXT_BYTES], name[SETUP_NAME_BYTES];
    writing_append_format(text, "op %lu", (unsigned long)verdict->op);
    if (explanation->op != NULL) {
        const struct op_kind_info *info = op_kind_info((enum op_kind)explanation->op->kind);
        writing_append(text, ": ");
        writing_append_visible(text, op_print(explanation->op, op));
        if (info->has_tag && explanation->op->kind != OP_FAULT) {
            writing_append(text, ", for '");
            writing_append_visible(text, tag_name(explanation->run, explanation->op->tag, name));
            writing_append(text, "'");
        }
        if (run_setup(explanation->run)->host_count > 1)
            writing_append_format(text, ", on host %u", explanation->op->host);
    }
    writing_append(text, "\n");
    if (run_message(explanation->run)[0] != '\0') {
        writing_append(text, "the target said: ");
        writing_append_visible(text, run_message(explanation->run));
        writing_append(text, "\n");
    }
}

static void explain_space(struct explanation *explanation)
{
    struct writing *text = &explanation->text;
    const struct census *census = &explanation->census;
    writing_append(text, "\nThe device has ");
    append_size(text, census->capacity_bytes);
    writing_append(text, ".\n");
    if (explanation->verdict->kind != VERDICT_BROKEN) {
        writing_append(text, "Asked for:     ");
        append_size(text, explanation->verdict->requested_bytes);
        writing_append(text, "\n");
    }
    writing_append(text, "Free:          ");
    append_size(text, census->free_bytes);
    writing_append_format(text, " in %llu hole%s\nLargest hole:  ", (unsigned long long)census->hole_count,
                          census->hole_count == 1 ? "" : "s");
    append_size(text, census->largest_hole_bytes);
    writing_append(text, "\nStack:         ");
    append_size(text, census->reserved_bytes);
    writing_append(text, "\n\n");
}

static void put_sum(struct table *table, const char *name, const struct census_sum *sum)
{
    char size[SIZE_TEXT_BYTES];
    if (sum->count == 0)
        return;
    size_print_field(sum->bytes, size);
    table_put(table, name);
    table_put_number(table, sum->count);
    table_put(table, size);
}

static void explain_holders(struct explanation *explanation)
{
    const struct census *census = &explanation->census;
    struct table table;
    char name[SETUP_NAME_BYTES];
    table_init(&table, 3, 1);
    table_put(&table, "Who holds the rest");
    table_put(&table, "blocks");
    table_put(&table, "bytes");
    put_sum(&table, "buffers, movable", &census->movable);
    put_sum(&table, "buffers, held", &census->held);
    put_sum(&table, "programs, idle", &census->idle);
    put_sum(&table, "programs, busy", &census->busy);
    put_sum(&table, "queued frees", &census->dying);
    for (uint32_t i = 0; i < census->tag_count; i++) {
        char line[SETUP_NAME_BYTES + 8];
        snprintf(line, sizeof line, "of '%s'", tag_name(explanation->run, census->tags[i].tag, name));
        put_sum(&table, line, &census->tags[i].sum);
    }
    table_print(&table, 0, &explanation->text);
    table_deinit(&table);
    if (census->tag_count == CENSUS_TAG_COUNT_MAX)
        writing_append(&explanation->text, "(the 8 largest tags; queued frees are not told apart by tag)\n");
}

static void explain_drain(struct explanation *explanation)
{
    struct writing *text = &explanation->text;
    writing_append(text, "  drain       ");
    if (!explanation->contract->drains)
        writing_append(text, "is not promised by this target");
    else if (explanation->census.dying.count == 0)
        writing_append(text, "no queued free is left to wait for");
    else {
        append_sum(text, &explanation->census.dying, "queued free");
        writing_append(text, " left, whose events or holds have not ended");
    }
    writing_append(text, "\n");
}

static void explain_defragment(struct explanation *explanation)
{
    struct writing *text = &explanation->text;
    const struct census *census = &explanation->census;
    writing_append(text, "  defragment  ");
    if (explanation->contract->defrag == DEFRAG_NONE)
        writing_append(text, "is not promised by this target: nothing ever moves");
    else if (census->free_bytes < explanation->verdict->requested_bytes)
        writing_append(text, "cannot help: less is free than was asked for, wherever the blocks lie");
    else {
        append_sum(text, &census->movable, "block");
        writing_append(text, explanation->contract->defrag == DEFRAG_SLIDE ? " may slide between " : " may go anywhere around ");
        writing_append_format(text, "%llu that may not move (held, busy or dying)",
                              (unsigned long long)(census->held.count + census->busy.count + census->dying.count));
    }
    writing_append(text, "\n");
}

static void explain_evict(struct explanation *explanation)
{
    struct writing *text = &explanation->text;
    bool is_program = explanation->op != NULL && (explanation->op->kind == OP_LOAD || explanation->op->kind == OP_EXECUTE);
    bool promised = is_program ? explanation->contract->program_evicts_program : explanation->contract->evicts;
    writing_append(text, "  evict       ");
    if (!promised)
        writing_append(text, is_program ? "is not promised to a program" : "is not promised by this target");
    else if (explanation->census.idle.count == 0)
        writing_append_format(text, "no idle program is on the device (%llu busy)",
                              (unsigned long long)explanation->census.busy.count);
    else
        append_sum(text, &explanation->census.idle, "idle program");
    writing_append(text, "\n");
}

static void explain_verdict(struct explanation *explanation)
{
    struct writing *text = &explanation->text;
    const struct verdict *verdict = explanation->verdict;
    if (verdict->kind == VERDICT_BROKEN)
        writing_append_format(text, "\nBroken: %s (%s)\n", rule_info(verdict->rule)->name, rule_info(verdict->rule)->summary);
    else
        writing_append_format(text, "\nVerdict: %s\n", verdict_name(verdict->kind));
    writing_append(text, "  ");
    writing_append_visible(text, verdict->reason);
    writing_append(text, "\n");
}

static void append_word(struct writing *text, const char *path)
{
    char *word = malloc(SHELL_WORD_BYTES(strlen(path)));
    CHECK(word != NULL);
    writing_append_visible(text, shell_word(path, word));
    free(word);
}

/* Where the proof of a verdict on an OOM comes from. */
static void explain_proof(struct explanation *explanation)
{
    struct writing *text = &explanation->text;
    const char *path = explanation->path;
    size_t length = strlen(path);
    bool is_ops = length > 4 && strcmp(path + length - 4, ".ops") == 0;
    writing_append(text, "  Its proof: ");
    if (!is_ops) {
        writing_append(text, "hbmstress import ");
        append_word(text, path);
        writing_append(text, " -o list.ops, then ");
        path = "list.ops";
    }
    writing_append(text, "hbmstress replay ");
    append_word(text, path);
    writing_append(text, " --certificates DIR\n");
}

static void explain_in_words(struct explanation *explanation)
{
    explain_request(explanation);
    explain_space(explanation);
    explain_holders(explanation);
    if (explanation->verdict->kind != VERDICT_BROKEN) {
        writing_append(&explanation->text, "\nWhat the mitigations had left when the target gave up\n");
        explain_drain(explanation);
        explain_defragment(explanation);
        explain_evict(explanation);
    }
    explain_verdict(explanation);
    if (explanation->verdict->kind != VERDICT_BROKEN)
        explain_proof(explanation);
}

static void json_sum(struct writing *text, const char *key, const struct census_sum *sum)
{
    line_nest(text, key, '{');
    line_number(text, "blocks", sum->count);
    line_number(text, "bytes", sum->bytes);
    line_unnest(text, '}');
}

static void explain_in_json(struct explanation *explanation)
{
    struct writing *text = &explanation->text;
    const struct verdict *verdict = explanation->verdict;
    const struct census *census = &explanation->census;
    char name[SETUP_NAME_BYTES];
    line_open(text, "explanation");
    line_number(text, "op", verdict->op);
    line_string(text, "verdict", verdict_name(verdict->kind));
    if (verdict->rule != RULE_NONE)
        line_string(text, "rule", rule_info(verdict->rule)->name);
    line_number(text, "requested_bytes", verdict->requested_bytes);
    line_number(text, "free_bytes", census->free_bytes);
    line_number(text, "largest_hole_bytes", census->largest_hole_bytes);
    line_number(text, "holes", census->hole_count);
    line_number(text, "reserved_bytes", census->reserved_bytes);
    line_number(text, "capacity_bytes", census->capacity_bytes);
    json_sum(text, "movable", &census->movable);
    json_sum(text, "held", &census->held);
    json_sum(text, "idle_programs", &census->idle);
    json_sum(text, "busy_programs", &census->busy);
    json_sum(text, "queued_frees", &census->dying);
    line_nest(text, "tags", '[');
    for (uint32_t i = 0; i < census->tag_count; i++) {
        line_nest(text, NULL, '{');
        line_string(text, "tag", tag_name(explanation->run, census->tags[i].tag, name));
        line_number(text, "blocks", census->tags[i].sum.count);
        line_number(text, "bytes", census->tags[i].sum.bytes);
        line_unnest(text, '}');
    }
    line_unnest(text, ']');
    line_string(text, "reason", verdict->reason);
    line_string(text, "message", run_message(explanation->run));
    line_close(text);
}

/* Runs the list to see which of its ops is to be explained: the first broken promise, else the first OOM.
 * ops->count: what comes after the last op. */
static size_t choose_op(struct run *run, const struct op_list *ops)
{
    size_t oom = ops->count;
    for (size_t i = 0; i < ops->count; i++) {
        enum verdict_kind kind = run_step(run, &ops->ops[i])->kind;
        if (kind == VERDICT_BROKEN || kind == VERDICT_PREMATURE || kind == VERDICT_DISPUTED)
            return i;
        if (kind != VERDICT_NONE && oom == ops->count)
            oom = i;
    }
    return run_finish(run)->kind == VERDICT_NONE ? oom : ops->count;
}

/* Says what is to be said at the op that was run last. */
static void explain_now(struct explanation *explanation, const struct run *run, const struct verdict *verdict,
                        bool is_json)
{
    explanation->run = run;
    explanation->verdict = verdict;
    explanation->op = verdict->op >= run_ops(run)->count ? NULL : &run_ops(run)->ops[verdict->op];
    const struct model *model = run_model(run, explanation->op == NULL ? 0 : explanation->op->host);
    explanation->contract = model_contract(model);
    census_take(model, &explanation->census);
    if (is_json)
        explain_in_json(explanation);
    else
        explain_in_words(explanation);
}

static void explain_nothing(struct explanation *explanation, const struct op_list *ops, bool is_json)
{
    if (!is_json)
        writing_append_format(&explanation->text, "Nothing to explain: %zu ops, no out-of-memory, every promise kept.\n",
                              ops->count - lanes_switch_count(ops));
}

/* Runs a new run up to that op, and says what is to be said there; or, when the list went well, that. */
static void explain_run(struct run *run, const struct op_list *ops, size_t chosen, bool is_json,
                        struct explanation *explanation)
{
    const struct verdict *verdict = NULL;
    for (size_t i = 0; i < ops->count && i <= chosen; i++)
        verdict = run_step(run, &ops->ops[i]);
    if (chosen == ops->count)
        verdict = run_finish(run);
    if (verdict->kind == VERDICT_NONE) {
        explain_nothing(explanation, ops, is_json);
        return;
    }
    explain_now(explanation, run, verdict, is_json);
}

/* What the child works on. */
struct work {
    const struct recording *recording;
    const char *path;
    bool is_json;
};

/* With lanes the list is run once, and explained while it runs. */
struct hearing {
    struct explanation *explanation;
    bool is_json, has_oom, is_over;
};

static void heard(void *context, const struct run *run, const struct verdict *verdict)
{
    struct hearing *hearing = context;
    const bool is_oom = verdict->kind == VERDICT_JUSTIFIED || verdict->kind == VERDICT_UNKNOWN;
    if (verdict->kind == VERDICT_NONE || hearing->is_over || (is_oom && hearing->has_oom))
        return;
    hearing->has_oom = true;
    hearing->is_over = !is_oom;
    writing_clear(&hearing->explanation->text);
    explain_now(hearing->explanation, run, verdict, hearing->is_json);
}

/* What the list breaks, for the columns; NULL: nothing. */
static const char *broken_name(const struct verdict *first)
{
    if (first->kind == VERDICT_NONE)
        return NULL;
    return first->kind == VERDICT_BROKEN ? rule_info(first->rule)->name : verdict_name(first->kind);
}

static void explain_lanes(const struct work *work, int file)
{
    const struct recording *recording = work->recording;
    struct explanation explanation = {.path = work->path};
    struct hearing hearing = {.explanation = &explanation, .is_json = work->is_json};
    const struct run_listener listener = {&hearing, heard};
    struct lane_columns *columns = lane_columns_create(&recording->ops);
    const struct scheduler_trace trace = lane_columns_trace(columns);
    const struct lanes_watch watch = lane_columns_watch(columns);
    const struct lanes_plan told = {.trace = &trace, .watch = &watch};
    struct trial trial;
    struct writing text;
    char reason[RUN_REASON_BYTES];
    if (!lanes_replay_told(recording->target, &recording->setup, &recording->ops, &told, &listener, &trial, reason))
        return;
    writing_init(&text);
    if (!work->is_json) {
        lane_columns_print(columns, &trial.first, broken_name(&trial.first), &text);
        writing_append(&text, "\n");
    }
    if (!hearing.has_oom)
        explain_nothing(&explanation, &recording->ops, work->is_json);
    const enum exit_code code = totals_exit_code(&trial.totals);
    (void)(file_write_all(file, &code, sizeof code) && file_write_all(file, text.bytes, text.length) &&
           file_write_all(file, explanation.text.bytes, explanation.text.length));
    trial_deinit(&trial);
    lane_columns_destroy(columns);
    writing_deinit(&text);
    writing_deinit(&explanation.text);
}

/* The child's part: answers with the exit code, then the text; with nothing when the target refuses. */
static void explain_and_answer(void *context, int file)
{
    const struct work *work = context;
    if (lanes_are_in(&work->recording->ops)) {
        explain_lanes(work, file);
        return;
    }
    const struct recording *recording = work->recording;
    char reason[RUN_REASON_BYTES];
    struct explanation explanation = {.path = work->path};
    struct run *run = run_create(recording->target, &recording->setup, reason);
    if (run == NULL)
        return;
    size_t chosen = choose_op(run, &recording->ops);
    enum exit_code code = totals_exit_code(run_totals(run));
    run_destroy(run);
    run = run_create(recording->target, &recording->setup, reason);
    if (run == NULL)
        return;
    explain_run(run, &recording->ops, chosen, work->is_json, &explanation);
    (void)(file_write_all(file, &code, sizeof code) &&
           file_write_all(file, explanation.text.bytes, explanation.text.length));
    writing_deinit(&explanation.text);
    run_destroy(run);
}

/* The answer is the bytes of the exit code, then text. */
static enum exit_code print_answer(const struct arguments *arguments, const struct writing *answer)
{
    enum exit_code code;
    struct output output;
    struct writing text;
    memcpy(&code, answer->bytes, sizeof code);
    writing_init(&text);
    writing_append_bytes(&text, answer->bytes + sizeof code, answer->length - sizeof code);
    output_init(&output, arguments->json);
    output_line(&output, &text);
    output_text(&output, &text);
    output_flush(&output);
    writing_deinit(&text);
    return output.is_failed ? EXIT_HARNESS : code;
}

static enum exit_code fail_without_answer(const struct arguments *arguments, enum child_end end, const char *death)
{
    const char *path = arguments->words[0];
    if (end == CHILD_NOT_BORN)
        return message_fail(EXIT_HARNESS, "no process could be had: %m");
    if (end == CHILD_STOPPED && interrupt_asked())
        return message_fail(EXIT_HARNESS, "interrupted: nothing is explained");
    if (end == CHILD_STOPPED)
        return message_fail(EXIT_BROKEN, "%s: the list did not end within --trial-timeout or --op-timeout; replay says at which op", path);
    if (end == CHILD_DIED)
        return message_fail(EXIT_BROKEN, "%s: the target took its process with it: %s; replay says at which op", path, death);
    return message_fail(EXIT_HARNESS, "%s: the target refuses what it took before", path);
}

static enum exit_code explain_recording(const struct arguments *arguments, const struct recording *recording)
{
    struct work work = {recording, arguments->words[0], arguments->json};
    struct writing answer;
    char death[CHILD_DEATH_BYTES];
    writing_init(&answer);
    death_set_op_timeout(arguments->op_timeout_ns);
    enum child_end end = child_run(explain_and_answer, &work, arguments->trial_timeout_ns, true, &answer, death);
    bool is_answered = end == CHILD_DONE && answer.length >= sizeof(enum exit_code);
    enum exit_code code = is_answered ? print_answer(arguments, &answer) : fail_without_answer(arguments, end, death);
    writing_deinit(&answer);
    return code;
}

static enum exit_code explain_subcommand(const struct arguments *arguments)
{
    struct recording recording;
    enum exit_code code = recording_read(arguments->words[0], arguments, true, &recording);
    if (code == EXIT_KEPT)
        code = explain_recording(arguments, &recording);
    recording_deinit(&recording);
    return code;
}

static const char *const options[] = {"--format", "--target", "--target-option", "--chip", "--capacity", "--hosts",
                                      "--trial-timeout", "--op-timeout", "--json", NULL};

const struct subcommand subcommand_explain = {
    .name = "explain",
    .summary = "explain the first broken promise of a file, or else its first out-of-memory, in words",
    .usage = "FILE [options]",
    .description = "FILE is an .ops file or anything that import takes.  Says what was asked, what was free, who\n"
                   "held the rest, what each mitigation had left, and the verdict: of a premature out-of-memory\n"
                   "the plan that would have met it.  hbmstress replay FILE.ops --certificates DIR gives the proof.\n\n"
                   "Of a list with lanes it prints first who ran when, a column for each lane.\n\n"
                   "Example: hbmstress explain crash.log --chip v4\n"
                   "Example: hbmstress explain out/repros/deadlock-queued_free_race-7.ops",
    .options = options,
    .word_count_min = 1,
    .word_count_max = 1,
    .word_name = "FILE",
    .run = explain_subcommand,
};
