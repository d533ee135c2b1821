/* budget: a trace as a test.  A list is run on its target, measured on each host, and held against
 * limits.  docs/budget.md defines each number. */
#ifndef LADDER_BUDGET_BUDGET_H
#define LADDER_BUDGET_BUDGET_H

#include "campaign/base/message.h"
#include "campaign/plan/run_options.h"
#include "campaign/process/death.h"
#include "harness/base/size.h"
#include "present/annotation.h"
#include "present/facts.h"
#include "recording/recording.h"
#include "recording/step_axis.h"

enum { BUDGET_TAG_PEAK_COUNT_MAX = 16 };
/* Fragmentation counts while the host has at least 1 / so much of its device in use. */
enum { BUDGET_FULL_DIVISOR = 2 };
enum { BUDGET_LIMIT_COUNT_MAX = 4 + BUDGET_TAG_PEAK_COUNT_MAX };
/* Steps that --warmups leaves out where nothing is said, if there are steps. */
enum { BUDGET_WARMUP_COUNT = 1 };
enum { BUDGET_HALF_FIRST = 0, BUDGET_HALF_LAST, BUDGET_HALF_COUNT };

enum budget_kind {
    BUDGET_PEAK = 0,      /* the most bytes in use: of blocks and the stack */
    BUDGET_TAG_PEAK,      /* of one tag */
    BUDGET_GROWTH,        /* bytes by which what steps fall back to grows per step, rounded up */
    BUDGET_FRAGMENTATION, /* the share of what is free that is outside the largest hole */
    BUDGET_OOMS           /* requests that were refused, on all hosts */
};
struct budget_limit {
    enum budget_kind kind;
    uint64_t most; /* bytes, or requests; of fragmentation percent, 0..100 */
    uint8_t tag;   /* of BUDGET_TAG_PEAK */
};

/* A host after one op. */
struct budget_moment {
    bool is_seen;
    uint32_t op;
    uint64_t in_use_bytes; /* as watch and explain count: with the stack, without fillers and what
                              was retired */
    uint64_t stack_bytes;
    uint64_t free_bytes, largest_hole_bytes, lost_bytes; /* of fragmentation alone */
    uint64_t tag_bytes[OP_TAG_COUNT];
};
/* The least over some steps; that of a tag may be at another op. */
struct budget_floor {
    bool is_seen;
    uint32_t op;
    uint64_t in_use_bytes;
    uint64_t tag_bytes[OP_TAG_COUNT];
};
struct budget_host {
    struct list_growth growth; /* of the steps that count */
    /* By limit, of a peak, of that of a tag, of fragmentation: when it was at its most. */
    struct budget_moment moments[BUDGET_LIMIT_COUNT_MAX];
    struct budget_floor floors[BUDGET_HALF_COUNT];
};

/* What the child answers; plain data.  hosts: host_count of them follow. */
struct budget_run {
    uint64_t is_whole; /* 1: the target took the setup; 0: no answer */
    bool is_hidden;    /* nobody is told where blocks lie */
    uint64_t oom_count;
    struct budget_moment oom; /* the first refusal beyond the limit */
    uint32_t oom_host;
    uint64_t oom_bytes; /* that it asked for */
    struct run_totals totals;
    enum exit_code code; /* of its promises alone */
    uint32_t first_op;   /* of the gravest verdict, where code is not KEPT */
    char first_reason[VERDICT_REASON_BYTES];
};

/* Which steps count. */
struct budget_steps {
    struct step_axis axis;
    size_t warmup_count; /* the first ones, left out */
    /* Both halves have so many steps, the last one of the list left out; 0: growth has no limit. */
    size_t half_count;
    size_t distance;    /* from a step of the first half to its like in the last */
    size_t first, last; /* the place where each begins */
};

/* One limit on one host, or on all of them: what it came to.  Plain data.  Every form of output is
 * made of these rows; a finding is one that is exceeded, with the words of budget_describe(). */
struct budget_row {
    const struct budget_limit *limit;
    uint32_t host;
    bool is_measured; /* false: the host never came to what is measured; then it is met */
    bool is_exceeded;
    uint64_t measured; /* bytes or requests; of fragmentation lost_bytes of the moment */
    uint64_t over;     /* by so much; of fragmentation bytes that are lost beyond the share */
    uint32_t op;       /* after which it was so; OP_NONE */
    size_t line;       /* of FILE; 0 = not known */
};

/* NAME=SIZE; name has name_length characters. */
struct budget_tag_peak {
    const char *name;
    size_t name_length;
    uint64_t bytes;
};
/* FILE and its limits; what is not given has no limit, but for refusals, of which there are 0.
 * Texts belong to the caller. */
struct budget_options {
    struct recording_options reading;
    const char *path;
    uint64_t peak_max, growth_max, oom_max;  /* bytes, bytes a step, requests */
    uint64_t fragmentation_max;              /* percent */
    uint64_t warmup_count;                   /* steps */
    const struct budget_tag_peak *tag_peaks; /* tag_peak_count */
    size_t tag_peak_count;
    bool has_peak, has_growth, has_fragmentation, has_warmups;
};

/* All that the options ask for; prints it.  The usual codes: EXIT_BROKEN for an exceeded limit. */
enum exit_code budget_run(const struct budget_options *options);

struct budget {
    const struct budget_options *options;
    struct recording recording;
    struct budget_limit limits[BUDGET_LIMIT_COUNT_MAX]; /* limit_count of them */
    size_t limit_count;
    struct budget_steps steps;
    struct budget_run run;
    struct budget_host *hosts; /* recording.setup.host_count of them */
    struct budget_row *rows;   /* row_count of them: by limit, then by host */
    size_t row_count;
    struct death death; /* of the child */
};

/* Runs the list in a process of its own and makes the rows.  *died: the target took its process
 * with it; then there are no rows.  EXIT_KEPT; or after one message EXIT_HARNESS, or EXIT_USAGE
 * where the target does not tell what a limit needs. */
enum exit_code budget_measure(struct budget *budget, bool *died);

/* False: the first refusal came before the last half of the steps. */
bool budget_has_floors(const struct budget_host *host);
/* In which op the target died; OP_NONE: in none of the list. */
uint32_t budget_death_op(const struct budget *budget);
/* In which line of FILE the op stands; 0 = not known. */
size_t budget_line_of(const struct budget *budget, uint32_t op);

/* "peak", "growth_per_step" ...: the option without its dashes. */
const char *budget_limit_name(enum budget_kind kind);
size_t budget_count_exceeded(const struct budget *budget);
/* A number of a row, and its limit, as people read them. */
struct size_text budget_value_text(const struct budget_row *row, uint64_t value);
struct size_text budget_limit_text(const struct budget_row *row);

/* The moment of a row; NULL: it is one of growth, or not measured. */
const struct budget_moment *budget_moment_of(const struct budget *budget,
                                             const struct budget_row *row);
/* Which tags hold the most at that moment, or of growth those whose floors rose, by so much: the
 * most first, the smaller tag of equals. */
enum { BUDGET_HOLDER_COUNT_MAX = 5 };
struct budget_holders {
    struct {
        uint8_t tag;
        uint64_t bytes;               /* > 0 */
    } items[BUDGET_HOLDER_COUNT_MAX]; /* count of them */
    size_t count;
};
void budget_find_holders(const struct budget *budget, const struct budget_row *row,
                         struct budget_holders *holders);
/* The words of a row that is exceeded, on one line without its end: what, where, by how much, who
 * holds it.  Text of FILE in it is as it is. */
void budget_describe(const struct budget *budget, const struct budget_row *row,
                     struct writing *words);

/* All of it as facts, but for the JSON line of the start.  death: how the target died; NULL: it did
 * not. */
void budget_tell(const struct budget *budget, const char *death, enum exit_code code,
                 struct facts *facts);
/* Each exceeded limit, a broken promise, and a target that died, at the line of FILE where it was.
 */
void budget_annotate(const struct budget *budget, const char *death,
                     struct annotations *annotations);

#endif
