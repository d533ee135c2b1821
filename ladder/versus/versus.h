/* compare: one or two builds of an allocator on the same op lists.  What is measured of each, what
 * counts as a regression, and how that is told.  replay --compare is another thing: a log
 * beside a run of it. */
#ifndef LADDER_VERSUS_VERSUS_H
#define LADDER_VERSUS_VERSUS_H

#include "campaign/base/message.h"
#include "campaign/engine/output.h"
#include "campaign/plan/run_options.h"
#include "measure/cost.h"
#include "measure/judged.h"
#include "measure/needs.h"
#include "measure/smallest.h"
#include "recording/recording.h"

enum { VERSUS_SIDE_COUNT_MAX = 2, VERSUS_LIST_COUNT_MAX = 256, VERSUS_NAME_BYTES = 64 };

/* By which contract refusals are judged. */
enum versus_contract {
    VERSUS_UNSAID = 0, /* each by its own, and both must declare the same */
    VERSUS_OLD,        /* both by what OLD declares */
    VERSUS_NEW,        /* both by what NEW declares */
    VERSUS_DECLARED,   /* each by its own */
    VERSUS_INFERRED,   /* each by its own, with the rounding that experiments show */
    VERSUS_NONE,       /* without size classes (HELD_NONE) */
    VERSUS_CONTRACT_COUNT
};
const char *versus_contract_name(enum versus_contract contract);

/* What both sides run.  setup has the capacity, and nothing that one target alone understands. */
struct versus_list {
    char name[VERSUS_NAME_BYTES];
    const char *path; /* NULL: it was drawn */
    struct setup setup;
    struct op_list ops;
    struct needs_peak peak;
};

/* A build.  A plug-in is loaded in children alone, and never two in one process: C++ plug-ins that
 * share a header share its static tables there, and one build would run the code of the other. */
struct versus_side {
    const char *name; /* as on the command line */
    struct target_limits limits;
    struct target_contract contract; /* what it declares */
    struct judged_held held;         /* what it is judged by */
};

/* What one build does with one list. */
struct versus_row {
    struct setup setup;    /* its own: target, options, a capacity that it takes */
    struct judged judged;  /* by the contract that was chosen */
    struct judged without; /* by HELD_NONE */
    uint8_t *answers;      /* enum judged_answer, by op: under the chosen contract */
    bool has_room;
    uint64_t room_bytes; /* the largest request that is served at the peak */
    struct smallest smallest;
    struct cost cost;
};

/* Why NEW is worse, one bit each. */
enum versus_regression {
    VERSUS_DIES = 1 << 0,
    VERSUS_BREAKS = 1 << 1, /* a promise that OLD keeps */
    VERSUS_REFUSES = 1 << 2,
    VERSUS_IS_PREMATURE = 1 << 3,
    VERSUS_NEEDS_MORE = 1 << 4,
    VERSUS_COSTS_MORE = 1 << 5
};

/* Two rows of one list. */
struct versus_result {
    unsigned regressions;                    /* enum versus_regression */
    uint64_t only_old_count, only_new_count; /* requests that the other one refused */
    uint32_t first_op;                       /* that OLD serves and NEW does not; OP_NONE */
};

/* What is compared, and what is a regression.  Texts belong to the caller. */
struct versus_options {
    const struct run_options *run;
    const char *const *words; /* word_count: the sides, then lists */
    size_t word_count;
    const char *contract; /* NULL: each its own */
    bool plays_robson;    /* in place of the lists */
    bool benches;         /* the same: an op of a steady state is measured (versus_bench) */
    const char *besides;  /* an option that has no meaning with one of these two; NULL: none */
    uint64_t block_count, full_percent, step_count; /* 0: not given */
    uint64_t refused_max;                           /* requests */
    uint64_t premature_max, capacity_max, cost_max; /* percent */
    bool has_cost_max;
};

struct versus {
    const struct versus_options *options;
    enum versus_contract contract;
    struct versus_side sides[VERSUS_SIDE_COUNT_MAX]; /* side_count of them: OLD, NEW */
    size_t side_count;
    struct versus_list *lists; /* list_count of them */
    size_t list_count;
    struct versus_row *rows;       /* by list, then by side */
    struct versus_result *results; /* by list, where there are two sides */
    struct death death;            /* of the child that ran last */
    char
        shown_path[OUTPUT_PATH_BYTES]; /* the list that shows a regression; "" = none was written */
    size_t shown_list, shown_op_count;
};

/* What work answers, asked in a process of its own. */
struct target_reply versus_ask(struct versus *versus, void (*work)(void *context, int file),
                               void *context, void *to, size_t length);

/* Reads or draws the lists.  The usual codes; lists are deinitialised by the caller. */
enum exit_code versus_lists_read(struct versus *versus);
void versus_lists_deinit(struct versus *versus);

/* Fills rows[list * side_count + side].  The usual codes. */
enum exit_code versus_measure(struct versus *versus, size_t list, size_t side);
/* The limits of a target, and what it declares on the device of the first list; then what
 * experiments show of its sizes.  The usual codes. */
enum exit_code versus_ask_contract(struct versus *versus, size_t side);
enum exit_code versus_ask_rounding(struct versus *versus, size_t side);
/* In a child: the target of a side, which was found before. */
const struct target *versus_load(const struct versus_side *side);
/* *op: the first of ops that the side does not serve on that setup, of whatever target it is;
 * ops->count when it serves all. */
struct target_reply versus_ask_refused(struct versus *versus, size_t side,
                                       const struct setup *setup, const struct op_list *ops,
                                       uint32_t *op);
/* The setup of a list for one side. */
void versus_make_setup(const struct versus *versus, const struct versus_list *list, size_t side,
                       struct setup *setup);

/* Writes the list that shows the regression of lists[list], as short as it can be made, and sets
 * versus->shown_*.  The usual codes. */
enum exit_code versus_show(struct versus *versus, size_t list);

/* Robson's adversary in place of the lists; prints what comes of it.  The usual codes. */
enum exit_code versus_robson(struct versus *versus);
/* What an op costs on devices of block_count blocks that are full_percent full: measures and prints
 * row by row, of the sides, or without any of the null target and libhbm.  The usual codes. */
enum exit_code versus_bench(struct versus *versus);

/* All that the options ask for.  The usual codes: EXIT_BROKEN where NEW is worse. */
enum exit_code versus_run(const struct versus_options *options);

/* All of it as facts, in this order; JSON may be printed after each.  The table is of all rows. */
void versus_tell_row(const struct versus *versus, size_t list, size_t side, struct facts *facts);
void versus_tell_table(const struct versus *versus, struct facts *facts);
void versus_tell_result(const struct versus *versus, size_t list, struct facts *facts);
void versus_tell_end(const struct versus *versus, enum exit_code code, struct facts *facts);
/* "regressions on 2 of 5 lists", without the line end. */
void versus_closing_line(const struct versus *versus, struct writing *text);
/* One error for each regression of each list. */
void versus_annotate(const struct versus *versus, struct annotations *annotations);

#endif
