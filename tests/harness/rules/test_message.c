/* The grammar of the error texts of an out-of-memory, letter by letter, and numbers that are known
 * within bounds alone.  tests/cases/rules/message.case has what a text must say. */
#include "harness/rules/private/families.h"
#include "tests/helpers/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES_MAX = 512, REASON_BYTES = 160 };
#define MEBI ((uint64_t)1 << 20)

static const struct message_expected buffer = {
    .requested_bytes = 8 * MEBI, .free_bytes = 6 * MEBI, .largest_hole_bytes = 3 * MEBI};
static const struct message_expected program = {.is_program = true,
                                                .requested_bytes = 8 * MEBI,
                                                .stack_bytes = 4 * MEBI,
                                                .free_bytes = 6 * MEBI,
                                                .reserved_bytes = 2 * MEBI,
                                                .reservable_low_bytes = MEBI,
                                                .reservable_high_bytes = MEBI,
                                                .largest_hole_bytes = 3 * MEBI};

/* What was said of a text. */
struct answer {
    bool is_right;
    const char *lacking;
    char reason[REASON_BYTES];
};

static struct answer ask(const char *text, const struct message_expected *expected)
{
    struct answer answer = {.reason = ""};
    answer.is_right = message_is_right(text, expected, &answer.lacking, answer.reason,
                                       sizeof answer.reason);
    ck_assert_msg(answer.is_right == (answer.lacking == NULL), "'%s': %s", text, answer.reason);
    return answer;
}

/* --- every letter --- */

#define EXHAUSTED "RESOURCE_EXHAUSTED: "
#define ALLOCATE "Attempting to allocate [8.00M]. That was not possible. There are [6.00M] free."
#define FRAGMENTED " Due to fragmentation, the largest contiguous region of free memory is [3.00M]."
#define RESERVE                                                                                \
    "Attempting to reserve [4.00M] at the bottom of memory. That was not possible. There are " \
    "[6.00M] free, [2.00M] reserved, and [1.00M] reservable."
#define LOADING "Error loading program: "

/* Sizes stand in brackets, which are no part of the text. */
static const struct {
    const struct message_expected *expected;
    const char *text;
} right_texts[] = {
    {&buffer, EXHAUSTED ALLOCATE},
    {&buffer, EXHAUSTED ALLOCATE FRAGMENTED},
    {&buffer, EXHAUSTED "E0100: RuntimeBufferAllocationFailure:\n" ALLOCATE},
    {&buffer, EXHAUSTED "Error allocating device buffer: " ALLOCATE},
    {&buffer, EXHAUSTED "E0100: RuntimeBufferAllocationFailure:\n"
                        "Error allocating device buffer: " ALLOCATE FRAGMENTED "; (0x1x2_HBM3)"},
    {&program, EXHAUSTED LOADING ALLOCATE},
    {&program, EXHAUSTED "E0101: RuntimeProgramAllocationFailure:\n" LOADING ALLOCATE FRAGMENTED},
    {&program, EXHAUSTED LOADING RESERVE},
    {&program,
     EXHAUSTED "E0101: RuntimeProgramAllocationFailure:\n" LOADING RESERVE "; (0x1x2_HBM3)"},
};
enum { RIGHT_TEXT_COUNT = sizeof right_texts / sizeof right_texts[0] };

/* The text without its brackets; is_size says of each letter whether it is of a size. */
static size_t read_brackets(const char *marked, char *text, bool *is_size)
{
    size_t length = 0;
    bool is_inside = false;
    for (; *marked != '\0'; marked++) {
        if (*marked == '[' || *marked == ']') {
            is_inside = *marked == '[';
            continue;
        }
        ck_assert_uint_lt(length + 1, TEXT_BYTES_MAX);
        is_size[length] = is_inside;
        text[length++] = *marked;
    }
    text[length] = '\0';
    return length;
}

/* Where the optional end begins, what comes before it is a whole text of its own. */
static bool is_whole_without(const char *rest)
{
    return strncmp(rest, " Due to", 7) == 0 || strncmp(rest, "; (", 3) == 0;
}

/* Another letter in the place of each one is wrong, and it is a number or a word that is lacking;
 * so is the text without it, and what is cut off there. */
TEST(each_letter_of_a_text_is_looked_at_and_needed, .to = RIGHT_TEXT_COUNT)
{
    const struct message_expected *expected = right_texts[_i].expected;
    char text[TEXT_BYTES_MAX], other[TEXT_BYTES_MAX];
    bool is_size[TEXT_BYTES_MAX];
    const size_t length = read_brackets(right_texts[_i].text, text, is_size);
    const struct answer whole = ask(text, expected);
    ck_assert_msg(whole.is_right, "'%s': %s", text, whole.reason);
    for (size_t k = 0; k < length; k++) {
        (void)snprintf(other, sizeof other, "%.*s#%s", (int)k, text, text + k + 1);
        const struct answer answer = ask(other, expected);
        ck_assert_msg(!answer.is_right, "'%s' is said to be right", other);
        ck_assert_msg(strcmp(answer.lacking, is_size[k] ? "numbers" : "words") == 0, "'%s': %s, %s",
                      other, answer.lacking, answer.reason);
        (void)snprintf(other, sizeof other, "%.*s%s", (int)k, text, text + k + 1);
        ck_assert_msg(!ask(other, expected).is_right, "'%s' is said to be right", other);
        (void)snprintf(other, sizeof other, "%.*s", (int)k, text);
        ck_assert_msg(ask(other, expected).is_right == is_whole_without(text + k), "'%s'", other);
    }
    (void)snprintf(other, sizeof other, "%.*s ", (int)length, text);
    ck_assert_msg(!ask(other, expected).is_right, "'%s' is said to be right", other);
}

/* --- whole texts --- */

#define ALLOC "Attempting to allocate 8.00M. That was not possible. There are 6.00M free."
#define DUE " Due to fragmentation, the largest contiguous region of free memory is "
static const char *const buffer_texts[] = {
    EXHAUSTED ALLOC,
    EXHAUSTED "Error allocating device buffer: " ALLOC,
    EXHAUSTED "E0100: RuntimeBufferAllocationFailure:\n" ALLOC,
    EXHAUSTED ALLOC "; (0x0x0_HBM0)",
    EXHAUSTED ALLOC DUE "3.00M.",
    EXHAUSTED ALLOC DUE "3.01M.",
    EXHAUSTED "E0101: RuntimeProgramAllocationFailure:\n" ALLOC,
    EXHAUSTED ALLOC "; (0x0x0_HBM)",
    EXHAUSTED ALLOC "; ( 0x-1x0_HBM0)",
    EXHAUSTED ALLOC ";(0x0x0_HBM0)",
    EXHAUSTED ALLOC "; (0x0x0_HBM0) ",
    EXHAUSTED ALLOC "\n",
    " " EXHAUSTED ALLOC,
    "Resource exhausted: " ALLOC,
    EXHAUSTED "Attempting to allocate 8M. That was not possible. There are 6.00M free.",
    EXHAUSTED "Attempting to allocate 9.00M. That was not possible. There are 6.00M free.",
    EXHAUSTED "Attempting to allocate 8.00M. That was not possible. There are 6.01M free.",
    EXHAUSTED "Attempting to allocate 8.00M. That was possible. There are 6.00M free.",
    "",
    EXHAUSTED LOADING ALLOC,
};

/* Of a stack of 8M: what stands in front of the words, and what is reservable. */
#define RESERVED                                                                             \
    "Attempting to reserve 8.00M at the bottom of memory. That was not possible. There are " \
    "6.00M free, 0B reserved, and "
static const char *const stack_texts[][2] = {
    {": ", "3.00M reservable."},
    {" 'jit_f': ", "3.00M reservable."},
    {" 'a: Attempting to b': ", "3.00M reservable."},
    {" 'jit_f': ", "1.00M reservable."},
    {" 'jit_f': ", "5.00M reservable."},
    {" 'jit_f': ", "5.02M reservable."},
    {" 'jit_f': ", "0.98M reservable."},
    {" 'jit_f': ", "nanM reservable."},
    {" 'jit_f': ", " 3.00M reservable."},
    {" 'jit_f': ", "+3.00M reservable."},
    {" 'jit_f': ", "0x3M reservable."},
    {" 'jit_f': ", "3e0M reservable."},
    {" 'jit_f': ", "3.00 reservable."},
    {" 'jit_f': ", "reservable."},
    {" 'jit_f' ", "3.00M reservable."},
    {" of mine: ", "3.00M reservable."},
};

static void show_answer(const char *text, const struct message_expected *expected)
{
    const struct answer answer = ask(text, expected);
    show("%s\n  %s%s%s\n", text, answer.is_right ? "right" : answer.lacking,
         answer.is_right ? "" : ": ", answer.reason);
}

TEST(messages_follow_the_grammar_to_the_letter, .teardown = snap_rest)
{
    struct message_expected expected = buffer;
    for (size_t i = 0; i < sizeof buffer_texts / sizeof *buffer_texts; i++) {
        show_answer(buffer_texts[i], &expected);
    }
    show("where it is fragmented:\n");
    expected.has_fragmentation = true;
    show_answer(EXHAUSTED ALLOC, &expected);
    expected = (struct message_expected){.is_program = true,
                                         .stack_bytes = 8 * MEBI,
                                         .free_bytes = 6 * MEBI,
                                         .reservable_low_bytes = MEBI,
                                         .reservable_high_bytes = 5 * MEBI};
    for (size_t i = 0; i < sizeof stack_texts / sizeof *stack_texts; i++) {
        char text[TEXT_BYTES_MAX];
        (void)snprintf(text, sizeof text, EXHAUSTED "Error loading program%s" RESERVED "%s",
                       stack_texts[i][0], stack_texts[i][1]);
        show_answer(text, &expected);
    }
    /* Nothing was to be allocated. */
    show_answer(EXHAUSTED LOADING
                "Attempting to allocate 0B. That was not possible. There are 6.00M free.",
                &expected);
}

/* --- numbers within bounds --- */

/* A number that is known within bounds alone is printed rounded, and may be off by as much. */
static struct answer ask_reservable(const char *size, uint64_t low_bytes, uint64_t high_bytes)
{
    char text[TEXT_BYTES_MAX];
    struct message_expected expected = program;
    expected.reservable_low_bytes = low_bytes;
    expected.reservable_high_bytes = high_bytes;
    (void)snprintf(text, sizeof text,
                   EXHAUSTED LOADING
                   "Attempting to reserve 4.00M at the bottom of memory. That was "
                   "not possible. There are 6.00M free, 2.00M reserved, and %s",
                   size);
    return ask(text, &expected);
}

TEST(a_number_within_bounds_may_be_off_by_its_rounding_alone)
{
    const uint64_t kibi = 1024;
    const struct {
        const char *size;
        uint64_t low_bytes, high_bytes;
        bool is_right;
    } rows[] = {
        {"1.00M reservable.", MEBI, 5 * MEBI, true},
        {"5.00M reservable.", MEBI, 5 * MEBI, true},
        {"0.9931M reservable.", MEBI, 5 * MEBI, true},
        {"0.9930M reservable.", MEBI, 5 * MEBI, false},
        {"5.0069M reservable.", MEBI, 5 * MEBI, true},
        {"5.0070M reservable.", MEBI, 5 * MEBI, false},
        {"98.95K reservable.", 100 * kibi, 200 * kibi, true},
        {"98.93K reservable.", 100 * kibi, 200 * kibi, false},
        {"201.05K reservable.", 100 * kibi, 200 * kibi, true},
        {"201.07K reservable.", 100 * kibi, 200 * kibi, false},
        {"977B reservable.", 2000, 4000, true},
        {"975B reservable.", 2000, 4000, false},
        {"5024B reservable.", 2000, 4000, true},
        {"5025B reservable.", 2000, 4000, false},
        {"3M reservable.", MEBI, 5 * MEBI, true},
        {"3.M reservable.", MEBI, 5 * MEBI, true},
        {".5M reservable.", 0, 5 * MEBI, false},
        {"3.00m reservable.", MEBI, 5 * MEBI, false},
        {"3.0.0M reservable.", MEBI, 5 * MEBI, false},
        {"3.00M  reservable.", MEBI, 5 * MEBI, false},
        {"3.00Mreservable.", MEBI, 5 * MEBI, false},
        {"3.00M reservable", MEBI, 5 * MEBI, false},
        {"3.00M", MEBI, 5 * MEBI, false},
        {"3.00", MEBI, 5 * MEBI, false},
        {"3", MEBI, 5 * MEBI, false},
        {"", MEBI, 5 * MEBI, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct answer answer = ask_reservable(rows[i].size, rows[i].low_bytes,
                                                    rows[i].high_bytes);
        ck_assert_msg(answer.is_right == rows[i].is_right, "%s %s", rows[i].size, answer.reason);
    }
}

TEST(a_number_within_bounds_has_a_unit)
{
    static const char units[] = "BKMGTPE";
    for (unsigned i = 0; units[i] != '\0'; i++) {
        for (unsigned k = 0; units[k] != '\0'; k++) {
            char size[32];
            (void)snprintf(size, sizeof size, "3.00%c reservable.", units[k]);
            const uint64_t bytes = (uint64_t)3 << (10 * i);
            /* Three bytes and three kibibytes are within the slack of each other's bounds. */
            if (i + k > 1) {
                ck_assert_msg(ask_reservable(size, bytes - 1, bytes + 1).is_right == (i == k),
                              "%s of %" PRIu64, size, bytes);
            }
        }
    }
    ck_assert(ask_reservable("3B reservable.", 2, 4).is_right);
}

TEST(what_is_wrong_with_a_number_within_bounds_is_told, .teardown = snap_rest)
{
    static const char *const sizes[] = {"x reservable.", "6.00M reservable.", "3.00M reserved."};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const struct answer answer = ask_reservable(sizes[i], MEBI, 5 * MEBI);
        show("%s: %s: %s\n", sizes[i], answer.lacking, answer.reason);
    }
}
