/* The grammar of messages, and how a judge takes note of what its rules break.  What each rule
 * holds of a run is in tests/cases/rules/judge_*.case. */
#include "harness/model/model.h"
#include "harness/rules/private/families.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <signal.h>
#include <string.h>

/* --- messages --- */

static const struct message_expected buffer_text = {
    .requested_bytes = 8 << 20, .free_bytes = 6 << 20, .largest_hole_bytes = 3 << 20};
static const struct message_expected stack_text = {.is_program = true,
                                                   .stack_bytes = 8 << 20,
                                                   .free_bytes = 6 << 20,
                                                   .reservable_low_bytes = 1 << 20,
                                                   .reservable_high_bytes = 5 << 20};
#define ALLOC "Attempting to allocate 8.00M. That was not possible. There are 6.00M free."
#define RESERVE \
    "Attempting to reserve 8.00M at the bottom of memory. That was not possible. There are 6.00M free, 0B "
#define LOADING "RESOURCE_EXHAUSTED: Error loading program"

TEST(messages_follow_the_grammar_to_the_letter)
{
    const struct {
        const struct message_expected *expected;
        const char *text;
        bool is_right;
    } rows[] = {
        {&buffer_text, "RESOURCE_EXHAUSTED: " ALLOC, true},
        {&buffer_text, "RESOURCE_EXHAUSTED: Error allocating device buffer: " ALLOC, true},
        {&buffer_text, "RESOURCE_EXHAUSTED: E0100: RuntimeBufferAllocationFailure:\n" ALLOC, true},
        {&buffer_text, "RESOURCE_EXHAUSTED: " ALLOC "; (0x0x0_HBM0)", true},
        {&buffer_text,
         "RESOURCE_EXHAUSTED: " ALLOC
         " Due to fragmentation, the largest contiguous region of free "
         "memory is 3.00M.",
         true},
        {&buffer_text,
         "RESOURCE_EXHAUSTED: " ALLOC
         " Due to fragmentation, the largest contiguous region of free "
         "memory is 3.01M.",
         false},
        {&buffer_text, "RESOURCE_EXHAUSTED: E0101: RuntimeProgramAllocationFailure:\n" ALLOC,
         false},
        {&buffer_text, "RESOURCE_EXHAUSTED: " ALLOC "; (0x0x0_HBM)", false},
        {&buffer_text, "RESOURCE_EXHAUSTED: " ALLOC "; ( 0x-1x0_HBM0)", false},
        {&buffer_text, "RESOURCE_EXHAUSTED: " ALLOC ";(0x0x0_HBM0)", false},
        {&buffer_text, "RESOURCE_EXHAUSTED: " ALLOC "; (0x0x0_HBM0) ", false},
        {&buffer_text, "RESOURCE_EXHAUSTED: " ALLOC "\n", false},
        {&buffer_text, " RESOURCE_EXHAUSTED: " ALLOC, false},
        {&buffer_text, "Resource exhausted: " ALLOC, false},
        {&buffer_text,
         "RESOURCE_EXHAUSTED: Attempting to allocate 8M. That was not possible. There are 6.00M free.",
         false},
        {&buffer_text,
         "RESOURCE_EXHAUSTED: Attempting to allocate 8.00M. That was not possible. There are 6.01M free.",
         false},
        {&buffer_text, "", false},
        {&buffer_text, LOADING ": " ALLOC, false},
        {&stack_text, LOADING ": " RESERVE "reserved, and 3.00M reservable.", true},
        {&stack_text, LOADING " 'jit_f': " RESERVE "reserved, and 3.00M reservable.", true},
        {&stack_text, LOADING " 'a: Attempting to b': " RESERVE "reserved, and 3.00M reservable.",
         true},
        {&stack_text, LOADING " 'jit_f': " RESERVE "reserved, and 1.00M reservable.", true},
        {&stack_text, LOADING " 'jit_f': " RESERVE "reserved, and 5.00M reservable.", true},
        {&stack_text, LOADING " 'jit_f': " RESERVE "reserved, and 5.02M reservable.", false},
        {&stack_text, LOADING " 'jit_f': " RESERVE "reserved, and 0.98M reservable.", false},
        {&stack_text, LOADING " 'jit_f': " RESERVE "reserved, and nanM reservable.", false},
        {&stack_text, LOADING " 'jit_f': " RESERVE "reserved, and  3.00M reservable.", false},
        {&stack_text, LOADING " 'jit_f': " RESERVE "reserved, and +3.00M reservable.", false},
        {&stack_text, LOADING " 'jit_f': " RESERVE "reserved, and 0x3M reservable.", false},
        {&stack_text, LOADING " 'jit_f': " RESERVE "reserved, and 3e0M reservable.", false},
        {&stack_text, LOADING " 'jit_f': " RESERVE "reserved, and 3.00 reservable.", false},
        {&stack_text, LOADING " 'jit_f': " RESERVE "reserved, and reservable.", false},
        {&stack_text, LOADING " 'jit_f' " RESERVE "reserved, and 3.00M reservable.", false},
        {&stack_text, LOADING " of mine: " RESERVE "reserved, and 3.00M reservable.", false},
        /* Nothing was to be allocated. */
        {&stack_text,
         LOADING ": Attempting to allocate 0B. That was not possible. There are 6.00M free.",
         false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char reason[160] = "";
        const char *lacking = NULL;
        ck_assert_msg(message_is_right(rows[i].text, rows[i].expected, &lacking, reason,
                                       sizeof reason) == rows[i].is_right,
                      "row %zu: %s", i, reason);
    }
    struct message_expected fragmented = buffer_text;
    char reason[160];
    fragmented.has_fragmentation = true;
    const char *lacking = NULL;
    ck_assert(!message_is_right("RESOURCE_EXHAUSTED: " ALLOC, &fragmented, &lacking, reason,
                                sizeof reason));
}

/* --- rows --- */

TEST(rules_of_one_judge_share_it_and_the_first_broken_one_stays)
{
    struct verdict verdict = {.kind = VERDICT_NONE};
    struct judge judge = {.verdict = &verdict, .asked = RULE_WRONG_EVICTION};
    const struct rule_evidence evidence = {.judge = &judge};
    ck_assert(!evidence_break(&evidence, RULE_BUSY_EVICTED, "program %d", 3));
    ck_assert(!evidence_break(&evidence, RULE_WRONG_EVICTION, "later"));
    ck_assert_int_eq(verdict.kind, VERDICT_BROKEN);
    ck_assert_int_eq(verdict.rule, RULE_BUSY_EVICTED);
    ck_assert_str_eq(verdict.reason, "program 3");
}

/* Otherwise the totals would miss an out-of-memory. */
TEST(a_rule_that_breaks_beside_an_out_of_memory_leaves_its_verdict)
{
    static const enum verdict_kind kinds[] = {VERDICT_JUSTIFIED, VERDICT_UNKNOWN, VERDICT_NONE};
    for (size_t i = 0; i < 3; i++) {
        struct verdict verdict = {.kind = kinds[i], .op = 5};
        struct judge judge = {.verdict = &verdict, .asked = RULE_WRONG_EVICTION};
        const struct rule_evidence evidence = {.judge = &judge};
        ck_assert(!evidence_break(&evidence, RULE_BUSY_EVICTED, "program %d", 3));
        ck_assert_int_eq(verdict.kind, VERDICT_BROKEN);
        ck_assert_int_eq(judge.hides_oom, kinds[i] != VERDICT_NONE);
        ck_assert_int_eq(judge.oom_verdict.kind, kinds[i]);
    }
}

TEST(an_error_text_lacks_numbers_or_words)
{
    static const struct {
        const char *text, *lacking;
    } rows[] = {
        {"RESOURCE_EXHAUSTED: Attempting to allocate 9.00M. That was not possible. There are 6.00M free.",
         "numbers"},
        {"RESOURCE_EXHAUSTED: Attempting to allocate 8.00M. That was not possible. There are 6.01M free.",
         "numbers"},
        {"RESOURCE_EXHAUSTED: Attempting to allocate 8.00M. That was possible. There are 6.00M free.",
         "words"},
        {"Resource exhausted: " ALLOC, "words"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char reason[160] = "";
        const char *lacking = NULL;
        ck_assert(!message_is_right(rows[i].text, &buffer_text, &lacking, reason, sizeof reason));
        ck_assert_msg(strcmp(lacking, rows[i].lacking) == 0, "row %zu: %s: %s", i, lacking, reason);
    }
}

/* Ends the process, for the row names another judge. */
TEST(a_rule_is_broken_by_the_judge_of_its_row_alone, .signal = SIGABRT)
{
    struct verdict verdict = {.kind = VERDICT_NONE};
    struct judge judge = {.verdict = &verdict, .asked = RULE_OVERLAP};
    (void)evidence_break(&(const struct rule_evidence){.judge = &judge}, RULE_OUTSIDE, "elsewhere");
}

TEST(a_call_alone_and_calls_that_overlap_have_one_judge_of_evictions)
{
    static const char *const reasons[] = {
        "evicted program 7, which is not loaded",
        "evicted program 7, which is not loaded, or no call may evict"};
    for (int overlapping = 0; overlapping < 2; overlapping++) {
        struct verdict verdict = {.kind = VERDICT_NONE};
        struct judge judge = {.verdict = &verdict, .is_overlapping = overlapping != 0};
        const struct rule_evidence evidence = {
            .judge = &judge, .op = 7, .slot = SLOT_NONE, .may_evict = true};
        ck_assert(!rule_judge(RULE_WRONG_EVICTION, &evidence));
        ck_assert_int_eq(verdict.rule, RULE_WRONG_EVICTION);
        ck_assert_str_eq(verdict.reason, reasons[overlapping]);
    }
}
