/* The start of a run: device, hosts, target and its options, seed, tag names.  It is the head of an
 * .ops file. */
#ifndef HARNESS_OP_SETUP_H
#define HARNESS_OP_SETUP_H

#include "harness/op/chip.h"
#include "harness/op/op.h"
#include "harness/target.h"

#include <stdbool.h>
#include <stdint.h>

#define SETUP_REPORTED_MAX (UINT64_C(1) << 62) /* bytes */
enum {
    SETUP_OPTION_COUNT_MAX = 16,
    SETUP_SCENARIO_OPTION_COUNT_MAX = 24,
    SETUP_NAME_BYTES = 64,   /* with the final NUL */
    SETUP_VALUE_BYTES = 256, /* target names may be paths */
    SETUP_WEIGHT_MAX = 10000,
    SETUP_GROUP_COUNT_MAX = 128,
    SETUP_GROUP_NAME_BYTES = 30,
    SETUP_DRIFT_MAX = 100000, /* millionths: 10 % */
};

struct setup_option {
    char key[SETUP_NAME_BYTES];
    char value[SETUP_NAME_BYTES];
};

/* The numbers that a message prints of its request, if a list rebuilds one.  Printed sizes are
 * rounded, so each is a range, low and high included.  See docs/promise.md, "A message alone". */
struct setup_reported {
    bool is_there;
    uint64_t requested_low, requested_high; /* of the block, or of the stack of a program */
    uint64_t free_low, free_high;
    uint64_t image_least; /* bytes that the image of the program takes at least, where the size in
                             the list is assumed; 0 = it is not */
};

/* The members of a group of hosts (op.group), such as one row of a mesh. */
struct setup_group {
    uint64_t members; /* bit per host, at least one */
    uint16_t number;
    char name[SETUP_GROUP_NAME_BYTES]; /* "data 0" */
};

/* A host's clock.  It reads now + ahead_ns + now * drift / 1000000 when `now` of its time has
 * passed. */
struct setup_clock {
    uint64_t ahead_ns;
    int32_t drift; /* millionths; SETUP_DRIFT_MAX at most, either way */
};

/* An open value; copy it freely.  Texts are NUL-terminated and free of control characters. */
struct setup {
    char chip[SETUP_NAME_BYTES];    /* "" = none named */
    char system[SETUP_NAME_BYTES];  /* that the list comes from (chip.h); "" = not known */
    uint64_t capacity_bytes;        /* 1..2^50, a multiple of the granule; 0 = not yet chosen */
    uint64_t granule_bytes;         /* 0 = the target's default */
    uint32_t host_count;            /* 1..64 */
    uint32_t coordinate[4];         /* x, y, z, memory of host 0; host h adds h to x */
    char target[SETUP_VALUE_BYTES]; /* registered name, or path of a plug-in */
    struct setup_option options[SETUP_OPTION_COUNT_MAX]; /* option_count of them, keys unique */
    uint32_t option_count;
    char scenario[SETUP_NAME_BYTES]; /* "" = none */
    uint64_t seed;
    uint64_t until_step;       /* that the job is headed for, from 1; 0 = not known */
    uint64_t search_nodes_max; /* budget of one verdict; 0 = ORACLE_NODES_DEFAULT */
    bool has_regret_max;       /* more than regret_max regretted requests break a promise */
    uint64_t regret_max;
    bool has_rounding; /* blocks are held to rounding, whatever the target's contract says */
    struct target_rounding rounding;
    struct setup_reported reported;
    bool checks_races; /* plain accesses of lanes are held to happens-before: explore/order.h */
    /* Each host has a time of its own: OP_ADVANCE and waits are of its host alone, and no op waits
     * for an event of another host but by a collective.  Not with lanes. */
    bool has_clocks;
    struct setup_clock clocks[OP_HOST_COUNT_MAX]; /* all zero where not has_clocks */
    uint64_t collective_bound_ns; /* 0 = COLLECTIVE_BOUND_NS; DELAY_NEVER: no bound */
    /* Two hosts or more, a bit each, that share the memory of one device: each has addresses of its
     * own, and all of them together have at most shared_bytes mapped (device.h).  0 = none.
     * Not with lanes. */
    uint64_t shared_hosts;
    uint64_t shared_bytes; /* at least the capacity; 0 = the capacity */
    uint32_t group_count;
    struct setup_group groups[SETUP_GROUP_COUNT_MAX]; /* group_count of them, numbers ascending */
    bool has_tags;                                    /* at least one is named */
    char tags[OP_TAG_COUNT][SETUP_NAME_BYTES];        /* "" = unnamed */
    /* The weight of each kind, for scenarios that draw ops from the generator: percent of what they
     * would draw, 0..SETUP_WEIGHT_MAX.  Not part of an .ops file, which has the ops. */
    uint16_t weights[OP_KIND_COUNT];
    /* The options that the user gave; the scenario has them all
     * (harness/generate/scenario_option.h), keys unique.  Not part of an .ops file either. */
    struct setup_option scenario_options[SETUP_SCENARIO_OPTION_COUNT_MAX];
    uint32_t scenario_option_count;
};

/* *to = *from, both initialised, without touching names of tags where neither has any, and groups
 * that there are not: these are nearly all of it. */
void setup_copy(struct setup *to, const struct setup *from);

/* 1 host, target "hbm", every weight 100, everything else empty or zero. */
void setup_init(struct setup *setup);

/* Adds or replaces an option.  False: too many, or too long. */
bool setup_set_option(struct setup *setup, const char *key, const char *value);

/* Sets that many hosts: what is said of others is dropped. */
void setup_set_hosts(struct setup *setup, uint32_t host_count);
/* One time for all hosts, a device for each, and the default bound of collectives: what lanes have.
 */
void setup_drop_clocks(struct setup *setup);
/* Another capacity, at least 1 byte; what hosts share changes in proportion. */
void setup_set_capacity(struct setup *setup, uint64_t capacity_bytes);
/* Returns the bytes that the hosts of a shared device may have of it together. */
uint64_t setup_shared_bytes(const struct setup *setup);
/* The hosts of the group, a bit each: those that are declared, or all. */
uint64_t setup_members(const struct setup *setup, uint16_t group);
/* Declares a group, or replaces what was declared.  Control characters and quotes of the name
 * become
 * '_'; a longer one is cut.  False: too many. */
bool setup_set_group(struct setup *setup, uint16_t number, uint64_t members, const char *name);
/* Returns the group's name; "" = it is not declared. */
const char *setup_group_name(const struct setup *setup, uint16_t group);
uint64_t setup_collective_bound_ns(const struct setup *setup);
/* Returns what the clock shows when now_ns have passed; at most UINT64_MAX - 1. */
uint64_t setup_clock_reading(const struct setup_clock *clock, uint64_t now_ns);

/* The value of the key among options[count]; NULL when it is not set. */
const char *setup_find_value(const struct setup_option *options, uint32_t count, const char *key);
const char *setup_option(const struct setup *setup, const char *key);

/* The members of a JSON object that say what is run: "target", and "options", an object of strings.
 */
struct writing;
void setup_add_target_json(const struct setup *setup, struct writing *text);

const char *defrag_contract_name(enum defrag_contract defrag); /* "none", "slide", "repack" */
const char *placement_name(enum placement placement);          /* "ranges", "hidden", "pages" */

/* The name of a tag; where it has none "tag N" or, of tag 0 of a file of another system, "(no
 * source line)".  Returns name. */
const char *setup_tag_name(const struct setup *setup, uint8_t tag, char name[SETUP_NAME_BYTES]);

/* Buffers whose tag has this name stand for memory that is free in the snapshot that a list
 * rebuilds, and are freed when the rest is in its place: peaks, and what is in use over time, leave
 * them out. */
#define SETUP_FILLER_NAME "free later"
/* Their tag; OP_TAG_COUNT when there is none. */
unsigned setup_filler_tag(const struct setup *setup);

/* A buffer whose tag has this name is what the chip keeps to itself of all its memory, where a log
 * counts that in; the capacity of a chip is without it. */
#define SETUP_RESERVED_NAME "reserved for the system"

/* One whose tag has this name stands for all that was there before a log began.  It is held because
 * nobody knows where it lay, not because somebody refers to it; so is what is reserved. */
#define SETUP_BEFORE_NAME "before the window"

/* One whose tag has this name, alone or with SETUP_PLACED_ENDING, is held because a message does
 * not say whether it could move: a verdict that depends on it is unknown. */
#define SETUP_ASSUMED_NAME "assumed pinned"
bool setup_is_assumed_name(const char *name);
/* Memory of the device that the allocator never had: of another process (a tag for each may have
 * this name and its number behind it), of this process but of another library (a context, NCCL), or
 * of somebody of whom the log says no more.  It is held because the allocator cannot move it. */
#define SETUP_OTHER_PROCESS_NAME "other process"
#define SETUP_OTHER_LIBRARY_NAME "this process, outside the allocator"
#define SETUP_OUTSIDE_NAME "outside the allocator"
bool setup_is_outside_name(const char *name);

/* If a tag's name ends so, the place of its blocks is assumed: the file has their sum, and that of
 * the free bytes around them.  If nothing may move, a verdict that depends on it is unknown. */
#define SETUP_PLACED_ENDING " (placement assumed)"
bool setup_is_placed_name(const char *name);

/* A tag whose name begins so is one of several clients of a job, each with blocks and programs of
 * its own. */
#define SETUP_CLIENT_NAME "client "
bool setup_is_client(const struct setup *setup, uint8_t tag);

/* The first tag of that name; OP_TAG_COUNT when there is none. */
unsigned setup_tag_named(const struct setup *setup, const char *name);

/* Names a tag; longer names are cut. Control characters and quotes become '_'. */
void setup_set_tag(struct setup *setup, uint8_t tag, const char *name);

#endif
