/* A message from the field, imported and replayed on target hbm, ends in the same message, number
 * for number.  Ours are in tests/snap/formats_tpu_message.snap. */
#include "formats/common/phrase.h"
#include "formats/formats.h"
#include "formats/xla/private/tpu_message.h"
#include "harness/base/random.h"
#include "harness/base/size.h"
#include "harness/model/model.h"
#include "harness/run/run.h"
#include "harness/trial/trial_run.h"
#include "targets/targets.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD HBMSTRESS_SOURCE_DIR "/corpus/field/tpu_message/"
enum { TEXT_BYTES = 1024, EXPECTED_BYTES = 4 * TEXT_BYTES };

/* How a replay ended. */
struct ending {
    char message[TEXT_BYTES]; /* of the last op that failed */
    struct verdict verdict;   /* on it */
    uint64_t op_count, oom_count;
    uint64_t free_bytes, largest_hole_bytes; /* after it */
};

static void note_judged(void *context, const struct run *run, const struct verdict *verdict)
{
    struct ending *ending = context;
    if (run_message(run)[0] == '\0') {
        return; /* not a failure, or the checks after the last op */
    }
    snprintf(ending->message, sizeof ending->message, "%s", run_message(run));
    ending->verdict = *verdict;
    ending->free_bytes = model_free_bytes(run_model(run, 0));
    ending->largest_hole_bytes = model_largest_hole_bytes(run_model(run, 0));
}

static void replay_import(const struct import *import, const struct setup *setup,
                          struct ending *ending)
{
    const struct run_listener listener = {.context = ending, .judged = note_judged};
    struct trial trial;
    char reason[RUN_REASON_BYTES] = "";
    *ending = (struct ending){0};
    ck_assert_msg(trial_replay(target_find("hbm"), setup, &import->ops, &listener, &trial, reason),
                  "%s", reason);
    ending->op_count = trial.totals.ops;
    ending->oom_count = trial.totals.ooms;
    ck_assert_msg(trial.first.kind == VERDICT_NONE, "%s: %s", verdict_name(trial.first.kind),
                  trial.first.reason);
    ck_assert_uint_eq(trial.totals.skipped, 0);
    trial_deinit(&trial);
}

/* What the import says of its last op, and of no other, is what the run saw. */
static void assert_said(const struct import *import, const struct ending *ending, bool has_largest)
{
    ck_assert_uint_eq(import->said_count, has_largest ? 3 : 2);
    for (size_t i = 0; i < import->said_count; i++) {
        ck_assert_uint_eq(import->said[i].op, import->ops.count - 1);
    }
    ck_assert_int_eq(import->said[0].kind, SAID_FAILED);
    ck_assert_int_eq(import->said[1].kind, SAID_FREE_BYTES);
    ck_assert_uint_eq(import->said[1].value, ending->free_bytes);
    if (has_largest) {
        ck_assert_int_eq(import->said[2].kind, SAID_LARGEST_HOLE_BYTES);
        ck_assert_uint_eq(import->said[2].value, ending->largest_hole_bytes);
    }
}

/* The last op, and no other, ran out of memory, with this verdict, as the import says; its message
 * has these words. */
static void assert_replays_to(const struct import *import, const struct setup *setup,
                              const char *expected, enum verdict_kind verdict, bool has_largest)
{
    struct ending ending;
    replay_import(import, setup, &ending);
    ck_assert_msg(strstr(ending.message, expected) != NULL, "'%s'\n    instead of '%s'",
                  ending.message, expected);
    ck_assert_uint_eq(ending.oom_count, 1);
    ck_assert_uint_eq(ending.verdict.op, import->ops.count - 1);
    ck_assert_uint_eq(ending.op_count, import->ops.count);
    ck_assert_int_eq(ending.verdict.kind, verdict);
    const struct premature_unless *unless = &ending.verdict.premature_unless;
    ck_assert(verdict == VERDICT_UNKNOWN || unless->bytes == 0);
    ck_assert(unless->bytes == 0 || unless->from < unless->to);
    assert_said(import, &ending, has_largest);
}

/* What a runtime that moves blocks prints: nothing about fragmentation. */
static void cut_fragmentation(const char *expected, char text[EXPECTED_BYTES])
{
    static const char sentence[] = " Due to fragmentation";
    const char *begin = strstr(expected, sentence);
    const size_t length = begin == NULL ? strlen(expected) : (size_t)(begin - expected);
    const char *end = begin == NULL ? "" : strstr(begin, ";");
    snprintf(text, EXPECTED_BYTES, "%.*s%s", (int)length, expected, end == NULL ? "" : end);
}

/* Under the documented contract, and word for word where nothing moves; then the verdict is
 * certain, because whether blocks could move does not matter. */
static void assert_ends_in(const struct import *import, const char *expected)
{
    char text[EXPECTED_BYTES];
    const bool is_open = import->setup.reported.is_there;
    const bool has_largest = strstr(expected, "largest contiguous region") != NULL;
    struct setup fixed = import->setup;
    cut_fragmentation(expected, text);
    ck_assert(!has_largest || is_open);
    assert_replays_to(import, &import->setup, text, is_open ? VERDICT_UNKNOWN : VERDICT_JUSTIFIED,
                      has_largest);
    if (has_largest) {
        ck_assert(setup_set_option(&fixed, "defrag", "none"));
        assert_replays_to(import, &fixed, expected, VERDICT_JUSTIFIED, true);
    }
}

/* --- our own messages --- */

EVERY_TEST(.timeout_s = 300);

/* A device given by the user changes what is in use, not the message. */
TEST(every_chip_and_granule_gives_the_same_message)
{
    static const uint64_t granules[] = {1, 128, 512, 1024};
    for (size_t i = 0; chips[i] != NULL; i++) {
        struct setup fixed = {.granule_bytes = granules[i % 4]};
        const struct import_options options = {.fixed = &fixed};
        struct import import;
        struct import_error error = {0};
        snprintf(fixed.chip, sizeof fixed.chip, "%s", chips[i]->name);
        import_init(&import);
        ck_assert_int_eq(import_file(FIELD "buffer_pieces.log", "auto", &options, &import, &error),
                         IMPORT_OK);
        ck_assert_uint_eq(import.setup.granule_bytes, fixed.granule_bytes);
        ck_assert_uint_eq(import.setup.capacity_bytes,
                          chips[i]->capacity_bytes / fixed.granule_bytes * fixed.granule_bytes);
        assert_ends_in(
            &import,
            "Attempting to allocate 40.00M. That was not possible. There are 100.10M free. Due to "
            "fragmentation, the largest contiguous region of free memory is 33.30M.; (0x0x0_HBM0)");
        import_deinit(&import);
    }
}

/* --- messages at random: those of public logs are in tests/snap/field/imported_field.snap --- */

/* Numbers at random, as a runtime in some state would have printed them. */
struct numbers {
    char requested[SIZE_TEXT_BYTES], free[SIZE_TEXT_BYTES], reserved[SIZE_TEXT_BYTES],
        largest[SIZE_TEXT_BYTES];
    bool is_in_pieces;
};

/* largest: of the region at the bottom, the reserved bytes included. */
static void draw_numbers(struct random *random, bool is_reserve, struct numbers *numbers)
{
    const uint64_t free_bytes = random_log_uniform(random, 1 << 12, UINT64_C(1) << 36);
    const uint64_t reserved_bytes = is_reserve && random_chance(random, 1, 3)
                                        ? random_log_uniform(random, 1 << 12, UINT64_C(1) << 36) &
                                              ~UINT64_C(511)
                                        : 0;
    const uint64_t piece_bytes = random_between(random, free_bytes / 20 + 1, free_bytes);
    numbers->is_in_pieces = random_chance(random, 1, 2) && reserved_bytes == 0 &&
                            piece_bytes < free_bytes - free_bytes / 50;
    const uint64_t largest_bytes = reserved_bytes +
                                   (numbers->is_in_pieces ? piece_bytes : free_bytes);
    const uint64_t low_bytes = largest_bytes + largest_bytes / 50 + 1;
    uint64_t high_bytes = numbers->is_in_pieces ? free_bytes : 4 * largest_bytes;
    high_bytes = high_bytes < low_bytes ? low_bytes : high_bytes;
    size_print_field(random_between(random, low_bytes, high_bytes), numbers->requested);
    size_print_field(free_bytes, numbers->free);
    size_print_field(reserved_bytes, numbers->reserved);
    size_print_field(largest_bytes, numbers->largest);
}

static void print_random_message(struct random *random, char text[TEXT_BYTES], char end[TEXT_BYTES])
{
    struct numbers numbers;
    const bool is_reserve = random_chance(random, 1, 2);
    draw_numbers(random, is_reserve, &numbers);
    if (is_reserve) {
        snprintf(
            end, TEXT_BYTES,
            "Attempting to reserve %s at the bottom of memory. That was not possible. There are %s free, %s reserved, "
            "and %s reservable.",
            numbers.requested, numbers.free, numbers.reserved, numbers.largest);
    } else if (numbers.is_in_pieces) {
        snprintf(
            end, TEXT_BYTES,
            "Attempting to allocate %s. That was not possible. There are %s free. Due to fragmentation, the largest "
            "contiguous region of free memory is %s.",
            numbers.requested, numbers.free, numbers.largest);
    } else {
        snprintf(end, TEXT_BYTES,
                 "Attempting to allocate %s. That was not possible. There are %s free.",
                 numbers.requested, numbers.free);
    }
    snprintf(text, TEXT_BYTES, "%s%.900s",
             random_chance(random, 1, 2) ? "Error loading program 'p': " : "", end);
}

TEST(messages_at_random_come_back)
{
    struct random random;
    random_init(&random, 1);
    for (int i = 0; i < 400; i++) {
        struct import import;
        struct import_error error = {0};
        char text[TEXT_BYTES];
        char end[TEXT_BYTES];
        print_random_message(&random, text, end);
        import_init(&import);
        const enum import_result result = import_text(text, strlen(text), "auto", NULL, &import,
                                                      &error);
        ck_assert_msg(result == IMPORT_OK, "%s: %s", text, error.reason);
        assert_ends_in(&import, end);
        import_deinit(&import);
    }
}

/* --- noise --- */

/* The text ends where the memory does. */
static void assert_beginnings(const char *bytes, size_t length)
{
    char *text = malloc(length + (length == 0));
    ck_assert_ptr_nonnull(text);
    memcpy(text, bytes, length);
    size_t next = length;
    for (size_t at = length; at-- > 0;) {
        const bool is_capital = (text[at] & 0xE0) == 0x40;
        next = is_capital && at + 1 < length && (text[at + 1] & 0xE0) == 0x60 ? at : next;
        ck_assert_uint_eq(phrase_next_beginning(text, length, at), next);
    }
    ck_assert_uint_eq(phrase_next_beginning(text, length, length), length);
    free(text);
}

TEST(every_capital_letter_before_a_small_one_may_begin_a_sentence)
{
    static const char letters[] = "AZaz 09\n@_`\x7F\xC1\xE1"; /* and the NUL */
    struct random random;
    char bytes[40];
    random_init(&random, 1);
    for (size_t i = 0; i < 4000; i++) {
        const size_t length = i % (sizeof bytes + 1);
        for (size_t at = 0; at < length; at++) {
            bytes[at] =
                letters[random_below(&random, random_chance(&random, 1, 2) ? 4 : sizeof letters)];
        }
        assert_beginnings(bytes, length);
    }
}

/* With each noise the text ends elsewhere, and the words of the sentence lie otherwise. */
TEST(a_message_is_found_wherever_it_stands_in_noise)
{
    static const char *const starts[] = {
        "", "Error loading program 'p': ", "Error\nloading  program\\n'p':\n"};
    for (size_t i = 0; i < 3 * 40; i++) {
        char text[TEXT_BYTES];
        struct tpu_message message;
        size_t offset = 0;
        const int noise = snprintf(text, sizeof text, "%.*s ", (int)(i / 3),
                                   "I0101 Error: Could not Attempt. RATE=1; Stop");
        snprintf(text + noise, sizeof text - (size_t)noise,
                 "%sAttempting\nI0101 a.cc:3] to allocate 8.00M. There are 6.43M free",
                 starts[i % 3]);
        ck_assert(tpu_message_next(text, strlen(text), &offset, &message));
        ck_assert_uint_eq(message.begin, (size_t)noise);
        ck_assert_uint_eq(message.end, strlen(text));
        ck_assert(message.has_free && !tpu_message_next(text, strlen(text), &offset, &message));
    }
}

TEST(a_program_may_have_a_name_of_any_length)
{
    enum { LONG = 10000 };
    static char text[LONG + 200];
    char name[LONG + 1];
    struct tpu_message message;
    size_t offset = 0;
    memset(name, 'p', LONG);
    name[LONG] = '\0';
    snprintf(text, sizeof text,
             "Error loading program '%s': Attempting to allocate 1.00G. There are 500.00M free.",
             name);
    ck_assert(tpu_message_next(text, strlen(text), &offset, &message));
    ck_assert_int_eq(message.form, TPU_MESSAGE_PROGRAM_IMAGE);
    ck_assert(message.has_free && message.begin == 0);
}

/* Each has its own. */
TEST(the_table_of_the_next_message_is_not_that_of_this_one)
{
    static const char text[] =
        "Attempting to reserve 2.00G at the bottom of memory. That was not possible. There are 1.00G free, 0B reserved, "
        "and 1.00G reservable. HBM capacity 8.00G:\n"
        "Attempting to reserve 2.00G at the bottom of memory. That was not possible. There are 1.00G free, 0B reserved, "
        "and 1.00G reservable. HBM capacity 8.00G:\n   Currently allocated:   7.00G ( 7,516,000,000 bytes)\n";
    struct tpu_message message;
    size_t offset = 0;
    ck_assert(tpu_message_next(text, sizeof text - 1, &offset, &message));
    ck_assert_uint_eq(message.free.nominal, UINT64_C(1) << 30);
    ck_assert(tpu_message_next(text, sizeof text - 1, &offset, &message));
    ck_assert_uint_eq(message.free.nominal, (UINT64_C(8) << 30) - UINT64_C(7516000000));
}
