/* Requests whose cost nobody looks back at.  tests/cases/run/costs.case has what is said of others.
 */
#include "harness/run/run_state.h"
#include "tests/harness/run/scripted_target.h"
#include "tests/helpers/suite.h"

#include <check.h>

static void move_7_to_0(void)
{
    ck_assert_int_eq(copy(7, 0, 2), DEVICE_OK);
    script.at[1].address = 0;
}

/* A hole fitted without the move. */
TEST(nothing_is_regretted_by_who_does_not_look_back)
{
    for (int looks_back = 0; looks_back < 2; looks_back++) {
        start();
        script.run->judge.looks_back = looks_back != 0;
        KEEPS(alloc_at(7, 2));
        script.act = move_7_to_0;
        KEEPS(alloc_at(9, 7));
        ck_assert_uint_eq(run_totals(script.run)->regretted, (unsigned)looks_back);
        stop();
    }
}
