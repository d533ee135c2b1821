/* Other workloads from a recorded one: a list of ops, such as an imported trace, as it is,
 * repeated, interleaved with itself or another list, on several hosts that start one after the
 * other, and with other sizes.  Everything is a function of lists and a seed: the same seed gives
 * the same ops. */
#ifndef HARNESS_GENERATE_VARIATION_H
#define HARNESS_GENERATE_VARIATION_H

#include "harness/base/random.h"
#include "harness/op/op.h"
#include "harness/op/setup.h"

enum {
    VARIATION_PERCENT_COUNT_MAX = 8,
    VARIATION_PERCENT_MAX = 10000,
    VARIATION_REPEAT_COUNT_MAX = 1000,
    /* A variation gets no longer than this by repeating or interleaving. */
    VARIATION_OP_COUNT_MAX = 1 << 20,
    VARIATION_RUN_COUNT_MAX = 32, /* ops of one list that come in a row where lists are merged */
    VARIATION_DRIFT_MAX = 1000,   /* millionths, of the clocks of hosts that start later */
};

/* A recorded workload; both outlive what is made of them.  setup has its capacity. */
struct variation_source {
    const struct setup *setup;
    const struct op_list *ops;
};

/* The variations that a user allows. */
struct variation_bounds {
    uint32_t repeat_count_max; /* 1..VARIATION_REPEAT_COUNT_MAX; 1 = it is never repeated */
    bool is_interleaved;       /* it may be, with the second list */
    /* percent_count of them, 1..VARIATION_PERCENT_MAX: what sizes are multiplied by */
    uint16_t percents[VARIATION_PERCENT_COUNT_MAX];
    uint32_t percent_count;
    bool keeps_capacity; /* the user fixed it */
    uint32_t host_count; /* that replay a list of one host; that of the list = as it is */
    uint64_t skew_ns;    /* by how much at most a host starts later than the one before */
};

/* The changes that one trial makes to the list; an open value.  variation_as_it_is() and
 * variation_draw() fill it. */
struct variation {
    uint32_t repeat_count; /* 1 = once */
    bool frees_live_end;   /* between repetitions; otherwise what is live is carried on */
    bool interleaves;
    uint16_t percent;     /* of the sizes; 100 = as they are */
    bool scales_capacity; /* with what is asked of it; otherwise it is kept */
    uint32_t host_count;
    uint64_t skew_ns;
};

/* The list itself. */
struct variation variation_as_it_is(const struct variation_source *source);

/* Returns what trial number `trial` does.  Trial 0 is the list as it is.  Trials 1, 5, 9, ...
 * repeat it alone, 2, 6, 10, ... interleave it alone, 3, 7, 11, ... scale it alone; trials 4, 8,
 * 12, ... draw all three, and so does a trial whose turn is not allowed.  Every trial but the first
 * is on bounds->host_count hosts.  second: the list that it is interleaved with (the same one,
 * perhaps). */
struct variation variation_draw(const struct variation_source *source,
                                const struct variation_source *second,
                                const struct variation_bounds *bounds, uint64_t trial,
                                uint64_t seed);

/* Makes its ops and its setup (with the source's seed); *ops is initialised and replaced.  O(ops).
 */
void variation_make(const struct variation_source *source, const struct variation_source *second,
                    const struct variation *variation, uint64_t seed, struct setup *setup,
                    struct op_list *ops);
/* The most ops that a variation within the bounds has. */
uint64_t variation_op_count_max(const struct variation_source *source,
                                const struct variation_source *second,
                                const struct variation_bounds *bounds);

/* Why no more than the sizes of the list can vary; NULL: all can.  Several hosts that wait for each
 * other, or must get the same answers, have an order that is part of the job. */
const char *variation_why_bound(const struct variation_source *source);

/* --- the steps, each from a list to a list; *to is initialised and appended to --- */

/* The list repeat_count times.  With frees_live_end, before each repetition but the first: hosts
 * that sleep are woken, an open recording is ended, and references that are held are given back and
 * blocks freed, programs unloaded and recordings dropped, as far as the list leaves them. */
void variation_repeat(const struct op_list *from, uint32_t repeat_count, bool frees_live_end,
                      struct op_list *to);

/* The lists in one, each in its own order, in runs of 1 to VARIATION_RUN_COUNT_MAX ops of a list
 * that is drawn.  A retry stays behind its request. */
void variation_merge(struct random *random, const struct op_list *const *lists, size_t count,
                     struct op_list *to);

/* A list of one host once for each of 1..OP_HOST_COUNT_MAX hosts, merged as above.  Each host but
 * the first begins with time that passes for it alone: up to skew_ns more than the one before.  Of
 * *setup it sets host_count, has_clocks, and the clock of each host but the first, which is ahead
 * by up to skew_ns and drifts. */
void variation_spread(struct random *random, const struct op_list *from, uint32_t host_count,
                      uint64_t skew_ns, struct setup *setup, struct op_list *to);

/* The sizes of requests, programs and their stacks, multiplied by percent / 100 and rounded down; a
 * size above 0 stays so, and one above 2^64 - 1 is that.  A fit (OP_FITTED) and memory that goes
 * bad stay as they are. */
void variation_scale(struct op_list *ops, uint16_t percent);
uint64_t variation_scale_bytes(uint64_t bytes, uint16_t percent);

/* Gives the tags of ops, a list with the setup `from`, the numbers that their names have in *to,
 * where names that are new are added; one for which there is no room left keeps its number. */
void variation_adopt_tags(struct setup *to, const struct setup *from, struct op_list *ops);

#endif
