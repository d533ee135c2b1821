#include "campaign/engine/campaign.h"

#include "campaign/base/file.h"
#include "campaign/base/target_path.h"
#include "campaign/engine/campaign_view.h"
#include "campaign/engine/checkpoint.h"
#include "campaign/engine/findings.h"
#include "campaign/engine/output.h"
#include "campaign/engine/repro_store.h"
#include "campaign/engine/whole.h"
#include "campaign/plan/plan.h"
#include "harness/base/check.h"
#include "harness/base/order.h"
#include "harness/base/whole_file.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COPY_BYTES_MAX ((size_t)1 << 30)

/* --- do they belong together --- */

static enum exit_code check_shard(const struct whole *whole, size_t i)
{
    const struct whole_shard *shard = &whole->shards[i];
    struct campaign_head first = whole->shards[0].description.head;
    first.shard_index = shard->description.head.shard_index;
    first.argument_count = shard->description.head.argument_count; /* --workers, say */
    if (memcmp(&first, &shard->description.head, sizeof first) != 0) {
        return message_fail(EXIT_USAGE, "%s: it is not a shard of the same campaign as %s",
                            shard->directory, whole->shards[0].directory);
    }
    for (size_t k = 0; k < i; k++) {
        if (whole->shards[k].description.head.shard_index == first.shard_index) {
            return message_fail(EXIT_USAGE, "%s: shard %" PRIu64 "/%" PRIu64 " is also that of %s",
                                shard->directory, first.shard_index + 1, first.shard_count,
                                whole->shards[k].directory);
        }
    }
    return EXIT_KEPT;
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
static enum exit_code read_lines(struct whole_shard *shard)
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
    return compare_numbers(((const struct whole_shard *)a)->description.head.shard_index,
                           ((const struct whole_shard *)b)->description.head.shard_index);
}

static enum exit_code load_shards(struct whole *whole, const struct merge_options *options)
{
    for (size_t i = 0; i < whole->shard_count; i++) {
        struct whole_shard *shard = &whole->shards[i];
        shard->directory = options->directories[i];
        if (file_is_same(shard->directory, whole->directory)) {
            return message_fail(EXIT_USAGE, "%s is both read and written; give another --out",
                                shard->directory);
        }
        enum exit_code code = checkpoint_load(shard->directory, &shard->description, &shard->at);
        code = code == EXIT_KEPT ? check_shard(whole, i) : code;
        code = code == EXIT_KEPT ? campaign_folder_check(shard->directory, &shard->at) : code;
        code = code == EXIT_KEPT ? read_lines(shard) : code;
        if (code != EXIT_KEPT) {
            return code;
        }
    }
    qsort(whole->shards, whole->shard_count, sizeof *whole->shards, compare_shards);
    for (size_t i = 0; i < whole->shard_count; i++) {
        struct whole_shard *shard = &whole->shards[i];
        shard->seen_counts = calloc(shard->at.findings.count + 1, sizeof *shard->seen_counts);
        CHECK(shard->seen_counts != NULL);
    }
    return EXIT_KEPT;
}

static void note_unfinished(const char *directory)
{
    struct writing word;
    writing_init(&word);
    file_append_word(&word, directory);
    message_note("%s: this shard did not end; hbmstress run --resume %s continues it", directory,
                 writing_string(&word));
    writing_deinit(&word);
}

static void note_missing(const struct whole *whole)
{
    const uint64_t shard_count = whole->shards[0].description.head.shard_count;
    if (whole->shard_count < shard_count) {
        message_note("%zu of %" PRIu64 " shards are merged", whole->shard_count, shard_count);
    }
    for (size_t i = 0; i < whole->shard_count; i++) {
        if (!whole->shards[i].at.state.is_finished) {
            note_unfinished(whole->shards[i].directory);
        }
    }
}

/* --- numbers --- */

/* One run ends its canary with the first trial that shows it. */
static uint64_t count_canary_trials(const struct whole *whole)
{
    const uint64_t step = whole->shards[0].description.head.shard_count;
    uint64_t least = CANARY_TRIAL_COUNT_MAX;
    for (size_t i = 0; i < whole->shard_count; i++) {
        const struct campaign_state *state = &whole->shards[i].at.state;
        const uint64_t index = whole->shards[i].description.head.shard_index;
        if (state->is_canary_reported && state->canary_trials > 0) {
            const uint64_t count = (state->canary_trials - 1) * step + index + 1;
            least = count < least ? count : least;
        }
    }
    return least;
}

static void add_numbers(struct whole *whole)
{
    const size_t part_count = whole->description.head.part_count;
    campaign_join_begin(&whole->at, part_count);
    for (size_t i = 0; i < whole->shard_count; i++) {
        campaign_join_add(&whole->at, &whole->shards[i].at, part_count);
    }
    const uint64_t canary_trials = count_canary_trials(whole);
    if (canary_trials < whole->at.state.canary_trials) {
        whole->at.state.canary_trials = canary_trials;
    }
}

/* --- files --- */

static bool has_folder(const char *name, const char *folder)
{
    return strncmp(name, folder, strlen(folder)) == 0;
}

/* The comment with the line that replays a list names where it lies now; it is above the ops, which
 * begin with their numbers. */
static void move_replay(struct writing *bytes, const char *replay)
{
    static const char name[] = "# replay: ";
    const char *line = bytes->bytes, *end = bytes->bytes + bytes->length;
    while (line < end && !isdigit((unsigned char)*line)) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *next = newline == NULL ? end : newline + 1;
        if (strncmp(line, name, strlen(name)) == 0) {
            struct writing moved;
            writing_init(&moved);
            writing_append_bytes(&moved, bytes->bytes, (size_t)(line - bytes->bytes));
            writing_append(&moved, name);
            writing_append_visible(&moved, replay);
            writing_append(&moved, "\n");
            writing_append_bytes(&moved, next, (size_t)(end - next));
            writing_deinit(bytes);
            *bytes = moved;
            return;
        }
        line = next;
    }
}

static void move_comments(const struct whole *whole, const struct finding *finding,
                          const char *from, const char *to, struct writing *bytes)
{
    struct writing replay;
    writing_init(&replay);
    if (finding != NULL) {
        before_append_replay(&replay, whole->directory, finding->base, finding->before_count);
    } else {
        writing_append(&replay, "hbmstress replay ");
        file_append_word(&replay, to);
    }
    move_replay(bytes, writing_string(&replay));
    target_path_move_comment(bytes, from, to);
    writing_deinit(&replay);
}

/* A file of a shard goes to the same name.  finding: that it is of, or NULL.  *is_there: it was not
 * removed since. */
static enum exit_code copy_file(struct whole *whole, const struct whole_shard *shard,
                                const char *name, const struct finding *finding, bool *is_there)
{
    char from[FILE_PATH_BYTES], to[FILE_PATH_BYTES];
    const char *why;
    struct writing bytes;
    enum exit_code code = EXIT_KEPT;
    writing_init(&bytes);
    snprintf(to, sizeof to, "%.3800s/%s", whole->directory, name);
    *is_there = below_read(shard->directory, name, COPY_BYTES_MAX, &bytes, &why);
    if (!*is_there && errno != ENOENT) {
        code = message_fail(EXIT_USAGE, "%s/%s: %s", shard->directory, name, why);
    }
    if (*is_there && file_name_ends_in(name, ".ops")) {
        snprintf(from, sizeof from, "%.3800s/%s", shard->directory, name);
        move_comments(whole, finding, from, to, &bytes);
    }
    if (*is_there && !whole_file_write(to, bytes.bytes, bytes.length, false)) {
        code = message_fail(EXIT_HARNESS, "%s: %s", to, strerror(errno));
    }
    if (has_folder(name, "kept/")) {
        whole->at.state.end.kept_bytes += bytes.length; /* the paths in it have another length */
    }
    writing_deinit(&bytes);
    return code;
}

/* The context of a file that is copied from a shard to the merged folder. */
struct copying {
    struct whole *whole;
    const struct whole_shard *shard;
};

static enum exit_code copy_saved(void *context, const char *name, const struct finding *finding)
{
    const struct copying *copying = context;
    struct whole *whole = copying->whole;
    char folder[FILE_PATH_BYTES];
    bool is_there;
    snprintf(folder, sizeof folder, "%.3800s/%.*s", whole->directory, (int)strcspn(name, "/"),
             name);
    if (!make_directories(folder)) {
        return message_fail(EXIT_HARNESS, "%s: %s", folder, strerror(errno));
    }
    const enum exit_code code = copy_file(whole, copying->shard, name, finding, &is_there);
    /* The lists of justified ones lie beside their certificates. */
    whole->at.state.certificate_count += is_there && file_name_ends_in(name, ".json") &&
                                         has_folder(name, "certificates/");
    return code;
}

/* Files of a finding whose repro is another shard's stay behind, and so do those that one run would
 * not have. */
static enum exit_code copy_wanted(void *context, const char *name, const struct finding *finding)
{
    const struct whole *whole = ((const struct copying *)context)->whole;
    const struct finding *known = finding == NULL
                                      ? NULL
                                      : findings_find(&whole->at.findings, finding->signature);
    const bool is_wanted = finding == NULL ? whole_has(whole, name)
                                           : !whole->is_exact && known != NULL &&
                                                 strcmp(known->base, finding->base) == 0;
    return is_wanted ? copy_saved(context, name, finding) : EXIT_KEPT;
}

/* Copies the files of findings: the shard that whole_source() names has them. */
static enum exit_code copy_findings(struct whole *whole)
{
    enum exit_code code = EXIT_KEPT;
    for (size_t i = 0; i < whole->at.findings.count && code == EXIT_KEPT; i++) {
        struct finding *finding = &whole->at.findings.findings[i];
        struct copying copying = {whole, whole_source(whole, finding)};
        const struct campaign_folder_visitor visitor = {copy_saved, &copying};
        const struct checkpoint alone = {.findings = {.findings = finding, .count = 1}};
        code = copying.shard == NULL ? EXIT_KEPT : campaign_folder_walk(&alone, &visitor);
    }
    return code;
}

static bool has_logs(const struct whole_shard *shard)
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
static enum exit_code copy_logs(struct whole *whole)
{
    const struct whole_shard *first = &whole->shards[0];
    enum exit_code code = EXIT_KEPT;
    if (!has_logs(first)) {
        return EXIT_KEPT;
    }
    for (uint32_t host = 0; host < OP_HOST_COUNT_MAX && code == EXIT_KEPT; host++) {
        char name[64], path[FILE_PATH_BYTES], directory[FILE_PATH_BYTES];
        bool is_there = false;
        (void)snprintf(name, sizeof name, "logs/host-%" PRIu32 ".log", host);
        (void)snprintf(path, sizeof path, "%.3800s/%s", whole->directory, name);
        if (!make_directory_of(path, directory)) {
            return message_fail(EXIT_HARNESS, "%s: %s", directory, strerror(errno));
        }
        code = copy_file(whole, first, name, NULL, &is_there);
        if (code == EXIT_KEPT && !is_there) {
            (void)unlink(path);
        }
    }
    return code;
}

static enum exit_code copy_files(struct whole *whole)
{
    whole->at.state.end.kept_bytes = 0;
    enum exit_code code = copy_findings(whole);
    for (size_t i = 0; i < whole->shard_count && code == EXIT_KEPT; i++) {
        struct copying copying = {whole, &whole->shards[i]};
        const struct campaign_folder_visitor visitor = {copy_wanted, &copying};
        code = campaign_folder_walk(&whole->shards[i].at, &visitor);
    }
    return code == EXIT_KEPT ? copy_logs(whole) : code;
}

/* --- the whole --- */

/* The report of a merge; documents are written when everything else is. */
struct merged_report {
    struct whole *whole;
    const struct campaign_view *view;
};

static bool write_merged(void *context, const struct report_sink *sink, enum report_kind kind,
                         const struct writing *text)
{
    const struct merged_report *report = context;
    if (sink->form != REPORT_DOCUMENT) {
        return output_report(&report->whole->output, sink, kind, text);
    }
    return !report->whole->output.is_failed && campaign_view_put(report->view, sink->name, text);
}

static enum exit_code merge_reports(struct whole *whole, enum annotation_form annotation)
{
    struct campaign_view view;
    struct merged_report merged = {whole, &view};
    struct reporter reporter;
    struct report_end *end = &whole->at.state.end;
    reporter_init(&reporter, write_merged, &merged);
    campaign_view_init(&view, &whole->description, whole->directory);
    view.annotation = annotation;
    campaign_view_conclude(&view, &whole->at);
    campaign_view_say_nothing_shown(&view, &whole->at);
    end->exit_code = whole->output.is_failed ? EXIT_HARNESS : end->exit_code;
    const struct report_campaign report = campaign_view_report(&view, &whole->at);
    const bool is_written = reporter_campaign(&reporter, &report);
    output_close(&whole->output);
    campaign_view_deinit(&view);
    reporter_deinit(&reporter);
    return is_written && !whole->output.is_failed ? (enum exit_code)end->exit_code : EXIT_HARNESS;
}

static enum exit_code write_all(struct whole *whole, enum annotation_form annotation)
{
    enum exit_code code = output_open_results(&whole->output, whole->directory, 0);
    if (code != EXIT_KEPT) {
        return code;
    }
    whole_make(whole);
    code = copy_files(whole);
    if (code == EXIT_KEPT) {
        return merge_reports(whole, annotation);
    }
    output_close(&whole->output);
    return code;
}

static enum exit_code merge_all(struct whole *whole, enum annotation_form annotation)
{
    const struct campaign_description *first = &whole->shards[0].description;
    note_missing(whole);
    whole->description = *first;
    whole->description.head.shard_count = 1; /* bounds are those of the whole */
    add_numbers(whole);
    if (whole->shard_count < first->head.shard_count) {
        whole->at.state.end.is_interrupted = true;
        whole->at.state.is_finished = false;
    }
    const struct whole_shard *wrong = whole_read(whole);
    return wrong == NULL
               ? write_all(whole, annotation)
               : message_fail(EXIT_USAGE, "%s/results.jsonl: no campaign wrote one of its lines",
                              wrong->directory);
}

enum exit_code campaign_merge(const struct merge_options *options)
{
    struct whole whole = {.directory = options->out, .shard_count = options->directory_count};
    whole.shards = calloc(whole.shard_count, sizeof *whole.shards);
    CHECK(whole.shards != NULL);
    output_init(&whole.output, options->is_json);
    whole.output.is_of_github = options->annotation == ANNOTATION_GITHUB;
    enum exit_code code = load_shards(&whole, options);
    code = code == EXIT_KEPT ? merge_all(&whole, options->annotation) : code;
    whole_deinit(&whole);
    return code;
}
