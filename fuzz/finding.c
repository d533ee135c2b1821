#include "fuzz/finding.h"

#include "harness/base/check.h"
#include "harness/base/hash.h"
#include "harness/base/shell.h"
#include "harness/base/whole_file.h"
#include "harness/op/ops_file.h"
#include "harness/run/run.h"
#include "harness/shrink/shrink.h"
#include "harness/trial/trial_run.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { SHRINK_REPLAYS_MAX = 4000, SEARCH_COUNT_MAX = 500, PATH_BYTES = 1024, SLUG_BYTES = 64 };
/* The clock on the wall goes on while others have the processor, and a lane that waits in vain
 * takes none.  After half of this no list is tried any more: the rest is for one that does not
 * return. */
enum { WALL_TIMES_PROCESSOR = 10 };

/* The finding as it is written down: the list, shrunk or not, and what it breaks. */
struct written {
    struct setup setup;
    struct op_list ops;
    struct verdict verdict;
    char signature[SIGNATURE_BYTES];
    char stem[PATH_BYTES]; /* path of its files without their ending; "" = none are written */
};

struct timed_replaying {
    struct shrink_replaying replaying;
    clock_t end;
    uint64_t wall_end_ms;
};

static uint64_t read_wall_ms(void)
{
    struct timespec now;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Once time is up no list is tried any more, and what was found by then stays. */
static bool replay_in_time(void *context, const struct setup *setup, struct op_list *ops,
                           struct verdict *first)
{
    struct timed_replaying *timed = context;
    return clock() < timed->end && read_wall_ms() < timed->wall_end_ms &&
           shrink_replay(&timed->replaying, setup, ops, first);
}

/* --- ends --- */

/* One function a rule, finding_premature and so on, and one a check.  Each notes a number of its
 * own, so that no compiler takes two of them for one. */
static volatile unsigned ended_in;

#define END_FUNCTION(name, number)                                       \
    __attribute__((noinline)) static _Noreturn void finding_##name(void) \
    {                                                                    \
        ended_in = (unsigned)(number);                                   \
        abort();                                                         \
    }
#define RULE(enumerator, name, gravity, promise, judge, plant) END_FUNCTION(name, RULE_##enumerator)
#include "harness/oracle/rule_list.h"
RULE(NONE, none, HARM, "", "", "")
#undef RULE
#define FINDING(enumerator, name) END_FUNCTION(name, RULE_COUNT + FINDING_##enumerator)
#include "fuzz/finding_list.h"
#undef FINDING

static void (*const ends[RULE_COUNT])(void) = {
    [RULE_NONE] = finding_none,
#define RULE(enumerator, name, gravity, promise, judge, plant) [RULE_##enumerator] = finding_##name,
#include "harness/oracle/rule_list.h"
#undef RULE
};

static const struct {
    const char *name;
    void (*end)(void);
} checks[FINDING_CHECK_COUNT] = {
#define FINDING(enumerator, name) {#name, finding_##name},
#include "fuzz/finding_list.h"
#undef FINDING
};

/* Ends the process in a function that no other rule shares. */
static _Noreturn void end_in_rule(enum rule rule)
{
    ends[rule < RULE_COUNT ? rule : RULE_NONE]();
    abort(); /* not reached: no end returns */
}

/* --- shrinking --- */

/* The report for a list that is tried and does not end.  Made beforehand: all that can be done then
 * is to write it. */
static struct {
    char *text;
    size_t length;
    enum rule rule;
} late;

static void end_late(int signal)
{
    (void)signal;
    for (size_t done = 0; done < late.length;) {
        const ssize_t count = write(STDERR_FILENO, late.text + done, late.length - done);
        if (count <= 0) {
            break;
        }
        done += (size_t)count;
    }
    end_in_rule(late.rule);
}

/* An engine's alarm is for an input that does not end.  This one has, and what follows may take
 * longer; but a list that is tried may not end either, and nobody looks at the clock in it.  0: no
 * alarm. */
static void set_alarm(uint64_t ms)
{
    const struct sigaction action = {.sa_handler = end_late};
    const struct itimerval alarm = {
        .it_value = {.tv_sec = (time_t)(ms / 1000), .tv_usec = (suseconds_t)(ms % 1000 * 1000)}};
    CHECK(ms == 0 || sigaction(SIGALRM, &action, NULL) == 0);
    (void)setitimer(ITIMER_REAL, &alarm, NULL);
}

static void shrink_list(const struct play_finding *finding, uint32_t ms_max,
                        struct written *written)
{
    struct timed_replaying timed = {
        .replaying = {.target = finding->target},
        .end = clock() + (clock_t)ms_max * (CLOCKS_PER_SEC / 1000),
        .wall_end_ms = read_wall_ms() + (uint64_t)ms_max * WALL_TIMES_PROCESSOR / 2,
    };
    const struct shrink_try attempt = {.context = &timed,
                                       .is_same = replay_in_time,
                                       .setup = &written->setup,
                                       .cost = &timed.replaying.cost,
                                       .search_count_max = SEARCH_COUNT_MAX};
    struct shrink_result result;
    (void)snprintf(timed.replaying.signature, SIGNATURE_BYTES, "%s", written->signature);
    set_alarm((uint64_t)ms_max * WALL_TIMES_PROCESSOR);
    const bool is_shrunk = shrink(&attempt, finding->ops, SHRINK_REPLAYS_MAX, &result);
    set_alarm(0);
    if (!is_shrunk) {
        (void)fprintf(
            stderr,
            "hbmstress: a replay of the op list does not break the rule again; the list is not shrunk\n");
        return;
    }
    op_list_copy(&written->ops, &result.ops);
    written->verdict = result.first;
    /* The shrunk list may show the same defect under a simpler name. */
    signature_print(&written->verdict, &written->ops, written->signature);
    op_list_deinit(&result.ops);
}

/* A shorter list need not be regretted in the same way, and a list that differs the second time is
 * not seen to differ when it is run once. */
static bool can_shrink(const struct verdict *verdict)
{
    return verdict->rule != RULE_REGRET && verdict->rule != RULE_REPLAY &&
           verdict->rule != RULE_RELATION;
}

/* FOLDER/fuzz_ops-premature__fits_after_drain-0123456789abcdef */
static void name_files(const char *folder, const struct play_finding *finding,
                       struct written *written)
{
    char slug[SLUG_BYTES];
    (void)snprintf(slug, sizeof slug, "%.*s", SLUG_BYTES - 1, written->signature);
    for (char *at = slug; *at != '\0'; at++) {
        const bool is_plain = (*at >= 'a' && *at <= 'z') || (*at >= '0' && *at <= '9');
        *at = is_plain ? *at : '_';
    }
    const int length = snprintf(
        written->stem, sizeof written->stem, "%s/%s-%s-%016" PRIx64, folder, finding->fuzz_target,
        slug,
        hash_bytes(HASH_START, written->ops.ops, written->ops.count * sizeof *written->ops.ops));
    if (length < 0 || (size_t)length >= sizeof written->stem) {
        written->stem[0] = '\0';
    }
}

static void print_proof(void *context, const struct run *run, const struct verdict *verdict)
{
    struct writing *text = context;
    if (verdict->kind == VERDICT_PREMATURE && text->length == 0) {
        run_print_certificate(run, text);
    }
}

static void write_certificate(const struct play_finding *finding, const struct written *written)
{
    char path[PATH_BYTES + 8];
    char reason[RUN_REASON_BYTES];
    struct trial trial;
    struct writing text;
    writing_init(&text);
    (void)snprintf(path, sizeof path, "%s.json", written->stem);
    const struct run_listener listener = {.context = &text, .judged = print_proof};
    if (trial_replay(finding->target, &written->setup, &written->ops, &listener, &trial, reason)) {
        trial_deinit(&trial);
    }
    if (whole_file_write(path, text.bytes, text.length, false)) {
        (void)fprintf(stderr, "proof:  %s\n", path);
    } else {
        (void)fprintf(stderr, "hbmstress: %s: %s\n", path, strerror(errno));
    }
    writing_deinit(&text);
}

static bool write_list(const struct written *written)
{
    char path[PATH_BYTES + 8];
    struct ops_file_error error;
    (void)snprintf(path, sizeof path, "%s.ops", written->stem);
    if (ops_file_write(path, &written->setup, &written->ops, written->signature, &error) !=
        OPS_FILE_OK) {
        (void)fprintf(stderr, "hbmstress: %s\n", error.reason);
        return false;
    }
    return true;
}

static void print_repeat(FILE *stream, const struct written *written)
{
    char path[PATH_BYTES + 8];
    char word[SHELL_WORD_BYTES(sizeof path)];
    (void)snprintf(path, sizeof path, "%s.ops", written->stem);
    (void)fprintf(stream, "repeat: hbmstress replay %s\n", shell_word(path, word));
}

static bool write_files(const struct play_finding *finding, const struct written *written)
{
    if (!write_list(written)) {
        return false;
    }
    (void)fprintf(stderr, "repro:  %s.ops\n", written->stem);
    if (written->verdict.kind == VERDICT_PREMATURE) {
        write_certificate(finding, written);
    }
    print_repeat(stderr, written);
    return true;
}

static void print_finding(FILE *stream, const struct play_finding *finding,
                          const struct written *written)
{
    (void)fprintf(stream, "\nhbmstress: %s found: %s (rule %s, op %" PRIu32 ")\nreason: %s\n",
                  finding->fuzz_target, written->signature, rule_info(written->verdict.rule)->name,
                  written->verdict.op, written->verdict.reason);
    ops_file_print(stream, &written->setup, &written->ops, written->signature);
}

/* The list as it was found stays if that takes too long, or does not return at all. */
static void shrink_in_time(const struct play_finding *finding, const char *folder, uint32_t ms_max,
                           struct written *written)
{
    name_files(folder, finding, written);
    if (written->stem[0] == '\0' || !write_list(written)) {
        return;
    }
    char found[PATH_BYTES + 8];
    (void)snprintf(found, sizeof found, "%s.ops", written->stem);
    FILE *stream = open_memstream(&late.text, &late.length);
    CHECK(stream != NULL);
    late.rule = written->verdict.rule;
    print_finding(stream, finding, written);
    (void)fprintf(
        stream,
        "hbmstress: a shorter op list did not end; the repro is the list as found\nrepro:  %s\n",
        found);
    print_repeat(stream, written);
    CHECK(fclose(stream) == 0);
    shrink_list(finding, ms_max, written);
    (void)remove(found);
}

_Noreturn void finding_end_within(const struct play_finding *finding, uint32_t shrink_ms_max)
{
    const char *folder = getenv("HBMSTRESS_FUZZ_OUT");
    struct written written = {.setup = *finding->setup, .verdict = *finding->verdict};
    CHECK(shrink_ms_max >= 1);
    op_list_init(&written.ops);
    op_list_copy(&written.ops, finding->ops);
    (void)snprintf(written.setup.target, sizeof written.setup.target, "%s", finding->target_name);
    signature_print(finding->verdict, finding->ops, written.signature);
    if (folder != NULL && folder[0] != '\0') {
        if (can_shrink(finding->verdict)) {
            shrink_in_time(finding, folder, shrink_ms_max, &written);
        }
        name_files(folder, finding, &written);
    }
    print_finding(stderr, finding, &written);
    if (written.stem[0] == '\0' || !write_files(finding, &written)) {
        (void)fprintf(
            stderr,
            "repeat: save the lines from 'hbmstress-ops 1' to the last op as crash.ops, then\n"
            "        hbmstress replay crash.ops\n");
    }
    (void)fflush(stderr);
    end_in_rule(written.verdict.rule);
}

_Noreturn void finding_end(const struct play_finding *finding)
{
    finding_end_within(finding, FINDING_SHRINK_MS_MAX);
}

/* --- checks --- */

const char *finding_check_name(enum finding_check check)
{
    return checks[check].name;
}

_Noreturn void finding_end_check(const char *fuzz_target, enum finding_check check,
                                 const char *reason, ...)
{
    va_list arguments;
    (void)fprintf(stderr, "\nhbmstress: %s found: %s\nreason: ", fuzz_target, checks[check].name);
    va_start(arguments, reason);
    (void)vfprintf(stderr, reason, arguments);
    va_end(arguments);
    (void)fputc('\n', stderr);
    (void)fflush(stderr);
    checks[check].end();
    abort(); /* not reached: no end returns */
}

void finding_print_ops(const char *target_name, const struct setup *setup,
                       const struct op_list *ops)
{
    struct setup named = *setup;
    (void)snprintf(named.target, sizeof named.target, "%s", target_name);
    (void)fputc('\n', stderr);
    ops_file_print(stderr, &named, ops, NULL);
}
