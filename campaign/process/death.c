#include "campaign/process/death.h"

#include "campaign/process/guest.h"
#include "harness/base/check.h"
#include "harness/trial/trial_run.h"

#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* A build with sanitizers has these functions; elsewhere they are NULL. */
extern void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));
extern void __asan_set_error_report_callback(void (*callback)(const char *report))
    __attribute__((weak));

enum { ALTERNATE_STACK_BYTES = 256 << 10, TICKS_PER_BOUND = 8, SIGNATURE_FRAME_COUNT_MAX = 3 };
#define OP_TIMEOUT_DEFAULT_NS UINT64_C(20000000000)
#define TICK_NS_MAX UINT64_C(1000000000)
#define TICK_NS_MIN UINT64_C(10000000)

/* The notes of this process: signal handlers have no context. */
static struct {
    struct death *death;
    uint64_t op_timeout_ns;
    uint64_t tick_ns;
    uint64_t seen_call_count, seen_tick_count; /* of the call under way at the last ticks */
    bool is_exit_noted;                        /* on_exit was called, in this process or above it */
    bool is_fork_noted;                        /* the same of pthread_atfork */
    bool is_forking;                           /* by ourselves */
    bool is_copy;                              /* the target made this process */
    alignas(64) char alternate_stack[ALTERNATE_STACK_BYTES]; /* the address sanitizer wants it
                                                                aligned */
} watch = {.op_timeout_ns = OP_TIMEOUT_DEFAULT_NS};

void death_clear(struct death *death)
{
    memset(death, 0, sizeof *death);
}

void death_set_op_timeout(uint64_t op_timeout_ns)
{
    watch.op_timeout_ns = op_timeout_ns;
}

uint64_t death_op_timeout(void)
{
    return watch.op_timeout_ns;
}

/* --- in the child --- */

/* The frames from `place` on, or all of them; none of these functions counts (see is_ours). */
static void death_note(enum death_kind kind, int number, const void *place)
{
    struct death *death = watch.death;
    void *frames[DEATH_FRAME_COUNT_MAX + 16];
    if (death == NULL || death->kind != DEATH_NONE) {
        return;
    }
    const int count = backtrace(frames, DEATH_FRAME_COUNT_MAX + 16);
    int first = 0;
    for (int i = 0; place != NULL && i < count && first == 0; i++) {
        first = frames[i] == place ? i : 0;
    }
    uint32_t frame_count = 0;
    for (int i = first; i < count && frame_count < DEATH_FRAME_COUNT_MAX; i++) {
        death->frames[frame_count++] = (uintptr_t)frames[i];
    }
    death->is_exact = first > 0;
    death->frame_count = frame_count;
    death->number = number;
    death->kind = kind;
}

static const void *place_of(const void *context)
{
#if defined __x86_64__
    const ucontext_t *user = context;
    return (const void *)user->uc_mcontext.gregs[REG_RIP];
#elif defined __aarch64__
    const ucontext_t *user = context;
    return (const void *)user->uc_mcontext.pc;
#else
    (void)context;
    return NULL;
#endif
}

/* The handler is gone by now: raised again, the signal ends the process as if nobody had listened.
 */
static void death_by_signal(int number, siginfo_t *info, void *context)
{
    (void)info;
    death_note(DEATH_SIGNAL, number, place_of(context));
    (void)raise(number);
}

/* Processor time passes: is it still the same call? */
static void death_at_tick(int number, siginfo_t *info, void *context)
{
    const struct death *death = watch.death;
    (void)number;
    (void)info;
    if (death == NULL || !death->progress.is_in_call ||
        death->progress.call_count != watch.seen_call_count) {
        watch.seen_call_count = death == NULL ? 0 : death->progress.call_count;
        watch.seen_tick_count = 0;
        return;
    }
    if (++watch.seen_tick_count * watch.tick_ns < watch.op_timeout_ns) {
        return;
    }
    death_note(DEATH_HANG, 0, place_of(context));
    (void)kill(getpid(), SIGKILL);
}

static void death_by_exit(int status, void *context)
{
    (void)context;
    if (watch.is_copy) {
        _exit(status); /* what waits to be printed is its parent's */
    }
    if (watch.death == NULL) {
        return;
    }
    death_note(DEATH_EXIT, status, NULL);
    _exit(status); /* what else is called at exit belongs to the parent */
}

static void death_by_check(const char *text)
{
    if (watch.death == NULL || watch.death->kind != DEATH_NONE) {
        return;
    }
    (void)snprintf(watch.death->text, DEATH_TEXT_BYTES, "%s", text);
    death_note(DEATH_CHECK, 0, NULL);
}

/* "SUMMARY: AddressSanitizer: heap-buffer-overflow FILE:LINE in f": the first word says whose
 * report, the second what. */
static void take_summary(const char *report, char text[DEATH_TEXT_BYTES])
{
    char who[64], what[64];
    const char *summary = report == NULL ? NULL : strstr(report, "SUMMARY: ");
    if (summary != NULL && sscanf(summary, "SUMMARY: %63[^: ]: %63s", who, what) == 2) {
        (void)snprintf(text, DEATH_TEXT_BYTES, "%s %s", who, what);
    } else {
        (void)snprintf(text, DEATH_TEXT_BYTES, "a sanitizer's report");
    }
}

static void death_by_report(const char *report)
{
    if (watch.death == NULL || watch.death->kind != DEATH_NONE) {
        return;
    }
    take_summary(report, watch.death->text);
    death_note(DEATH_SANITIZER, 0, NULL);
}

static void death_by_sanitizer(void)
{
    death_by_report(NULL);
}

static void install_handler(int number, int flags,
                            void (*handler)(int number, siginfo_t *info, void *context))
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK | flags,
                               .sa_sigaction = handler};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(number, &action, NULL);
}

static void watch_signals(void)
{
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    const stack_t stack = {.ss_sp = watch.alternate_stack, .ss_size = sizeof watch.alternate_stack};
    void *frames[4];
    /* The first call loads what it needs, with malloc: not in a handler. */
    (void)backtrace(frames, 4);
    (void)sigaltstack(&stack, NULL);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        install_handler(numbers[i], (int)SA_RESETHAND, death_by_signal);
    }
}

/* A timer for each call would cost a system call each; this one looks now and then. */
static void watch_time(void)
{
    uint64_t tick_ns = watch.op_timeout_ns / TICKS_PER_BOUND;
    tick_ns = tick_ns > TICK_NS_MAX ? TICK_NS_MAX : tick_ns < TICK_NS_MIN ? TICK_NS_MIN : tick_ns;
    watch.tick_ns = tick_ns;
    watch.seen_call_count = watch.seen_tick_count = 0;
    const struct timeval period = {(time_t)(tick_ns / 1000000000),
                                   (suseconds_t)(tick_ns % 1000000000 / 1000)};
    const struct itimerval timer = {period, period};
    install_handler(SIGPROF, SA_RESTART, death_at_tick);
    (void)setitimer(ITIMER_PROF, &timer, NULL);
}

static void watch_sanitizers(void)
{
    if (__sanitizer_set_death_callback != NULL) {
        __sanitizer_set_death_callback(death_by_sanitizer);
    }
    if (__asan_set_error_report_callback != NULL) {
        __asan_set_error_report_callback(death_by_report);
    }
}

static void end_copy(void)
{
    _exit(0);
}

/* Runs in every child process that fork makes. */
static void leave_parent(void)
{
    watch.death = NULL;
    check_failed_hook = NULL;
    if (watch.is_forking) {
        watch.is_forking = false;
        progress_watch(NULL);
        return;
    }
    watch.is_copy = true;
    progress_copied(end_copy);
    guest_leave();
}

void death_begin_fork(void)
{
    watch.is_forking = true;
}

void death_end_fork(void)
{
    watch.is_forking = false;
}

void death_note_channel(struct death *death)
{
    if (death->kind == DEATH_NONE) {
        death->frame_count = 0;
        death->kind = DEATH_CHANNEL;
    }
}

/* A process that the target makes in another way than with fork has no such memory either. */
static void keep_to_this_process(struct death *death)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t from = (uintptr_t)death / page * page;
    (void)madvise((void *)from, (uintptr_t)(death + 1) - from, MADV_DONTFORK);
}

void death_watch(struct death *death)
{
    watch.death = death;
    progress_watch(death == NULL ? NULL : &death->progress);
    check_failed_hook = death == NULL ? NULL : death_by_check;
    if (death == NULL) {
        const struct itimerval never = {{0, 0}, {0, 0}};
        (void)setitimer(ITIMER_PROF, &never, NULL);
        return;
    }
    watch_signals();
    watch_sanitizers();
    watch_time();
    keep_to_this_process(death);
    if (!watch.is_exit_noted) {
        watch.is_exit_noted = on_exit(death_by_exit, NULL) == 0;
    }
    if (!watch.is_fork_noted) {
        watch.is_fork_noted = pthread_atfork(NULL, NULL, leave_parent) == 0;
    }
}

/* --- in the parent --- */

void death_conclude(struct death *death, int status)
{
    if (death->kind != DEATH_NONE) {
        return;
    }
    death->kind = WIFSIGNALED(status) ? DEATH_SIGNAL : DEATH_EXIT;
    death->number = WIFSIGNALED(status) ? WTERMSIG(status)
                    : WIFEXITED(status) ? WEXITSTATUS(status)
                                        : -1;
}

/* True if the text is one of the words, or with is_prefix begins with one. */
static bool is_among(const char *text, const char *words, bool is_prefix)
{
    bool is = false;
    for (size_t length; *words != '\0' && !is; words += strspn(words, " ")) {
        length = strcspn(words, " ");
        is = strncmp(text, words, length) == 0 && (is_prefix || text[length] == '\0');
        words += length;
    }
    return is;
}

/* Neither the target's nor between it and the driver: the system's, the sanitizers', and what notes
 * the death. */
static bool is_passed_over(const struct symbol *symbol)
{
    static const char objects[] = "libc.so libc- ld-linux ld-musl libasan libubsan libtsan liblsan "
                                  "libgcc_s libpthread linux-vdso";
    static const char names[] = "__asan __ubsan __sanitizer __tsan __lsan __interceptor _ZN6__asan "
                                "_ZN7__ubsan _ZN11__sanitizer _ZN11__interception";
    return is_among(symbol->object, objects, true) || is_among(symbol->name, names, true) ||
           (symbol->is_of_program && is_among(symbol->name, "death_", true));
}

/* The harness: whatever calls into the target, and what a compiler may inline that into.  A
 * function that is renamed is to be renamed here: test_death.c has a death in each call of the
 * target. */
static bool is_driver(const struct symbol *symbol)
{
    static const char names[] =
        "driver_call driver_call_target dispatch_call call_alloc call_donate call_load call_retire "
        "call_on_time call_target read_report host_open host_open_target host_close open_hosts "
        "close_hosts begin_run run_create run_create_guarded run_destroy run_step run_finish "
        "execute_op finish_step finish_host free_all release_all observe_call observe_counters "
        "rules_judge_report overlap_message look_at_counters find_final may_have_no_address "
        "trial_run trial_replay trial_repeat trial_confirm run_given end_trial child_work "
        "fork_worker";
    return symbol->is_of_program &&
           (is_among(symbol->name, names, false) || is_among(symbol->name, "judge_ model_", true));
}

/* A frame is named by its function alone, or by its line, too.  A signature has names alone: it
 * must stay equal when the source is edited. */
enum frame_detail { FRAME_NAMES, FRAME_LINES };

static void append_frame(const struct symbol *symbol, enum frame_detail detail, const char *before,
                         char *text, size_t text_bytes)
{
    const size_t used = strlen(text);
    const int length = snprintf(text + used, text_bytes - used, "%s%.45s", before, symbol->name);
    if (detail == FRAME_LINES && symbol->line > 0 && (size_t)length < text_bytes - used) {
        (void)snprintf(text + used + length, text_bytes - used - (size_t)length, " (%.32s:%u)",
                       symbol->file, symbol->line);
    }
}

/* Appends " at f < g < h"; false when no frame is the target's.  A recursion counts once. */
static bool append_frames(const struct death *death, enum frame_detail detail, char *text,
                          size_t text_bytes)
{
    struct symbol symbol;
    char last[SYMBOL_BYTES] = "";
    unsigned named_count = 0;
    for (uint32_t i = 0; i < death->frame_count && named_count < SIGNATURE_FRAME_COUNT_MAX; i++) {
        /* A return address may lie behind the end of a function that never returns. */
        const uintptr_t place = death->frames[i] - (i == 0 && death->is_exact ? 0 : 1);
        if (!symbol_find(place, &symbol) || is_passed_over(&symbol) ||
            strcmp(symbol.name, last) == 0) {
            continue;
        }
        if (is_driver(&symbol)) {
            break;
        }
        append_frame(&symbol, detail, named_count == 0 ? " at " : " < ", text, text_bytes);
        memcpy(last, symbol.name, sizeof last);
        named_count++;
    }
    symbols_close();
    return named_count > 0;
}

static void append_call(const struct death *death, char *text, size_t text_bytes)
{
    const char *name = progress_name(&death->progress);
    const size_t used = strlen(text);
    if (name[0] != '\0') {
        (void)snprintf(text + used, text_bytes - used, " in %s", name);
    }
}

/* Names what happened, without the place. */
static void name_death(const struct death *death, char *text, size_t text_bytes)
{
    const char *signal_name = death->kind == DEATH_SIGNAL ? sigabbrev_np(death->number) : NULL;
    if (signal_name != NULL) {
        (void)snprintf(text, text_bytes, "SIG%s", signal_name);
    } else if (death->kind == DEATH_SIGNAL) {
        (void)snprintf(text, text_bytes, "signal %d", (int)death->number);
    } else if (death->kind == DEATH_EXIT) {
        (void)snprintf(text, text_bytes, "exit status %d", (int)death->number);
    } else if (death->kind == DEATH_CHANNEL) {
        (void)snprintf(text, text_bytes, "damaged a descriptor of the harness");
    } else {
        (void)snprintf(text, text_bytes, "%.80s", death->text);
    }
}

enum rule death_rule(const struct death *death)
{
    if (death->kind == DEATH_NONE || death->kind == DEATH_CHECK) {
        return RULE_NONE;
    }
    return death->kind == DEATH_HANG ? RULE_HANG : RULE_CRASH;
}

/* What, and where: where a process was ended by an exit says less than which call it was. */
static void append_name(const struct death *death, enum frame_detail detail, char *text,
                        size_t text_bytes)
{
    const size_t used = strlen(text);
    if (death->kind != DEATH_HANG) {
        name_death(death, text + used, text_bytes - used);
    }
    /* Damage to a descriptor shows later than it is done. */
    if (death->kind == DEATH_CHECK || death->kind == DEATH_CHANNEL) {
        return;
    }
    const bool has_place = death->kind == DEATH_SIGNAL || death->kind == DEATH_SANITIZER;
    if (!has_place || !append_frames(death, detail, text, text_bytes)) {
        append_call(death, text, text_bytes);
    }
}

void death_name(const struct death *death, char name[SIGNATURE_BYTES])
{
    (void)snprintf(name, SIGNATURE_BYTES, "%s", death->kind == DEATH_HANG ? "a hang" : "");
    append_name(death, FRAME_NAMES, name, SIGNATURE_BYTES);
}

void death_signature(const struct death *death, char signature[SIGNATURE_BYTES])
{
    const enum rule rule = death_rule(death);
    signature[0] = '\0';
    if (rule == RULE_NONE) {
        return;
    }
    (void)snprintf(signature, SIGNATURE_BYTES, "%s%s", rule_info(rule)->name,
                   rule == RULE_CRASH ? ": " : "");
    append_name(death, FRAME_NAMES, signature, SIGNATURE_BYTES);
}

void death_describe(const struct death *death, char words[DEATH_WORDS_BYTES])
{
    char place[DEATH_WORDS_BYTES] = "";
    if (death->kind == DEATH_CHECK) {
        (void)snprintf(words, DEATH_WORDS_BYTES, "internal error: %.190s", death->text);
        return;
    }
    if (death->kind == DEATH_HANG) {
        append_call(death, place, sizeof place);
        (void)append_frames(death, FRAME_LINES, place, sizeof place);
        (void)snprintf(words, DEATH_WORDS_BYTES, "the target does not return%.220s", place);
        return;
    }
    if (death->kind == DEATH_CHANNEL) {
        (void)snprintf(words, DEATH_WORDS_BYTES,
                       "the target closed, replaced or wrote to a descriptor of the harness");
        return;
    }
    append_name(death, FRAME_LINES, place, sizeof place);
    const bool is_from_outside = death->kind == DEATH_SIGNAL && death->number == SIGKILL;
    (void)snprintf(words, DEATH_WORDS_BYTES, "%s: %.*s",
                   is_from_outside
                       ? "the kernel (out of memory), a limit or a user killed the target's process"
                       : "the target ended its process",
                   is_from_outside ? 140 : 220, place);
}
