/* The words of a hang.  Who waits for whom, and why, is in tests/snap/diagnosis_hang.snap. */
#include "diagnosis/waits.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static struct setup setup;

static const char *words_of(const struct hang *hang)
{
    static char words[512];
    struct writing text;
    writing_init(&text);
    hang_append(&setup, hang, &text);
    snprintf(words, sizeof words, "%s", writing_string(&text));
    writing_deinit(&text);
    return words;
}

TEST(hosts_are_named_as_ranges)
{
    setup_init(&setup);
    setup_set_hosts(&setup, 64);
    struct hang hang = {.cause = HANG_OOM,
                        .group = 7,
                        .waiting = 0xDB, /* 0, 1, 3, 4, 6, 7 */
                        .since = 9,
                        .since_step = HANG_NO_STEP,
                        .until = OP_NONE,
                        .missing = 63,
                        .cause_op = 8,
                        .cause_step = HANG_NO_STEP,
                        .came = OP_NONE};
    ck_assert_str_eq(words_of(&hang),
                     "host 0, 1, 3, 4, 6 and 7 wait in collective 7 since op 9: host 63 does not "
                     "come: it ran out of memory at op 8");
    hang.waiting = UINT64_MAX >> 1;
    ck_assert(setup_set_group(&setup, 7, UINT64_MAX, "all"));
    ck_assert_ptr_nonnull(strstr(words_of(&hang), "host 0 to 62 wait in collective 'all' since"));
    hang.waiting = UINT64_C(1) << 63 | 7;
    ck_assert_ptr_nonnull(strstr(words_of(&hang), "host 0 to 2 and 63 wait"));
    hang.waiting = 4;
    ck_assert_ptr_nonnull(strstr(words_of(&hang), "host 2 waits in"));
}

TEST(each_cause_has_a_name_and_a_summary)
{
    for (unsigned i = 0; i < HANG_CAUSE_COUNT; i++) {
        ck_assert_ptr_nonnull(hang_cause_name((enum hang_cause)i));
        ck_assert_ptr_nonnull(hang_cause_summary((enum hang_cause)i));
        for (unsigned k = 0; k < i; k++) {
            ck_assert_str_ne(hang_cause_name((enum hang_cause)i),
                             hang_cause_name((enum hang_cause)k));
        }
    }
}
