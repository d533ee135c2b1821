#include "explain/log.h"

#include "explain/log_json.h"
#include "explain/log_message.h"
#include "present/screen.h"
#include "present/wrap.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define FILES_MIXED UINT32_MAX /* events of several files */

enum {
    INDENT = 4,
    NAMED_COUNT_MAX = 6 /* of sources in one sentence */,
    LISTED_COUNT_MAX = 20 /* failures */
};

/* What happened, in the reader's words. */
static const char *const kind_words[] = {
    [LOG_EVENT_OOM] = "the device's memory ran out",
    [LOG_EVENT_RETRY] = "a warning that is no failure",
    [LOG_EVENT_PLAN] = "a memory budget does not suffice; nothing was allocated",
    [LOG_EVENT_SCRATCHPAD] =
        "a program does not fit into the memory on the chip; the HBM is not concerned",
    [LOG_EVENT_HOST_OOM] = "the host's memory ran out, not the device's",
    [LOG_EVENT_KILLED] = "killed from outside",
    [LOG_EVENT_CRASH] = "crashed",
    [LOG_EVENT_EXCEPTION] = "an exception",
    [LOG_EVENT_TIMEOUT] = "waited for another one until a time-out",
    [LOG_EVENT_PEER] = "found that another one was gone",
};

static const char *words_of(const struct log_event *event)
{
    return event->kind == LOG_EVENT_OOM && event->form == LOG_FORM_COMPILE
               ? "the compiler refused a program that needs more memory than the device has"
               : kind_words[event->kind];
}

static const char *source_name(const struct log_story *story, uint32_t source)
{
    const char *name = story->sources[source].name;
    if (name[0] != '\0') {
        return name;
    }
    return story->source_count == 1 ? "the log" : "lines without a label";
}

static const struct log_event *first_event(const struct log_story *story)
{
    return &story->events[story->first];
}

/* Its message says as much as the log. */
static bool is_plain(const struct log_event *event)
{
    return event->printer_count == 1 && !event->has_step && !event->has_survived &&
           event->where[0] == '\0';
}

bool explain_log_has_story(const struct log_story *story)
{
    if (story->verdict == LOG_VERDICT_NOTHING) {
        return false;
    }
    return story->verdict != LOG_VERDICT_OOM || story->file_count > 0 || story->event_count > 1 ||
           story->source_count > 1 || story->is_structured || !is_plain(first_event(story));
}

/* --- parts of sentences --- */

static void append_words(struct writing *text, const char *words, size_t indent)
{
    struct writing visible;
    writing_init(&visible);
    writing_append_visible(&visible, words);
    wrap_append(text, writing_string(&visible), indent, screen_columns());
    writing_deinit(&visible);
}

/* "rank 0, rank 1 and 14 more". */
static void append_sources(struct writing *words, const struct log_story *story,
                           const uint32_t *sources, uint32_t count)
{
    for (uint32_t i = 0; i < count && i < NAMED_COUNT_MAX; i++) {
        writing_append_format(words, "%s%s", i == 0 ? "" : ", ", source_name(story, sources[i]));
    }
    if (count > NAMED_COUNT_MAX) {
        writing_append_format(words, " and %" PRIu32 " more", count - NAMED_COUNT_MAX);
    }
}

/* As far as the log has its own lines. */
static const struct log_source *find_rank(const struct log_story *story, uint32_t rank)
{
    for (size_t i = 0; i < story->source_count; i++) {
        if (story->sources[i].rank == rank) {
            return &story->sources[i];
        }
    }
    return NULL;
}

static void append_ranks(struct writing *words, const struct log_story *story)
{
    for (uint32_t i = 0; i < story->missing_count; i++) {
        writing_append_format(words, "%s%" PRIu32, i == 0 ? "" : ", ", story->missing[i]);
    }
}

/* " of run/rank3.log"; nothing of a log in one file. */
static void append_file(struct writing *words, const struct log_story *story, uint32_t file)
{
    if (story->file_count > 0) {
        writing_append_format(words, " of %s", story->files[file]);
    }
}

/* "line 7", "lines 7 to 9", "line 7 of rank3.log". */
static void append_lines(struct writing *words, const struct log_story *story,
                         const struct log_event *event)
{
    if (event->file == FILES_MIXED) {
        writing_append(words, "each in its file");
    } else if (event->last_line > event->line && event->last_file == event->file) {
        writing_append_format(words, "lines %zu to %zu", event->line, event->last_line);
        append_file(words, story, event->file);
    } else {
        writing_append_format(words, "line %zu", event->line);
        append_file(words, story, event->file);
    }
}

static void append_time(struct writing *words, const struct log_time *time)
{
    char printed[LOG_TIME_TEXT_BYTES];
    if (log_time_print(time, printed)[0] != '\0') {
        writing_append_format(words, ", %s", printed);
    }
}

/* Appends the words as an item "  - ..." and empties them. */
static void append_item(struct writing *text, struct writing *words)
{
    writing_append(text, "  - ");
    append_words(text, writing_string(words), INDENT);
    writing_append(text, "\n");
    writing_clear(words);
}

/* --- the parts of the section --- */

static void tell_head(const struct log_story *story, struct writing *text)
{
    writing_append_format(text, "What the log says: %zu line%s", story->line_count,
                          story->line_count == 1 ? "" : "s");
    if (story->source_count > 1) {
        writing_append_format(text, " of %zu sources", story->source_count);
    }
    if (story->file_count > 0) {
        writing_append_format(text, " in %zu file%s", story->file_count,
                              story->file_count == 1 ? "" : "s");
    }
    if (story->left_out_count > 0) {
        writing_append_format(text, "; left out (cut, without a text, or twice): %zu",
                              story->left_out_count);
    }
    writing_append(text, "\n");
    if (story->files_left_out_count > 0) {
        struct writing words;
        writing_init(&words);
        writing_append_format(&words, "not read: %zu, such as %s", story->files_left_out_count,
                              story->files_left_out);
        append_item(text, &words);
        writing_deinit(&words);
    }
}

/* In the log's own words, and where the traceback ends in the user's code. */
static void quote_event(const struct log_event *event, struct writing *text)
{
    writing_append(text, "    \"");
    append_words(text, event->text, INDENT);
    writing_append(text, "\"\n");
    if (event->where[0] != '\0') {
        writing_append(text, "    raised at ");
        writing_append_visible(text, event->where);
        writing_append(text, "\n");
    }
}

/* Which source the kernel killed, where its number says it, or the launcher names. */
static void tell_victim(const struct log_story *story, const struct log_event *event,
                        struct writing *text)
{
    const struct log_source *victim = event->has_victim ? find_rank(story, event->victim_rank)
                                                        : NULL;
    if (victim != NULL && victim != &story->sources[event->source]) {
        struct writing words;
        writing_init(&words);
        writing_append_format(&words, "rank %" PRIu32 " is %s", event->victim_rank, victim->name);
        if (victim->has_step) {
            writing_append_format(&words, ": it ends at step %" PRIu64 ", line %zu",
                                  victim->last_step, victim->last_line);
            append_file(&words, story, victim->file);
            append_time(&words, &victim->last_time);
        }
        append_item(text, &words);
        writing_deinit(&words);
    }
    for (size_t i = 0; event->victim_pid != 0 && i < story->source_count; i++) {
        if (story->sources[i].pid == event->victim_pid) {
            writing_append_format(text, "  - process %" PRIu64 " is %s\n", event->victim_pid,
                                  story->sources[i].name);
        }
    }
}

/* Of how many. */
static void append_total(const struct log_story *story, const struct log_event *event,
                         struct writing *words)
{
    if (story->step_total > event->step) {
        writing_append_format(words, " of %" PRIu64, story->step_total);
    }
}

static const char *name_signal(int64_t number)
{
    return number == SIGKILL   ? ", SIGKILL"
           : number == SIGTERM ? ", SIGTERM"
           : number == SIGSEGV ? ", SIGSEGV"
           : number == SIGABRT ? ", SIGABRT"
           : number == SIGBUS  ? ", SIGBUS"
                               : "";
}

/* Whom torchrun saw end first. */
static void tell_blame(const struct log_story *story, struct writing *text)
{
    const struct log_blame *blame = &story->blame;
    struct writing words;
    writing_init(&words);
    writing_append(&words, "torchrun saw ");
    if (blame->rank == LOG_RANK_NONE) {
        writing_append(&words, "one process");
    } else {
        writing_append_format(&words, "rank %" PRIu32, blame->rank);
    }
    if (blame->host[0] != '\0') {
        writing_append_format(&words, " on %s", blame->host);
    }
    writing_append_format(&words, " end first, line %zu", blame->line);
    append_file(&words, story, blame->file);
    if (blame->has_exit_code && blame->exit_code < 0) {
        writing_append_format(&words, ": signal %" PRIi64 "%s", -blame->exit_code,
                              name_signal(-blame->exit_code));
    } else if (blame->has_exit_code) {
        writing_append_format(&words, ": exit code %" PRIi64, blame->exit_code);
    }
    append_item(text, &words);
    writing_deinit(&words);
}

static void tell_first(const struct log_story *story, struct writing *text)
{
    const struct log_event *event = first_event(story);
    struct writing words;
    writing_init(&words);
    writing_append_format(&words, "%s: %s, %s, line %zu",
                          story->verdict == LOG_VERDICT_WAITED ? "first sign"
                          : event->has_survived                ? "survived"
                          : story->has_gone_before             ? "first error"
                                                               : "first failure",
                          source_name(story, event->source), words_of(event), event->line);
    append_file(&words, story, event->file);
    append_time(&words, &event->time);
    if (event->has_step) {
        writing_append_format(&words, ", %s step %" PRIu64, event->is_in_step ? "in" : "after",
                              event->step);
        append_total(story, event, &words);
    }
    append_item(text, &words);
    quote_event(event, text);
    tell_victim(story, event, text);
    if (event->count > 1) {
        writing_append_format(&words, "it is printed %" PRIu64 " times and counts once",
                              event->count);
        if (event->printer_count > 1) {
            writing_append(&words, ": by ");
            append_sources(&words, story, event->printers, event->printer_count);
        }
        append_item(text, &words);
    }
    if (event->has_survived) {
        writing_append(&words,
                       "the job went on: behind it are later steps, a retry with less or the "
                       "job's end, and no failure that ended it");
        append_item(text, &words);
    }
    if (!story->is_order_known) {
        writing_append(&words, "another file has such a failure, too, and the two have no clock in "
                               "common: which came first is not known");
        append_item(text, &words);
    }
    writing_deinit(&words);
}

/* Sources with an event of this kind, each once, and the first and last line of these events. */
static uint32_t gather(const struct log_story *story, enum log_event_kind kind, uint32_t *sources,
                       struct log_event *all)
{
    uint32_t count = 0;
    *all = (struct log_event){.line = SIZE_MAX};
    for (size_t i = 0; i < story->event_count; i++) {
        const struct log_event *event = &story->events[i];
        bool is_known = false;
        if (event->kind != kind || event->is_blame) { /* tell_blame */
            continue;
        }
        for (uint32_t j = 0; j < count; j++) {
            is_known = is_known || sources[j] == event->source;
        }
        if (!is_known) {
            sources[count++] = event->source;
        }
        all->time = all->count == 0 ? event->time : all->time;
        all->file = all->count == 0 || all->file == event->file ? event->file : FILES_MIXED;
        all->last_file = all->file;
        all->line = event->line < all->line ? event->line : all->line;
        all->last_line = event->last_line > all->last_line ? event->last_line : all->last_line;
        all->waited_ms = event->waited_ms > all->waited_ms ? event->waited_ms : all->waited_ms;
        all->count += event->count;
    }
    return count;
}

/* The failure that the others waited for is from before their wait. */
static void append_wait(struct writing *words, const struct log_event *all)
{
    const uint64_t waited_ns = all->waited_ms * 1000000;
    struct log_time began = all->time;
    char printed[LOG_TIME_TEXT_BYTES];
    writing_append_format(words, ", after %" PRIu64 " s", all->waited_ms / 1000);
    if (began.clock != LOG_CLOCK_NONE && all->waited_ms < UINT64_C(1) << 40 &&
        began.time_ns > waited_ns) {
        began.time_ns -= waited_ns;
        writing_append_format(words, ": the wait began at %s", log_time_print(&began, printed));
    }
}

/* Who waited, or found another one gone: consequences, one item for each kind. */
static void tell_consequences(const struct log_story *story, enum log_event_kind kind,
                              struct writing *text)
{
    uint32_t sources[LOG_EVENT_COUNT_MAX];
    struct log_event all;
    struct writing words;
    const uint32_t count = gather(story, kind, sources, &all);
    const bool is_said = count == 1 && story->verdict == LOG_VERDICT_WAITED &&
                         all.count == first_event(story)->count;
    if (count == 0 || is_said) {
        return;
    }
    writing_init(&words);
    writing_append(&words, story->verdict == LOG_VERDICT_WAITED ? "" : "a consequence: ");
    append_sources(&words, story, sources, count);
    writing_append_format(&words, " %s, ", kind_words[kind]);
    append_lines(&words, story, &all);
    if (all.waited_ms > 0) {
        append_wait(&words, &all);
    }
    append_item(text, &words);
    writing_deinit(&words);
}

static void tell_event(const struct log_story *story, const struct log_event *event,
                       const char *role, struct writing *text)
{
    struct writing words;
    writing_init(&words);
    writing_append_format(&words, "%s%s, %s, ", role, source_name(story, event->source),
                          words_of(event));
    append_lines(&words, story, event);
    append_time(&words, &event->time);
    writing_append_format(&words, ": %s", event->text);
    append_item(text, &words);
    writing_deinit(&words);
}

/* How another failure is related to the first one. */
static const char *describe_role(const struct log_story *story, const struct log_event *event)
{
    const bool is_after = log_event_is_before(first_event(story), event) ||
                          event->kind == LOG_EVENT_KILLED;
    if (event->has_survived) {
        return "survived: ";
    }
    if (event->has_victim) {
        return event->victim_silence == LOG_SILENCE_BEFORE  ? "before that: "
               : event->victim_silence == LOG_SILENCE_AFTER ? "afterwards: "
                                                            : "besides: ";
    }
    return is_after ? "afterwards: " : "besides: ";
}

/* Other failures, in the order of the log. */
static void tell_others(const struct log_story *story, struct writing *text)
{
    size_t count = 0;
    for (size_t i = 0; i < story->event_count; i++) {
        const struct log_event *event = &story->events[i];
        const bool is_failure = event->kind != LOG_EVENT_RETRY &&
                                event->kind != LOG_EVENT_TIMEOUT && event->kind != LOG_EVENT_PEER;
        if ((int)i == story->first || !is_failure || event->is_blame) {
            continue;
        }
        if (count++ < LISTED_COUNT_MAX) {
            tell_event(story, event, describe_role(story, event), text);
            tell_victim(story, event, text);
        }
    }
    count = count > LISTED_COUNT_MAX ? count - LISTED_COUNT_MAX : 0;
    if (count + story->event_omitted > 0) {
        writing_append_format(text, "  - %zu more are not listed here%s\n",
                              count + story->event_omitted, count > 0 ? "; --json has them" : "");
    }
}

/* Whether a source prints nothing behind its warning: what came of the request is not known. */
static bool is_last_word(const struct log_story *story)
{
    for (size_t i = 0; i < story->event_count; i++) {
        const struct log_event *event = &story->events[i];
        if (event->kind == LOG_EVENT_RETRY &&
            event->last_order >= story->sources[event->source].last_order) {
            return true;
        }
    }
    return false;
}

static void tell_warnings(const struct log_story *story, struct writing *text)
{
    uint32_t sources[LOG_EVENT_COUNT_MAX];
    struct log_event all;
    struct writing words;
    if (gather(story, LOG_EVENT_RETRY, sources, &all) == 0) {
        return;
    }
    writing_init(&words);
    writing_append_format(&words, "%s, not failed: %" PRIu64 " warning%s, %s, ",
                          is_last_word(story) ? "warned" : "recovered", all.count,
                          all.count == 1 ? "" : "s",
                          is_last_word(story) ? "no failure follows, but the log ends there"
                          : all.count == 1    ? "the request was served by a retry"
                                              : "the requests were served by a retry");
    append_lines(&words, story, &all);
    append_item(text, &words);
    if (story->verdict == LOG_VERDICT_RECOVERED) {
        quote_event(first_event(story), text);
    }
    writing_deinit(&words);
}

/* What is known of one that the others waited for. */
static const char *describe_missing(const struct log_story *story, uint32_t rank)
{
    const struct log_source *source = find_rank(story, rank);
    if (story->sources[first_event(story)->source].rank == rank) {
        return story->has_gone_before ? ", whose failure is above" : ", which failed first";
    }
    for (size_t i = 0; i < story->event_count; i++) {
        if (story->events[i].has_victim && story->events[i].victim_rank == rank) {
            return ", which was killed";
        }
    }
    for (uint32_t i = 0; i < story->silent_count && source != NULL; i++) {
        if (source == &story->sources[story->silent[i]]) {
            return ", which ends without a word";
        }
    }
    return "";
}

/* "rank 2, which ends without a word, and rank 3, which failed first". */
static void append_missing(struct writing *words, const struct log_story *story)
{
    bool has_remarks = false;
    for (uint32_t i = 0; i < story->missing_count; i++) {
        has_remarks = has_remarks || describe_missing(story, story->missing[i])[0] != '\0';
    }
    if (!has_remarks) {
        writing_append(words, story->missing_count == 1 ? "rank " : "ranks ");
        append_ranks(words, story);
        return;
    }
    for (uint32_t i = 0; i < story->missing_count; i++) {
        writing_append_format(words, "%srank %" PRIu32 "%s",
                              i == 0                          ? ""
                              : i + 1 == story->missing_count ? ", and "
                                                              : ", ",
                              story->missing[i], describe_missing(story, story->missing[i]));
    }
}

/* How it lies to the first failure, which is of another source. */
static const char *const silence_words[] = {
    [LOG_SILENCE_ALONE] = "",
    [LOG_SILENCE_BEFORE] = ", before that failure: it was gone by then",
    [LOG_SILENCE_SAME_STEP] = ", at about the step of that failure",
    [LOG_SILENCE_AFTER] = ", after that failure",
};

/* The rank that the others waited for, and ends without a word. */
static void tell_missing(const struct log_story *story, struct writing *text)
{
    struct writing words;
    writing_init(&words);
    if (story->missing_count > 0) {
        writing_append(&words, "missing: the others waited for ");
        append_missing(&words, story);
        append_item(text, &words);
    }
    for (uint32_t i = 0; i < story->silent_count; i++) {
        const struct log_source *source = &story->sources[story->silent[i]];
        writing_append_format(&words, "silent: %s ends at step %" PRIu64 ", line %zu", source->name,
                              source->last_step, source->last_line);
        append_file(&words, story, source->file);
        append_time(&words, &source->last_time);
        writing_append_format(&words, ", without an error, while others wait%s",
                              silence_words[story->silence[i]]);
        append_item(text, &words);
    }
    writing_deinit(&words);
}

static void tell(const struct log_story *story, struct writing *text)
{
    tell_head(story, text);
    if (story->verdict != LOG_VERDICT_RECOVERED) {
        tell_first(story, text);
    }
    if (story->blame.is_said) {
        tell_blame(story, text);
    }
    tell_others(story, text);
    tell_consequences(story, LOG_EVENT_TIMEOUT, text);
    tell_consequences(story, LOG_EVENT_PEER, text);
    tell_missing(story, text);
    tell_warnings(story, text);
}

void explain_log(const struct log_story *story, bool is_json, struct writing *text)
{
    if (!explain_log_has_story(story)) {
        return;
    }
    if (is_json) {
        explain_log_in_json(story, text);
        return;
    }
    tell(story, text);
    writing_append(text, "\n");
}

/* --- without a list --- */

/* Whose log to look into, for one that only waited. */
static void advise_waited(const struct log_story *story, struct writing *words)
{
    if (story->silent_count > 0) {
        writing_append_format(
            words,
            "Nobody in this log says why: %s stopped without a word. Look at what its host says "
            "(dmesg for \"Killed process\", the scheduler, py-spy dump of the process).",
            source_name(story, story->silent[0]));
    } else if (story->missing_count > 0) {
        writing_append_format(words,
                              "This log has only those who waited. The cause is in the log of "
                              "rank%s ",
                              story->missing_count == 1 ? "" : "s");
        append_ranks(words, story);
        writing_append(words, ", from before the wait began: give explain that log.");
    } else {
        writing_append(words, "This log has only those who waited. The cause is in the log of "
                              "another rank: give explain the one whose last step is the lowest.");
    }
}

static void advise(const struct log_story *story, struct writing *words)
{
    switch (story->verdict) {
    case LOG_VERDICT_HOST:
        writing_append(
            words, "It is the host's memory, not the device: no allocator of a device failed. "
                   "Give the job more (Slurm: --mem, Kubernetes: limits.memory), or let it take "
                   "less: fewer workers of the data loader, no whole checkpoint in host memory.");
        break;
    case LOG_VERDICT_KILLED:
        writing_append(
            words, "Nothing in this log ran out of the device's memory. SIGKILL (exit code 137) "
                   "comes most often from the kernel when the host's memory is full: look for "
                   "\"Killed process\" in dmesg of that host. Otherwise an operator or the "
                   "scheduler ended it.");
        break;
    case LOG_VERDICT_WAITED:
        advise_waited(story, words);
        break;
    case LOG_VERDICT_RECOVERED:
        writing_append(
            words, is_last_word(story)
                       ? "Not an out-of-memory as far as this log goes: a request that "
                         "fails raises an error after the warning. See whether the job "
                         "still runs, or give explain the rest of the log."
                       : "Not an out-of-memory: the allocator warned, then served the requests. "
                         "If the job is slow, its memory is nearly full; otherwise there is "
                         "nothing to do.");
        break;
    case LOG_VERDICT_PLAN:
        writing_append(words,
                       "Not an out-of-memory: the server refused to start because its budget "
                       "is too small. Give it more of the device, or a shorter sequence.");
        break;
    default:
        writing_append(words,
                       first_event(story)->kind == LOG_EVENT_SCRATCHPAD
                           ? "Not an out-of-memory of the device: smaller blocks of the kernel, or "
                             "--xla_tpu_scoped_vmem_limit_kib, make the program fit."
                           : "Not an out-of-memory: the job failed for another reason.");
    }
}

void explain_log_alone(const struct log_story *story, const char *reason, bool is_json,
                       struct writing *text)
{
    struct writing words;
    if (is_json) {
        explain_log_in_json(story, text);
        if (story->verdict == LOG_VERDICT_OOM) {
            explain_log_message(first_event(story), reason, is_json, text);
        }
        return;
    }
    writing_init(&words);
    tell(story, text);
    writing_append(text, "\n");
    if (story->verdict == LOG_VERDICT_OOM) {
        explain_log_message(first_event(story), reason, is_json, text);
    } else {
        advise(story, &words);
        append_words(text, writing_string(&words), 0);
    }
    writing_append(text, "\n");
    writing_deinit(&words);
}
