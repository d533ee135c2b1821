/* Out-of-memory messages of PyTorch: finds those of a log, takes the first that has its numbers,
 * and says what the others are. */
#include "formats/torch/private/torch_message.h"

#include <string.h>

/* The messages that a log has. */
struct torch_survey {
    struct torch_message first;   /* with numbers */
    struct torch_message without; /* the first that has none */
    size_t again_count, other_count, retry_count;
};

static bool has_numbers(const struct torch_message *message)
{
    return message->form != TORCH_MESSAGE_BARE && message->form != TORCH_MESSAGE_RETRY;
}

/* Surveys the messages of a log.  A message that is cut gives way to a whole one. */
static void survey_messages(const char *text, size_t length, struct torch_survey *survey)
{
    struct torch_search search = torch_search_begin(text, length);
    struct torch_message message;
    *survey = (struct torch_survey){0};
    while (torch_search_next(&search, &message)) {
        struct torch_message *first = &survey->first;
        survey->retry_count += message.form == TORCH_MESSAGE_RETRY;
        if (!has_numbers(&message)) {
            survey->without = survey->without.form == TORCH_MESSAGE_NONE ? message
                                                                         : survey->without;
        } else if (first->form == TORCH_MESSAGE_NONE ||
                   (first->missing != NULL && message.missing == NULL)) {
            *first = message;
        } else if (first->form == message.form && first->known == message.known &&
                   memcmp(first->facts, message.facts, sizeof first->facts) == 0) {
            survey->again_count++;
        } else {
            survey->other_count += message.missing == NULL;
        }
    }
}

static enum import_result refuse_without_numbers(const struct import_input *input,
                                                 const struct torch_survey *survey,
                                                 struct import_error *error)
{
    size_t line = 0;
    size_t column = 0;
    if (survey->without.form == TORCH_MESSAGE_NONE) {
        return IMPORT_LACKS(error, "the text has no out-of-memory message of PyTorch");
    }
    import_position(input->text, survey->without.begin, &line, &column);
    if (survey->without.form == TORCH_MESSAGE_RETRY) {
        return import_fail(
            error, IMPORT_INCOMPLETE, line, column,
            "not an out-of-memory: one cudaMalloc failed, and PyTorch releases cached memory and tries again (%zu such line%s); only 'out of memory. Tried to allocate' is a failure, and the text has none",
            survey->retry_count, survey->retry_count == 1 ? "" : "s");
    }
    return import_fail(
        error, IMPORT_INCOMPLETE, line, column,
        "this message has no number: it lacks what was asked for, what is free and the device's capacity; import the line 'out of memory. Tried to allocate ...' where there is one, or a memory snapshot");
}

static void note_others(const struct torch_survey *survey, struct import *import)
{
    if (survey->again_count > 0) {
        import_note(import, "the same message stands %zu times in the text: one failure",
                    survey->again_count + 1);
    }
    if (survey->other_count > 0) {
        import_tell(import,
                    "other out-of-memory messages of PyTorch in the text: %zu; this is the first",
                    survey->other_count);
    }
    if (survey->retry_count > 0) {
        import_note(
            import,
            "%zu lines say that one cudaMalloc failed and is tried again: these are no failures",
            survey->retry_count);
    }
}

static enum import_result import_torch_message(const struct import_input *input,
                                               struct import *import, struct import_error *error)
{
    struct torch_survey survey;
    survey_messages(input->text, input->length, &survey);
    if (survey.first.form == TORCH_MESSAGE_NONE) {
        return refuse_without_numbers(input, &survey, error);
    }
    import_position(input->text, survey.first.begin, &error->line, &error->column);
    char sentence[IMPORT_MESSAGE_BYTES];
    phrase_print(input->text + survey.first.begin, survey.first.end - survey.first.begin, sentence,
                 sizeof sentence);
    import_quote(import, sentence, strlen(sentence), error->line);
    note_others(&survey, import);
    return torch_message_build(&survey.first, input, import, error);
}

/* A failure with its numbers is sure; a sentence without any leaves the text to other formats. */
static unsigned recognise_torch_message(const char *text, size_t length)
{
    struct torch_search search = torch_search_begin(text, length);
    struct torch_message message;
    unsigned score = 0;
    while (score < 86 && torch_search_next(&search, &message)) {
        score = has_numbers(&message) ? 86 : 15;
    }
    return score;
}

const struct format format_torch_message = {
    .name = "torch_message",
    .summary = "an out-of-memory message of PyTorch (CUDA, HIP, XPU, MPS), within any log",
    .recognise = recognise_torch_message,
    .import = import_torch_message,
};

/* --- small things --- */

/* Takes a pattern with one size in it, "%U words" or "words %U", or leaves the cursor. */
static bool take_fact(struct phrase_cursor *cursor, const char *pattern, enum torch_fact fact,
                      struct torch_message *message)
{
    struct unit_size size;
    if (!phrase_scan(cursor, pattern, &size)) {
        return false;
    }
    message->facts[fact] = size;
    message->known |= 1u << fact;
    return true;
}

static bool take_device(struct phrase_cursor *cursor, struct torch_message *message)
{
    message->has_device = phrase_scan(cursor, "GPU %N", &message->device);
    return message->has_device;
}

/* --- numbers in parentheses: 2018 to 2.0 --- */

static bool take_fact_in_parentheses(struct phrase_cursor *cursor, struct torch_message *message)
{
    static const struct {
        const char *pattern;
        enum torch_fact fact;
    } facts[] = {{"%U total capacity", TORCH_TOTAL},
                 {"%U already allocated", TORCH_ALLOCATED},
                 {"%U free", TORCH_FREE},
                 {"%U allowed", TORCH_ALLOWED},
                 {"%U cached", TORCH_UNALLOCATED},
                 {"%U reserved in total by PyTorch", TORCH_RESERVED}};
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        if (take_fact(cursor, facts[i].pattern, facts[i].fact, message)) {
            return true;
        }
    }
    return false;
}

static void parse_parentheses(struct phrase_cursor *cursor, struct torch_message *message)
{
    bool goes_on = take_device(cursor, message) && phrase_take_character(cursor, ';');
    while (goes_on && take_fact_in_parentheses(cursor, message)) {
        goes_on = phrase_take_character(cursor, ';');
    }
    if (!phrase_take_character(cursor, ')')) {
        message->missing = "the end of the numbers in parentheses";
    }
}

/* --- numbers in sentences: 2.1 on --- */

/* "Process 20398 has 14.52 GiB memory in use." */
static bool take_process(struct phrase_cursor *cursor, struct torch_message *message)
{
    struct torch_process process = {0};
    process.is_own = phrase_scan(
        cursor, "Including non-PyTorch memory, this process has %U memory in use [.]",
        &process.in_use);
    if (!process.is_own && !phrase_scan(cursor, "Process %N has %U memory in use [.]", &process.pid,
                                        &process.in_use)) {
        return false;
    }
    if (message->process_count < TORCH_PROCESS_COUNT_MAX) {
        message->processes[message->process_count++] = process;
    }
    return true;
}

static bool take_allocated(struct phrase_cursor *cursor, struct torch_message *message)
{
    struct phrase_cursor ahead = *cursor;
    if (!take_fact(&ahead, "Of the allocated memory %U is allocated by PyTorch", TORCH_ALLOCATED,
                   message)) {
        return false;
    }
    (void)phrase_take_character(&ahead, ',');
    struct phrase_cursor pools = ahead;
    if (take_fact(&pools, "with %U allocated in private pools", TORCH_POOLS, message)) {
        const char *comma = memmem(pools.text + pools.at, pools.length - pools.at, "),", 2);
        const size_t end = comma == NULL ? pools.length : (size_t)(comma - pools.text) + 2;
        ahead.at = end - pools.at > 64 ? pools.at : end;
    }
    if (!take_fact(&ahead, "and %U is reserved by PyTorch but unallocated", TORCH_UNALLOCATED,
                   message)) {
        return false;
    }
    *cursor = ahead;
    return true;
}

/* A limit may stand before or behind the processes. */
static void take_allowed(struct phrase_cursor *cursor, struct torch_message *message)
{
    if (take_fact(cursor, "%U allowed", TORCH_ALLOWED, message)) {
        (void)(phrase_take_character(cursor, ';') || phrase_take_character(cursor, '.'));
    }
}

static void parse_sentences(struct phrase_cursor *cursor, struct torch_message *message)
{
    if (!take_device(cursor, message) ||
        (!take_fact(cursor, "has a total capacity of %U", TORCH_TOTAL, message) &&
         !take_fact(cursor, "has a total capacty of %U", TORCH_TOTAL, message))) {
        message->missing = "the capacity of the device";
        return;
    }
    if (take_fact(cursor, "of which %U", TORCH_FREE, message)) {
        (void)phrase_take(cursor, "is free");
    }
    (void)phrase_take_character(cursor, '.');
    take_allowed(cursor, message);
    while (take_process(cursor, message)) {
    }
    take_allowed(cursor, message);
    if (!take_allocated(cursor, message)) {
        message->missing = "what is allocated by PyTorch, and what is reserved but unallocated";
    }
}

/* --- the forms --- */

/* From "ut of memory" on. */
static bool parse_caching(struct phrase_cursor *cursor, struct torch_message *message)
{
    if (!take_fact(cursor, "ut of memory. Tried to allocate %U", TORCH_REQUESTED, message)) {
        return false;
    }
    message->form = TORCH_MESSAGE_CACHING;
    struct phrase_cursor ahead = *cursor;
    (void)phrase_skip_gap(&ahead);
    if (phrase_take_character(&ahead, '(')) {
        *cursor = ahead;
        parse_parentheses(cursor, message);
    } else {
        (void)phrase_take_character(cursor, '.');
        parse_sentences(cursor, message);
    }
    return true;
}

static bool parse_mps(struct phrase_cursor *cursor, struct torch_message *message)
{
    if (!take_fact(cursor, "ut of memory (MPS allocated: %U", TORCH_ALLOCATED, message)) {
        return false;
    }
    message->form = TORCH_MESSAGE_MPS;
    (void)phrase_take_character(cursor, ',');
    (void)take_fact(cursor, "other allocations: %U", TORCH_OTHER, message);
    (void)phrase_take_character(cursor, ',');
    if (!take_fact(cursor, "max allowed: %U {)} {.}", TORCH_TOTAL, message) ||
        !take_fact(cursor, "Tried to allocate %U", TORCH_REQUESTED, message)) {
        message->missing = "the most that is allowed, or the request";
    }
    return true;
}

/* The table behind "Allocation on device D would exceed allowed memory. (out of memory)". */
static bool parse_async(struct phrase_cursor *cursor, struct torch_message *message)
{
    struct phrase_cursor ahead = *cursor;
    if (!phrase_take(&ahead, "exceed allowed memory. (out of memory)")) {
        return false;
    }
    message->form = TORCH_MESSAGE_ASYNC;
    *cursor = ahead;
    const bool is_whole = take_fact(&ahead, "Currently allocated : %U", TORCH_ALLOCATED, message) &&
                          take_fact(&ahead, "Requested : %U", TORCH_REQUESTED, message) &&
                          take_fact(&ahead, "Device limit : %U", TORCH_TOTAL, message) &&
                          take_fact(&ahead, "Free (according to CUDA) : %U", TORCH_FREE, message);
    if (!is_whole) {
        message->missing = "its table of allocated, requested, limit and free";
        return true;
    }
    *cursor = ahead;
    (void)take_fact(cursor, "PyTorch limit (set by user-supplied memory fraction) : %U",
                    TORCH_ALLOWED, message);
    return true;
}

static bool parse_here(struct phrase_cursor *cursor, struct torch_message *message)
{
    if (parse_caching(cursor, message) || parse_mps(cursor, message) ||
        parse_async(cursor, message)) {
        return true;
    }
    if (phrase_take(cursor, "failed with OOM on device")) {
        message->form = TORCH_MESSAGE_RETRY;
        return true;
    }
    /* "CUDA error: out of memory": the words before say that it is one. */
    if (cursor->at >= 8 && memcmp(cursor->text + cursor->at - 8, "error: o", 8) == 0 &&
        phrase_take(cursor, "ut of memory")) {
        message->form = TORCH_MESSAGE_BARE;
        return true;
    }
    return false;
}

/* --- the search --- */

enum { BACK_BYTES_MAX = 80 };
static const char *const anchors[TORCH_ANCHOR_COUNT] = {"ut of memory", "exceed allowed memory",
                                                        "failed with OOM on device"};

/* Finds where the message begins: on the same line, after a prefix ("RuntimeError: "). */
static size_t find_begin(const char *text, size_t at, enum torch_message_form form)
{
    const size_t first = at > BACK_BYTES_MAX ? at - BACK_BYTES_MAX : 0;
    size_t begin = form == TORCH_MESSAGE_BARE && at - first > 8 ? at - 8 : at; /* "error: o" */
    while (begin > first && text[begin - 1] != '\n' &&
           (text[begin - 1] != ' ' || begin < 2 || strchr(":]>|", text[begin - 2]) == NULL) &&
           strchr("'\"", text[begin - 1]) == NULL) {
        begin--;
    }
    return begin;
}

static size_t find_anchor(const struct torch_search *search, size_t at, size_t number)
{
    const char *found = at >= search->length ? NULL
                                             : memmem(search->text + at, search->length - at,
                                                      anchors[number], strlen(anchors[number]));
    return found == NULL ? search->length : (size_t)(found - search->text);
}

struct torch_search torch_search_begin(const char *text, size_t length)
{
    struct torch_search search = {.text = text, .length = length};
    for (size_t i = 0; i < TORCH_ANCHOR_COUNT; i++) {
        search.next[i] = find_anchor(&search, 0, i);
    }
    return search;
}

bool torch_search_next(struct torch_search *search, struct torch_message *message)
{
    for (;;) {
        size_t first = 0;
        for (size_t i = 1; i < TORCH_ANCHOR_COUNT; i++) {
            first = search->next[i] < search->next[first] ? i : first;
        }
        const size_t at = search->next[first];
        if (at == search->length) {
            return false;
        }
        struct phrase_cursor cursor = {.text = search->text, .length = search->length, .at = at};
        *message = (struct torch_message){0};
        const bool is_message = parse_here(&cursor, message);
        search->next[first] = find_anchor(search, at + 1, first);
        if (is_message) {
            message->begin = find_begin(search->text, at, message->form);
            message->end = cursor.at;
            return true;
        }
    }
}
