/* A target that answers what the test says, and the rig around it: 16 granules of 512 bytes, every
 * mitigation promised. */
#ifndef TESTS_HARNESS_RUN_SCRIPTED_TARGET_H
#define TESTS_HARNESS_RUN_SCRIPTED_TARGET_H

#include "harness/model/model.h"
#include "harness/run/run.h"

#include <check.h>

enum { G = 512, HANDLE_COUNT_MAX = 96, HOST_COUNT = 3 };

/* What the target answers next, and what it has been told. */
struct script {
    struct run *run;
    struct target_contract contract;
    const struct target_contract *contract_of[HOST_COUNT]; /* NULL: the one above */
    const struct device_services *device[HOST_COUNT];
    enum target_result result;
    struct target_block block;
    void (*act)(void); /* inside the next call */
    const char *message;
    /* by handle; at TARGET_ADDRESS_NONE: locate says INVALID */
    struct target_block at[HANDLE_COUNT_MAX];
    uint64_t free_count, last_freed; /* all of them; a handle */
    int retire_calls;
    uint64_t report_count; /* calls of it */
    unsigned stats_calls;
    struct target_stats stats_more; /* added to the right ones; the owners' bytes as they are */
    struct target_row rows[8];
    int row_count;     /* -1: the right rows */
    bool sorts_report; /* in host memory, which it must get */
    bool is_silent;    /* locate says nothing */
    bool is_blind;     /* there is no locate */
    bool is_closed;
};
extern struct script script;
extern const struct target scripted_target;

/* Prepares a script, then opens the target on so many hosts; start() does both for one host. */
void prepare(void);
/* The same on any device; another target: NULL is the scripted one.  The former returns NULL, and
 * why, where the run refuses it. */
struct run *open_setup(const struct setup *setup, const struct target *target,
                       char reason[RUN_REASON_BYTES]);
void start_setup(const struct setup *setup, const struct target *target);
void start_hosts(uint32_t host_count);
void start(void);
void stop(void);

#define KEEPS(verdict_expression)                                                        \
    do {                                                                                 \
        const struct verdict *kept = (verdict_expression);                               \
        ck_assert_msg(kept->kind == VERDICT_NONE, "%s: %s", rule_info(kept->rule)->name, \
                      kept->reason);                                                     \
    } while (0)
#define BREAKS(verdict_expression, expected_rule)                                              \
    do {                                                                                       \
        const struct verdict *broken = (verdict_expression);                                   \
        ck_assert_msg(broken->kind == VERDICT_BROKEN && broken->rule == (expected_rule),       \
                      "%s, %s: %s", verdict_name(broken->kind), rule_info(broken->rule)->name, \
                      broken->reason);                                                         \
    } while (0)
#define JUDGED(verdict_expression, expected_kind)                                                \
    do {                                                                                         \
        const struct verdict *judged = (verdict_expression);                                     \
        ck_assert_msg(judged->kind == (expected_kind), "%s, %s: %s", verdict_name(judged->kind), \
                      rule_info(judged->rule)->name, judged->reason);                            \
    } while (0)

const struct verdict *step(struct op op);
/* Requests of `size` granules that are answered with a block at granule `at`. */
const struct verdict *alloc_at(uint64_t at, uint64_t size);
const struct verdict *load_at(uint64_t at, uint64_t size, uint64_t stack);
/* A request that is refused. */
const struct verdict *refuse(uint64_t size);
const struct verdict *on(enum op_kind kind, uint32_t ref);
const struct verdict *report(void);

/* What an act does on the device of host 0, in granules and op numbers. */
enum device_result copy(uint64_t from, uint64_t to, uint64_t size);

#endif
