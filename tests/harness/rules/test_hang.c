/* A target that does not come to an end after a call, or when it is closed.  Those that do not
 * within a call are in tests/cases/rules/hang.case. */
#include "tests/harness/run/scripted_target.h"
#include "tests/helpers/suite.h"

#include <check.h>

/* The scripted target with calls of its own. */
static struct target own_target;
static void start_own(void)
{
    char reason[RUN_REASON_BYTES] = "";
    struct setup setup;
    setup_init(&setup);
    setup.capacity_bytes = 16 * G;
    script.run = run_create(&own_target, &setup, reason);
    ck_assert_msg(script.run != NULL, "%s", reason);
}

static void copy_for_ever(void)
{
    for (int i = 0; i < 1 << 16 && copy(0, 0, 1) == DEVICE_OK; i++) {
    }
}
static bool hangs;
static void hang_in_stats(struct target_instance *instance, struct target_stats *stats)
{
    if (hangs) {
        copy_for_ever();
    }
    scripted_target.stats(instance, stats);
}

TEST(a_target_that_polls_for_ever_behind_a_call_is_told)
{
    prepare();
    own_target = scripted_target;
    own_target.stats = hang_in_stats;
    start_own();
    hangs = false;
    KEEPS(alloc_at(0, 2));
    hangs = true;
    const struct verdict *verdict = on(OP_TOUCH, 0);
    BREAKS(verdict, RULE_HANG);
    ck_assert_str_eq(verdict->reason,
                     "the target kept making device calls or polling outside of an op");
    ck_assert_str_eq(verdict->mechanism, "outside of an op");
    stop();
}

/* Closing, too, comes to an end. */
static void hang_in_close(struct target_instance *instance)
{
    copy_for_ever();
    scripted_target.close(instance);
}

TEST(a_target_that_polls_for_ever_when_it_is_closed_is_told)
{
    prepare();
    own_target = scripted_target;
    own_target.close = hang_in_close;
    start_own();
    const struct verdict *verdict = run_finish(script.run);
    BREAKS(verdict, RULE_HANG);
    ck_assert_str_eq(verdict->mechanism, "outside of an op");
    stop();
}
