#include "tests/explore/programs.h"

#include "tests/explore/pthreads_rig.h"
#include "tests/helpers/suite.h"

#include <errno.h>
#include <fnmatch.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { PROGRAM_MAX = 64, TEXT_BYTES = 2048, LINE_BYTES = 256, TOKEN_MAX = 512, RUN_COUNT = 400 };

static const char *const file_names[] = {"locks", "waits"};
static struct program {
    char name[LINE_BYTES], main[TEXT_BYTES], before[TEXT_BYTES], after[TEXT_BYTES], end[LINE_BYTES];
} programs[PROGRAM_MAX];
static int program_count;
static const struct program *here;

/* --- numbers and words --- */

static const char *const number_names[] = {"total", "done", "inside", "x", "y"};
enum { TOTAL, DONE, INSIDE, NUMBER_COUNT = 5 };
static volatile long numbers[NUMBER_COUNT]; /* that all lanes share */
static size_t started;

static const struct {
    const char *name;
    long value;
} answers[] = {{"ok", 0},          {"EBUSY", EBUSY},   {"ETIMEDOUT", ETIMEDOUT},
               {"EPERM", EPERM},   {"EINVAL", EINVAL}, {"EDEADLK", EDEADLK},
               {"EAGAIN", EAGAIN}, {"EINTR", EINTR}};

static struct token {
    char text[24];
    bool is_reached;
} tokens[TOKEN_MAX];
static size_t token_count;

static bool is_word(const struct token *token, const char *word)
{
    return strcmp(token->text, word) == 0;
}

static void split_tokens(const char *text)
{
    token_count = 0;
    memset(tokens, 0, sizeof tokens);
    for (text += strspn(text, " ;"); *text != '\0'; text += strspn(text, " ;")) {
        const size_t length = strchr("{}", *text) != NULL ? 1 : strcspn(text, " ;{}");
        ck_assert(token_count + 4 < TOKEN_MAX && length < sizeof tokens->text);
        memcpy(tokens[token_count++].text, text, length);
        text += length;
    }
}

static long read_value(const struct token *token)
{
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        if (is_word(token, answers[i].name)) {
            return answers[i].value;
        }
    }
    char *end;
    const long value = strtol(token->text, &end, 10);
    ck_assert_msg(end != token->text && *end == '\0', "%s: '%s' is no number", here->name,
                  token->text);
    return value;
}

/* NULL: the token is no number's name, with ++ or -- behind it or not. */
static volatile long *find_number(const struct token *token)
{
    const size_t length = strcspn(token->text, "+-");
    for (size_t i = 0; i < NUMBER_COUNT; i++) {
        if (strlen(number_names[i]) == length &&
            strncmp(number_names[i], token->text, length) == 0) {
            return &numbers[i];
        }
    }
    return NULL;
}

static long read_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long)now.tv_sec;
}

/* x == 1 and y >= 2 */
static bool is_true(const struct token *at, long result)
{
    const volatile long *number = find_number(at);
    ck_assert_msg(number != NULL || is_word(at, "result") || is_word(at, "clock"),
                  "%s: '%s' is nothing", here->name, at->text);
    const long value = number != NULL ? *number : is_word(at, "result") ? result : read_clock();
    const long wanted = read_value(&at[2]);
    const bool is_first_true = is_word(&at[1], "==")   ? value == wanted
                               : is_word(&at[1], "<=") ? value <= wanted
                                                       : value >= wanted;
    return is_first_true && (!is_word(&at[3], "and") || is_true(&at[4], result));
}

/* --- statements: each is run, and what stands behind it is returned --- */

static void be_alone(void)
{
    ck_assert_int_eq(numbers[INSIDE]++, 0);
    sched_yield();
    numbers[TOTAL]++;
    ck_assert_int_eq(--numbers[INSIDE], 0);
}

void program_initialise(void)
{
    sched_yield();
    ck_assert_int_eq(numbers[DONE]++, 0);
}

static void join_lanes(void)
{
    for (size_t i = 0; i < started; i++) {
        program_library.join(i);
    }
    started = 0;
}

static struct token *change_number(struct token *at)
{
    volatile long *number = find_number(at);
    const size_t length = strlen(at->text);
    if (is_word(&at[1], "=")) {
        *number = read_value(&at[2]);
        return &at[3];
    }
    *number += at->text[length - 1] == '+' ? 1 : -1;
    return &at[1];
}

static const struct program_object *find_object(const struct token *token)
{
    static const struct program_object none = {"", "none", NULL};
    for (size_t i = 0; i < program_library.object_count; i++) {
        if (is_word(token, program_library.objects[i].name)) {
            return &program_library.objects[i];
        }
    }
    return &none;
}

static const struct program_call *find_call(const struct token *token, const char *sort)
{
    for (size_t i = 0; i < program_library.call_count; i++) {
        const struct program_call *call = &program_library.calls[i];
        if (is_word(token, call->word) && strcmp(call->sort, sort) == 0) {
            return call;
        }
    }
    ck_abort_msg("%s: '%s' calls nothing", here->name, token->text);
}

static struct token *call_library(struct token *at, long *result)
{
    const struct program_object *object = find_object(&at[1]);
    const struct program_call *call = find_call(at, object->sort);
    at += object->object != NULL ? 2 : 1;
    const bool has_argument = *at->text != '\0' && !is_word(&at[1], "times") &&
                              strspn(at->text, "-0123456789") == strlen(at->text);
    *result = call->call(object->object, has_argument ? read_value(at) : 0);
    at += has_argument;
    bool is_expected = *result == 0 && !is_word(at, "->");
    while (is_word(at, "->") || is_word(at, "or")) {
        is_expected = is_expected || *result == read_value(&at[1]);
        at += 2;
    }
    ck_assert_msg(is_expected, "%s: %s answers %s", here->name, call->word, strerror((int)*result));
    return at;
}

static void run_block(struct token *at, long *result);

static struct token *find_end(struct token *block)
{
    int depth = 1;
    for (; depth > 0; block++) {
        ck_assert_msg(*block->text != '\0', "%s: a block has no end", here->name);
        depth += is_word(block, "{") - is_word(block, "}");
    }
    return block;
}

static struct token *run_with_block(struct token *at, long *result)
{
    struct token *block = at;
    while (!is_word(block++, "{")) {
        ck_assert_msg(*block->text != '\0', "%s: '%s' has no block", here->name, at->text);
    }
    if (is_word(at, "thread")) {
        program_library.start(started++, block);
    } else if (is_word(at, "while")) {
        while (is_true(&at[1], *result)) {
            run_block(block, result);
        }
    } else if (is_word(at, "if")) {
        if (is_true(&at[1], *result)) {
            run_block(block, result);
        }
    } else {
        for (long i = 0; i < read_value(at); i++) {
            run_block(block, result);
        }
    }
    return find_end(block);
}

static struct token *run_statement(struct token *at, long *result)
{
    if (is_word(at, "thread") || is_word(at, "while") || is_word(at, "if") ||
        is_word(&at[1], "times")) {
        return run_with_block(at, result);
    }
    if (is_word(&at[1], "==") || is_word(&at[1], "<=") || is_word(&at[1], ">=")) {
        ck_assert_msg(is_true(at, *result), "%s: %s is not %s %s", here->name, at->text, at[1].text,
                      at[2].text);
        return &at[3];
    }
    if (find_number(at) != NULL) {
        return change_number(at);
    }
    if (is_word(at, "sometimes")) {
        at->is_reached = true;
    } else if (is_word(at, "join")) {
        join_lanes();
    } else if (is_word(at, "alone")) {
        be_alone();
    } else {
        return call_library(at, result);
    }
    return &at[1];
}

static void run_block(struct token *at, long *result)
{
    while (*at->text != '\0' && !is_word(at, "}")) {
        at = run_statement(at, result);
    }
}

void program_lane(void *block)
{
    long result = 0;
    run_block(block, &result);
}

static void run_main(void *context)
{
    (void)context;
    for (size_t i = 0; i < NUMBER_COUNT; i++) {
        numbers[i] = 0;
    }
    started = 0;
    program_lane(tokens);
}

static void run_outside(const char *text)
{
    split_tokens(text);
    program_lane(tokens);
}

/* --- the ends --- */

static const char *behind(const char *text, const char *word)
{
    const size_t length = strlen(word);
    return strncmp(text, word, length) == 0 ? text + length : NULL;
}

/* Sets *pattern, which may be empty. */
static enum scheduler_outcome read_outcome(const char *text, const char **pattern)
{
    int outcome = 0;
    while ((*pattern = behind(text, scheduler_outcome_name((enum scheduler_outcome)outcome))) ==
           NULL) {
        ck_assert_msg(outcome++ < SCHEDULER_STOPPED, "%s: '%s' is no end", here->name, text);
    }
    *pattern += strspn(*pattern, ": ");
    return (enum scheduler_outcome)outcome;
}

static void check_end(const char *end)
{
    const char *words, *pattern;
    if ((words = behind(end, "finishes in ")) != NULL) {
        rig_check_finishes((uint32_t)strtoul(words, NULL, 10), run_main);
    } else if ((words = behind(end, "finds ")) != NULL) {
        char text[SCHEDULER_TEXT_BYTES];
        rig_check_finds(read_outcome(words, &pattern), run_main, text);
        ck_assert_msg(*pattern == '\0' || fnmatch(pattern, text, 0) == 0, "%s: %s", here->name,
                      text);
    } else {
        words = behind(end, "meets ");
        ck_assert_msg(words != NULL, "%s: '%s' is no end", here->name, end);
        for (int backend = SCHEDULER_FIBERS; backend <= SCHEDULER_THREADS; backend++) {
            struct outcomes outcomes;
            rig_run((enum scheduler_backend)backend, RUN_COUNT, run_main, &outcomes);
            ck_assert_uint_gt(outcomes.counts[read_outcome(words, &pattern)], 0);
        }
    }
}

void programs_run(int program)
{
    here = &programs[program];
    run_outside(here->before);
    split_tokens(here->main);
    check_end(here->end);
    for (size_t i = 0; i < token_count; i++) {
        ck_assert_msg(!is_word(&tokens[i], "sometimes") || tokens[i].is_reached,
                      "%s: no run reaches a 'sometimes' behind '%s'", here->name,
                      tokens[i - 2].text);
    }
    run_outside(here->after);
}

/* --- the files --- */

/* The program that a title begins; one of the other library is read in vain. */
static struct program *begin_program(const char *title)
{
    static struct program other;
    const bool is_ours = program_library.is_c11 ? strstr(title, " c11") != NULL
                                                : strstr(title, " alone") == NULL;
    ck_assert_int_lt(program_count, PROGRAM_MAX);
    struct program *program = is_ours ? &programs[program_count++] : &other;
    memset(program, 0, sizeof *program);
    snprintf(program->name, sizeof program->name, "%s", title);
    return program;
}

static void add_text(char *text, const char *more)
{
    const size_t used = strlen(text);
    const int length = snprintf(text + used, TEXT_BYTES - used, ";%s", more);
    ck_assert_uint_lt(used + (size_t)length, TEXT_BYTES);
}

static void read_line(const char *line)
{
    static struct program *program;
    const char *rest = behind(line, "program ");
    if (rest != NULL) {
        program = begin_program(rest);
    } else if ((rest = behind(line, "  before ")) != NULL) {
        add_text(program->before, rest);
    } else if ((rest = behind(line, "  after ")) != NULL) {
        add_text(program->after, rest);
    } else if (behind(line, "  fin") != NULL || behind(line, "  meets ") != NULL) {
        snprintf(program->end, sizeof program->end, "%s", line + 2);
    } else {
        add_text(program->main, line);
    }
}

int programs_count(void)
{
    for (size_t i = 0; i < sizeof file_names / sizeof *file_names; i++) {
        char line[LINE_BYTES], path[1024];
        snprintf(path, sizeof path, "%s/tests/explore/programs/%s.programs", HBMSTRESS_SOURCE_DIR,
                 file_names[i]);
        FILE *in = fopen(path, "r");
        ck_assert_msg(in != NULL, "%s is not there", path);
        while (fgets(line, sizeof line, in) != NULL) {
            ck_assert_msg(strchr(line, '\n') != NULL, "%s: the line is too long", line);
            line[strcspn(line, "\n")] = '\0';
            if (line[0] != '\0' && line[0] != '#') {
                read_line(line);
            }
        }
        fclose(in);
    }
    return program_count;
}
