#include "cli/keeper.h"

#include "cli/certificates.h"
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

enum { BASE_BYTES = 192 };

/* What a file is named for: rule or verdict ("" = neither), part and seed; op = OP_NONE: not named. */
static void base_print(const char *rule, const char *part, uint64_t seed, uint32_t op, char base[BASE_BYTES])
{
    char name[SETUP_NAME_BYTES], suffix[24] = "";
    snprintf(name, sizeof name, "%s", part);
    for (char *letter = name; *letter != '\0'; letter++)
        if (*letter == '/' || (unsigned char)*letter <= ' ')
            *letter = '_'; /* a section's name may be any text */
    if (op != OP_NONE)
        snprintf(suffix, sizeof suffix, "-op%lu", (unsigned long)op);
    const char *dash = rule[0] == '\0' ? "" : "-";
    snprintf(base, BASE_BYTES, "%.64s%s%s-%llu%s", rule, dash, name, (unsigned long long)seed, suffix);
}

/* OUT/FOLDER/BASE.EXTENSION, with its folder made.  False: a message was given. */
static bool keeper_path(const struct keeper *keeper, const char *folder, const char *base, const char *extension,
                        char path[OUTPUT_PATH_BYTES])
{
    char directory[OUTPUT_PATH_BYTES];
    int length = snprintf(directory, sizeof directory, "%s/%s", keeper->directory, folder);
    if (length < 0 || (size_t)length + BASE_BYTES + 32 > sizeof directory) {
        (void)message_fail(EXIT_HARNESS, "%s: the path is too long", keeper->directory);
        return false;
    }
    if (!make_directories(directory)) {
        (void)message_fail(EXIT_HARNESS, "%s: %m", directory);
        return false;
    }
    snprintf(path, OUTPUT_PATH_BYTES, "%.3872s/%s.%s", directory, base, extension);
    return true;
}

static bool keeper_list_path(struct keeper *keeper, const char *folder, const char *base)
{
    if (!keeper_path(keeper, folder, base, "ops", keeper->path))
        return false;
    snprintf(keeper->replay, sizeof keeper->replay, "hbmstress replay %s", keeper->path);
    return true;
}

static bool keeper_write_list(const struct keeper *keeper, const struct setup *setup, const struct op_list *ops,
                              const struct writing *comments)
{
    struct ops_file_error error = {0};
    if (ops_file_write(keeper->path, setup, ops, writing_string(comments), &error) == OPS_FILE_OK)
        return true;
    (void)message_fail(EXIT_HARNESS, "%s", error.reason);
    return false;
}

static bool keeper_write_certificate(struct keeper *keeper, const char *folder, const char *base, const char *text,
                                     size_t length)
{
    char partial[OUTPUT_PATH_BYTES + 16];
    if (!keeper_path(keeper, folder, base, "json", keeper->certificate))
        return false;
    snprintf(partial, sizeof partial, "%s.partial", keeper->certificate);
    if (certificate_write(keeper->certificate, partial, text, length))
        return true;
    (void)message_fail(EXIT_HARNESS, "%s: %m", keeper->certificate);
    return false;
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
    for (size_t i = 0; i < judgement->head.kept_count; i++) {
        const struct kept_oom *oom = &judgement->head.kept[i];
        if (oom->verdict.kind == VERDICT_PREMATURE)
            writing_append_bytes(&shrunk->certificate, judgement->certificates.bytes + oom->certificate_start,
                                 oom->certificate_bytes);
    }
}

/* The list up to an OOM, whole, with what there is to say about it. */
static bool keeper_write_whole(struct keeper *keeper, const struct judgement *judgement, const struct kept_oom *oom,
                               const char *part)
{
    struct op_list ops = judgement->ops;
    ops.count = oom->verdict.op < ops.count ? oom->verdict.op + (size_t)1 : ops.count;
    struct writing comments;
    writing_init(&comments);
    writing_append_format(&comments, "op %lu is %s in trial %llu of %s\n", (unsigned long)oom->verdict.op,
                          verdict_name(oom->verdict.kind), (unsigned long long)judgement->head.task.trial, part);
    append_comment(&comments, "reason: ", oom->verdict.reason);
    append_comment(&comments, "message: ", oom->message);
    append_comment(&comments, "again: ", keeper->replay);
    comments.bytes[--comments.length] = '\0';
    bool is_written = keeper_write_list(keeper, &judgement->setup, &ops, &comments);
    writing_deinit(&comments);
    return is_written;
}

/* A shrunk list with a certificate that the checker does not accept. */
static enum keeper_result keeper_take_shrunk_dispute(struct keeper *keeper, const struct judgement *judgement,
                                                     const struct shrunk *shrunk, const char *reason,
                                                     struct report_finding *finding)
{
    char base[BASE_BYTES];
    struct writing comments;
    keeper->dispute = shrunk->first;
    certificate_dispute(reason, &keeper->dispute);
    base_print("", finding->place.scenario, finding->seed, OP_NONE, base);
    if (!keeper_list_path(keeper, "disputes", base) ||
        !keeper_write_certificate(keeper, "disputes", base, shrunk->certificate.bytes, shrunk->certificate.length))
        return KEEPER_FAILED;
    writing_init(&comments);
    append_comment(&comments, "the judges disagree: ", keeper->dispute.reason);
    append_comment(&comments, "again: ", keeper->replay);
    comments.bytes[--comments.length] = '\0';
    bool is_written = keeper_write_list(keeper, &judgement->setup, &shrunk->ops, &comments);
    writing_deinit(&comments);
    finding->verdict = &keeper->dispute;
    finding->rule = NULL;
    finding->op_count = shrunk->ops.count;
    finding->repro = keeper->path;
    finding->replay = keeper->replay;
    finding->certificate = keeper->certificate;
    return is_written ? KEEPER_DISPUTED : KEEPER_FAILED;
}

/* The list of a finding, and the certificate of a premature OOM. */
static enum keeper_result keeper_write(struct keeper *keeper, const struct judgement *judgement,
                                       const struct shrunk *shrunk, struct report_finding *finding)
{
    char base[BASE_BYTES], reason[CERTIFICATE_REASON_BYTES];
    const struct writing *certificate = &shrunk->certificate;
    if (certificate->length > 0 && !certificate_is_accepted(certificate->bytes, certificate->length, reason))
        return keeper_take_shrunk_dispute(keeper, judgement, shrunk, reason, finding);
    base_print(finding->rule, finding->place.scenario, finding->seed, OP_NONE, base);
    if (!keeper_list_path(keeper, "repros", base))
        return KEEPER_FAILED;
    struct writing comments;
    writing_init(&comments);
    describe(keeper, judgement, finding->rule, shrunk, finding->place.scenario, &comments);
    bool is_written = keeper_write_list(keeper, &judgement->setup, &shrunk->ops, &comments);
    writing_deinit(&comments);
    if (is_written && certificate->length > 0) {
        is_written = keeper_write_certificate(keeper, "certificates", base, certificate->bytes, certificate->length);
        keeper->certificate_count += is_written;
        finding->certificate = keeper->certificate;
    }
    finding->op_count = shrunk->ops.count;
    finding->repro = keeper->path;
    finding->replay = keeper->replay;
    return is_written ? KEEPER_KEPT : KEEPER_FAILED;
}

enum keeper_result keeper_take(struct keeper *keeper, const struct plan *plan, const struct judgement *judgement,
                               struct report_finding *finding)
{
    const struct part *part = &plan->parts[judgement->head.task.part];
    const char *rule = judgement_rule(judgement);
    CHECK(rule != NULL);
    if (keeper_count_same(keeper, rule, judgement->head.task.part) > KEEPER_SAME_COUNT_MAX)
        return KEEPER_COUNTED;
    *finding = (struct report_finding){.place = {part->name, judgement->head.task.trial},
                                       .verdict = &judgement->head.first,
                                       .rule = rule,
                                       .message = judgement->head.message,
                                       .seed = plan_trial_seed(part, judgement->head.task.trial)};
    if (!judgement->head.has_list)
        return KEEPER_KEPT;
    struct shrunk shrunk = {0};
    op_list_init(&shrunk.ops);
    writing_init(&shrunk.certificate);
    keeper_shrink(keeper, part->target, judgement, &shrunk);
    enum keeper_result result = keeper_write(keeper, judgement, &shrunk, finding);
    writing_deinit(&shrunk.certificate);
    op_list_deinit(&shrunk.ops);
    return result;
}

/* How many of a part are kept. */
static uint64_t kept_count_max(enum verdict_kind kind)
{
    switch (kind) {
    case VERDICT_JUSTIFIED: return JUDGEMENT_JUSTIFIED_COUNT_MAX;
    case VERDICT_UNKNOWN: return KEEPER_SAME_COUNT_MAX;
    default: return UINT64_MAX; /* a dispute ends the run: there are few */
    }
}

enum keeper_result keeper_take_oom(struct keeper *keeper, const struct plan *plan, const struct judgement *judgement,
                                   const struct kept_oom *oom, struct report_finding *finding)
{
    const struct part *part = &plan->parts[judgement->head.task.part];
    enum verdict_kind kind = oom->verdict.kind;
    bool is_disputed = kind == VERDICT_DISPUTED;
    CHECK(is_disputed || kind == VERDICT_JUSTIFIED || kind == VERDICT_UNKNOWN);
    if (keeper_count_same(keeper, verdict_name(kind), judgement->head.task.part) > kept_count_max(kind))
        return KEEPER_COUNTED;
    *finding = (struct report_finding){.place = {part->name, judgement->head.task.trial},
                                       .verdict = &oom->verdict,
                                       .message = oom->message,
                                       .seed = plan_trial_seed(part, judgement->head.task.trial)};
    char base[BASE_BYTES];
    const char *text = judgement->certificates.bytes + oom->certificate_start;
    if (is_disputed)
        base_print("", part->name, finding->seed, OP_NONE, base);
    else
        base_print(verdict_name(kind), part->name, finding->seed, oom->verdict.op, base);
    const char *folder = is_disputed ? "disputes" : "certificates";
    if (!keeper_write_certificate(keeper, folder, base, text, oom->certificate_bytes))
        return KEEPER_FAILED;
    keeper->certificate_count += !is_disputed;
    finding->certificate = keeper->certificate;
    if (kind == VERDICT_JUSTIFIED)
        return KEEPER_KEPT;
    if (!keeper_list_path(keeper, is_disputed ? "disputes" : "repros", base) ||
        !keeper_write_whole(keeper, judgement, oom, part->name))
        return KEEPER_FAILED;
    finding->repro = keeper->path;
    finding->replay = keeper->replay;
    finding->op_count = oom->verdict.op + UINT64_C(1);
    return KEEPER_KEPT;
}
