/* What a whole log tells, before its failure is explained. */
#include "explain/private/files.h"
#include "present/screen.h"
#include "present/wrap.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#define FILES_MIXED UINT32_MAX /* events of several files */

enum {
    INDENT = 4,
    NAMED_COUNT_MAX = 6 /* of sources in one sentence */,
    LISTED_COUNT_MAX = 20 /* failures */
};

/* A name for JSON, and the same in the reader's words. */
struct term {
    const char *name, *words;
};

/* What happened. */
static const struct term kinds[] = {
    [LOG_EVENT_OOM] = {"out_of_memory", "the device's memory ran out"},
    [LOG_EVENT_RETRY] = {"retry", "a warning that is no failure"},
    [LOG_EVENT_PLAN] = {"budget", "a memory budget does not suffice; nothing was allocated"},
    [LOG_EVENT_SCRATCHPAD] = {"scratchpad", "a program does not fit into the memory on the chip; "
                                            "the HBM is not concerned"},
    [LOG_EVENT_HOST_OOM] = {"host_out_of_memory", "the host's memory ran out, not the device's"},
    [LOG_EVENT_KILLED] = {"killed", "killed from outside"},
    [LOG_EVENT_CRASH] = {"crash", "crashed"},
    [LOG_EVENT_EXCEPTION] = {"exception", "an exception"},
    [LOG_EVENT_TIMEOUT] = {"time_out", "waited for another one until a time-out"},
    [LOG_EVENT_PEER] = {"peer_gone", "found that another one was gone"},
};

/* How one that is silent lies to the first failure, which is of another source. */
static const struct term silences[] = {
    [LOG_SILENCE_ALONE] = {"alone", ""},
    [LOG_SILENCE_BEFORE] = {"before_failure", ", before that failure: it was gone by then"},
    [LOG_SILENCE_SAME_STEP] = {"step_of_failure", ", at about the step of that failure"},
    [LOG_SILENCE_AFTER] = {"after_failure", ", after that failure"},
};

static const char *words_of(const struct log_event *event)
{
    return event->kind == LOG_EVENT_OOM && event->form == LOG_FORM_COMPILE
               ? "the compiler refused a program that needs more memory than the device has"
               : kinds[event->kind].words;
}

const char *explain_log_source(const struct log_story *story, uint32_t source)
{
    const char *name = story->sources[source].name;
    return name[0] != '\0' ? name : story->source_count == 1 ? "the log" : "lines without a label";
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

/* Whether the log tells more than its one message does. */
static bool has_story(const struct log_story *story)
{
    if (story->verdict == LOG_VERDICT_NOTHING) {
        return false;
    }
    return story->verdict != LOG_VERDICT_OOM || story->file_count > 0 || story->event_count > 1 ||
           story->source_count > 1 || story->is_structured || !is_plain(first_event(story));
}

/* --- parts of sentences --- */

/* Takes the words as an item "  - ..." and empties them. */
static void say_item(struct facts *facts, struct writing *words)
{
    facts_say(facts, "  - ", INDENT, "%s", writing_string(words));
    writing_clear(words);
}

/* "rank 0, rank 1 and 14 more". */
static void append_sources(struct writing *words, const struct log_story *story,
                           const uint32_t *sources, uint32_t count)
{
    for (uint32_t i = 0; i < count && i < NAMED_COUNT_MAX; i++) {
        writing_append_format(words, "%s%s", i == 0 ? "" : ", ",
                              explain_log_source(story, sources[i]));
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
        return;
    }
    if (event->last_line > event->line && event->last_file == event->file) {
        writing_append_format(words, "lines %zu to %zu", event->line, event->last_line);
    } else {
        writing_append_format(words, "line %zu", event->line);
    }
    append_file(words, story, event->file);
}

static void append_time(struct writing *words, const struct log_time *time)
{
    char printed[LOG_TIME_TEXT_BYTES];
    if (log_time_print(time, printed)[0] != '\0') {
        writing_append_format(words, ", %s", printed);
    }
}

/* ": it ends at step 7, line 12 of rank3.log, 12:01:07", of a source that has steps. */
static void append_end(struct writing *words, const struct log_story *story,
                       const struct log_source *source)
{
    writing_append_format(words, " ends at step %" PRIu64 ", line %zu", source->last_step,
                          source->last_line);
    append_file(words, story, source->file);
    append_time(words, &source->last_time);
}

/* --- the parts of the section; words is scratch, and empty between them --- */

static void tell_head(struct facts *facts, const struct log_story *story, struct writing *words)
{
    static const char *const verdict_names[] = {
        [LOG_VERDICT_NOTHING] = "nothing",         [LOG_VERDICT_OOM] = "device_out_of_memory",
        [LOG_VERDICT_HOST] = "host_out_of_memory", [LOG_VERDICT_FAILED] = "failed",
        [LOG_VERDICT_KILLED] = "killed",           [LOG_VERDICT_PLAN] = "budget",
        [LOG_VERDICT_WAITED] = "only_waited",      [LOG_VERDICT_RECOVERED] = "recovered",
    };
    facts_text(facts, "verdict", verdict_names[story->verdict]);
    facts_count(facts, "lines", story->line_count);
    facts_count(facts, "sources", story->source_count);
    writing_append_format(words, "What the log says: %zu line%s", story->line_count,
                          plural(story->line_count, "", "s"));
    if (story->source_count > 1) {
        writing_append_format(words, " of %zu sources", story->source_count);
    }
    if (story->file_count > 0) {
        facts_count(facts, "files", story->file_count);
        facts_count(facts, "files_left_out", story->files_left_out_count);
        facts_boolean(facts, "order_known", story->is_order_known);
        writing_append_format(words, " in %zu file%s", story->file_count,
                              plural(story->file_count, "", "s"));
    }
    if (story->left_out_count > 0) {
        writing_append_format(words, "; left out (cut, without a text, or twice): %zu",
                              story->left_out_count);
    }
    facts_count(facts, "events_omitted", story->event_omitted);
    facts_answer(facts, "%s", writing_string(words));
    writing_clear(words);
    if (story->files_left_out_count > 0) {
        facts_say(facts, "  - ", INDENT, "not read: %zu, such as %s", story->files_left_out_count,
                  story->files_left_out);
    }
}

/* In the log's own words, and where the traceback ends in the user's code. */
static void quote_event(struct facts *facts, const struct log_event *event, struct writing *words)
{
    writing_append(words, "    \"");
    wrap_append(words, event->text, INDENT, screen_columns());
    writing_append(words, "\"");
    facts_answers(facts, words);
    writing_clear(words);
    if (event->where[0] != '\0') {
        facts_answer(facts, "    raised at %s", event->where);
    }
}

/* Which source the kernel killed, where its number says it, or the launcher names. */
static void say_victim(struct facts *facts, const struct log_story *story,
                       const struct log_event *event, struct writing *words)
{
    const struct log_source *victim = event->has_victim ? find_rank(story, event->victim_rank)
                                                        : NULL;
    if (victim != NULL && victim != &story->sources[event->source]) {
        writing_append_format(words, "rank %" PRIu32 " is %s", event->victim_rank, victim->name);
        if (victim->has_step) {
            writing_append(words, ": it");
            append_end(words, story, victim);
        }
        say_item(facts, words);
    }
    for (size_t i = 0; event->victim_pid != 0 && i < story->source_count; i++) {
        if (story->sources[i].pid == event->victim_pid) {
            facts_answer(facts, "  - process %" PRIu64 " is %s", event->victim_pid,
                         story->sources[i].name);
        }
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
static void tell_blame(struct facts *facts, const struct log_story *story, struct writing *words)
{
    const struct log_blame *blame = &story->blame;
    const int64_t code = blame->exit_code;
    if (!blame->is_said) {
        return;
    }
    facts_nest(facts, "root_cause", '{');
    writing_append(words, "torchrun saw ");
    if (blame->rank == LOG_RANK_NONE) {
        writing_append(words, "one process");
    } else {
        facts_count(facts, "rank", blame->rank);
        writing_append_format(words, "rank %" PRIu32, blame->rank);
    }
    facts_text(facts, "host", blame->host);
    if (blame->host[0] != '\0') {
        writing_append_format(words, " on %s", blame->host);
    }
    writing_append_format(words, " end first, line %zu", blame->line);
    append_file(words, story, blame->file);
    if (blame->has_exit_code && code < 0) {
        facts_count(facts, "signal", (uint64_t)-code);
        writing_append_format(words, ": signal %" PRIi64 "%s", -code, name_signal(-code));
    } else if (blame->has_exit_code) {
        facts_count(facts, "exit_code", (uint64_t)code);
        writing_append_format(words, ": exit code %" PRIi64, code);
    }
    facts_unnest(facts, '}');
    say_item(facts, words);
}

static void say_first(struct facts *facts, const struct log_story *story, struct writing *words)
{
    const struct log_event *event = first_event(story);
    writing_append_format(words, "%s: %s, %s, line %zu",
                          story->verdict == LOG_VERDICT_WAITED ? "first sign"
                          : event->has_survived                ? "survived"
                          : story->has_gone_before             ? "first error"
                                                               : "first failure",
                          explain_log_source(story, event->source), words_of(event), event->line);
    append_file(words, story, event->file);
    append_time(words, &event->time);
    if (event->has_step) {
        writing_append_format(words, ", %s step %" PRIu64, event->is_in_step ? "in" : "after",
                              event->step);
    }
    if (event->has_step && story->step_total > event->step) {
        writing_append_format(words, " of %" PRIu64, story->step_total);
    }
    say_item(facts, words);
    quote_event(facts, event, words);
    say_victim(facts, story, event, words);
    if (event->count > 1) {
        writing_append_format(words, "it is printed %" PRIu64 " times and counts once",
                              event->count);
        if (event->printer_count > 1) {
            writing_append(words, ": by ");
            append_sources(words, story, event->printers, event->printer_count);
        }
        say_item(facts, words);
    }
    if (event->has_survived) {
        facts_say(facts, "  - ", INDENT,
                  "the job went on: behind it are later steps, a retry with less or the job's end, "
                  "and no failure that ended it");
    }
    if (!story->is_order_known) {
        facts_say(facts, "  - ", INDENT,
                  "another file has such a failure, too, and the two have no clock in common: "
                  "which came first is not known");
    }
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
    if (all->waited_ms == 0) {
        return;
    }
    writing_append_format(words, ", after %" PRIu64 " s", all->waited_ms / 1000);
    if (began.clock != LOG_CLOCK_NONE && all->waited_ms < UINT64_C(1) << 40 &&
        began.time_ns > waited_ns) {
        began.time_ns -= waited_ns;
        writing_append_format(words, ": the wait began at %s", log_time_print(&began, printed));
    }
}

/* Who waited, or found another one gone: consequences, one item for each kind. */
static void say_consequences(struct facts *facts, const struct log_story *story,
                             enum log_event_kind kind, struct writing *words)
{
    uint32_t sources[LOG_EVENT_COUNT_MAX];
    struct log_event all;
    const uint32_t count = gather(story, kind, sources, &all);
    const bool is_said = count == 1 && story->verdict == LOG_VERDICT_WAITED &&
                         all.count == first_event(story)->count;
    if (count == 0 || is_said) {
        return;
    }
    writing_append(words, story->verdict == LOG_VERDICT_WAITED ? "" : "a consequence: ");
    append_sources(words, story, sources, count);
    writing_append_format(words, " %s, ", kinds[kind].words);
    append_lines(words, story, &all);
    append_wait(words, &all);
    say_item(facts, words);
}

/* How another failure is related to the first one. */
static const char *describe_role(const struct log_story *story, const struct log_event *event)
{
    const bool is_after = event->has_victim ? event->victim_silence == LOG_SILENCE_AFTER
                                            : log_event_is_before(first_event(story), event) ||
                                                  event->kind == LOG_EVENT_KILLED;
    return event->has_survived                                                ? "survived"
           : event->has_victim && event->victim_silence == LOG_SILENCE_BEFORE ? "before that"
           : is_after                                                         ? "afterwards"
                                                                              : "besides";
}

/* Other failures, in the order of the log. */
static void say_others(struct facts *facts, const struct log_story *story, struct writing *words)
{
    size_t count = 0;
    for (size_t i = 0; i < story->event_count; i++) {
        const struct log_event *event = &story->events[i];
        const bool is_failure = event->kind != LOG_EVENT_RETRY &&
                                event->kind != LOG_EVENT_TIMEOUT && event->kind != LOG_EVENT_PEER;
        if ((int)i == story->first || !is_failure || event->is_blame ||
            count++ >= LISTED_COUNT_MAX) {
            continue;
        }
        writing_append_format(words, "%s: %s, %s, ", describe_role(story, event),
                              explain_log_source(story, event->source), words_of(event));
        append_lines(words, story, event);
        append_time(words, &event->time);
        writing_append_format(words, ": %s", event->text);
        say_item(facts, words);
        say_victim(facts, story, event, words);
    }
    count = count > LISTED_COUNT_MAX ? count - LISTED_COUNT_MAX : 0;
    if (count + story->event_omitted > 0) {
        facts_answer(facts, "  - %zu more are not listed here%s", count + story->event_omitted,
                     count > 0 ? "; --json has them" : "");
    }
}

bool explain_log_ends_with_warning(const struct log_story *story)
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

static void say_warnings(struct facts *facts, const struct log_story *story, struct writing *words)
{
    uint32_t sources[LOG_EVENT_COUNT_MAX];
    struct log_event all;
    const bool is_last_word = explain_log_ends_with_warning(story);
    if (gather(story, LOG_EVENT_RETRY, sources, &all) == 0) {
        return;
    }
    writing_append_format(words, "%s, not failed: %" PRIu64 " warning%s, %s, ",
                          is_last_word ? "warned" : "recovered", all.count,
                          plural(all.count, "", "s"),
                          is_last_word     ? "no failure follows, but the log ends there"
                          : all.count == 1 ? "the request was served by a retry"
                                           : "the requests were served by a retry");
    append_lines(words, story, &all);
    say_item(facts, words);
    if (story->verdict == LOG_VERDICT_RECOVERED) {
        quote_event(facts, first_event(story), words);
    }
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

/* "ranks 2, 3"; "rank 2, which ends without a word, and rank 3, which failed first". */
static void append_missing(struct writing *words, const struct log_story *story)
{
    const uint32_t count = story->missing_count;
    bool has_remarks = false;
    for (uint32_t i = 0; i < count; i++) {
        has_remarks = has_remarks || describe_missing(story, story->missing[i])[0] != '\0';
    }
    writing_append(words, has_remarks ? "" : plural(count, "rank ", "ranks "));
    for (uint32_t i = 0; i < count; i++) {
        writing_append_format(words, "%s%s%" PRIu32 "%s",
                              i == 0                          ? ""
                              : has_remarks && i + 1 == count ? ", and "
                                                              : ", ",
                              has_remarks ? "rank " : "", story->missing[i],
                              describe_missing(story, story->missing[i]));
    }
}

/* The rank that the others waited for, and ends without a word. */
static void tell_missing(struct facts *facts, const struct log_story *story, struct writing *words)
{
    facts_nest(facts, "missing_ranks", '[');
    for (uint32_t i = 0; i < story->missing_count; i++) {
        facts_count(facts, NULL, story->missing[i]);
    }
    facts_unnest(facts, ']');
    if (story->missing_count > 0) {
        writing_append(words, "missing: the others waited for ");
        append_missing(words, story);
        say_item(facts, words);
    }
    facts_nest(facts, "silent", '[');
    for (uint32_t i = 0; i < story->silent_count; i++) {
        const struct log_source *source = &story->sources[story->silent[i]];
        facts_text(facts, NULL, source->name);
        writing_append_format(words, "silent: %s", source->name);
        append_end(words, story, source);
        writing_append_format(words, ", without an error, while others wait%s",
                              silences[story->silence[i]].words);
        say_item(facts, words);
    }
    facts_unnest(facts, ']');
    if (story->silent_count > 0) {
        facts_nest(facts, "silent_since", '[');
        for (uint32_t i = 0; i < story->silent_count; i++) {
            facts_text(facts, NULL, silences[story->silence[i]].name);
        }
        facts_unnest(facts, ']');
    }
}

static void add_event(struct facts *facts, const struct log_story *story, size_t index)
{
    const struct log_event *event = &story->events[index];
    char printed[LOG_TIME_TEXT_BYTES];
    facts_open(facts, "log_event");
    facts_text(facts, "kind", kinds[event->kind].name);
    facts_boolean(facts, "first", (int)index == story->first);
    facts_text(facts, "source", story->sources[event->source].name);
    if (story->file_count > 0) {
        facts_text(facts, "file", story->files[event->file]);
    }
    facts_count(facts, "line", event->line);
    facts_count(facts, "last_line", event->last_line);
    facts_count(facts, "count", event->count);
    if (event->time.clock != LOG_CLOCK_NONE) {
        facts_text(facts, "time", log_time_print(&event->time, printed));
    }
    if (event->has_step) {
        facts_count(facts, event->is_in_step ? "in_step" : "after_step", event->step);
    }
    if (event->waited_ms > 0) {
        facts_count(facts, "waited_ms", event->waited_ms);
    }
    if (event->has_victim) {
        facts_count(facts, "victim_rank", event->victim_rank);
    }
    facts_text_if(facts, "where", event->where);
    facts_boolean(facts, "survived", event->has_survived);
    facts_text(facts, "text", event->text);
    facts_close(facts);
}

void explain_log_story(struct facts *facts, const struct log_story *story)
{
    struct writing words = {0};
    for (size_t i = 0; i < story->event_count; i++) {
        add_event(facts, story, i);
    }
    facts_open(facts, "log");
    tell_head(facts, story, &words);
    if (story->verdict != LOG_VERDICT_RECOVERED) {
        say_first(facts, story, &words);
    }
    tell_blame(facts, story, &words);
    say_others(facts, story, &words);
    say_consequences(facts, story, LOG_EVENT_TIMEOUT, &words);
    say_consequences(facts, story, LOG_EVENT_PEER, &words);
    tell_missing(facts, story, &words);
    say_warnings(facts, story, &words);
    facts_close(facts);
    facts_line(facts, "%s", "");
    writing_deinit(&words);
}

void explain_log(struct facts *facts, const struct log_story *story)
{
    if (has_story(story)) {
        explain_log_story(facts, story);
    }
}
