#include "campaign/engine/repro_store.h"

#include "campaign/base/message.h"
#include "campaign/base/place.h"
#include "campaign/base/repro.h"
#include "campaign/engine/findings.h"
#include "campaign/process/shrink_process.h"
#include "campaign/trials/earlier.h"
#include "harness/base/check.h"
#include "harness/base/shell.h"
#include "harness/lanes/lanes.h"

#include <dirent.h>
#include <fcntl.h>
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

/* Why a list is saved, and where. */
struct repro_saving {
    const struct repro_store *repro_store;
    const struct trial_result *trial_result;
    const char *rule, *part;
    uint64_t seed;
    uint32_t
        named_op; /* in the names of its files; OP_NONE = none, as for the gravest of a trial */
    unsigned twin_count; /* findings before it that would have the same name */
    struct repro_store_paths paths;
    struct saved_repro saved;
};

/* Prints the base name of a file: rule or verdict ("" = neither), part, seed; op unless
 * OP_NONE. */
static void print_base(const struct repro_saving *saving, const char *rule, uint32_t op,
                       char base[FINDING_BASE_BYTES])
{
    char name[SETUP_NAME_BYTES], suffix[24] = "", twin[16] = "";
    snprintf(name, sizeof name, "%s", saving->part);
    file_name_clean(name); /* a section's name may be any text */
    if (op != OP_NONE) {
        snprintf(suffix, sizeof suffix, "-op%lu", (unsigned long)op);
    }
    if (saving->twin_count > 0) {
        snprintf(twin, sizeof twin, "-%u", saving->twin_count + 1);
    }
    const char *dash = rule[0] == '\0' ? "" : "-";
    snprintf(base, FINDING_BASE_BYTES, "%.64s%s%s-%" PRIu64 "%s%s", rule, dash, name, saving->seed,
             suffix, twin);
}

/* Under other schedules the same op may break the same rule by other mechanisms. */
static unsigned count_twins(const struct trial_result_head *head)
{
    unsigned count = 0;
    for (size_t i = 1; i < head->findings.count; i++) { /* the gravest has no op in its name */
        const struct run_finding *finding = &head->findings.findings[i];
        if (strcmp(finding->signature, head->signature) == 0) {
            return count;
        }
        count += finding->verdict.rule == head->first.rule && finding->verdict.op == head->first.op;
    }
    return 0;
}

/* Makes the saving of the selected finding, if there is one. */
static struct repro_saving make_saving(const struct repro_store *repro_store,
                                       const struct trial_result *trial_result)
{
    const struct trial_result_head *head = &trial_result->head;
    const struct part *part = &repro_store->plan->parts[head->task.part];
    const bool is_leading = strcmp(head->findings.findings[0].signature, head->signature) == 0;
    struct repro_saving saving = {.repro_store = repro_store,
                                  .trial_result = trial_result,
                                  .rule = trial_result_rule(trial_result),
                                  .part = part->name,
                                  .seed = plan_trial_seed(part, head->task.trial),
                                  .named_op = is_leading ? OP_NONE : head->first.op,
                                  .twin_count = is_leading ? 0 : count_twins(head)};
    memcpy(saving.saved.signature, head->signature, sizeof saving.saved.signature);
    saving.saved.shown = head->first;
    return saving;
}

static void saving_begin(struct repro_saving *saving, const char *folder, const char *rule,
                         uint32_t op)
{
    print_base(saving, rule, op, saving->saved.base);
    repro_store_paths_init(&saving->paths, saving->repro_store, folder, saving->saved.base);
}

/* The campaign forces it to the disk before its state names it. */
static bool write_repro(const struct repro_saving *saving, const struct repro *repro)
{
    struct repro unforced = *repro;
    unforced.is_unforced = true;
    return repro_write(saving->paths.repro, &unforced) == EXIT_KEPT;
}

/* The bytes are not forced to the disk: the list of ops gives them again. */
static bool write_certificate(struct repro_saving *saving, const char *text, size_t length)
{
    saving->saved.has_certificate = place_write(saving->paths.certificate, text, length);
    return saving->saved.has_certificate;
}

/* A trial goes on behind what does no harm; what comes then does not matter to it. */
static void cut_behind(const struct verdict *verdict, struct op_list *ops)
{
    if (rule_gravity(verdict->rule) < GRAVITY_HARM && verdict->op < ops->count &&
        !lanes_are_in(ops)) {
        ops->count = (size_t)verdict->op + 1;
    }
}

/* The list as it is, up to the op that broke, with the certificate of a premature OOM. */
static void copy_whole(const struct trial_result *trial_result, struct shrunk *shrunk)
{
    op_list_copy(&shrunk->ops, &trial_result->ops);
    cut_behind(&trial_result->head.first, &shrunk->ops);
    const struct saved_oom *oom = trial_result_premature(trial_result);
    if (oom != NULL) {
        writing_append_bytes(&shrunk->certificate,
                             trial_result->certificates.bytes + oom->certificate_start,
                             oom->certificate_bytes);
    }
}

/* The list to keep: shrunk when it can be, else with *shrunk->why.  False: nobody knows whether it
 * shows the finding again. */
static bool shrink_or_copy(struct repro_saving *saving, const struct target *target,
                           struct shrunk *shrunk)
{
    const struct trial_result *trial_result = saving->trial_result;
    struct op_list ops = trial_result->ops; /* not owned: of what comes behind it may die */
    cut_behind(&trial_result->head.first, &ops);
    const struct shrink_process shrink_process = {
        .target = target,
        .setup = &trial_result->setup,
        .ops = &ops,
        .signature = trial_result->head.signature,
        .replay_count_max = saving->repro_store->shrink_budget};
    enum shrink_process_end end = SHRINK_PROCESS_NOT_BROKEN;
    if (saving->repro_store->shrink_budget == 0) {
        snprintf(shrunk->why, sizeof shrunk->why, "the budget is 0");
    } else {
        end = shrink_process_run(&shrink_process, shrunk);
    }
    if (end == SHRINK_PROCESS_DONE) {
        memcpy(saving->saved.signature, shrunk->signature, sizeof saving->saved.signature);
        saving->saved.shown = shrunk->first;
        return true;
    }
    copy_whole(trial_result, shrunk);
    return end != SHRINK_PROCESS_NOT_BROKEN && end != SHRINK_PROCESS_STOPPED;
}

/* The list up to an OOM, whole, with what there is to say about it. */
static bool write_until(const struct repro_saving *saving, const struct saved_oom *oom)
{
    const struct trial_result *trial_result = saving->trial_result;
    const bool is_disputed = oom->verdict.kind == VERDICT_DISPUTED;
    struct op_list ops = is_disputed ? trial_result->ops /* not owned */
                                     : trial_result_until_oom(trial_result);
    if (oom->verdict.op < ops.count && !lanes_are_in(&ops)) {
        ops.count = oom->verdict.op + (size_t)1;
    }
    char headline[512];
    snprintf(headline, sizeof headline,
             "the verdict on op %" PRIu32 " is %s, in trial %" PRIu64 " of %s", oom->verdict.op,
             verdict_name(oom->verdict.kind), trial_result->head.task.trial, saving->part);
    const struct repro repro = {.setup = &trial_result->setup,
                                .ops = &ops,
                                .headline = headline,
                                .reason = oom->verdict.reason,
                                .message = oom->message,
                                .replay = saving->paths.replay};
    return write_repro(saving, &repro);
}

/* A shrunk list with a certificate that the checker does not accept. */
static enum repro_store_result save_dispute(struct repro_saving *saving,
                                            const struct shrunk *shrunk, const char *reason)
{
    char headline[VERDICT_REASON_BYTES + 48];
    saving->saved.dispute = shrunk->first;
    certificate_dispute(reason, &saving->saved.dispute);
    saving_begin(saving, "disputes", "", OP_NONE);
    if (!write_certificate(saving, shrunk->certificate.bytes, shrunk->certificate.length)) {
        return REPRO_STORE_FAILED;
    }
    snprintf(headline, sizeof headline, "internal error: the two judges disagree: %s",
             saving->saved.dispute.reason);
    const struct repro repro = {.setup = &saving->trial_result->setup,
                                .ops = &shrunk->ops,
                                .headline = headline,
                                .replay = saving->paths.replay};
    return write_repro(saving, &repro) ? REPRO_STORE_DISPUTED : REPRO_STORE_FAILED;
}

/* False: a message was given. */
static bool write_shrunk(const struct repro_saving *saving, const struct shrunk *shrunk,
                         const char *replay)
{
    char headline[512], shrunk_from[64] = "", before[64];
    const struct trial_result_head *head = &saving->trial_result->head;
    const bool is_shrunk = shrunk->why[0] == '\0';
    snprintf(headline, sizeof headline, "broke %s in trial %" PRIu64 " of %s", saving->rule,
             head->task.trial, saving->part);
    struct repro repro = {
        .setup = &saving->trial_result->setup,
        .ops = &shrunk->ops,
        .headline = headline,
        .signature = saving->saved.signature,
        .reason = is_shrunk ? shrunk->first.reason : head->first.reason,
        .message = head->message,
        .not_shrunk = shrunk->why,
        .not_to_the_end = shrunk->cut,
        .unrepeated = saving->saved.is_unrepeated ? "the list did not show it again" : NULL,
        .replay = replay};
    if (saving->saved.before_count > 0) {
        snprintf(before, sizeof before, "it shows only after %" PRIu64 " earlier lists",
                 saving->saved.before_count);
        repro.before = before;
    }
    if (is_shrunk) {
        snprintf(shrunk_from, sizeof shrunk_from, "shrunk from %zu ops",
                 saving->trial_result->ops.count);
        repro.shrunk_from = shrunk_from;
        repro.first_reason = head->first.reason;
        repro.first_message = head->message;
        repro.message = NULL;
    }
    return write_repro(saving, &repro);
}

/* The list, and those that run before it. */
static bool write_lists(const struct repro_saving *saving, const struct shrunk *shrunk,
                        const struct earlier *earlier)
{
    const char *directory = saving->repro_store->directory;
    struct writing replay;
    writing_init(&replay);
    before_append_replay(&replay, directory, saving->saved.base, earlier->count);
    const bool is_written = before_write(directory, saving->saved.base, earlier) &&
                            write_shrunk(saving, shrunk, writing_string(&replay));
    writing_deinit(&replay);
    return is_written;
}

/* The list of a finding, and the certificate of a premature OOM. */
static enum repro_store_result save_finding(struct repro_saving *saving,
                                            const struct shrunk *shrunk,
                                            const struct earlier *earlier,
                                            const struct findings *known)
{
    const struct finding *finding = findings_find(known, saving->saved.signature);
    char reason[CERTIFICATE_REASON_BYTES];
    const struct writing *certificate = &shrunk->certificate;
    saving->saved.op_count = shrunk->ops.count;
    if (lanes_are_in(&shrunk->ops)) {
        saving->saved.lane_count = lanes_count(&shrunk->ops);
    }
    saving->saved.switch_count = lanes_switch_count(&shrunk->ops);
    if (certificate->length > 0 &&
        !certificate_is_accepted(certificate->bytes, certificate->length, reason)) {
        return save_dispute(saving, shrunk, reason);
    }
    if (!saving->repro_store->keeps_all && finding != NULL &&
        !finding_repro_is_better(finding, shrunk->ops.count, earlier->count,
                                 saving->saved.is_unrepeated)) {
        return REPRO_STORE_LONGER;
    }
    saving_begin(saving, "repros", saving->rule, saving->named_op);
    saving->saved.before_count = earlier->count;
    bool is_written = write_lists(saving, shrunk, earlier);
    if (is_written && certificate->length > 0) {
        is_written = write_certificate(saving, certificate->bytes, certificate->length);
    }
    return is_written ? REPRO_STORE_SAVED : REPRO_STORE_FAILED;
}

/* Returns true if nobody scheduled the lanes: then no list repeats them (campaign_findings.c). */
static bool has_free_lanes(const struct part *part, const struct op_list *ops)
{
    return part->lanes.lane_count != 0 && part->lanes.backend == LANE_BACKEND_FREE &&
           lanes_are_in(ops);
}

static bool is_seen_death(const struct verdict *first)
{
    return first->rule == RULE_CRASH || first->rule == RULE_HANG || first->rule == RULE_OVERRUN;
}

static bool has_repro(const struct findings *known, const char *signature)
{
    const struct finding *finding = findings_find(known, signature);
    return finding != NULL && finding->base[0] != '\0';
}

/* A list that may not show the finding again.  Where another one does, it has to do so alone. */
static enum repro_store_result save_doubtful(struct repro_saving *saving, struct shrunk *shrunk,
                                             const struct findings *known)
{
    const struct plan *plan = saving->repro_store->plan;
    const struct trial_result *trial_result = saving->trial_result;
    const struct finding *finding = findings_find(known, saving->saved.signature);
    const bool is_kept = has_repro(known, saving->saved.signature);
    struct repeated repeated = {0};
    if (is_kept && (!finding_repro_is_better(finding, shrunk->ops.count, 0, false) ||
                    repeated_alone(plan, trial_result, &shrunk->ops) != REPEATED_ALONE)) {
        return REPRO_STORE_LONGER;
    }
    if (!is_kept) {
        repeated_find(plan, trial_result, &shrunk->ops, &repeated);
    }
    const bool is_death = is_seen_death(&trial_result->head.first);
    enum repro_store_result result = REPRO_STORE_UNREPEATED;
    if (repeated.end == REPEATED_AFTER && repeated.op_count < shrunk->ops.count) {
        shrunk->ops.count = repeated.op_count;
    }
    saving->saved.is_unrepeated = repeated.end == REPEATED_NOT && is_death;
    if (repeated.end != REPEATED_AFTER) {
        repeated_deinit(&repeated); /* what was regenerated is of no use */
    }
    if (repeated.end != REPEATED_NOT || is_death) {
        result = save_finding(saving, shrunk, &repeated.earlier, known);
    }
    repeated_deinit(&repeated);
    return result;
}

void repro_store_name(const struct repro_store *repro_store,
                      const struct trial_result *trial_result, char base[FINDING_BASE_BYTES])
{
    const struct repro_saving saving = make_saving(repro_store, trial_result);
    print_base(&saving, saving.rule, saving.named_op, base);
}

struct saved_repro repro_store_take(const struct repro_store *repro_store,
                                    const struct trial_result *trial_result,
                                    const struct findings *known, bool is_to_shrink)
{
    const struct part *part = &repro_store->plan->parts[trial_result->head.task.part];
    struct repro_saving saving = make_saving(repro_store, trial_result);
    CHECK(saving.rule != NULL && trial_result->head.has_list);
    struct shrunk shrunk = {0};
    const struct earlier none = {0};
    bool is_certain = true;
    if (is_to_shrink) {
        is_certain = shrink_or_copy(&saving, part->target, &shrunk) ||
                     has_free_lanes(part, &trial_result->ops);
    } else {
        snprintf(shrunk.why, sizeof shrunk.why, "it was interrupted");
        copy_whole(trial_result, &shrunk);
    }
    if (!is_to_shrink && has_repro(known, saving.saved.signature)) {
        saving.saved.result = REPRO_STORE_LONGER; /* that one was seen to show it again */
    } else if (is_certain) {
        saving.saved.result = save_finding(&saving, &shrunk, &none, known);
    } else {
        saving.saved.result = save_doubtful(&saving, &shrunk, known);
    }
    writing_deinit(&shrunk.certificate);
    op_list_deinit(&shrunk.ops);
    return saving.saved.result == REPRO_STORE_UNREPEATED
               ? repro_store_take_unrepeated(repro_store, trial_result)
               : saving.saved;
}

struct saved_repro repro_store_take_unrepeated(const struct repro_store *repro_store,
                                               const struct trial_result *trial_result)
{
    char headline[512];
    const struct trial_result_head *head = &trial_result->head;
    struct repro_saving saving = make_saving(repro_store, trial_result);
    CHECK(saving.rule != NULL && head->has_list);
    saving_begin(&saving, "unrepeated", saving.rule, saving.named_op);
    snprintf(headline, sizeof headline,
             "broke %s once in trial %" PRIu64 " of %s, and could not be repeated", saving.rule,
             head->task.trial, saving.part);
    const struct repro repro = {.setup = &trial_result->setup,
                                .ops = &trial_result->ops,
                                .headline = headline,
                                .signature = head->signature,
                                .reason = head->first.reason,
                                .message = head->message,
                                .replay = saving.paths.replay};
    saving.saved.op_count = trial_result->ops.count;
    saving.saved.result = write_repro(&saving, &repro) ? REPRO_STORE_UNREPEATED
                                                       : REPRO_STORE_FAILED;
    return saving.saved;
}

const char *repro_store_oom_folder(enum verdict_kind kind)
{
    return kind == VERDICT_JUSTIFIED ? "certificates" : "repros";
}

struct saved_repro repro_store_take_oom(const struct repro_store *repro_store,
                                        const struct trial_result *trial_result,
                                        const struct saved_oom *oom)
{
    const enum verdict_kind kind = oom->verdict.kind;
    const bool is_disputed = kind == VERDICT_DISPUTED;
    CHECK(is_disputed || kind == VERDICT_JUSTIFIED || kind == VERDICT_UNKNOWN);
    struct repro_saving saving = make_saving(repro_store, trial_result);
    saving.twin_count = 0;
    if (is_disputed) {
        saving_begin(&saving, "disputes", "", OP_NONE);
    } else {
        saving_begin(&saving, repro_store_oom_folder(kind), verdict_name(kind), oom->verdict.op);
    }
    const char *text = trial_result->certificates.bytes + oom->certificate_start;
    saving.saved.op_count = oom->verdict.op + UINT64_C(1);
    saving.saved.result = REPRO_STORE_FAILED;
    if (write_certificate(&saving, text, oom->certificate_bytes) && write_until(&saving, oom)) {
        saving.saved.result = REPRO_STORE_SAVED;
    }
    return saving.saved;
}

void repro_store_forget(const struct repro_store *repro_store, const char *base,
                        uint64_t before_count)
{
    struct repro_store_paths paths;
    repro_store_paths_init(&paths, repro_store, "repros", base);
    (void)unlink(paths.repro);
    (void)unlink(paths.certificate);
    before_forget(repro_store->directory, base, before_count);
}

static void clean_folder(const char *directory, const char *name)
{
    char path[FILE_PATH_BYTES];
    snprintf(path, sizeof path, "%.3800s/%s", directory, name);
    const int file = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = file < 0 ? NULL : fdopendir(file);
    if (folder == NULL) {
        return;
    }
    for (const struct dirent *found = readdir(folder); found != NULL; found = readdir(folder)) {
        if (file_name_ends_in(found->d_name, ".partial")) {
            (void)unlinkat(file, found->d_name, 0);
        }
    }
    (void)closedir(folder);
}

void repro_store_clean(const struct repro_store *repro_store, bool has_writer)
{
    static const char *const folders[] = {".",        "repros", "certificates", "unrepeated",
                                          "disputes", "kept",   "output"};
    for (size_t i = has_writer ? 1 : 0; i < sizeof folders / sizeof *folders; i++) {
        clean_folder(repro_store->directory, folders[i]);
    }
}
