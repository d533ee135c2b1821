#include "campaign/engine/campaign.h"

#include "campaign/base/below.h"
#include "campaign/base/file.h"
#include "campaign/base/target_path.h"
#include "campaign/engine/campaign_view.h"
#include "campaign/engine/checkpoint.h"
#include "campaign/engine/findings.h"
#include "campaign/engine/output.h"
#include "campaign/engine/repro_store.h"
#include "campaign/engine/whole.h"
#include "campaign/plan/widen.h"
#include "harness/base/check.h"
#include "harness/base/shell.h"
#include "harness/base/whole_file.h"

#include <ctype.h>
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
    struct writing lines; /* of results.jsonl, as long as at says */
};
struct merging {
    const char *directory; /* that comes out */
    struct shard *shards;  /* count of them */
    size_t count;
    struct campaign_description description;
    struct checkpoint at;
    enum annotation_form annotation;
    struct output output;
    struct whole whole;
    struct whole_shard *whole_shards; /* as shards */
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

/* The line of the first byte that no line of ours has; 0: there is none. */
static size_t find_foreign_line(const struct writing *lines)
{
    size_t line = 1;
    for (size_t i = 0; i < lines->length; i++) {
        const unsigned char byte = (unsigned char)lines->bytes[i];
        const bool is_start = i == 0 || lines->bytes[i - 1] == '\n';
        if ((is_start && byte != '{') || (byte < ' ' && byte != '\n')) {
            return line;
        }
        line += byte == '\n';
    }
    return lines->length > 0 && lines->bytes[lines->length - 1] != '\n' ? line : 0;
}

/* They go to results.jsonl, and with --json to a terminal. */
static enum exit_code read_lines(struct shard *shard)
{
    const char *why = "";
    if (!below_read(shard->directory, "results.jsonl", COPY_BYTES_MAX, &shard->lines, &why)) {
        return message_fail(EXIT_USAGE, "%s/results.jsonl: %s", shard->directory, why);
    }
    if (shard->lines.length < shard->at.state.results_bytes) {
        return message_fail(EXIT_USAGE, "%s/results.jsonl: it cannot be read any more",
                            shard->directory);
    }
    shard->lines.length = shard->at.state.results_bytes;
    const size_t foreign = find_foreign_line(&shard->lines);
    return foreign == 0
               ? EXIT_KEPT
               : message_fail(EXIT_USAGE, "%s/results.jsonl:%zu: no campaign wrote this line",
                              shard->directory, foreign);
}

static int compare_shards(const void *a, const void *b)
{
    const uint64_t one = ((const struct shard *)a)->description.head.shard_index;
    const uint64_t other = ((const struct shard *)b)->description.head.shard_index;
    return one < other ? -1 : one > other;
}

static enum exit_code load_shards(struct merging *merging, const struct merge_options *options)
{
    for (size_t i = 0; i < merging->count; i++) {
        struct shard *shard = &merging->shards[i];
        shard->directory = options->directories[i];
        if (is_same_directory(shard->directory, merging->directory)) {
            return message_fail(EXIT_USAGE, "%s is both read and written; give another --out",
                                shard->directory);
        }
        enum exit_code code = checkpoint_load(shard->directory, &shard->description, &shard->at);
        if (code == EXIT_KEPT) {
            code = check_shard(merging, i);
        }
        if (code == EXIT_KEPT) {
            code = campaign_folder_check(shard->directory, &shard->at);
        }
        if (code == EXIT_KEPT) {
            code = read_lines(shard);
        }
        if (code != EXIT_KEPT) {
            return code;
        }
    }
    qsort(merging->shards, merging->count, sizeof *merging->shards, compare_shards);
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

/* One run ends its canary with the first trial that shows it. */
static uint64_t count_canary_trials(const struct merging *merging)
{
    const uint64_t step = merging->shards[0].description.head.shard_count;
    uint64_t least = CANARY_TRIAL_COUNT_MAX;
    for (size_t i = 0; i < merging->count; i++) {
        const struct campaign_state *state = &merging->shards[i].at.state;
        const uint64_t index = merging->shards[i].description.head.shard_index;
        if (state->is_canary_reported && state->canary_trials > 0) {
            const uint64_t count = (state->canary_trials - 1) * step + index + 1;
            least = count < least ? count : least;
        }
    }
    return least;
}

static void add_numbers(struct merging *merging)
{
    const size_t part_count = merging->description.head.part_count;
    campaign_join_begin(&merging->at, part_count);
    for (size_t i = 0; i < merging->count; i++) {
        campaign_join_add(&merging->at, &merging->shards[i].at, part_count);
    }
    const uint64_t canary_trials = count_canary_trials(merging);
    if (canary_trials < merging->at.state.canary_trials) {
        merging->at.state.canary_trials = canary_trials;
    }
    merging->at.state.end.seed = merging->description.head.setup.seed;
    merging->at.state.end.allowed = allowance_of_run(&merging->description.head.allowance,
                                                     merging->at.state.end.totals.ooms);
}

/* --- files --- */

static bool is_list(const char *name)
{
    const size_t length = strlen(name), extension_length = strlen(".ops");
    return length > extension_length && strcmp(name + length - extension_length, ".ops") == 0;
}

/* The comment with the line that replays a list names where it lies now; it is above the ops, which
 * begin with their numbers. */
static void move_replay(struct writing *bytes, const char *replay)
{
    static const char name[] = "# replay: ";
    struct writing moved;
    size_t start = 0, end = 0;
    while (start < bytes->length && end == 0 && !isdigit((unsigned char)bytes->bytes[start])) {
        const char *newline = memchr(bytes->bytes + start, '\n', bytes->length - start);
        const size_t next = newline == NULL ? bytes->length : (size_t)(newline - bytes->bytes) + 1;
        if (strncmp(bytes->bytes + start, name, sizeof name - 1) == 0) {
            end = next;
        } else {
            start = next;
        }
    }
    if (end == 0) {
        return;
    }
    writing_init(&moved);
    writing_append_bytes(&moved, bytes->bytes, start);
    writing_append(&moved, name);
    writing_append_visible(&moved, replay);
    writing_append(&moved, "\n");
    writing_append_bytes(&moved, bytes->bytes + end, bytes->length - end);
    writing_deinit(bytes);
    *bytes = moved;
}

static void move_comments(const struct merging *merging, const struct finding *finding,
                          const char *from, const char *to, struct writing *bytes)
{
    struct writing replay;
    char *word = malloc(SHELL_WORD_BYTES(strlen(to)));
    CHECK(word != NULL);
    writing_init(&replay);
    if (finding != NULL) {
        before_append_replay(&replay, merging->directory, finding->base, finding->before_count);
    } else {
        writing_append_format(&replay, "hbmstress replay %s", shell_word(to, word));
    }
    move_replay(bytes, writing_string(&replay));
    target_path_move_comment(bytes, from, to);
    writing_deinit(&replay);
    free(word);
}

/* A file of a shard goes to the same name.  finding: that it is of, or NULL.  *is_there: it was not
 * removed since. */
static enum exit_code copy_file(struct merging *merging, const struct shard *shard,
                                const char *name, const struct finding *finding, bool *is_there)
{
    char from[FILE_PATH_BYTES], to[FILE_PATH_BYTES];
    const char *why;
    struct writing bytes;
    enum exit_code code = EXIT_KEPT;
    writing_init(&bytes);
    snprintf(to, sizeof to, "%.3800s/%s", merging->directory, name);
    *is_there = below_read(shard->directory, name, COPY_BYTES_MAX, &bytes, &why);
    if (!*is_there && errno != ENOENT) {
        code = message_fail(EXIT_USAGE, "%s/%s: %s", shard->directory, name, why);
    }
    if (*is_there && is_list(name)) {
        snprintf(from, sizeof from, "%.3800s/%s", shard->directory, name);
        move_comments(merging, finding, from, to, &bytes);
    }
    if (*is_there && !whole_file_write(to, bytes.bytes, bytes.length, false)) {
        code = message_fail(EXIT_HARNESS, "%s: %s", to, strerror(errno));
    }
    if (strncmp(name, "kept/", strlen("kept/")) == 0) {
        merging->at.state.end.kept_bytes += bytes.length; /* the paths in it have another length */
    }
    writing_deinit(&bytes);
    return code;
}

/* The lists of justified ones lie beside them. */
static bool is_certificate(const char *name)
{
    const size_t length = strlen(name), extension_length = strlen(".json");
    return strncmp(name, "certificates/", strlen("certificates/")) == 0 &&
           length > extension_length && strcmp(name + length - extension_length, ".json") == 0;
}

/* The context of a file that is copied from a shard to the merged folder. */
struct copying {
    struct merging *merging;
    const struct shard *shard;
};

static enum exit_code copy_saved(struct copying *copying, const char *name,
                                 const struct finding *finding)
{
    struct merging *merging = copying->merging;
    char folder[FILE_PATH_BYTES];
    bool is_there;
    snprintf(folder, sizeof folder, "%.3800s/%.*s", merging->directory, (int)strcspn(name, "/"),
             name);
    if (!make_directories(folder)) {
        return message_fail(EXIT_HARNESS, "%s: %s", folder, strerror(errno));
    }
    const enum exit_code code = copy_file(merging, copying->shard, name, finding, &is_there);
    merging->at.state.certificate_count += is_there && is_certificate(name);
    return code;
}

/* Files of a finding whose repro is another shard's stay behind, and so do those that one run would
 * not have. */
static enum exit_code copy_wanted(void *context, const char *name, const struct finding *finding)
{
    struct copying *copying = context;
    struct merging *merging = copying->merging;
    if (finding == NULL) {
        return whole_has(&merging->whole, name) ? copy_saved(copying, name, NULL) : EXIT_KEPT;
    }
    const struct finding *known = findings_find(&merging->at.findings, finding->signature);
    const bool is_wanted = !merging->whole.is_exact && known != NULL &&
                           strcmp(known->base, finding->base) == 0;
    return is_wanted ? copy_saved(copying, name, finding) : EXIT_KEPT;
}

static enum exit_code copy_any(void *context, const char *name, const struct finding *finding)
{
    return copy_saved(context, name, finding);
}

/* Copies the files of findings: the shard that whole_source() names has them. */
static enum exit_code copy_findings(struct merging *merging)
{
    enum exit_code code = EXIT_KEPT;
    for (size_t i = 0; i < merging->at.findings.count && code == EXIT_KEPT; i++) {
        struct finding *finding = &merging->at.findings.findings[i];
        const struct whole_shard *source = whole_source(&merging->whole, finding);
        if (source == NULL) {
            continue;
        }
        struct copying copying = {merging, &merging->shards[source - merging->whole_shards]};
        const struct campaign_folder_visitor visitor = {copy_any, &copying};
        const struct checkpoint alone = {.findings = {.findings = finding, .count = 1}};
        code = campaign_folder_walk(&alone, &visitor);
    }
    return code;
}

static bool has_logs(const struct shard *shard)
{
    size_t i = 0;
    while (i < shard->description.head.part_count &&
           shard->description.parts[i].setup.until_step == 0) {
        i++;
    }
    return i < shard->description.head.part_count && shard->description.head.shard_index == 0;
}

/* Logs of hosts are those of trial 0, which is of the first shard; another campaign may have left
 * some of more hosts in the directory that comes out. */
static enum exit_code copy_logs(struct merging *merging)
{
    const struct shard *first = &merging->shards[0];
    enum exit_code code = EXIT_KEPT;
    if (!has_logs(first)) {
        return EXIT_KEPT;
    }
    for (uint32_t host = 0; host < OP_HOST_COUNT_MAX && code == EXIT_KEPT; host++) {
        char name[64], path[FILE_PATH_BYTES], directory[FILE_PATH_BYTES];
        bool is_there = false;
        (void)snprintf(name, sizeof name, "logs/host-%" PRIu32 ".log", host);
        (void)snprintf(path, sizeof path, "%.3800s/%s", merging->directory, name);
        if (!make_directory_of(path, directory)) {
            return message_fail(EXIT_HARNESS, "%s: %s", directory, strerror(errno));
        }
        code = copy_file(merging, first, name, NULL, &is_there);
        if (code == EXIT_KEPT && !is_there) {
            (void)unlink(path);
        }
    }
    return code;
}

static enum exit_code copy_files(struct merging *merging)
{
    merging->at.state.end.kept_bytes = 0;
    enum exit_code code = copy_findings(merging);
    for (size_t i = 0; i < merging->count && code == EXIT_KEPT; i++) {
        struct copying copying = {merging, &merging->shards[i]};
        const struct campaign_folder_visitor visitor = {copy_wanted, &copying};
        code = campaign_folder_walk(&merging->shards[i].at, &visitor);
    }
    return code == EXIT_KEPT ? copy_logs(merging) : code;
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
    /* A merge of campaigns that were interrupted has not shown everything: it does not pass. */
    return code != EXIT_BROKEN && state->end.is_interrupted ? EXIT_HARNESS : code;
}

/* The report of a merge; documents are written when everything else is. */
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
    view.annotation = merging->annotation;
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

/* EXIT_USAGE after one message: a line is none of a campaign's. */
static enum exit_code read_whole(struct merging *merging)
{
    merging->whole_shards = calloc(merging->count, sizeof *merging->whole_shards);
    CHECK(merging->whole_shards != NULL);
    for (size_t i = 0; i < merging->count; i++) {
        struct shard *shard = &merging->shards[i];
        merging->whole_shards[i] = (struct whole_shard){&shard->description, &shard->at,
                                                        shard->lines};
    }
    merging->whole = (struct whole){.directory = merging->directory,
                                    .shards = merging->whole_shards,
                                    .shard_count = merging->count,
                                    .at = &merging->at,
                                    .output = &merging->output};
    const struct whole_shard *wrong = whole_read(&merging->whole);
    return wrong == NULL
               ? EXIT_KEPT
               : message_fail(EXIT_USAGE, "%s/results.jsonl: no campaign wrote one of its lines",
                              merging->shards[wrong - merging->whole_shards].directory);
}

static enum exit_code write_all(struct merging *merging)
{
    enum exit_code code = output_open_results(&merging->output, merging->directory, 0);
    if (code != EXIT_KEPT) {
        return code;
    }
    whole_make(&merging->whole);
    code = copy_files(merging);
    if (code == EXIT_KEPT) {
        return merge_reports(merging);
    }
    output_close(&merging->output);
    return code;
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
    enum exit_code code = read_whole(merging);
    if (code == EXIT_KEPT) {
        code = write_all(merging);
    }
    whole_deinit(&merging->whole);
    free(merging->whole_shards);
    return code;
}

enum exit_code campaign_merge(const struct merge_options *options)
{
    struct merging merging = {.directory = options->out,
                              .annotation = options->annotation,
                              .count = options->directory_count};
    merging.shards = calloc(merging.count, sizeof *merging.shards);
    CHECK(merging.shards != NULL);
    output_init(&merging.output, options->is_json);
    merging.output.is_of_github = options->annotation == ANNOTATION_GITHUB;
    enum exit_code code = load_shards(&merging, options);
    if (code == EXIT_KEPT) {
        code = merge_all(&merging);
    }
    for (size_t i = 0; i < merging.count; i++) {
        checkpoint_deinit(&merging.shards[i].at);
        campaign_description_deinit(&merging.shards[i].description);
        writing_deinit(&merging.shards[i].lines);
    }
    checkpoint_deinit(&merging.at);
    free(merging.shards);
    return code;
}
