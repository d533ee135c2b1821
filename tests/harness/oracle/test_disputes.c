/* What is said where our own judges disagree.  They seldom do: here each can be made to lie (the
 * linker's --wrap). */
#include "harness/oracle/exhaustive.h"
#include "harness/oracle/oracle.h"
#include "tests/harness/run/scripted_target.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

/* --- judges that lie --- */

static struct {
    bool is_second;           /* the second judge says `second`, whatever is so */
    enum verdict_kind second; /* NONE: the state is too large for it */
    bool is_first;            /* the oracle says `first` */
    enum verdict_kind first;
    bool is_doubled; /* it says the opposite of what is so where sizes are doubled */
} lies;

enum verdict_kind __real_exhaustive_judge(const struct oom *oom);
enum verdict_kind __wrap_exhaustive_judge(const struct oom *oom);
enum verdict_kind __wrap_exhaustive_judge(const struct oom *oom)
{
    return lies.is_second ? lies.second : __real_exhaustive_judge(oom);
}

void __real_oracle_judge(struct oracle *oracle, const struct oom *oom, uint64_t nodes_max,
                         struct verdict *verdict);
void __wrap_oracle_judge(struct oracle *oracle, const struct oom *oom, uint64_t nodes_max,
                         struct verdict *verdict);
void __wrap_oracle_judge(struct oracle *oracle, const struct oom *oom, uint64_t nodes_max,
                         struct verdict *verdict)
{
    __real_oracle_judge(oracle, oom, nodes_max, verdict);
    if (lies.is_first) {
        verdict->kind = lies.first;
    }
    if (lies.is_doubled && oom->granule_bytes == 2 * (uint64_t)G) {
        verdict->kind = verdict->kind == VERDICT_JUSTIFIED ? VERDICT_PREMATURE : VERDICT_JUSTIFIED;
    }
}

static void let_second_say(enum verdict_kind kind)
{
    lies.is_second = true;
    lies.second = kind;
}

/* A run that goes on whatever does no harm; four granules at the top are held, twelve are free. */
static void start_honest(void)
{
    memset(&lies, 0, sizeof lies);
    start();
    run_go_on(script.run);
    KEEPS(alloc_at(12, 4));
    KEEPS(on(OP_HOLD, 0));
}

static void expect_dispute(const struct verdict *verdict, const char *reason)
{
    JUDGED(verdict, VERDICT_DISPUTED);
    ck_assert_int_eq(verdict->rule, RULE_NONE);
    ck_assert_str_eq(verdict->reason, reason);
    ck_assert(run_is_broken(script.run));
    const struct run_totals *totals = run_totals(script.run);
    ck_assert_uint_eq(totals->disputed, 1);
    ck_assert_uint_eq(totals->excused, 0);
    ck_assert_uint_eq(totals->broken, 0);
}

/* --- the second judge --- */

TEST(two_judges_that_know_must_say_the_same)
{
    static const struct {
        uint64_t size; /* 13 granules do not fit, 12 do */
        enum verdict_kind second, verdict;
        const char *reason;
        unsigned opinions;
    } rows[] = {
        {13, VERDICT_JUSTIFIED, VERDICT_JUSTIFIED, NULL, 1},
        {13, VERDICT_PREMATURE, VERDICT_DISPUTED,
         "the oracle reports justified, the exhaustive search reports premature", 1},
        {13, VERDICT_NONE, VERDICT_JUSTIFIED, NULL, 0},
        {12, VERDICT_PREMATURE, VERDICT_PREMATURE, NULL, 1},
        {12, VERDICT_JUSTIFIED, VERDICT_DISPUTED,
         "the oracle reports premature, the exhaustive search reports justified", 1},
        {12, VERDICT_NONE, VERDICT_PREMATURE, NULL, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_honest();
        let_second_say(rows[i].second);
        const struct verdict *verdict = refuse(rows[i].size);
        if (rows[i].reason != NULL) {
            expect_dispute(verdict, rows[i].reason);
        }
        JUDGED(verdict, rows[i].verdict);
        const struct run_totals *totals = run_totals(script.run);
        ck_assert_uint_eq(totals->second_opinions, rows[i].opinions);
        ck_assert_uint_eq(totals->justified, rows[i].verdict == VERDICT_JUSTIFIED);
        ck_assert_uint_eq(totals->premature, rows[i].verdict == VERDICT_PREMATURE);
        stop();
    }
}

TEST(what_the_oracle_leaves_open_the_second_judge_does_not_dispute)
{
    start_honest();
    lies.is_first = true;
    lies.first = VERDICT_UNKNOWN;
    let_second_say(VERDICT_PREMATURE);
    JUDGED(refuse(13), VERDICT_UNKNOWN);
    ck_assert_uint_eq(run_totals(script.run)->unknown, 1);
    ck_assert_uint_eq(run_totals(script.run)->second_opinions, 1);
    stop();
}

TEST(every_eighth_out_of_memory_and_every_premature_one_is_judged_twice)
{
    for (int is_eighth = 0; is_eighth < 2; is_eighth++) {
        start_honest();
        JUDGED(refuse(13), VERDICT_JUSTIFIED);
        let_second_say(VERDICT_PREMATURE);
        for (int i = 1; i < 8; i++) {
            JUDGED(refuse(13), VERDICT_JUSTIFIED);
        }
        if (is_eighth != 0) {
            JUDGED(refuse(13), VERDICT_DISPUTED);
        } else {
            lies.is_second = false;
            JUDGED(refuse(13), VERDICT_JUSTIFIED);
            let_second_say(VERDICT_JUSTIFIED);
            JUDGED(refuse(12), VERDICT_DISPUTED);
        }
        stop();
    }
}

/* --- the oracle about related states --- */

TEST(an_oracle_that_contradicts_itself_is_disputed)
{
    start_honest();
    lies.is_doubled = true;
    expect_dispute(refuse(13), "the oracle reports justified, and premature of the same state when "
                               "all its sizes are doubled");
    ck_assert_uint_ge(run_totals(script.run)->relations_checked, 1);
    stop();
}

TEST(one_out_of_memory_in_64_is_held_against_related_states)
{
    start_honest();
    JUDGED(refuse(13), VERDICT_JUSTIFIED);
    lies.is_doubled = true;
    for (int i = 1; i < 64; i++) {
        JUDGED(refuse(13), VERDICT_JUSTIFIED);
    }
    JUDGED(refuse(13), VERDICT_DISPUTED);
    stop();
}

/* --- the stack of a load --- */

/* The held block ends at granule 14, so that a stack of 13 cannot be reserved. */
TEST(a_stack_that_was_granted_is_judged_twice_where_it_seems_wrong)
{
    static const struct {
        uint64_t stack;
        enum verdict_kind second, verdict;
    } rows[] = {
        {12, VERDICT_PREMATURE, VERDICT_NONE},   {12, VERDICT_JUSTIFIED, VERDICT_NONE},
        {13, VERDICT_JUSTIFIED, VERDICT_BROKEN}, {13, VERDICT_PREMATURE, VERDICT_DISPUTED},
        {13, VERDICT_NONE, VERDICT_BROKEN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        memset(&lies, 0, sizeof lies);
        start();
        KEEPS(alloc_at(12, 2));
        KEEPS(on(OP_HOLD, 0));
        let_second_say(rows[i].second);
        const struct verdict *verdict = load_at(14, 2, rows[i].stack);
        ck_assert_msg(verdict->kind == rows[i].verdict, "row %zu: %s", i, verdict->reason);
        ck_assert_int_eq(verdict->rule,
                         rows[i].verdict == VERDICT_BROKEN ? RULE_STATUS : RULE_NONE);
        if (rows[i].verdict == VERDICT_DISPUTED) {
            expect_dispute(verdict, "the oracle reports justified, the exhaustive search reports "
                                    "premature");
            ck_assert_uint_eq(verdict->op, 2);
        }
        stop();
    }
}
