/* libhbm as a guest that misbehaves: does=WHAT says how, in the request that at=N names (5 by
 * default).  The tests of the command line load it. */
#include "targets/targets.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { AT_DEFAULT = 5, FLOOD_LINES = 20000, DISK_BYTES = 64 << 20, OPTION_COUNT_MAX = 32 };

/* --- what it does --- */

static void sleep_on(void)
{
    for (;;) {
        (void)pause();
    }
}

static void spin(void)
{
    for (volatile bool goes_on = true; goes_on;) {
    }
}

static void block_all_signals(void)
{
    sigset_t all;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, NULL);
    spin();
}

static void stop_itself(void)
{
    (void)raise(SIGSTOP);
}

/* The parent goes on; the child does what it is for, and stays. */
static void fork_child(bool has_session)
{
    if (fork() == 0) {
        if (has_session) {
            (void)setsid();
        }
        sleep_on();
    }
}

static void fork_twice(void)
{
    const pid_t middle = fork();
    if (middle == 0) {
        (void)setsid();
        fork_child(true);
        _exit(0);
    }
    (void)waitpid(middle, NULL, 0);
}

/* Both processes come back from the call. */
static void fork_and_return(void)
{
    (void)fork();
}

/* Past what the C library knows of. */
static void clone_and_return(void)
{
    (void)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

static void flood(void)
{
    for (int i = 0; i < FLOOD_LINES; i++) {
        (void)printf("{\"type\":\"end\",\"line\":%d} on standard output\n", i);
        (void)fprintf(stderr, "line %d on standard error\n", i);
    }
}

static void print_little(void)
{
    (void)printf("a line of \033[31mthe target\n");
    (void)fprintf(stderr, "another one\n");
}

static void close_files(void)
{
    for (int file = 3; file < 256; file++) {
        (void)close(file);
    }
}

static void close_all_files(void)
{
    (void)close_range(3, ~0U, 0);
}

static void write_files_up_to(int end)
{
    static const char text[] = "\3\0\0\0\0\0\0\0abc";
    for (int file = 3; file < end; file++) {
        (void)!write(file, text, sizeof text - 1);
    }
}

static void write_files(void)
{
    write_files_up_to(64);
}

static void write_all_files(void)
{
    write_files_up_to(4096);
}

static void fill_disk(void)
{
    static char block[1 << 16];
    const int file = open("filled", O_WRONLY | O_CREAT | O_APPEND, 0600);
    for (int i = 0; file >= 0 && i < DISK_BYTES / (int)sizeof block; i++) {
        if (write(file, block, sizeof block) < 0) {
            break;
        }
    }
    (void)close(file);
}

static void fork_once(void)
{
    fork_child(false);
}

/* Some that share our memory, and a program that does not, while it is asleep itself. */
static void leave_processes(void)
{
    fork_once();
    fork_twice();
    (void)!system("setsid sleep 600 >/dev/null 2>&1 &");
    sleep_on();
}

static const struct {
    const char *name;
    void (*act)(void);
} acts[] = {
    {"sleep", sleep_on},
    {"spin", spin},
    {"block", block_all_signals},
    {"stop", stop_itself},
    {"fork", fork_once},
    {"fork_twice", fork_twice},
    {"leave", leave_processes},
    {"fork_return", fork_and_return},
    {"clone_return", clone_and_return},
    {"flood", flood},
    {"print", print_little},
    {"close", close_files},
    {"close_all", close_all_files},
    {"write", write_files},
    {"write_all", write_all_files},
    {"fill", fill_disk},
};

static void misbehave(const char *does)
{
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        if (strcmp(acts[i].name, does) == 0) {
            acts[i].act();
        }
    }
}

/* --- libhbm --- */

static const struct target *inner;
static char does[32];
static uint64_t at, request_count;

/* Ours go, the others are libhbm's. */
static uint32_t take_options(const struct target_setup *setup, struct target_option *rest)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < setup->option_count; i++) {
        const struct target_option *option = &setup->options[i];
        if (strcmp(option->key, "does") == 0) {
            (void)snprintf(does, sizeof does, "%s", option->value);
        } else if (strcmp(option->key, "at") == 0) {
            at = strtoull(option->value, NULL, 10);
        } else {
            rest[count++] = *option;
        }
    }
    return count;
}

static enum target_result open_inner(const struct target_setup *setup,
                                     const struct device_services *services,
                                     struct target_instance **instance,
                                     struct target_contract *contract, char *reason,
                                     size_t reason_bytes)
{
    struct target_option rest[OPTION_COUNT_MAX];
    struct target_setup inner_setup = *setup;
    if (setup->option_count > OPTION_COUNT_MAX) {
        return TARGET_INVALID;
    }
    does[0] = '\0';
    at = AT_DEFAULT;
    request_count = 0;
    inner_setup.options = rest;
    inner_setup.option_count = take_options(setup, rest);
    return inner->open(&inner_setup, services, instance, contract, reason, reason_bytes);
}

static enum target_result alloc_or_misbehave(struct target_instance *instance,
                                             const struct target_request *request,
                                             struct target_block *block)
{
    if (++request_count == at) {
        misbehave(does);
    }
    return inner->alloc(instance, request, block);
}

struct target hbmstress_target;

/* Of all processes, the one that loads it too. */
static void print_loudly(const char *what)
{
    if (getenv("GUEST_IS_LOUD") != NULL) {
        (void)printf("the target is %s\n", what);
    }
}

__attribute__((destructor)) static void end_loudly(void)
{
    print_loudly("unloaded");
}

__attribute__((constructor)) static void copy_inner(void)
{
    static char help[1024];
    print_loudly("loaded");
    inner = &target_hbm;
    int used = snprintf(help, sizeof help, "does=WHAT\nat=N\n");
    for (const struct target_option_row *row = inner->options; row->key != NULL; row++) {
        used += snprintf(help + used, sizeof help - (size_t)used, "%s=%s\n", row->key, row->values);
    }
    hbmstress_target = *inner;
    hbmstress_target.name = "guest";
    hbmstress_target.options = NULL;
    hbmstress_target.option_help = help;
    hbmstress_target.open = open_inner;
    hbmstress_target.alloc = alloc_or_misbehave;
}
