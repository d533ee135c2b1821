/* Lines become events: what is printed several times is one. */
#include "formats/log/private/log_reading.h"

#include "formats/common/phrase.h"
#include "harness/base/array.h"
#include "harness/base/hash.h"
#include "harness/base/utf8.h"

#include <stdio.h>
#include <string.h>

enum { WORDS_BYTES = 160 /* that tell a message from others */ };

bool log_forms_are_one(enum log_form a, enum log_form b)
{
    static const bool is_gpu[] = {
        [LOG_FORM_BFC] = true, [LOG_FORM_XLA_GPU] = true, [LOG_FORM_NO_SIZE] = true};
    return a == b || (a < sizeof is_gpu && b < sizeof is_gpu && is_gpu[a] && is_gpu[b]);
}

/* Hashes the words up to the quote that ends them: the same whoever quotes them. */
static uint64_t hash_words_at(const struct log_here *here, size_t at)
{
    size_t length = here->length - at < WORDS_BYTES ? here->length - at : WORDS_BYTES;
    const char *begin = here->words + at;
    for (size_t i = 0; i < length; i++) {
        if (begin[i] == '\'' || begin[i] == '"') {
            length = i;
        }
    }
    while (length > 0 && (begin[length - 1] == ' ' || begin[length - 1] == '.')) {
        length--;
    }
    return hash_bytes(HASH_START, begin, length);
}

/* "Killed process 4242 (python)", "task=python,pid=4242,uid=0". */
static bool read_victim(const struct log_here *here, uint64_t *pid)
{
    return log_number_behind(here->words, here->length, "Killed process", pid) ||
           log_number_behind(here->words, here->length, ",pid", pid);
}

/* "srun: error: n7: task 3: Killed", "... n7: tasks 3-5: Out Of Memory", "mpirun noticed that
 * process rank 3 with PID 81 on node n7 exited on signal 9 (Killed)." */
static bool read_victim_rank(const struct log_here *here, uint32_t *rank)
{
    static const char *const before[] = {": task", ": tasks", "mpirun noticed that process rank"};
    const bool is_srun = log_has_words(here->words, here->length, "srun: error:");
    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
        uint64_t number;
        if ((is_srun || before[i][0] != ':') &&
            log_number_behind(here->words, here->length, before[i], &number) &&
            number < LOG_RANK_COUNT_MAX) {
            *rank = (uint32_t)number;
            return true;
        }
    }
    return false;
}

/* True if the words tell again what the event was. */
static bool is_again(const struct log_reading *reading, const struct log_event *event,
                     const struct log_here *here, const struct log_words *words, uint64_t hash)
{
    const bool is_same_source = event->source == here->source;
    if (event->kind != words->kind) {
        return false;
    }
    if (words->kind == LOG_EVENT_RETRY) {
        return is_same_source && event->form == words->form;
    }
    if (words->kind == LOG_EVENT_HOST_OOM) { /* the kernel tells it in two lines */
        uint64_t pid = 0;
        uint32_t rank;
        /* Slurm counts what was killed, and srun says behind it which tasks. */
        const bool is_slurm_count = !event->has_victim && event->victim_pid == 0 &&
                                    (strstr(event->text, "oom_kill event") != NULL ||
                                     strstr(event->text, "oom-kill event") != NULL);
        (void)read_victim(here, &pid);
        return is_same_source &&
               ((is_slurm_count && read_victim_rank(here, &rank)) || event->words_hash == hash ||
                (pid != 0 && event->victim_pid == pid));
    }
    if (words->kind == LOG_EVENT_OOM || words->kind == LOG_EVENT_EXCEPTION) {
        const bool has_gone_on = is_same_source &&
                                 (reading->story->sources[here->source].step_count >
                                      event->steps_before ||
                                  reading->states[here->source].went_on > event->last_order);
        const bool is_retold = words->kind == LOG_EVENT_OOM && is_same_source &&
                               log_forms_are_one(event->form, words->form) &&
                               (event->high_bytes == 0 || words->high_bytes == 0 ||
                                (event->form != words->form &&
                                 event->low_bytes <= words->high_bytes &&
                                 words->low_bytes <= event->high_bytes));
        return !has_gone_on && (event->words_hash == hash || is_retold);
    }
    return is_same_source && event->words_hash == hash;
}

static void count_printer(struct log_event *event, uint32_t source)
{
    for (uint32_t i = 0; i < event->printer_count; i++) {
        if (event->printers[i] == source) {
            return;
        }
    }
    if (event->printer_count < LOG_PRINTER_COUNT_MAX) {
        event->printers[event->printer_count++] = source;
    }
}

static void join_text(struct log_reading *reading, const struct log_here *here)
{
    struct log_source_state *state = &reading->states[here->source];
    if (state->open_event == LOG_EVENT_UNKNOWN) {
        return;
    }
    struct log_event *event = &reading->story->events[state->open_event];
    const size_t used = strlen(event->text);
    event->text[used] = ' ';
    phrase_print(here->words, here->length, event->text + used + 1, LOG_TEXT_BYTES - used - 1);
    utf8_make_printable(event->text);
    state->open_event = LOG_EVENT_UNKNOWN;
}

/* The event of these words, new or known; NULL: no more are kept. */
static struct log_event *find_event(struct log_reading *reading, const struct log_here *here,
                                    const struct log_words *words)
{
    struct log_story *story = reading->story;
    const uint64_t hash = hash_words_at(here, words->at);
    for (size_t i = story->event_count; i > 0; i--) {
        if (is_again(reading, &story->events[i - 1], here, words, hash)) {
            return &story->events[i - 1];
        }
    }
    const bool is_memory = words->kind == LOG_EVENT_OOM || words->kind == LOG_EVENT_HOST_OOM;
    const size_t reserved = is_memory ? 0 : LOG_EVENT_COUNT_RESERVED;
    if (story->event_count >= LOG_EVENT_COUNT_MAX - reserved) {
        story->event_omitted++;
        return NULL;
    }
    story->events = array_grown(story->events, story->event_count, &story->event_room,
                                sizeof *story->events);
    const struct log_source *source = &story->sources[here->source];
    struct log_event *event = &story->events[story->event_count++];
    *event = (struct log_event){.kind = words->kind,
                                .form = words->form,
                                .source = here->source,
                                .file = here->file,
                                .line = here->file_line,
                                .order = reading->order,
                                .time = here->line.time,
                                .has_step = source->has_step || reading->has_step,
                                .step = source->has_step ? source->last_step : reading->last_step,
                                .is_in_step = source->is_in_step,
                                .low_bytes = words->low_bytes,
                                .high_bytes = words->high_bytes,
                                .is_blame = words->is_blame,
                                .steps_before = source->step_count,
                                .words_hash = hash};
    /* The text of a long line begins a little before the words. */
    const size_t begin = words->at > LOG_TEXT_BYTES / 2 ? words->at - LOG_TEXT_BYTES / 4 : 0;
    phrase_print(here->words + begin, here->length - begin, event->text, LOG_TEXT_BYTES);
    utf8_make_printable(event->text);
    return event;
}

/* --- warnings --- */

/* True if the words ask for the bytes that the last warnings of the source did. */
static bool is_of_retry(const struct log_source_state *state, const struct log_words *words)
{
    return words->high_bytes > 0 && words->low_bytes <= state->retry_high_bytes &&
           state->retry_low_bytes <= words->high_bytes;
}

/* The warnings right before a failure of the same request are its own. */
static void uncount_retries(struct log_reading *reading, const struct log_here *here,
                            const struct log_words *words)
{
    struct log_source_state *state = &reading->states[here->source];
    if (state->retry_event != LOG_EVENT_UNKNOWN && state->retry_high_bytes > 0 &&
        is_of_retry(state, words)) {
        struct log_event *retry = &reading->story->events[state->retry_event];
        retry->count -= state->retry_run < retry->count ? state->retry_run : retry->count;
        state->retry_run = 0;
        state->retry_event = LOG_EVENT_UNKNOWN;
    }
}

/* --- who waits for whom --- */

static void add_missing(struct log_story *story, uint64_t rank)
{
    for (uint32_t i = 0; i < story->missing_count; i++) {
        if (story->missing[i] == rank) {
            return;
        }
    }
    if (story->missing_count < LOG_MISSING_COUNT_MAX && rank < LOG_RANK_COUNT_MAX) {
        story->missing[story->missing_count++] = (uint32_t)rank;
    }
}

/* Each "/job:jax_worker/replica:0/task:3" of the line. */
static void read_task_names(struct log_story *story, const char *text, size_t length)
{
    static const char word[] = "/task:";
    const char *end = text + length;
    for (const char *at = text;
         (at = memmem(at, (size_t)(end - at), word, sizeof word - 1)) != NULL;) {
        uint64_t task;
        if (log_number_behind(at, (size_t)(end - at), word, &task)) {
            add_missing(story, task);
        }
        at += sizeof word - 1;
    }
}

static void read_timeout(struct log_reading *reading, const struct log_here *here,
                         struct log_event *event)
{
    struct log_source *source = &reading->story->sources[here->source];
    uint64_t rank = source->rank;
    (void)log_number_behind(here->words, here->length, "[Rank", &rank);
    if (rank < LOG_RANK_COUNT_MAX &&
        log_has_words(here->words, here->length, "collective operation timeout")) {
        reading->has_timed_out[rank / 64] |= UINT64_C(1) << rank % 64;
        reading->rank_count = rank >= reading->rank_count ? (uint32_t)rank + 1
                                                          : reading->rank_count;
    }
    (void)log_number_behind(here->words, here->length, "ran for", &event->waited_ms);
    reading->states[here->source].is_in_barrier = log_has_words(here->words, here->length,
                                                                "Barrier timed out");
    read_task_names(reading->story, here->words, here->length);
}

static bool read_barrier_line(struct log_reading *reading, const struct log_here *here)
{
    struct log_source_state *state = &reading->states[here->source];
    state->is_in_barrier = state->is_in_barrier && here->length > 5 &&
                           memcmp(here->words, "/job:", 5) == 0;
    if (state->is_in_barrier) {
        read_task_names(reading->story, here->words, here->length);
    }
    return state->is_in_barrier;
}

/* --- tracebacks --- */

/* Files of packages and of Python itself are not the user's. */
static bool is_users_file(const char *path, size_t length)
{
    static const char *const others[] = {"site-packages/", "dist-packages/", "/lib/python", "<"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (log_has_words(path, length, others[i])) {
            return false;
        }
    }
    return length > 0;
}

/* "  File "/job/train.py", line 88, in step": the last one of the user's is kept. */
static bool read_frame(struct log_source_state *state, const struct log_here *here)
{
    static const char before[] = "File \"";
    const char *end = here->words + here->length;
    const char *path = memmem(here->words, here->length, before, sizeof before - 1);
    uint64_t line;
    if (path == NULL) {
        return false;
    }
    path += sizeof before - 1;
    const char *close = memchr(path, '"', (size_t)(end - path));
    if (close == NULL || !log_number_behind(close, (size_t)(end - close), "\", line", &line)) {
        return false;
    }
    const char *function = memmem(close, (size_t)(end - close), ", in ", 5);
    const size_t length = (size_t)(close - path);
    if (is_users_file(path, length)) {
        const int name_length = function == NULL ? 0 : (int)(end - function - 1);
        snprintf(state->where, sizeof state->where, "%.*s:%lu%.*s",
                 (int)(length < LOG_WHERE_BYTES ? length : LOG_WHERE_BYTES), path,
                 (unsigned long)line, name_length, function == NULL ? "" : function + 1);
        utf8_make_printable(state->where);
    }
    return true;
}

/* "ValueError: no such thing", "torch.OutOfMemoryError: ...", "KeyboardInterrupt". */
static bool is_exception(const struct log_here *here)
{
    size_t i = 0;
    while (i < here->length && (phrase_is_word(here->words[i]) || here->words[i] == '.')) {
        i++;
    }
    return i > 3 && (i == here->length || here->words[i] == ':') && here->words[0] >= 'A' &&
           here->words[i - 1] != '.';
}

/* True when the line is in the midst of a traceback; its last line may be an event. */
static bool read_traceback(struct log_source_state *state, const struct log_here *here,
                           struct log_words *words)
{
    static const char head[] = "Traceback (most recent call last)";
    if (log_has_words(here->words, here->length, head)) {
        state->is_in_traceback = true;
        state->where[0] = '\0';
        return true;
    }
    if (!state->is_in_traceback) {
        return false;
    }
    if (read_frame(state, here) || here->words[0] == ' ' || here->words[0] == '\t') {
        return true;
    }
    state->is_in_traceback = false;
    if (words->kind == LOG_EVENT_NONE && is_exception(here)) {
        words->kind = strncmp(here->words, "KeyboardInterrupt", 17) == 0 && here->length == 17
                          ? LOG_EVENT_KILLED
                          : LOG_EVENT_EXCEPTION;
    }
    return false;
}

/* --- lines --- */

static void take_step(struct log_reading *reading, const struct log_here *here)
{
    struct log_source *source = &reading->story->sources[here->source];
    uint64_t step, total;
    if (log_step_total_read(here->words, here->length, &total) &&
        total > reading->story->step_total) {
        reading->story->step_total = total;
    }
    if (!log_step_read(here->words, here->length, &step)) {
        return;
    }
    source->step_count += !source->has_step || step != source->last_step;
    source->first_step = source->has_step ? source->first_step : step;
    source->has_step = true;
    source->last_step = step;
    source->last_step_line = here->file_line;
    source->is_in_step = log_has_words(here->words, here->length, "begin") ||
                         log_has_words(here->words, here->length, "start");
    reading->has_step = true;
    reading->last_step = step;
    reading->states[here->source].retry_run = 0;
    reading->states[here->source].has_ended = false;
}

static void read_world_size(struct log_reading *reading, const struct log_here *here)
{
    static const char *const words[] = {"world size", "world_size", "WORLD_SIZE"};
    uint64_t count;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (log_number_behind(here->words, here->length, words[i], &count) &&
            count <= LOG_RANK_COUNT_MAX) {
            reading->story->world_size = count;
        }
    }
}

static void take_event(struct log_reading *reading, const struct log_here *here,
                       const struct log_words *words)
{
    struct log_source_state *state = &reading->states[here->source];
    struct log_event *event = find_event(reading, here, words);
    if (words->kind == LOG_EVENT_OOM) {
        uncount_retries(reading, here, words);
    }
    if (event == NULL) {
        return;
    }
    event->count += 1 + (uint64_t)here->line.repeated_count;
    event->last_file = here->file;
    event->last_line = here->file_line;
    event->last_order = reading->order;
    count_printer(event, here->source);
    if (event->where[0] == '\0') {
        memcpy(event->where, state->where, sizeof event->where);
    }
    state->where[0] = '\0';
    /* A sentence that is broken is joined with the next line of its source. */
    const bool is_broken = event->form == LOG_FORM_TPU_RUNTIME && event->count == 1 &&
                           strlen(event->text) < LOG_TEXT_BYTES / 2 &&
                           strstr(event->text, " free") == NULL;
    const int number = (int)(event - reading->story->events);
    state->open_event = is_broken ? number : LOG_EVENT_UNKNOWN;
    if (words->kind == LOG_EVENT_HOST_OOM) {
        (void)read_victim(here, &event->victim_pid);
    }
    if (words->kind == LOG_EVENT_HOST_OOM || words->kind == LOG_EVENT_KILLED) {
        event->has_victim = event->has_victim || read_victim_rank(here, &event->victim_rank);
    }
    if (words->kind == LOG_EVENT_RETRY) {
        const bool is_same = state->retry_run > 0 && is_of_retry(state, words);
        state->retry_run = is_same ? state->retry_run + 1 : 1;
        state->retry_event = number;
        state->retry_low_bytes = words->low_bytes;
        state->retry_high_bytes = words->high_bytes;
    } else if (words->kind == LOG_EVENT_TIMEOUT) {
        read_timeout(reading, here, event);
    }
}

void log_take_line(struct log_reading *reading, const struct log_here *here)
{
    struct log_words words = {0};
    struct log_source_state *state = &reading->states[here->source];
    const bool is_indented = here->words[0] == ' ' && state->is_in_traceback;
    if (!is_indented) {
        log_words_read(here->words, here->length, &words);
    }
    if (log_take_blame(reading, here, &words) ||
        (!words.is_blame && read_traceback(state, here, &words)) ||
        read_barrier_line(reading, here)) {
        return;
    }
    if (words.has_gone_on) {
        state->went_on = reading->order + 1;
        state->has_ended = true;
    }
    if (words.kind != LOG_EVENT_NONE) {
        take_event(reading, here, &words);
        return;
    }
    join_text(reading, here);
    if (words.may_have_step) {
        take_step(reading, here);
    }
    if (words.may_have_world_size) {
        read_world_size(reading, here);
    }
}
