/* What a child leaves when it dies: each way to die has its name, and a fault of ours is none of
 * the target's. */
#include "campaign/process/attempt.h"
#include "campaign/process/child.h"
#include "harness/base/check.h"
#include "harness/device/host_memory.h"
#include "targets/targets.h"
#include "tests/campaign/calls.h"
#include "tests/campaign/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DURATION_NS UINT64_C(60000000000)
#define OP_TIMEOUT_NS UINT64_C(100000000)
#define STUCK_NS UINT64_C(500000000)

/* In frames of their own, whatever the compiler would make of them. */
WORK(end_by_signal)
{
    progress_begin(PROGRESS_OP, OP_FREE, 7);
    (void)raise(*(int *)context);
    progress_end();
}

WORK(die_by_exit)
{
    progress_begin(PROGRESS_OP, OP_ALLOC, 3);
    exit(*(int *)context);
}

WORK(die_by_check)
{
    progress_begin(PROGRESS_OP, OP_ALLOC, 3);
    CHECK(context == NULL);
}

WORK(spin_for_ever)
{
    volatile int forever = 1;
    progress_begin(PROGRESS_OP, OP_DEFRAGMENT, 5);
    while (forever) {
    }
}

WORK(wait_for_ever)
{
    progress_begin(PROGRESS_OP, OP_LOAD, 5);
    for (;;) {
        (void)pause();
    }
}

/* Call after call, each of them short: no hang, however long all of them take. */
WORK(work_long)
{
    volatile uint64_t sum = 0;
    for (uint32_t i = 0; i < 300; i++) {
        progress_begin(PROGRESS_OP, OP_ALLOC, i);
        for (uint32_t k = 0; k < 1000000; k++) {
            sum = sum + k;
        }
        progress_end();
    }
}

static struct death *death;
static char signature[SIGNATURE_BYTES], words[DEATH_WORDS_BYTES];

static void begin(void)
{
    death = shared_memory_create(sizeof *death);
    ck_assert_ptr_nonnull(death);
}

static void end(void)
{
    shared_memory_destroy(death, sizeof *death);
}

EVERY_TEST(.setup = begin, .teardown = end);

static enum child_end run_child(void (*work)(void *context, int file), void *context)
{
    const struct child_job job = {.work = work,
                                  .context = context,
                                  .duration_ns = DURATION_NS,
                                  .op_timeout_ns = OP_TIMEOUT_NS,
                                  .stuck_ns = STUCK_NS};
    struct writing answer;
    writing_init(&answer);
    const enum child_end end_of_child = child_work(&job, &answer, death);
    writing_deinit(&answer);
    death_signature(death, signature);
    death_describe(death, words);
    return end_of_child;
}

static void check_signature(void (*work)(void *context, int file), void *context,
                            const char *wanted)
{
    ck_assert_int_ne(run_child(work, context), CHILD_DONE);
    ck_assert_msg(strncmp(signature, wanted, strlen(wanted)) == 0, "%s, should be %s", signature,
                  wanted);
    death_clear(death);
}

TEST(a_signal_is_named_with_the_place)
{
    static const int numbers[] = {SIGSEGV, SIGABRT, SIGFPE, SIGTRAP, SIGKILL};
    static const char *const signatures[] = {
        "crash: SIGSEGV at end_by_signal", "crash: SIGABRT at end_by_signal",
        "crash: SIGFPE at end_by_signal", "crash: SIGTRAP at end_by_signal",
        "crash: SIGKILL in free"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        check_signature(end_by_signal, (void *)&numbers[i], signatures[i]);
    }
}

TEST(an_exit_is_a_death_whatever_its_status)
{
    int status = 3;
    check_signature(die_by_exit, &status, "crash: exit status 3 in alloc");
    status = 0;
    check_signature(die_by_exit, &status, "crash: exit status 0 in alloc");
}

WORK(fail_a_check)
{
    CHECK(context != NULL);
}

TEST(a_check_of_ours_is_no_death_of_the_target)
{
    struct writing answer;
    char text[CHILD_DEATH_BYTES];
    int number = SIGABRT;
    writing_init(&answer);
    ck_assert_int_eq(child_run(fail_a_check, NULL, DURATION_NS, false, &answer, text),
                     CHILD_FAULTY);
    ck_assert_ptr_nonnull(strstr(text, "context != NULL does not hold"));
    ck_assert_int_eq(child_run(end_by_signal, &number, DURATION_NS, false, &answer, text),
                     CHILD_DIED);
    writing_deinit(&answer);
}

TEST(a_call_that_spins_or_waits_is_a_hang)
{
    check_signature(spin_for_ever, NULL, "hang in defragment");
    check_signature(wait_for_ever, NULL, "hang in load");
}

TEST(many_short_calls_are_no_hang)
{
    ck_assert_int_eq(run_child(work_long, NULL), CHILD_DONE);
    ck_assert_int_eq(death->kind, DEATH_NONE);
}

WORK(die_from_outside)
{
    progress_begin(PROGRESS_OP, OP_ALLOC, 1);
    (void)kill(getpid(), SIGKILL);
}

TEST(who_sends_sigkill_is_not_said_to_be_the_target)
{
    ck_assert_int_eq(run_child(die_from_outside, NULL), CHILD_DIED);
    ck_assert_str_eq(
        words,
        "the kernel (out of memory), a limit or a user killed the target's process: SIGKILL in alloc");
}

TEST(a_check_of_ours_is_no_finding)
{
    int something = 0;
    ck_assert_int_eq(run_child(die_by_check, &something), CHILD_DIED);
    ck_assert_int_eq(death->kind, DEATH_CHECK);
    ck_assert_str_eq(signature, "");
    ck_assert_ptr_nonnull(strstr(words, "internal error: "));
    ck_assert_ptr_nonnull(strstr(words, "context == NULL does not hold"));
}

/* --- a death in each call of a target --- */

/* libhbm, but the call of that name ends the process. */
static const char *deadly_call = "";
static const struct target *honest;

static inline __attribute__((always_inline)) void die_in(const char *call)
{
    if (strcmp(call, deadly_call) == 0) {
        (void)raise(SIGSEGV);
    }
}

/* clang-format off */
#define EACH_CALL(ROW) \
    ROW(open) ROW(close) ROW(alloc) ROW(free) ROW(use) ROW(hold) ROW(release) ROW(donate) ROW(load) \
    ROW(execute) ROW(unload) ROW(defragment) ROW(retire) ROW(locate) ROW(stats) ROW(report) ROW(message)
#define DEADLY(result, call, arguments, ...)            \
    static result deadly_##call(INSTANCE, ##__VA_ARGS__) \
    {                                                    \
        die_in(#call);                                   \
        return honest->call arguments;                   \
    }
#define INSTANCE struct target_instance *instance

DEADLY(void, close, (instance))
DEADLY(enum target_result, alloc, (instance, request, block),
       const struct target_request *request, struct target_block *block)
DEADLY(enum target_result, free, (instance, handle, event), uint64_t handle, uint64_t event)
DEADLY(enum target_result, use, (instance, handle, event), uint64_t handle, uint64_t event)
DEADLY(enum target_result, hold, (instance, handle), uint64_t handle)
DEADLY(enum target_result, release, (instance, handle), uint64_t handle)
DEADLY(enum target_result, donate, (instance, handle, request, block), uint64_t handle,
       const struct target_request *request, struct target_block *block)
DEADLY(enum target_result, load, (instance, program, image),
       const struct target_program *program, struct target_block *image)
DEADLY(enum target_result, execute, (instance, handle, event, image),
       uint64_t handle, uint64_t event, struct target_block *image)
DEADLY(enum target_result, unload, (instance, handle), uint64_t handle)
DEADLY(enum target_result, defragment, (instance))
DEADLY(enum target_result, retire, (instance, address, size_bytes),
       uint64_t address, uint64_t size_bytes)
DEADLY(enum target_result, locate, (instance, handle, block),
       uint64_t handle, struct target_block *block)
DEADLY(void, stats, (instance, stats), struct target_stats *stats)
DEADLY(void, report, (instance, row, context),
       void (*row)(void *context, const struct target_row *row), void *context)
DEADLY(const char *, message, (instance))
#undef INSTANCE
#define INSTANCE const struct target_setup *setup
DEADLY(enum target_result, open, (setup, services, instance, contract, reason, reason_bytes),
       const struct device_services *services, struct target_instance **instance,
       struct target_contract *contract, char *reason, size_t reason_bytes)
/* clang-format on */

/* Each call of the target, and an out-of-memory for its message. */
static const char every_call[] =
    "hbmstress-ops 1\ncapacity 1M\ntarget hbm\nseed 1\n\n"
    "0: alloc size=512\n1: use block=0 delay=1us\n2: hold block=0\n3: release block=0\n"
    "4: donate block=0 size=512\n5: load size=512 stack=512\n6: execute program=5 delay=1us\n"
    "7: advance delay=1ms\n8: unload program=5\n9: alloc size=512\n10: free block=4\n"
    "11: defragment\n12: retire address=512K size=512\n13: report\n14: alloc size=2M\n";

TEST(a_death_in_any_call_of_the_target_names_the_target_alone)
{
#define NAME(call) #call,
#define SET(call) deadly.call = deadly_##call;
    static const char *const calls[] = {EACH_CALL(NAME)};
    struct target deadly = *target_find("hbm");
    struct setup setup;
    struct op_list ops;
    honest = target_find("hbm");
    EACH_CALL(SET)
    read_list(every_call, &setup, &ops);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const struct attempt attempt = {
            .target = &deadly, .setup = &setup, .duration_ns = DURATION_NS};
        struct attempt_result result;
        char wanted[SIGNATURE_BYTES];
        deadly_call = calls[i];
        attempt_run(&attempt, &ops, NULL, &result);
        snprintf(wanted, sizeof wanted, "crash: SIGSEGV at deadly_%s", calls[i]);
        ck_assert_str_eq(result.signature, wanted);
    }
    op_list_deinit(&ops);
}

/* --- host memory --- */

TEST(host_memory_notices_what_is_written_around_a_piece)
{
    for (int offset = -2; offset <= 1; offset++) {
        struct host_memory memory;
        host_memory_init(&memory);
        volatile char *piece = host_memory_alloc(&memory, 24);
        piece[offset < 0 ? offset : 24 + offset] = 1;
        host_memory_check(&memory);
        ck_assert_str_ne(memory.fault, "");
        host_memory_deinit(&memory);
    }
}

TEST(host_memory_is_not_given_back_twice)
{
    struct host_memory memory;
    host_memory_init(&memory);
    void *pieces[200];
    for (size_t i = 0; i < 200; i++) {
        pieces[i] = host_memory_alloc(&memory, i);
        ck_assert_uint_eq((uintptr_t)pieces[i] % 16, 0);
        memset(pieces[i], 1, i);
    }
    for (size_t i = 0; i < 200; i++) {
        host_memory_free(&memory, pieces[i * 7 % 200], i * 7 % 200);
    }
    ck_assert_str_eq(memory.fault, "");
    ck_assert_uint_eq(memory.held_bytes, 0);
    host_memory_free(&memory, pieces[3], 3);
    ck_assert_str_ne(memory.fault, "");
    host_memory_deinit(&memory);
}

WORK(overrun)
{
    struct host_memory memory;
    host_memory_guard(true);
    host_memory_init(&memory);
    volatile char *piece = host_memory_alloc(&memory, 32);
    piece[31] = 1;
    progress_begin(PROGRESS_OP, OP_ALLOC, 0);
    piece[32] = 1;
    progress_end();
}

TEST(the_very_write_beyond_a_guarded_piece_ends_the_process)
{
    check_signature(overrun, NULL, "crash: SIGSEGV at overrun");
}
