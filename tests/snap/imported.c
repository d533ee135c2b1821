/* For .snap files: what an importer makes of a text, and what a run makes of that.
 *
 *     imported [options] FILE...     of each file; "-" is standard input
 *     imported [options] --each      of each line of standard input, in which \n, \r, \t, \\ and
 * \xff stand for bytes
 *
 * --format NAME, --capacity SIZE, --granule BYTES, --chip NAME, --target NAME, --option KEY=VALUE:
 * as the user fixes them
 * --kv-bytes N, --kv-tokens N: of request traces
 * --ops N: of long lists the first N ops;  --no-run: the list is not run;  --brief: no notes, no
 * list
 * --log: what the text, or a directory of files, tells as the log of a job, and of its list nothing
 * but with --list
 * --report: what it tells as the report of a compiler, and nothing of its list
 *
 * --each may also show each line as other things are: --lines as a line of a log, what is in front
 * of it parted by '|', with its source, time, steps; --pickle as a pickle, in JSON
 *
 * A refusal says first what it is: invalid, incomplete, unrecognised or unreadable; the place is
 * line:column, 0 = not known. */
#include "formats/common/log_prefix.h"
#include "formats/formats.h"
#include "formats/log/private/log_reading.h"
#include "formats/torch/private/plain.h"
#include "harness/base/size.h"
#include "harness/base/writing.h"
#include "harness/model/model.h"
#include "harness/op/ops_file.h"
#include "harness/run/run.h"
#include "harness/trial/trial_run.h"
#include "targets/targets.h"
#include "tests/formats/plain_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct {
    const char *format;
    struct setup fixed;
    uint64_t kv_bytes, kv_tokens;
    size_t op_count_max;
    bool is_brief, has_no_run, is_each, is_log, is_report, is_list, is_line, is_pickle;
} given = {.op_count_max = SIZE_MAX};

/* The lines of the head that are not of every list, in one. */
static void print_setup(const struct setup *setup)
{
    static const char *const usual[] = {"hbmstress-ops 1", "hosts 1", "coordinate 0x0x0_HBM0",
                                        "target hbm", "seed 0"};
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    ops_file_print_head(stream, setup);
    fclose(stream);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        bool is_usual = false;
        for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
            is_usual = is_usual || strcmp(line, usual[i]) == 0;
        }
        if (!is_usual) {
            printf(", %s", line);
        }
    }
    free(text);
}

static void print_notes(const struct import *import)
{
    struct writing text;
    writing_init(&text);
    import_print_comments(import, &text);
    char *notes = strdup(writing_string(&text));
    for (char *line = strtok(notes, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (strncmp(line, "says: ", 6) == 0 && import->message_line > 0) {
            printf("# says, line %zu: %s\n", import->message_line, line + 6);
            continue;
        }
        printf("# %s\n", line);
    }
    free(notes);
    writing_deinit(&text);
}

/* With what is said of an op behind it; the caller frees. */
static char *list_text(const struct import *import)
{
    static const char *const kinds[] = {"failed",       "in use", "free", "peak",
                                        "largest hole", "at",     "step"};
    char *text = NULL;
    size_t length = 0;
    size_t said = 0;
    char op[OP_TEXT_BYTES];
    FILE *stream = open_memstream(&text, &length);
    for (size_t i = 0; i < import->ops.count; i++) {
        fprintf(stream, "%zu: %s", i, op_print(&import->ops.ops[i], op));
        for (; said < import->said_count && import->said[said].op == i; said++) {
            const struct said *fact = &import->said[said];
            fprintf(stream, fact->kind == SAID_FAILED ? "  [%s]" : "  [%s %" PRIu64 "]",
                    kinds[fact->kind], fact->value);
        }
        fprintf(stream, "\n");
    }
    fclose(stream);
    return text;
}

/* A list is printed once. */
static void print_list(const char *name, const struct import *import)
{
    enum { LIST_COUNT_MAX = 256 };
    static struct {
        char name[128], *text;
    } lists[LIST_COUNT_MAX];
    char *text = list_text(import);
    size_t i = 0;
    for (; i + 1 < LIST_COUNT_MAX && lists[i].text != NULL; i++) {
        if (strcmp(lists[i].text, text) == 0) {
            printf("the ops of %s\n", lists[i].name);
            free(text);
            return;
        }
    }
    const char *end = text;
    for (size_t k = 0; k < given.op_count_max && *end != '\0'; k++) {
        end = strchr(end, '\n') + 1;
    }
    printf("%.*s%s", (int)(end - text), text, *end == '\0' ? "" : "...\n");
    snprintf(lists[i].name, sizeof lists[i].name, "%s", name);
    free(lists[i].text);
    lists[i].text = text;
}

/* What a run shows that the file says, too. */
struct comparison {
    const struct import *import;
    size_t next;
    uint64_t equal, unequal, result, in_use_bytes;
    uint64_t retired_bytes[OP_HOST_COUNT_MAX], peak_bytes[OP_HOST_COUNT_MAX];
    char message[OBSERVATION_MESSAGE_BYTES];
};

static void compare_fact(struct comparison *comparison, const struct said *fact,
                         const struct run *run, uint64_t in_use_bytes, uint64_t peak_bytes)
{
    const struct observation *seen = run_observation(run);
    const struct model *model = run_model(run, comparison->import->ops.ops[seen->op].host);
    const uint64_t values[SAID_KIND_COUNT] = {
        [SAID_IN_USE_BYTES] = in_use_bytes,
        [SAID_PEAK_BYTES] = peak_bytes,
        [SAID_FREE_BYTES] = model_free_bytes(model),
        [SAID_LARGEST_HOLE_BYTES] = model_largest_hole_bytes(model),
        [SAID_ADDRESS] = seen->address,
        [SAID_STEP] = fact->value};
    const bool is_equal = fact->kind == SAID_FAILED ? seen->result == TARGET_NO_MEMORY
                                                    : values[fact->kind] == fact->value;
    *(is_equal ? &comparison->equal : &comparison->unequal) += 1;
}

static void note_observation(void *context, const struct run *run, const struct verdict *verdict)
{
    struct comparison *comparison = context;
    const struct import *import = comparison->import;
    const struct observation *seen = run_observation(run);
    if (seen->op >= import->ops.count) {
        return; /* the end of the run frees what is left */
    }
    const struct op *op = &import->ops.ops[seen->op];
    uint64_t *peak = &comparison->peak_bytes[op->host];
    comparison->retired_bytes[op->host] += op->kind == OP_RETIRE ? op->size_bytes : 0;
    const uint64_t in_use = seen->bytes_in_use - comparison->retired_bytes[op->host];
    *peak = in_use > *peak ? in_use : *peak;
    comparison->result = seen->result;
    comparison->in_use_bytes = seen->bytes_in_use;
    for (; comparison->next < import->said_count && import->said[comparison->next].op == seen->op;
         comparison->next++) {
        compare_fact(comparison, &import->said[comparison->next], run, in_use, *peak);
    }
    if (verdict->kind != VERDICT_NONE) {
        snprintf(comparison->message, sizeof comparison->message, "%s", run_message(run));
    }
}

static void print_run(const struct import *import)
{
    struct comparison comparison = {.import = import};
    struct trial trial;
    char reason[RUN_REASON_BYTES] = "";
    const struct run_listener listener = {&comparison, note_observation};
    const struct target *target = target_find(
        import->setup.target[0] == '\0' ? "hbm" : import->setup.target);
    if (!trial_replay(target, &import->setup, &import->ops, &listener, &trial, reason)) {
        printf("run refused: %s\n", reason);
        return;
    }
    const struct run_totals *totals = &trial.totals;
    printf("run: %s, %" PRIu64 " in use, the last op %s",
           trial.first.kind == VERDICT_NONE ? "promises kept" : trial.first.reason,
           comparison.in_use_bytes, comparison.result == TARGET_OK ? "ok" : "refused");
    if (totals->ooms > 0) {
        printf(", %" PRIu64 " OOMs (%" PRIu64 " justified, %" PRIu64 " unknown)", totals->ooms,
               totals->justified, totals->unknown);
    }
    if (totals->skipped > 0) {
        printf(", %" PRIu64 " ops skipped", totals->skipped);
    }
    if (import->said_count > 0) {
        printf("; %" PRIu64 " facts as said, %" PRIu64 " not", comparison.equal,
               comparison.unequal);
    }
    printf("\n");
    if (comparison.message[0] != '\0') {
        printf("     %s\n", comparison.message);
    }
    trial_deinit(&trial);
}

static void print_import(const char *name, enum import_result result, const struct import *import,
                         const struct import_error *error)
{
    static const char *const results[] = {"ok", "unreadable", "unrecognised", "invalid",
                                          "incomplete"};
    if (result != IMPORT_OK) { /* the list of all formats is of no test here */
        const int length = result == IMPORT_UNRECOGNISED ? (int)strcspn(error->reason, ";")
                                                         : (int)strlen(error->reason);
        printf("%s: %s %zu:%zu: %.*s%s\n", name, results[result], error->line, error->column,
               length, error->reason, import->ops.count == 0 ? "" : " (and ops)");
        return;
    }
    printf("%s: %s, %zu ops", name, import->format->name, import->ops.count);
    print_setup(&import->setup);
    printf("\n");
    if (!given.is_brief) {
        print_notes(import);
        print_list(name, import);
    }
    if (!given.has_no_run) {
        print_run(import);
    }
}

/* --- the report of a compiler --- */

static void print_text(const char *name, const char *text)
{
    if (text != NULL && text[0] != '\0') {
        printf(", %s %s", name, text);
    }
}

static void print_allocation(const struct compile_allocation *allocation)
{
    printf("  %" PRIu64, allocation->size.nominal);
    if (allocation->tiled_bytes != 0) {
        printf(", in tiles %" PRIu64, allocation->tiled_bytes);
    }
    print_text("shape", allocation->shape);
    print_text("type", allocation->type);
    print_text("label", allocation->label);
    print_text("op", allocation->op);
    print_text("at", allocation->source);
    printf("%s\n", allocation->is_argument ? ", an argument" : "");
}

static void print_report(const struct import *import)
{
    static const char *const names[COMPILE_NUMBER_COUNT] = {"used",
                                                            "capacity",
                                                            "exceeded",
                                                            "total",
                                                            "reserved",
                                                            "program",
                                                            "arguments",
                                                            "output",
                                                            "shared",
                                                            "requirement",
                                                            "reserved",
                                                            "global",
                                                            "scoped",
                                                            "temporaries",
                                                            "overlays",
                                                            "unpadded",
                                                            "padded",
                                                            "fragmentation",
                                                            "SparseCore",
                                                            "request",
                                                            "parameters",
                                                            "constants",
                                                            "live out",
                                                            "GPU temporaries",
                                                            "GPU fragmentation",
                                                            "GPU total",
                                                            "GPU total fragmentation"};
    const struct compile_report *report = import->compile_report;
    if (import->message[0] != '\0') {
        printf("  line %zu: %s\n", import->message_line, import->message);
    }
    if (report == NULL) {
        printf("  no report\n");
        return;
    }
    printf("  report of %zu allocations", report->allocation_count);
    print_text("chip", report->chip);
    print_text("module", report->module);
    for (size_t i = 0; i < COMPILE_NUMBER_COUNT; i++) {
        if (report->numbers[i].is_said) {
            printf(", %s %" PRIu64, names[i], report->numbers[i].range.nominal);
        }
    }
    if (report->utilization.is_said || report->fragmentation.is_said) {
        printf(", utilization %u and fragmentation %u of 10000", report->utilization.hundredths,
               report->fragmentation.hundredths);
    }
    const struct compile_size missing = compile_report_missing(report);
    if (missing.is_said) {
        printf(", missing %" PRIu64, missing.range.nominal);
    }
    printf("\n");
    for (size_t i = 0; i < report->allocation_count && i < given.op_count_max; i++) {
        print_allocation(&report->allocations[i]);
    }
    if (report->remarks[0] != '\0') {
        printf("  %s\n", report->remarks);
    }
    if (import->assumed[0] != '\0') {
        printf("  assumed: %s\n", import->assumed);
    }
}

/* --- the log of a job --- */

static const char *const silences[] = {"alone", "before the failure", "in the same step",
                                       "after the failure"};

static void print_event(const struct log_story *story, const struct log_event *event, bool is_first)
{
    static const char *const kinds[] = {"none",       "out of memory", "retry",    "plan",
                                        "scratchpad", "host's memory", "killed",   "crash",
                                        "exception",  "time-out",      "peer gone"};
    char time[LOG_TIME_TEXT_BYTES];
    printf("  %s%s by \"%s\", line %zu", is_first ? "FIRST " : "", kinds[event->kind],
           story->sources[event->source].name, event->line);
    if (story->file_count > 1) {
        printf(" of %s", story->files[event->file]);
    }
    if (event->has_step) {
        printf(", step %" PRIu64, event->step);
    }
    printf("%s%s", event->time.clock == LOG_CLOCK_NONE ? "" : ", ",
           log_time_print(&event->time, time));
    if (event->count > 1) {
        printf(", %" PRIu64 " times by %" PRIu32, event->count, event->printer_count);
    }
    if (event->high_bytes > 0) {
        printf(", asked for %" PRIu64 " to %" PRIu64, event->low_bytes, event->high_bytes);
    }
    if (event->waited_ms > 0) {
        printf(", waited %" PRIu64 " ms", event->waited_ms);
    }
    if (event->has_victim) {
        printf(", rank %" PRIu32 " killed (%s)", event->victim_rank,
               silences[event->victim_silence]);
    }
    printf("%s%s%s%s\n", event->is_blame ? ", blames" : "", event->has_survived ? ", survived" : "",
           event->where[0] == '\0' ? "" : ", at ", event->where);
}

static void print_story(const struct log_story *story)
{
    static const char *const verdicts[] = {"nothing", "out of memory", "host's memory",
                                           "failed",  "killed",        "plan",
                                           "waited",  "recovered"};
    const struct log_blame *blame = &story->blame;
    printf("  %s; %zu lines, %zu sources%s", verdicts[story->verdict], story->line_count,
           story->source_count, story->has_task_labels ? " with labels of tasks" : "");
    if (story->left_out_count > 0) {
        printf(", %zu left out", story->left_out_count);
    }
    if (story->event_omitted > 0) {
        printf(", %zu events omitted", story->event_omitted);
    }
    printf("%s\n", story->has_gone_before ? "; somebody had gone before" : "");
    for (size_t i = 0; i < story->event_count; i++) {
        print_event(story, &story->events[i], (int)i == story->first);
    }
    for (size_t i = 0; i < story->missing_count; i++) {
        printf("  missing: rank %" PRIu32 "\n", story->missing[i]);
    }
    for (size_t i = 0; i < story->silent_count; i++) {
        const struct log_source *source = &story->sources[story->silent[i]];
        printf("  silent: %s, step %" PRIu64 ", %s\n", source->name, source->last_step,
               silences[story->silence[i]]);
    }
    if (blame->is_said) {
        printf("  blamed: rank %" PRIu32 " on %s, exit code %" PRId64 ", line %zu of file %" PRIu32
               "\n",
               blame->rank, blame->host, blame->exit_code, blame->line, blame->file);
    }
}

/* --- texts and files --- */

/* A text, or where it is NULL a file or directory. */
static void tell(const char *path, const char *text, size_t length)
{
    const struct import_options options = {.fixed = &given.fixed,
                                           .kv_bytes_per_token = given.kv_bytes,
                                           .kv_tokens_per_second = given.kv_tokens};
    const char *slash = strrchr(path, '/');
    struct import import;
    struct import_error error = {0};
    struct log_story story;
    struct stat status = {0};
    enum import_result result;
    import_init(&import);
    log_story_init(&story);
    if (text != NULL) {
        result = given.is_log ? import_text_and_log(text, length, given.format, &options, &import,
                                                    &story, &error)
                              : import_text(text, length, given.format, &options, &import, &error);
    } else if (given.is_log && stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
        result = import_directory_and_log(path, given.format, &options, &import, &story, &error);
    } else if (given.is_log) {
        result = import_file_and_log(path, given.format, &options, &import, &story, &error);
    } else {
        result = import_file(path, given.format, &options, &import, &error);
    }
    print_import(slash == NULL ? path : slash + 1, result, &import, &error);
    if (given.is_log) {
        print_story(&story);
    }
    if (given.is_report) {
        print_report(&import);
    }
    log_story_deinit(&story);
    import_deinit(&import);
}

/* --- lines of a log, and pickles --- */

/* What is in front of the line is told from it by itself, as in a whole log, and of each cut no
 * more than there is. */
static void tell_line(const char *text, size_t length)
{
    struct log_line line;
    char time[LOG_TIME_TEXT_BYTES];
    uint64_t step = 0, total = 0;
    log_line_split(text, length, true, &line);
    printf("%.*s|%.*s", (int)line.prefix_bytes, line.at, (int)(line.length - line.prefix_bytes),
           line.at + line.prefix_bytes);
    printf(line.source[0] == '\0' ? "" : "  [%s]", line.source);
    printf(line.time.clock == LOG_CLOCK_NONE ? "" : "  %s", log_time_print(&line.time, time));
    printf(line.time.clock == LOG_CLOCK_COLLECTOR ? " of the collector" : "");
    printf(line.pid == 0 ? "" : "  pid %" PRIu64, line.pid);
    printf(line.repeated_count == 0 ? "" : "  repeated %" PRIu32, line.repeated_count);
    if (log_step_read(text, length, &step)) {
        printf("  step %" PRIu64, step);
    }
    if (log_step_total_read(text, length, &total)) {
        printf("  of %" PRIu64, total);
    }
    printf(log_prefix_length(text, length) == line.prefix_bytes ? "\n" : "  (alone: %zu)\n",
           log_prefix_length(text, length));
    for (size_t cut = 1; cut < length; cut++) {
        char *copy = malloc(cut);
        memcpy(copy, text, cut);
        if (log_prefix_length(copy, cut) > cut) {
            printf("  cut at %zu: %zu\n", cut, log_prefix_length(copy, cut));
        }
        free(copy);
    }
}

static void tell_pickle(const char *name, const char *text, size_t length)
{
    struct plain_tree tree = {0};
    struct plain_value root = plain_make(PLAIN_NOTHING);
    struct import_error error = {0};
    const enum import_result result = pickle_read(text, length, &tree, &root, &error);
    if (result == IMPORT_OK) {
        json_t *json = plain_json(&tree, root);
        char *printed = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
        printf("%s: %s\n", name, printed);
        free(printed);
        json_decref(json);
    } else {
        printf("%s: %s: %s%s\n", name, result == IMPORT_INVALID ? "invalid" : "incomplete",
               error.reason, root.kind == PLAIN_NOTHING ? "" : " (and a value)");
    }
    plain_deinit(&tree);
}

/* Takes the escapes of a line apart, in place; returns its length. */
static size_t unescape_line(char *line)
{
    size_t length = 0;
    for (const char *at = line; *at != '\0' && *at != '\n'; at++) {
        char byte = *at;
        if (byte == '\\' && at[1] != '\0') {
            at++;
            const char digits[] = {at[0] == 'x' ? at[1] : '0', at[0] == 'x' ? at[2] : '0', '\0'};
            byte = *at == 'n'   ? '\n'
                   : *at == 'r' ? '\r'
                   : *at == 't' ? '\t'
                   : *at == 'x' ? (char)strtol(digits, NULL, 16)
                                : *at;
            at += *at == 'x' ? 2 : 0;
        }
        line[length++] = byte;
    }
    return length;
}

static void tell_each_line(void)
{
    char *line = NULL;
    size_t room = 0;
    for (unsigned number = 1; getline(&line, &room, stdin) > 0; number++) {
        char name[16];
        snprintf(name, sizeof name, "%u", number);
        /* In memory of its own, so that a read beyond the text is seen. */
        const size_t length = unescape_line(line);
        char *text = malloc(length + (length == 0));
        memcpy(text, line, length);
        if (given.is_line) {
            tell_line(text, length);
        } else if (given.is_pickle) {
            tell_pickle(name, text, length);
        } else {
            tell(name, text, length);
        }
        free(text);
    }
    free(line);
}

/* Options; returns the index of the first file. */
static int read_options(int count, char *words[])
{
    int i = 1;
    for (; i < count && strncmp(words[i], "--", 2) == 0; i++) {
        const char *value = i + 1 < count ? words[i + 1] : "";
        const char *name = words[i] + 2;
        given.is_each = given.is_each || strcmp(name, "each") == 0;
        given.is_brief = given.is_brief || strcmp(name, "brief") == 0;
        given.is_line = given.is_line || strcmp(name, "lines") == 0;
        given.is_pickle = given.is_pickle || strcmp(name, "pickle") == 0;
        given.is_list = given.is_list || strcmp(name, "list") == 0;
        given.is_log = given.is_log || strcmp(name, "log") == 0;
        given.is_report = given.is_report || strcmp(name, "report") == 0;
        given.has_no_run = given.has_no_run || strcmp(name, "no-run") == 0;
        if (strcmp(name, "format") == 0) {
            given.format = value;
        } else if (strcmp(name, "chip") == 0) {
            snprintf(given.fixed.chip, sizeof given.fixed.chip, "%s", value);
        } else if (strcmp(name, "target") == 0) {
            snprintf(given.fixed.target, sizeof given.fixed.target, "%s", value);
        } else if (strcmp(name, "granule") == 0) {
            given.fixed.granule_bytes = strtoull(value, NULL, 10);
        } else if (strcmp(name, "ops") == 0) {
            given.op_count_max = strtoull(value, NULL, 10);
        } else if (strcmp(name, "option") == 0) {
            char *key = strdup(value);
            key[strcspn(key, "=")] = '\0';
            (void)setup_set_option(&given.fixed, key, value + strcspn(value, "=") + 1);
            free(key);
        } else if (strcmp(name, "kv-bytes") == 0) {
            given.kv_bytes = strtoull(value, NULL, 10);
        } else if (strcmp(name, "kv-tokens") == 0) {
            given.kv_tokens = strtoull(value, NULL, 10);
        } else if (strcmp(name, "capacity") == 0) {
            (void)size_parse(value, strlen(value), &given.fixed.capacity_bytes);
        } else {
            continue;
        }
        i++;
    }
    if (given.is_log || given.is_report) {
        given.has_no_run = true;
        given.is_brief = !given.is_list;
    }
    return i;
}

int main(int count, char *words[])
{
    int i = read_options(count, words);
    if (given.is_each) {
        tell_each_line();
    }
    for (; i < count; i++) {
        tell(words[i], NULL, 0);
    }
    return 0;
}
