/* Which out-of-memories are looked at closely.  What is seen then, and after other failures, is in
 * tests/cases/rules/failed.case and failure.case. */
#include "tests/harness/run/scripted_target.h"
#include "tests/helpers/suite.h"

#include <check.h>

/* Whether the refusal that is the op of that number is: the report has a row of what it asked. */
static bool is_looked_at(uint32_t number)
{
    start();
    KEEPS(alloc_at(0, 2));
    while (run_ops(script.run)->count < number) {
        KEEPS(on(OP_TOUCH, 0));
    }
    script.rows[0] = (struct target_row){0, 2 * G, BLOCK_BUFFER, 0};
    script.rows[1] = (struct target_row){4 * G, 15 * G, BLOCK_BUFFER, 0};
    script.row_count = 2;
    const bool is_broken = refuse(15)->kind == VERDICT_BROKEN;
    stop();
    return is_broken;
}

/* It depends on the number of the op alone.  Lists repeat themselves, so that every eighth
 * out-of-memory might be always the same one. */
TEST(one_refusal_in_eight_is_looked_at_and_they_are_scattered)
{
    unsigned looked_at[8] = {0};
    unsigned count = 0;
    for (uint32_t number = 1; number <= 64; number++) {
        looked_at[number % 8] += is_looked_at(number);
    }
    for (unsigned i = 0; i < 8; i++) {
        ck_assert_msg(looked_at[i] <= 4, "%u of 8 with remainder %u", looked_at[i], i);
        count += looked_at[i];
    }
    ck_assert_uint_ge(count, 6);
    ck_assert_uint_le(count, 10);
}
