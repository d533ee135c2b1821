#include "campaign/engine/repro_store.h"

#include "campaign/base/certificates.h"
#include "campaign/base/message.h"
#include "campaign/base/repro.h"
#include "campaign/process/shrink_process.h"
#include "harness/base/check.h"
#include "harness/base/shell.h"
#include "harness/base/whole_file.h"
#include "harness/lanes/lanes.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

void repro_store_paths_init(struct repro_store_paths *paths, const struct repro_store *repro_store,
                            const char *folder, const char *base)
{
    const bool is_dispute = strcmp(folder, "disputes") == 0;
    snprintf(paths->repro, sizeof paths->repro, "%.3800s/%s/%s.ops", repro_store->directory, folder,
             base);
    snprintf(paths->certificate, sizeof paths->certificate, "%.3800s/%s/%s.json",
             repro_store->directory, is_dispute ? "disputes" : "certificates", base);
    char word[SHELL_WORD_BYTES(sizeof paths->repro)];
    snprintf(paths->replay, sizeof paths->replay, "hbmstress replay %s",
             shell_word(paths->repro, word));
}

/* What a list is kept for, and where. */
struct keeping {
    const struct repro_store *repro_store;
    const struct trial_result *trial_result;
    const char *rule, *part;
    uint64_t seed;
    struct repro_store_paths paths;
    struct kept kept;
};

/* What a file is named for: rule or verdict ("" = neither), part and seed; op = OP_NONE: not named.
 */
static void base_print(const char *rule, const char *part, uint64_t seed, uint32_t op,
                       char base[FINDING_BASE_BYTES])
{
    char name[SETUP_NAME_BYTES], suffix[24] = "";
    snprintf(name, sizeof name, "%s", part);
    file_name_clean(name); /* a section's name may be any text */
    if (op != OP_NONE) {
        snprintf(suffix, sizeof suffix, "-op%lu", (unsigned long)op);
    }
    const char *dash = rule[0] == '\0' ? "" : "-";
    snprintf(base, FINDING_BASE_BYTES, "%.64s%s%s-%" PRIu64 "%s", rule, dash, name, seed, suffix);
}

static void keeping_begin(struct keeping *keeping, const char *folder, const char *rule,
                          uint32_t op)
{
    base_print(rule, keeping->part, keeping->seed, op, keeping->kept.base);
    repro_store_paths_init(&keeping->paths, keeping->repro_store, folder, keeping->kept.base);
}

static bool write_repro(const struct keeping *keeping, const struct repro *repro)
{
    return repro_write(keeping->paths.repro, repro) == EXIT_KEPT;
}

/* The bytes are not forced to the disk: the list of ops gives them again. */
static bool write_certificate(struct keeping *keeping, const char *text, size_t length)
{
    const char *path = keeping->paths.certificate;
    char directory[FILE_PATH_BYTES];
    if (!make_directory_of(path, directory)) {
        (void)message_fail(EXIT_HARNESS, "%s: %s", directory, strerror(errno));
        return false;
    }
    keeping->kept.has_certificate = whole_file_write(path, text, length, false);
    if (!keeping->kept.has_certificate) {
        (void)message_fail(EXIT_HARNESS, "%s: %s", path, strerror(errno));
    }
    return keeping->kept.has_certificate;
}

/* The list as it is, with the certificate of a premature OOM. */
static void take_whole(const struct trial_result *trial_result, struct shrunk *shrunk)
{
    op_list_copy(&shrunk->ops, &trial_result->ops);
    for (size_t i = 0; i < trial_result->head.kept_count; i++) {
        const struct kept_oom *oom = &trial_result->head.kept[i];
        if (oom->verdict.kind == VERDICT_PREMATURE) {
            writing_append_bytes(&shrunk->certificate,
                                 trial_result->certificates.bytes + oom->certificate_start,
                                 oom->certificate_bytes);
        }
    }
}

/* The list to keep: shrunk when it can be, else with *shrunk->why. */
static void shrink_or_take(const struct keeping *keeping, const struct target *target,
                           struct shrunk *shrunk)
{
    const struct trial_result *trial_result = keeping->trial_result;
    const struct shrink_process shrink_process = {
        .target = target,
        .setup = &trial_result->setup,
        .ops = &trial_result->ops,
        .signature = trial_result->head.signature,
        .replay_count_max = keeping->repro_store->shrink_budget};
    if (keeping->repro_store->shrink_budget == 0) {
        snprintf(shrunk->why, sizeof shrunk->why, "the budget is 0");
    } else if (shrink_process_run(&shrink_process, shrunk) == SHRINK_PROCESS_DONE) {
        return;
    }
    take_whole(trial_result, shrunk);
}

/* The list up to an OOM, whole, with what there is to say about it. */
static bool write_until(const struct keeping *keeping, const struct kept_oom *oom)
{
    const struct trial_result *trial_result = keeping->trial_result;
    struct op_list ops = trial_result->ops;
    if (oom->verdict.op < ops.count && !lanes_are_in(&ops)) {
        ops.count = oom->verdict.op + (size_t)1;
    }
    char headline[512];
    snprintf(headline, sizeof headline,
             "the verdict on op %" PRIu32 " is %s, in trial %" PRIu64 " of %s", oom->verdict.op,
             verdict_name(oom->verdict.kind), trial_result->head.task.trial, keeping->part);
    const struct repro repro = {.setup = &trial_result->setup,
                                .ops = &ops,
                                .headline = headline,
                                .reason = oom->verdict.reason,
                                .message = oom->message,
                                .replay = keeping->paths.replay};
    return write_repro(keeping, &repro);
}

/* A shrunk list with a certificate that the checker does not accept. */
static enum repro_store_result keep_dispute(struct keeping *keeping, const struct shrunk *shrunk,
                                            const char *reason)
{
    char headline[VERDICT_REASON_BYTES + 48];
    keeping->kept.dispute = shrunk->first;
    certificate_dispute(reason, &keeping->kept.dispute);
    keeping_begin(keeping, "disputes", "", OP_NONE);
    if (!write_certificate(keeping, shrunk->certificate.bytes, shrunk->certificate.length)) {
        return REPRO_STORE_FAILED;
    }
    snprintf(headline, sizeof headline, "internal error: the two judges disagree: %s",
             keeping->kept.dispute.reason);
    const struct repro repro = {.setup = &keeping->trial_result->setup,
                                .ops = &shrunk->ops,
                                .headline = headline,
                                .replay = keeping->paths.replay};
    return write_repro(keeping, &repro) ? REPRO_STORE_DISPUTED : REPRO_STORE_FAILED;
}

/* False: a message was given. */
static bool write_shrunk(const struct keeping *keeping, const struct shrunk *shrunk)
{
    char headline[512], shrunk_from[64] = "";
    const struct trial_result_head *head = &keeping->trial_result->head;
    const bool is_shrunk = shrunk->why[0] == '\0';
    snprintf(headline, sizeof headline, "broke %s in trial %" PRIu64 " of %s", keeping->rule,
             head->task.trial, keeping->part);
    struct repro repro = {.setup = &keeping->trial_result->setup,
                          .ops = &shrunk->ops,
                          .headline = headline,
                          .signature = head->signature,
                          .reason = is_shrunk ? shrunk->first.reason : head->first.reason,
                          .message = head->message,
                          .not_shrunk = shrunk->why,
                          .not_to_the_end = shrunk->cut,
                          .replay = keeping->paths.replay};
    if (is_shrunk) {
        snprintf(shrunk_from, sizeof shrunk_from, "shrunk from %zu ops",
                 keeping->trial_result->ops.count);
        repro.shrunk_from = shrunk_from;
        repro.first_reason = head->first.reason;
        repro.first_message = head->message;
        repro.message = NULL;
    }
    return write_repro(keeping, &repro);
}

/* The list of a finding, and the certificate of a premature OOM. */
static enum repro_store_result keep_list(struct keeping *keeping, const struct shrunk *shrunk,
                                         uint64_t op_count_known)
{
    char reason[CERTIFICATE_REASON_BYTES];
    const struct writing *certificate = &shrunk->certificate;
    keeping->kept.op_count = shrunk->ops.count;
    if (lanes_are_in(&shrunk->ops)) {
        keeping->kept.lane_count = lanes_count(&shrunk->ops);
    }
    keeping->kept.switch_count = lanes_switch_count(&shrunk->ops);
    if (certificate->length > 0 &&
        !certificate_is_accepted(certificate->bytes, certificate->length, reason)) {
        return keep_dispute(keeping, shrunk, reason);
    }
    if (op_count_known != 0 && shrunk->ops.count >= op_count_known) {
        return REPRO_STORE_LONGER;
    }
    keeping_begin(keeping, "repros", keeping->rule, OP_NONE);
    bool is_written = write_shrunk(keeping, shrunk);
    if (is_written && certificate->length > 0) {
        is_written = write_certificate(keeping, certificate->bytes, certificate->length);
    }
    return is_written ? REPRO_STORE_KEPT : REPRO_STORE_FAILED;
}

static struct kept take(const struct repro_store *repro_store, const struct plan *plan,
                        const struct trial_result *trial_result, uint64_t op_count_known,
                        bool shrinks)
{
    const struct part *part = &plan->parts[trial_result->head.task.part];
    struct keeping keeping = {.repro_store = repro_store,
                              .trial_result = trial_result,
                              .rule = trial_result_rule(trial_result),
                              .part = part->name,
                              .seed = plan_trial_seed(part, trial_result->head.task.trial)};
    CHECK(keeping.rule != NULL && trial_result->head.has_list);
    struct shrunk shrunk = {0};
    op_list_init(&shrunk.ops);
    writing_init(&shrunk.certificate);
    if (shrinks) {
        shrink_or_take(&keeping, part->target, &shrunk);
    } else {
        snprintf(shrunk.why, sizeof shrunk.why, "it was interrupted");
        take_whole(trial_result, &shrunk);
    }
    keeping.kept.result = keep_list(&keeping, &shrunk, op_count_known);
    writing_deinit(&shrunk.certificate);
    op_list_deinit(&shrunk.ops);
    return keeping.kept;
}

struct kept repro_store_take(const struct repro_store *repro_store, const struct plan *plan,
                             const struct trial_result *trial_result, uint64_t op_count_known)
{
    return take(repro_store, plan, trial_result, op_count_known, true);
}

struct kept repro_store_take_whole(const struct repro_store *repro_store, const struct plan *plan,
                                   const struct trial_result *trial_result, uint64_t op_count_known)
{
    return take(repro_store, plan, trial_result, op_count_known, false);
}

struct kept repro_store_take_oom(const struct repro_store *repro_store, const struct plan *plan,
                                 const struct trial_result *trial_result,
                                 const struct kept_oom *oom)
{
    const enum verdict_kind kind = oom->verdict.kind;
    const bool is_disputed = kind == VERDICT_DISPUTED;
    CHECK(is_disputed || kind == VERDICT_JUSTIFIED || kind == VERDICT_UNKNOWN);
    const struct part *part = &plan->parts[trial_result->head.task.part];
    struct keeping keeping = {.repro_store = repro_store,
                              .trial_result = trial_result,
                              .part = part->name,
                              .seed = plan_trial_seed(part, trial_result->head.task.trial)};
    if (is_disputed) {
        keeping_begin(&keeping, "disputes", "", OP_NONE);
    } else {
        keeping_begin(&keeping, "repros", verdict_name(kind), oom->verdict.op);
    }
    const char *text = trial_result->certificates.bytes + oom->certificate_start;
    keeping.kept.op_count = oom->verdict.op + UINT64_C(1);
    keeping.kept.result = REPRO_STORE_FAILED;
    if (write_certificate(&keeping, text, oom->certificate_bytes) &&
        (kind == VERDICT_JUSTIFIED || write_until(&keeping, oom))) {
        keeping.kept.result = REPRO_STORE_KEPT;
    }
    return keeping.kept;
}

void repro_store_forget(const struct repro_store *repro_store, const char *base)
{
    struct repro_store_paths paths;
    repro_store_paths_init(&paths, repro_store, "repros", base);
    (void)unlink(paths.repro);
    (void)unlink(paths.certificate);
}
