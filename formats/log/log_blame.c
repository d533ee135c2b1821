/* torchrun's report on its children. */
#include "formats/log/private/log_reading.h"

#include "formats/common/cursor.h"
#include "formats/common/phrase.h"
#include "harness/base/utf8.h"

#include <stdio.h>
#include <string.h>

/* Goes to what stands behind "  exitcode  : ".  False: it is another line. */
static bool find_value(const struct log_here *here, const char *key, struct cursor *value)
{
    *value = cursor_make(here->words, here->length);
    cursor_skip(value, ' ');
    if (!cursor_take_text(value, key)) {
        return false;
    }
    cursor_skip(value, ' ');
    if (!cursor_take(value, ':')) {
        return false;
    }
    cursor_skip(value, ' ');
    return true;
}

/* "2031-04-02_08:00:04" as a number that compares as times do. */
static uint64_t read_digits(const struct cursor *value)
{
    uint64_t number = 0;
    for (const char *at = value->at; at < value->end && at < value->at + 19; at++) {
        number = *at >= '0' && *at <= '9' ? number * 10 + (uint64_t)(*at - '0') : number;
    }
    return number;
}

/* The time stands first: an earlier failure than the one that was kept takes its place. */
static void read_time(const struct log_here *here, struct log_source_state *state,
                      struct log_blame *blame)
{
    struct cursor value;
    const uint64_t time = find_value(here, "time", &value) ? read_digits(&value) : 0;
    if (time == 0) {
        return;
    }
    if (!state->is_kept_blame && blame->time != 0 && time < blame->time) {
        *blame = (struct log_blame){
            .is_said = true, .rank = LOG_RANK_NONE, .file = here->file, .line = state->blame_line};
        state->is_kept_blame = true;
    }
    if (state->is_kept_blame && blame->time == 0) {
        blame->time = time;
    }
}

/* True for the line that has the exit code. */
static bool read_blame(struct log_blame *blame, const struct log_here *here)
{
    struct cursor value;
    uint64_t rank, code;
    if (find_value(here, "host", &value)) {
        phrase_print(value.at, cursor_left(&value), blame->host, sizeof blame->host);
        utf8_make_printable(blame->host);
        return false;
    }
    if (find_value(here, "rank", &value) &&
        log_number_behind(value.at, cursor_left(&value), "", &rank) && rank < UINT32_MAX) {
        blame->rank = (uint32_t)rank;
        return false;
    }
    if (find_value(here, "exitcode", &value) && !blame->has_exit_code) {
        const bool is_signal = cursor_is_at(&value, '-');
        blame->has_exit_code = log_number_behind(value.at, cursor_left(&value),
                                                 is_signal ? "-" : "", &code) &&
                               code < 1024;
        if (blame->has_exit_code) {
            blame->exit_code = is_signal ? -(int64_t)code : (int64_t)code;
        }
        return blame->has_exit_code;
    }
    return false;
}

enum log_event_kind log_blame_kind(const struct log_blame *blame)
{
    const int64_t code = blame->exit_code < 0 ? 128 - blame->exit_code : blame->exit_code;
    const enum log_event_kind kind = log_kind_of_exit((uint64_t)code);
    return kind != LOG_EVENT_NONE ? kind : code > 128 ? LOG_EVENT_CRASH : LOG_EVENT_EXCEPTION;
}

/* True for the lines of a report: rulers, headings, "[0]:", and lines that are indented. */
static bool is_within(const struct log_here *here)
{
    static const char *const headings[] = {" FAILED", "Failures:", "Root Cause"};
    for (size_t i = 0; i < sizeof headings / sizeof headings[0]; i++) {
        if (log_has_words(here->words, here->length, headings[i])) {
            return true;
        }
    }
    return here->words[0] != '\0' && strchr(" [-=<", here->words[0]) != NULL;
}

bool log_take_blame(struct log_reading *reading, const struct log_here *here,
                    struct log_words *words)
{
    struct log_source_state *state = &reading->states[here->source];
    struct log_blame *blame = &reading->story->blame;
    if (words->may_be_blame && log_has_words(here->words, here->length, "ChildFailedError")) {
        state->is_in_report = true;
        return false;
    }
    if (words->may_be_blame &&
        log_has_words(here->words, here->length, "Root Cause (first observed failure)")) {
        state->is_in_report = state->is_in_blame = true;
        state->is_kept_blame = !blame->is_said;
        state->blame_line = here->file_line;
        if (!blame->is_said) {
            *blame = (struct log_blame){.is_said = true,
                                        .rank = LOG_RANK_NONE,
                                        .file = here->file,
                                        .line = here->file_line};
        }
        return true;
    }
    if (!state->is_in_report) {
        return false;
    }
    if (!is_within(here) || (here->words[0] == '=' && state->is_in_blame)) {
        state->is_in_report = state->is_in_blame = false;
        return here->words[0] == '=';
    }
    if (state->is_in_blame) {
        read_time(here, state, blame);
    }
    if (state->is_in_blame && state->is_kept_blame && read_blame(blame, here)) {
        *words = (struct log_words){.kind = log_blame_kind(blame), .is_blame = true};
        return false;
    }
    return true;
}
