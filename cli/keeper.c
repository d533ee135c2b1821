#include "cli/keeper.h"

#include "cli/shrinking.h"
#include "harness/check.h"
#include "harness/ops_file.h"

#include <stdlib.h>
#include <string.h>

void keeper_init(struct keeper *keeper, const char *directory, uint64_t shrink_budget)
{
    *keeper = (struct keeper){.directory = directory, .shrink_budget = shrink_budget};
}

void keeper_deinit(struct keeper *keeper)
{
    free(keeper->counts);
    *keeper = (struct keeper){0};
}

/* How many of the same there were, this one included. */
static uint64_t keeper_count_same(struct keeper *keeper, const char *rule, uint32_t part)
{
    for (size_t i = 0; i < keeper->count; i++)
        if (keeper->counts[i].part == part && strcmp(keeper->counts[i].rule, rule) == 0)
            return ++keeper->counts[i].count;
    keeper->counts = realloc(keeper->counts, (keeper->count + 1) * sizeof *keeper->counts);
    CHECK(keeper->counts != NULL);
    keeper->counts[keeper->count++] = (struct keeper_count){rule, part, 1};
    return 1;
}

/* A comment is one line each; what a target says may have more. */
static void append_comment(struct writing *comments, const char *name, const char *value)
{
    if (value[0] == '\0')
        return;
    writing_append(comments, name);
    writing_append_visible(comments, value);
    writing_append(comments, "\n");
}

static void describe(const struct keeper *keeper, const struct judgement *judgement, const char *rule,
                     const struct shrunk *shrunk, const char *part, struct writing *comments)
{
    const bool is_shrunk = shrunk->why[0] == '\0';
    writing_append_format(comments, "broke %s in trial %llu of %s\n", rule,
                          (unsigned long long)judgement->head.task.trial, part);
    append_comment(comments, "reason: ", is_shrunk ? shrunk->first.reason : judgement->head.first.reason);
    if (is_shrunk)
        writing_append_format(comments, "shrunk from %zu ops, which broke it thus\n", judgement->ops.count);
    append_comment(comments, is_shrunk ? "first reason: " : "", is_shrunk ? judgement->head.first.reason : "");
    append_comment(comments, is_shrunk ? "first message: " : "message: ", judgement->head.message);
    append_comment(comments, "not shrunk: ", shrunk->why);
    append_comment(comments, "again: ", keeper->replay);
    comments->bytes[--comments->length] = '\0'; /* ops_file_print ends the last line itself */
}

static bool keeper_paths(struct keeper *keeper, const char *rule, const char *part, uint64_t seed)
{
    char directory[OUTPUT_PATH_BYTES];
    int length = snprintf(directory, sizeof directory, "%s/repros", keeper->directory);
    if (length < 0 || (size_t)length + 192 > sizeof keeper->path) {
        (void)message_fail(EXIT_HARNESS, "%s: the path is too long", keeper->directory);
        return false;
    }
    if (!make_directories(directory)) {
        (void)message_fail(EXIT_HARNESS, "%s: %m", directory);
        return false;
    }
    char name[SETUP_NAME_BYTES];
    snprintf(name, sizeof name, "%s", part);
    for (char *letter = name; *letter != '\0'; letter++)
        if (*letter == '/' || (unsigned char)*letter <= ' ')
            *letter = '_'; /* a section's name may be any text */
    snprintf(keeper->path, sizeof keeper->path, "%.3900s/%s-%s-%llu.ops", directory, rule, name, (unsigned long long)seed);
    snprintf(keeper->replay, sizeof keeper->replay, "hbmstress replay %s", keeper->path);
    return true;
}

/* The list to keep: shrunk when it can be, else with *shrunk->why. */
static void keeper_shrink(const struct keeper *keeper, const struct target *target, const struct judgement *judgement,
                          struct shrunk *shrunk)
{
    bool can_shrink = judgement->head.end == JUDGEMENT_DONE && judgement->head.first.rule != RULE_REPLAY;
    if (can_shrink && keeper->shrink_budget > 0) {
        if (shrinking_run(target, &judgement->setup, &judgement->ops, keeper->shrink_budget, shrunk) == SHRINKING_DONE)
            return;
    } else {
        snprintf(shrunk->why, sizeof shrunk->why, "%s", can_shrink ? "the budget is 0" : "the whole list is what happened");
    }
    op_list_copy(&shrunk->ops, &judgement->ops);
}

static bool keeper_write(struct keeper *keeper, const struct plan *plan, const struct judgement *judgement,
                         const char *rule, uint64_t *op_count)
{
    const struct part *part = &plan->parts[judgement->head.task.part];
    struct shrunk shrunk = {0};
    struct writing comments;
    op_list_init(&shrunk.ops);
    writing_init(&comments);
    keeper_shrink(keeper, part->target, judgement, &shrunk);
    describe(keeper, judgement, rule, &shrunk, part->name, &comments);
    struct ops_file_error error = {0};
    bool written =
        ops_file_write(keeper->path, &judgement->setup, &shrunk.ops, writing_string(&comments), &error) == OPS_FILE_OK;
    if (!written)
        (void)message_fail(EXIT_HARNESS, "%s", error.reason);
    *op_count = shrunk.ops.count;
    writing_deinit(&comments);
    op_list_deinit(&shrunk.ops);
    return written;
}

enum keeper_result keeper_take(struct keeper *keeper, const struct plan *plan, const struct judgement *judgement,
                               struct report_finding *finding)
{
    const struct part *part = &plan->parts[judgement->head.task.part];
    const char *rule = judgement_rule(judgement);
    CHECK(rule != NULL);
    if (keeper_count_same(keeper, rule, judgement->head.task.part) > KEEPER_SAME_COUNT_MAX)
        return KEEPER_COUNTED;
    uint64_t seed = plan_trial_seed(part, judgement->head.task.trial);
    *finding = (struct report_finding){.place = {part->name, judgement->head.task.trial},
                                       .verdict = &judgement->head.first,
                                       .rule = rule,
                                       .message = judgement->head.message,
                                       .seed = seed};
    if (!judgement->head.has_list)
        return KEEPER_KEPT;
    if (!keeper_paths(keeper, rule, part->name, seed) || !keeper_write(keeper, plan, judgement, rule, &finding->op_count))
        return KEEPER_FAILED;
    finding->repro = keeper->path;
    finding->replay = keeper->replay;
    return KEEPER_KEPT;
}
