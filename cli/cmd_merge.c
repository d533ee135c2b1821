/* merge: what the shards of one campaign left becomes what the whole campaign would have left. */
#include "campaign/base/file.h"
#include "campaign/engine/campaign_view.h"
#include "campaign/engine/output.h"
#include "campaign/engine/repro_store.h"
#include "cli/recording.h"
#include "cli/subcommands.h"
#include "harness/base/check.h"
#include "harness/base/shell.h"
#include "harness/base/whole_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_BYTES_MAX ((size_t)1 << 30)

/* One directory that comes in. */
struct shard {
    const char *directory;
    struct campaign_description description;
    struct checkpoint at;
};
struct merging {
    const char *directory; /* that comes out */
    struct shard *shards;  /* count of them */
    size_t count;
    struct campaign_description description;
    struct checkpoint at;
    struct output output;
};

/* --- do they belong together --- */

static enum exit_code check_shard(const struct merging *merging, size_t i)
{
    const struct shard *shard = &merging->shards[i];
    struct campaign_head first = merging->shards[0].description.head;
    first.shard_index = shard->description.head.shard_index;
    first.argument_count = shard->description.head.argument_count; /* --workers, say */
    if (memcmp(&first, &shard->description.head, sizeof first) != 0) {
        return message_fail(EXIT_USAGE, "%s: it is not a shard of the same campaign as %s",
                            shard->directory, merging->shards[0].directory);
    }
    for (size_t k = 0; k < i; k++) {
        if (merging->shards[k].description.head.shard_index == first.shard_index) {
            return message_fail(EXIT_USAGE, "%s: shard %" PRIu64 "/%" PRIu64 " is also that of %s",
                                shard->directory, first.shard_index + 1, first.shard_count,
                                merging->shards[k].directory);
        }
    }
    return EXIT_KEPT;
}

static bool is_same_directory(const char *one, const char *other)
{
    struct stat a, b;
    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

static enum exit_code load_shards(struct merging *merging, const struct arguments *arguments)
{
    for (size_t i = 0; i < merging->count; i++) {
        struct shard *shard = &merging->shards[i];
        shard->directory = arguments->words[i];
        if (is_same_directory(shard->directory, merging->directory)) {
            return message_fail(EXIT_USAGE, "%s is both read and written; give another --out",
                                shard->directory);
        }
        enum exit_code code = checkpoint_load(shard->directory, &shard->description, &shard->at);
        if (code == EXIT_KEPT) {
            code = check_shard(merging, i);
        }
        if (code != EXIT_KEPT) {
            return code;
        }
    }
    return EXIT_KEPT;
}

static void note_unfinished(const char *directory)
{
    char *word = malloc(SHELL_WORD_BYTES(strlen(directory)));
    CHECK(word != NULL);
    message_note("%s: this shard did not end; hbmstress run --resume %s continues it", directory,
                 shell_word(directory, word));
    free(word);
}

static void note_missing(const struct merging *merging)
{
    const uint64_t shard_count = merging->shards[0].description.head.shard_count;
    if (merging->count < shard_count) {
        message_note("%zu of %" PRIu64 " shards are merged", merging->count, shard_count);
    }
    for (size_t i = 0; i < merging->count; i++) {
        if (!merging->shards[i].at.state.is_finished) {
            note_unfinished(merging->shards[i].directory);
        }
    }
}

/* --- numbers --- */

static void add_part(struct part_state *to, const struct part_state *from)
{
    to->progress.is_finished = to->progress.is_finished && from->progress.is_finished;
    to->progress.taken += from->progress.taken;
    to->progress.op_count += from->progress.op_count;
    run_totals_add(&to->totals, &from->totals);
    to->trials += from->trials;
    to->elapsed_ns += from->elapsed_ns;
    to->findings_only_counted += from->findings_only_counted;
    to->look_count += from->look_count;
    to->growing_count += from->growing_count;
    if (from->growth.last_bytes - from->growth.first_bytes >
        to->growth.last_bytes - to->growth.first_bytes) {
        to->growth = from->growth;
        memcpy(to->growing_tag, from->growing_tag, sizeof to->growing_tag);
    }
    if (to->note[0] == '\0') {
        memcpy(to->note, from->note, sizeof to->note);
    }
}

static void add_state(struct campaign_state *to, const struct campaign_state *from)
{
    struct report_end *end = &to->end;
    end->trials += from->end.trials;
    run_totals_add(&end->totals, &from->end.totals);
    end->verdicts_omitted += from->end.verdicts_omitted;
    end->trials_omitted += from->end.trials_omitted;
    end->kept_count += from->end.kept_count;
    end->kept_bytes += from->end.kept_bytes;
    end->kept_omitted += from->end.kept_omitted;
    end->certificates_checked += from->end.certificates_checked;
    end->elapsed_ns = from->end.elapsed_ns > end->elapsed_ns ? from->end.elapsed_ns
                                                             : end->elapsed_ns;
    end->is_interrupted = end->is_interrupted || !from->is_finished;
    to->canary_trials += from->canary_trials;
    to->is_canary_reported = to->is_canary_reported && from->is_canary_reported;
    to->is_disputed = to->is_disputed || from->is_disputed;
    to->is_finished = to->is_finished && from->is_finished;
}

static void add_numbers(struct merging *merging)
{
    const size_t part_count = merging->description.head.part_count;
    merging->at.parts = calloc(part_count, sizeof *merging->at.parts);
    CHECK(merging->at.parts != NULL);
    for (size_t i = 0; i < part_count; i++) {
        merging->at.parts[i].progress.is_finished = true;
    }
    merging->at.state.is_finished = merging->at.state.is_canary_reported = true;
    for (size_t i = 0; i < merging->count; i++) {
        add_state(&merging->at.state, &merging->shards[i].at.state);
        for (size_t k = 0; k < part_count; k++) {
            add_part(&merging->at.parts[k], &merging->shards[i].at.parts[k]);
        }
    }
    merging->at.state.end.seed = merging->description.head.setup.seed;
    merging->at.state.end.allowed = allowance_of_run(&merging->description.head.allowance,
                                                     merging->at.state.end.totals.ooms);
}

/* --- files --- */

static bool copy_file(const char *from, const char *to)
{
    struct writing bytes;
    writing_init(&bytes);
    bool is_good = file_read(from, COPY_BYTES_MAX, &bytes);
    if (!is_good) {
        (void)message_fail(EXIT_HARNESS, "%s: %s", from, strerror(errno));
    } else if (!whole_file_write(to, bytes.bytes, bytes.length, false)) {
        (void)message_fail(EXIT_HARNESS, "%s: %s", to, strerror(errno));
        is_good = false;
    }
    writing_deinit(&bytes);
    return is_good;
}

/* "FOLDER/FILE", and nothing outside of these folders: a shard may come from anywhere. */
static bool is_saved_name(const char *name)
{
    static const char *const folders[] = {"repros/", "certificates/", "disputes/", "unrepeated/",
                                          "kept/", "output/"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const size_t length = strlen(folders[i]);
        if (strncmp(name, folders[i], length) == 0) {
            return name[length] != '\0' && strchr(name + length, '/') == NULL &&
                   strcmp(name + length, "..") != 0;
        }
    }
    return false;
}

/* The lists of justified ones lie beside them. */
static bool is_certificate(const char *name)
{
    return strncmp(name, "certificates/", strlen("certificates/")) == 0 &&
           strcmp(name + strlen(name) - strlen(".json"), ".json") == 0;
}

/* One file of a shard.  What was removed since stays so. */
static bool copy_saved(struct merging *merging, const struct shard *shard, const char *name)
{
    char from[FILE_PATH_BYTES], to[FILE_PATH_BYTES];
    const int folder_bytes = (int)strcspn(name, "/");
    if (!is_saved_name(name)) {
        (void)message_fail(EXIT_HARNESS, "%s/checkpoint: it names a file outside its folders",
                           shard->directory);
        return false;
    }
    snprintf(from, sizeof from, "%.3800s/%s", shard->directory, name);
    if (access(from, F_OK) != 0 && errno == ENOENT) {
        return true;
    }
    snprintf(to, sizeof to, "%.3800s/%.*s", merging->directory, folder_bytes, name);
    if (!make_directories(to)) {
        (void)message_fail(EXIT_HARNESS, "%s: %s", to, strerror(errno));
        return false;
    }
    snprintf(to, sizeof to, "%.3800s/%s", merging->directory, name);
    merging->at.state.certificate_count += is_certificate(name);
    return copy_file(from, to);
}

/* The lists that run before its repro. */
static bool copy_before(struct merging *merging, const struct shard *shard,
                        const struct finding *finding)
{
    char name[FINDING_BASE_BYTES + 64];
    bool is_good = true;
    for (uint64_t i = 1; i <= finding->before_count && is_good; i++) {
        snprintf(name, sizeof name, "repros/%s.before-%" PRIu64 ".ops", finding->base, i);
        is_good = copy_saved(merging, shard, name);
    }
    return is_good;
}

/* Files of a finding whose shortest repro is another shard's stay behind. */
static bool copy_findings(struct merging *merging, const struct shard *shard)
{
    char name[FINDING_BASE_BYTES + 32];
    bool is_good = true;
    for (size_t i = 0; i < shard->at.findings.count && is_good; i++) {
        const struct finding *finding = &shard->at.findings.findings[i];
        const struct finding *known = findings_find(&merging->at.findings, finding->signature);
        if (finding->base[0] == '\0' || strcmp(known->base, finding->base) != 0) {
            continue;
        }
        snprintf(name, sizeof name, "repros/%s.ops", finding->base);
        is_good = copy_saved(merging, shard, name) && copy_before(merging, shard, finding);
        snprintf(name, sizeof name, "certificates/%s.json", finding->base);
        is_good = is_good && (!finding->has_certificate || copy_saved(merging, shard, name));
    }
    return is_good;
}

/* What else its campaign kept; its directory may have more, of campaigns before. */
static bool copy_others(struct merging *merging, const struct shard *shard)
{
    const struct writing *kept = &shard->at.saved_files;
    bool is_good = true;
    for (size_t at = 0; at < kept->length && is_good; at += strlen(kept->bytes + at) + 1) {
        is_good = copy_saved(merging, shard, kept->bytes + at);
    }
    return is_good;
}

/* The first of both, and the shorter repro. */
static void join_findings(struct finding *known, const struct finding *finding)
{
    const struct finding before = *known;
    if (finding->base[0] != '\0' &&
        (known->base[0] == '\0' ||
         finding_repro_is_better(known, finding->op_count, finding->before_count,
                                 finding->is_unrepeated != 0))) {
        *known = *finding;
    }
    const bool is_earlier = finding->trial < before.trial ||
                            (finding->trial == before.trial && finding->part < before.part);
    const struct finding *first = is_earlier ? finding : &before;
    known->part = first->part;
    known->trial = first->trial;
    known->seed = first->seed;
    known->count = before.count + finding->count;
    known->first_order = before.first_order;
    known->seen_count = before.seen_count + finding->seen_count;
    known->stayed_count = before.stayed_count + finding->stayed_count;
    known->moved_count = before.moved_count + finding->moved_count;
    known->unrepeated_count = before.unrepeated_count + finding->unrepeated_count;
    known->is_known = before.is_known && finding->is_known;
}

static void add_findings(struct merging *merging)
{
    for (size_t i = 0; i < merging->count; i++) {
        struct findings *findings = &merging->shards[i].at.findings;
        findings_settle(findings); /* a shard that did not end has not done it */
        for (size_t k = 0; k < findings->count; k++) {
            const struct finding *finding = &findings->findings[k];
            struct finding *known = findings_find(&merging->at.findings, finding->signature);
            if (known == NULL) {
                known = findings_add(&merging->at.findings, finding);
                known->first_order = merging->at.findings.count; /* shard by shard */
            } else {
                join_findings(known, finding);
            }
        }
    }
}

static bool copy_files(struct merging *merging)
{
    bool is_good = true;
    for (size_t i = 0; i < merging->count && is_good; i++) {
        is_good = copy_findings(merging, &merging->shards[i]) &&
                  copy_others(merging, &merging->shards[i]);
    }
    return is_good;
}

/* A shard's lines without its last ones; of the first lines only the first shard's. */
static bool copy_results(struct merging *merging, size_t i)
{
    char path[FILE_PATH_BYTES];
    struct writing lines;
    const struct shard *shard = &merging->shards[i];
    snprintf(path, sizeof path, "%.3800s/results.jsonl", shard->directory);
    writing_init(&lines);
    bool is_good = file_read(path, COPY_BYTES_MAX, &lines) ||
                   message_fail(EXIT_HARNESS, "%s: %s", path, strerror(errno)) == EXIT_KEPT;
    if (is_good && lines.length < shard->at.state.results_bytes) {
        (void)message_fail(EXIT_HARNESS, "%s: it is shorter than its checkpoint says", path);
        is_good = false;
    }
    if (is_good) {
        lines.length = shard->at.state.results_bytes;
        const char *second = i == 0 ? lines.bytes : memchr(lines.bytes, '\n', lines.length);
        const size_t skipped = second == NULL ? lines.length
                                              : (size_t)(second - lines.bytes) + (i != 0);
        const struct writing rest = {.bytes = lines.bytes + skipped,
                                     .length = lines.length - skipped};
        output_line(&merging->output, &rest);
    }
    writing_deinit(&lines);
    return is_good;
}

/* --- the whole --- */

static enum exit_code merged_exit_code(const struct merging *merging, struct campaign_view *view)
{
    const struct campaign_state *state = &merging->at.state;
    const bool is_silent = merging->description.head.has_canary && !state->is_canary_reported;
    if (merging->output.is_failed ||
        (state->is_finished &&
         (is_silent || campaign_view_missed_probes(view, &merging->at) != NULL))) {
        return EXIT_HARNESS;
    }
    struct run_totals totals = state->end.totals;
    if (findings_new_count(&merging->at.findings) == 0) {
        totals.broken = totals.premature = 0;
    }
    const enum exit_code code = totals_exit_code_within(&totals, &state->end.allowed);
    /* What was not run has not shown what it was to show. */
    return code != EXIT_BROKEN && state->end.is_interrupted ? EXIT_HARNESS : code;
}

/* What a merge reports, and where it puts that: documents when everything else is written. */
struct merged_report {
    struct merging *merging;
    const struct campaign_view *view;
};

static bool write_merged(void *context, const struct report_sink *sink, enum report_kind kind,
                         const struct writing *text)
{
    const struct merged_report *report = context;
    if (sink->form != REPORT_DOCUMENT) {
        return output_report(&report->merging->output, sink, kind, text);
    }
    return !report->merging->output.is_failed && campaign_view_put(report->view, sink->name, text);
}

static enum exit_code merge_reports(struct merging *merging)
{
    struct campaign_view view;
    struct merged_report merged = {merging, &view};
    struct reporter reporter;
    reporter_init(&reporter, write_merged, &merged);
    campaign_view_init(&view, &merging->description, merging->directory);
    merging->at.state.end.known_count = findings_shown_count(&merging->at.findings) -
                                        findings_new_count(&merging->at.findings);
    merging->at.state.end.exit_code = (int)merged_exit_code(merging, &view);
    const struct report_campaign report = campaign_view_report(&view, &merging->at);
    const bool is_written = reporter_campaign(&reporter, &report);
    output_close(&merging->output);
    campaign_view_deinit(&view);
    reporter_deinit(&reporter);
    return is_written && !merging->output.is_failed
               ? (enum exit_code)merging->at.state.end.exit_code
               : EXIT_HARNESS;
}

static enum exit_code merge_all(struct merging *merging)
{
    note_missing(merging);
    const struct campaign_description *first = &merging->shards[0].description;
    merging->description = *first;
    merging->description.head.shard_count = 1; /* bounds are those of the whole */
    add_numbers(merging);
    if (merging->count < first->head.shard_count) {
        merging->at.state.end.is_interrupted = true;
        merging->at.state.is_finished = false;
    }
    add_findings(merging);
    const enum exit_code code = output_open_results(&merging->output, merging->directory, 0);
    if (code != EXIT_KEPT) {
        return code;
    }
    bool is_good = copy_files(merging);
    for (size_t i = 0; i < merging->count && is_good; i++) {
        is_good = copy_results(merging, i);
    }
    if (is_good) {
        return merge_reports(merging);
    }
    output_close(&merging->output);
    return EXIT_HARNESS;
}

static enum exit_code merge_subcommand(const struct arguments *arguments)
{
    struct merging merging = {.directory = arguments->run.out == NULL ? "out" : arguments->run.out,
                              .count = arguments->word_count};
    merging.shards = calloc(merging.count, sizeof *merging.shards);
    CHECK(merging.shards != NULL);
    output_init(&merging.output, arguments->run.is_json);
    enum exit_code code = load_shards(&merging, arguments);
    if (code == EXIT_KEPT) {
        code = merge_all(&merging);
    }
    for (size_t i = 0; i < merging.count; i++) {
        checkpoint_deinit(&merging.shards[i].at);
        campaign_description_deinit(&merging.shards[i].description);
    }
    checkpoint_deinit(&merging.at);
    free(merging.shards);
    return code;
}

static const char *const options[] = {"--out", "--json", NULL};

const struct subcommand subcommand_merge = {
    .name = "merge",
    .summary = "join the results of the shards of a campaign",
    .usage = "DIR ... [--out DIR]",
    .description =
        "Merges the directories of run --shard I/N: totals, findings, repros, certificates, kept lists,\n"
        "results.jsonl, summary.json and junit.xml.  Of findings with the same signature, the shortest\n"
        "repro is saved.\n"
        "Files that earlier campaigns left in those directories are not copied.  The paths in results.jsonl\n"
        "stay those of the shards.  The exit code is that of one run of the whole campaign.\n\n"
        "Example: hbmstress merge out-1 out-2 --out out",
    .options = options,
    .word_count_min = 1,
    .word_count_max = SIZE_MAX,
    .word_name = "DIR",
    .run = merge_subcommand,
};
