/* One list in a process of its own: how it ends, up to which op it counts, and which of its
 * findings is meant. */
#include "campaign/base/interrupt.h"
#include "campaign/base/repro.h"
#include "campaign/process/attempt.h"
#include "targets/targets.h"
#include "tests/campaign/calls.h"
#include "tests/campaign/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <signal.h>
#include <string.h>

#define HEAD(target) "hbmstress-ops 1\ncapacity 16K\ngranule 512\ntarget " target "\nseed 1\n"
#define UNDRAINED                     \
    HEAD("plant_premature_undrained") \
    "0: alloc size=16K\n1: free_after block=0 delay=1s\n2: alloc size=1K\n3: report\n"
#define DEFRAGMENTS HEAD("hbm") "0: alloc size=1K\n1: defragment\n2: report\n"
#define DURATION_NS UINT64_C(60000000000)

static struct setup setup;
static struct op_list ops;
static struct target target;
static struct attempt attempt;

static void prepare(const char *text)
{
    op_list_deinit(&ops);
    read_list(text, &setup, &ops);
    target = *target_find(setup.target);
    attempt = (struct attempt){.target = &target, .setup = &setup, .duration_ns = DURATION_NS};
}

static void end(void)
{
    snap_rest();
    op_list_deinit(&ops);
}

/* Runs the list, and shows how that ends. */
static struct attempt_result run_once(const char *what)
{
    static const char *const ends[] = {[ATTEMPT_ENDED] = "ended",
                                       [ATTEMPT_DIED] = "died",
                                       [ATTEMPT_REFUSED] = "refused",
                                       [ATTEMPT_STOPPED] = "stopped",
                                       [ATTEMPT_EARLIER] = "earlier"};
    struct attempt_result result;
    attempt_run(&attempt, &ops, NULL, &result);
    show("%s: %s, ", what, ends[result.end]);
    show_verdict(&result.first);
    show(", %u ops, '%s'\n", (unsigned)result.op_count, result.signature);
    return result;
}

EVERY_TEST(.teardown = end);

DEFRAGMENT(die)
{
    (void)raise(SIGSEGV);
    return TARGET_OK;
}

OPEN(die_in_open)
{
    (void)raise(SIGSEGV);
    return TARGET_OK;
}

TEST(a_list_counts_up_to_the_op_that_broke)
{
    prepare(UNDRAINED);
    (void)run_once("premature");
    prepare(DEFRAGMENTS);
    (void)run_once("nothing breaks");
    target.defragment = die;
    const struct attempt_result result = run_once("a call dies");
    /* With the line, where the build has those. */
    const char reason[] = "the target ended its process: SIGSEGV at die";
    ck_assert_int_eq(strncmp(result.first.reason, reason, strlen(reason)), 0);
    target.open = die_in_open;
    (void)run_once("it dies in no op");
}

TEST(a_refused_setup_and_an_interrupt_are_no_verdicts)
{
    prepare(DEFRAGMENTS);
    ck_assert(setup_set_option(&setup, "colour", "red"));
    (void)run_once("an option that is not there");
    interrupt_install();
    ck_assert_int_eq(raise(SIGINT), 0);
    setup.option_count = 0;
    (void)run_once("interrupted");
    attempt.is_uninterruptible = true;
    (void)run_once("not to be interrupted");
}

TEST(the_certificate_of_a_premature_refusal_comes_with_it)
{
    struct writing certificate;
    char reason[CERTIFICATE_REASON_BYTES];
    prepare(UNDRAINED);
    writing_init(&certificate);
    struct attempt_result result;
    attempt_run(&attempt, &ops, &certificate, &result);
    ck_assert_int_eq(result.end, ATTEMPT_ENDED);
    ck_assert(certificate_is_accepted(certificate.bytes, certificate.length, reason));
    writing_clear(&certificate);
    prepare(DEFRAGMENTS);
    attempt_run(&attempt, &ops, &certificate, &result);
    ck_assert_int_eq(result.end, ATTEMPT_ENDED);
    ck_assert_uint_eq(certificate.length, 0);
    writing_deinit(&certificate);
}

/* Its counters are wrong by a byte from the first op on. */
static void stats_one_more(struct target_instance *instance, struct target_stats *stats)
{
    target_find("plant_premature_undrained")->stats(instance, stats);
    stats->bytes_in_use++;
}

TEST(the_finding_that_is_asked_for_is_meant_where_it_shows)
{
    prepare(UNDRAINED);
    target.stats = stats_one_more;
    (void)run_once("the gravest");
    attempt.signature = "counters: bytes_in_use";
    (void)run_once("asked for");
    attempt.signature = "overlap: never";
    (void)run_once("asked for, and not there");
}

static unsigned defragment_count;

/* From the third one of the process on it ends that, or is refused. */
DEFRAGMENT(defragment_twice)
{
    return ++defragment_count > 2 ? TARGET_INVALID : target_find("hbm")->defragment(instance);
}

TEST(lists_before_it_are_run_and_not_judged)
{
    struct earlier_list before = {0};
    const struct earlier_list *const lists[] = {&before, &before};
    prepare(UNDRAINED);
    setup_copy(&before.setup, &setup);
    op_list_init(&before.ops);
    op_list_copy(&before.ops, &ops);
    struct target broken = target;
    prepare(DEFRAGMENTS);
    before.target = &broken;
    attempt.before = lists;
    attempt.before_count = 2;
    (void)run_once("what they break is theirs");
    before.target = &target;
    op_list_copy(&before.ops, &ops);
    target.defragment = defragment_twice;
    attempt.before_count = 1;
    (void)run_once("behind one");
    attempt.before_count = 2;
    (void)run_once("what the target keeps of two shows");
    target.defragment = die;
    (void)run_once("one that takes the process with it leaves nothing to tell");
    op_list_deinit(&before.ops);
}
