/* One list in a process of its own: how it ends, up to which op it counts, and which of its
 * findings is meant. */
#include "campaign/base/interrupt.h"
#include "campaign/base/repro.h"
#include "campaign/process/attempt.h"
#include "harness/op/ops_file.h"
#include "targets/targets.h"
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
    struct ops_file_error error = {0};
    setup_init(&setup);
    op_list_init(&ops);
    ck_assert_int_eq(ops_file_parse(text, strlen(text), &setup, &ops, &error), OPS_FILE_OK);
    target = *target_find(setup.target);
    attempt = (struct attempt){.target = &target, .setup = &setup, .duration_ns = DURATION_NS};
}

static struct attempt_result run_once(struct writing *certificate)
{
    struct attempt_result result;
    attempt_run(&attempt, &ops, certificate, &result);
    return result;
}

static enum target_result die(struct target_instance *instance)
{
    (void)instance;
    (void)raise(SIGSEGV);
    return TARGET_OK;
}

static enum target_result die_in_open(const struct target_setup *target_setup,
                                      const struct device_services *services,
                                      struct target_instance **instance,
                                      struct target_contract *contract, char *reason,
                                      size_t reason_bytes)
{
    (void)target_setup;
    (void)services;
    (void)instance;
    (void)contract;
    (void)reason;
    (void)reason_bytes;
    (void)raise(SIGSEGV);
    return TARGET_OK;
}

TEST(a_list_counts_up_to_the_op_that_broke)
{
    prepare(UNDRAINED);
    struct attempt_result result = run_once(NULL);
    ck_assert_int_eq(result.end, ATTEMPT_ENDED);
    ck_assert_int_eq(result.first.kind, VERDICT_PREMATURE);
    ck_assert_uint_eq(result.op_count, 3);
    ck_assert_int_eq(strncmp(result.signature, "premature: ", 11), 0);
    op_list_deinit(&ops);

    prepare(DEFRAGMENTS);
    result = run_once(NULL);
    ck_assert_int_eq(result.end, ATTEMPT_ENDED);
    ck_assert_int_eq(result.first.kind, VERDICT_NONE);
    ck_assert_str_eq(result.signature, "");
    ck_assert_uint_eq(result.op_count, 3);
    target.defragment = die;
    result = run_once(NULL);
    ck_assert_int_eq(result.end, ATTEMPT_DIED);
    ck_assert_int_eq(result.first.rule, RULE_CRASH);
    ck_assert_uint_eq(result.first.op, 1);
    ck_assert_uint_eq(result.op_count, 2);
    ck_assert_str_eq(result.signature, "crash: SIGSEGV at die");
    /* With the line, where the build has those. */
    const char reason[] = "the target ended its process: SIGSEGV at die";
    ck_assert_int_eq(strncmp(result.first.reason, reason, strlen(reason)), 0);
    target.open = die_in_open; /* in no op */
    result = run_once(NULL);
    ck_assert_int_eq(result.end, ATTEMPT_DIED);
    ck_assert_uint_eq(result.op_count, 3);
    op_list_deinit(&ops);
}

TEST(a_refused_setup_and_an_interrupt_are_no_verdicts)
{
    prepare(DEFRAGMENTS);
    ck_assert(setup_set_option(&setup, "colour", "red"));
    struct attempt_result result = run_once(NULL);
    ck_assert_int_eq(result.end, ATTEMPT_REFUSED);
    ck_assert_int_eq(result.first.kind, VERDICT_NONE);
    ck_assert_str_eq(result.signature, "");
    interrupt_install();
    ck_assert_int_eq(raise(SIGINT), 0);
    setup.option_count = 0;
    result = run_once(NULL);
    ck_assert_int_eq(result.end, ATTEMPT_STOPPED);
    ck_assert_int_eq(result.first.kind, VERDICT_NONE);
    attempt.is_uninterruptible = true;
    result = run_once(NULL);
    ck_assert_int_eq(result.end, ATTEMPT_ENDED);
    op_list_deinit(&ops);
}

TEST(the_certificate_of_a_premature_refusal_comes_with_it)
{
    struct writing certificate;
    char reason[CERTIFICATE_REASON_BYTES];
    prepare(UNDRAINED);
    writing_init(&certificate);
    ck_assert_int_eq(run_once(&certificate).end, ATTEMPT_ENDED);
    ck_assert(certificate_is_accepted(certificate.bytes, certificate.length, reason));
    op_list_deinit(&ops);
    writing_clear(&certificate);
    prepare(DEFRAGMENTS);
    ck_assert_int_eq(run_once(&certificate).end, ATTEMPT_ENDED);
    ck_assert_uint_eq(certificate.length, 0);
    writing_deinit(&certificate);
    op_list_deinit(&ops);
}

/* Its counters are wrong by a byte from the first op on. */
static void stats_one_more(struct target_instance *instance, struct target_stats *stats)
{
    target_find("plant_premature_undrained")->stats(instance, stats);
    stats->bytes_in_use++;
}

TEST(the_finding_that_is_asked_for_is_meant_where_it_shows)
{
    char gravest[SIGNATURE_BYTES];
    prepare(UNDRAINED);
    target.stats = stats_one_more;
    struct attempt_result result = run_once(NULL);
    ck_assert_int_eq(result.first.rule, RULE_PREMATURE);
    memcpy(gravest, result.signature, sizeof gravest);
    attempt.signature = "counters: bytes_in_use";
    result = run_once(NULL);
    ck_assert_int_eq(result.first.rule, RULE_COUNTERS);
    ck_assert_str_eq(result.signature, attempt.signature);
    ck_assert_uint_lt(result.op_count, 3);
    attempt.signature = "overlap: never";
    ck_assert_str_eq(run_once(NULL).signature, gravest);
    op_list_deinit(&ops);
}

static unsigned defragment_count;

/* From the third one of the process on it ends that, or is refused. */
static enum target_result defragment_twice(struct target_instance *instance)
{
    return ++defragment_count > 2 ? TARGET_INVALID : target_find("hbm")->defragment(instance);
}

TEST(lists_before_it_are_run_and_not_judged)
{
    struct earlier_list before = {0};
    const struct earlier_list *const lists[] = {&before, &before};
    prepare(UNDRAINED);
    before.target = &target;
    setup_copy(&before.setup, &setup);
    op_list_init(&before.ops);
    op_list_copy(&before.ops, &ops);
    struct target broken = target;
    op_list_deinit(&ops);
    prepare(DEFRAGMENTS);
    before.target = &broken;
    attempt.before = lists;
    attempt.before_count = 2;
    struct attempt_result result = run_once(NULL);
    ck_assert_int_eq(result.end, ATTEMPT_ENDED); /* what they break is theirs */
    ck_assert_str_eq(result.signature, "");

    /* What the target keeps of them shows. */
    before.target = &target;
    op_list_copy(&before.ops, &ops);
    target.defragment = defragment_twice;
    attempt.before_count = 1;
    ck_assert_str_eq(run_once(NULL).signature, "");
    attempt.before_count = 2;
    result = run_once(NULL);
    ck_assert_str_eq(result.signature, "status: defragment returned INVALID");
    ck_assert_uint_eq(result.op_count, 2);

    /* One that takes the process with it leaves nothing to tell. */
    target.defragment = die;
    result = run_once(NULL);
    ck_assert_int_eq(result.end, ATTEMPT_EARLIER);
    ck_assert_str_eq(result.signature, "");
    ck_assert_int_eq(result.first.kind, VERDICT_NONE);
    op_list_deinit(&before.ops);
    op_list_deinit(&ops);
}
