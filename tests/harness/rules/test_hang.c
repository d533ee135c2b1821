/* A target that does not come to an end after a call, or when it is closed.  Those that do not
 * within a call are in tests/cases/rules/hang.case. */
#include "tests/harness/run/scripted_target.h"
#include "tests/helpers/suite.h"

#include <check.h>

/* The scripted target with calls of its own. */
static struct target own_target;
static void copy_for_ever(void)
{
    for (int i = 0; i < 1 << 16 && copy(0, 0, 1) == DEVICE_OK; i++) {
    }
}
static bool hangs_in_stats, hangs_in_close;

static void hang_in_stats(struct target_instance *instance, struct target_stats *stats)
{
    if (hangs_in_stats) {
        copy_for_ever();
    }
    scripted_target.stats(instance, stats);
}

/* Closing, too, comes to an end. */
static void hang_in_close(struct target_instance *instance)
{
    if (hangs_in_close) {
        copy_for_ever();
    }
    scripted_target.close(instance);
}

static void start_own(void)
{
    struct setup setup;
    prepare();
    own_target = scripted_target;
    own_target.stats = hang_in_stats;
    own_target.close = hang_in_close;
    setup_init(&setup);
    setup.capacity_bytes = 16 * G;
    start_setup(&setup, &own_target);
}

TEST(a_target_that_polls_for_ever_behind_a_call_or_when_it_is_closed_is_told, .to = 2)
{
    start_own();
    KEEPS(alloc_at(0, 2));
    hangs_in_stats = _i == 0;
    hangs_in_close = _i == 1;
    if (_i == 1) {
        KEEPS(on(OP_FREE, 0));
    }
    const struct verdict *verdict = _i == 0 ? on(OP_TOUCH, 0) : run_finish(script.run);
    BREAKS(verdict, RULE_HANG);
    ck_assert_str_eq(verdict->reason,
                     "the target kept making device calls or polling outside of an op");
    ck_assert_str_eq(verdict->mechanism, "outside of an op");
    stop();
}
