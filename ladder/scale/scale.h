/* scale: one job on several numbers of hosts, batches, chips or capacities: where it stops to fit,
 * what limits it, and what grew since a stored run. */
#ifndef LADDER_SCALE_SCALE_H
#define LADDER_SCALE_SCALE_H

#include "campaign/plan/run_options.h"
#include "campaign/process/death.h"
#include "diagnosis/cause.h"
#include "harness/base/edge.h"
#include "present/facts.h"
#include "recording/recording.h"

enum {
    SCALE_AXIS_COUNT_MAX = 8,
    SCALE_VALUE_COUNT_MAX = 64,
    SCALE_ROW_COUNT_MAX = 1024,
    SCALE_VALUE_BYTES = SETUP_NAME_BYTES,
    SCALE_NAME_BYTES = SCALE_AXIS_COUNT_MAX * 2 * SETUP_NAME_BYTES,
    SCALE_LIMIT_BYTES = 4 * SETUP_NAME_BYTES
};
#define SCALE_NO_STEP UINT64_MAX /* the job has no steps, as far as anybody knows */

enum scale_axis_kind { SCALE_HOSTS = 0, SCALE_CHIP, SCALE_CAPACITY, SCALE_OPTION, SCALE_BATCH };

/* What is varied, in the order in which it was given; values[0] is the base. */
struct scale_axis {
    enum scale_axis_kind kind;
    char name[SETUP_NAME_BYTES]; /* "hosts", "chip", "capacity", "batch%", or the scenario's option
                                  */
    char values[SCALE_VALUE_COUNT_MAX][SCALE_VALUE_BYTES]; /* count of them, as they were given */
    size_t count;
    const struct scenario_option *option; /* of SCALE_OPTION */
};

/* One value on each axis. */
struct scale_point {
    char values[SCALE_AXIS_COUNT_MAX][SCALE_VALUE_BYTES];
};

enum scale_end {
    SCALE_FITS = 0,
    SCALE_NO_MEMORY, /* a request was refused, rightly or not */
    SCALE_BROKEN,    /* a promise broke, and no request was refused */
    SCALE_DIED,      /* the target took its process with it, or hung; why */
    SCALE_REFUSED,   /* there is no such job or device; why */
    SCALE_END_COUNT
};
const char *scale_end_name(enum scale_end end); /* "fits", "out of memory", ... */

/* How one point ran; plain data.  Bytes are of one host. */
struct scale_result {
    enum scale_end end;
    enum exit_code code;               /* of this point alone */
    uint32_t host, op;                 /* of the first refusal, or where it died; OP_NONE */
    uint64_t step;                     /* of that host then; SCALE_NO_STEP */
    uint64_t steps;                    /* that the slowest host took in all; SCALE_NO_STEP */
    uint64_t requested_bytes;          /* of the first refusal */
    uint64_t capacity_bytes;           /* of the device */
    uint64_t peak_bytes;               /* on the fullest host, stack included */
    uint32_t peak_host;                /* which */
    uint64_t headroom_bytes;           /* the least that a host had besides */
    uint64_t image_bytes, stack_bytes; /* of the largest programs that were loaded */
    struct run_totals totals;
    char limit[SCALE_LIMIT_BYTES]; /* what limits it: the surest causes and their tags; where it
                                      fits, the tag that holds most at the peak; "" = not known */
    char
        why[VERDICT_REASON_BYTES]; /* of all ends but FITS and NO_MEMORY, and of a broken promise */
};

struct scale_row {
    struct scale_point point;
    struct scale_result result;
};

/* Where an axis stops to fit, the values on the others being those of `point`. */
struct scale_edge {
    size_t axis;
    struct scale_point point;
    bool is_smallest;         /* `holds` is the smallest that fits: more needs less */
    bool is_mixed;            /* what fits has no order; holds and fails are not known */
    struct edge edge;         /* numbers on the axis */
    struct scale_row trouble; /* of the runs of the search, the gravest whose code is not KEPT */
};

/* The job, and what is tried.  Texts belong to the caller; NULL and 0: not given. */
struct scale_options {
    const struct run_options *run;
    const char *const *words; /* word_count: a scenario or a list, or nothing */
    size_t word_count;
    const char *host_list, *chip_list, *capacity_list, *batch_list; /* separated by commas */
    const char *const *option_lists;                                /* option_list_count KEY=LIST */
    size_t option_list_count;
    const char *against; /* a stored run */
    uint64_t grew_max;   /* percent */
    uint64_t search_count;
    bool has_grew_max, varies_one_axis;
};

/* All that the options ask for; prints it.  The usual codes. */
enum exit_code scale_run(const struct scale_options *options);

/* Zero but for options is a valid start. */
struct scale {
    const struct scale_options *options;
    const struct scenario *scenario; /* NULL: a list is run */
    struct recording recording;      /* of a list, otherwise empty */
    const struct target *target;
    struct setup base; /* of the job, without what the axes say */
    struct scale_axis axes[SCALE_AXIS_COUNT_MAX];
    size_t axis_count;
    struct scale_row *rows; /* row_count of them */
    size_t row_count;
    struct scale_edge *edges; /* edge_count of them */
    size_t edge_count;
    struct death death;   /* of the child that ran last */
    struct facts changes; /* since the stored run */
    size_t alarm_count, change_count;
    /* Of the tables: by the axis that is left out, axis_count = none. */
    struct facts_column columns[SCALE_AXIS_COUNT_MAX + 1][2 * SCALE_AXIS_COUNT_MAX];
};

/* Reads the job and the axes from the command line, checks all of it, and makes the rows without
 * results.  The usual codes, after one message; scale_deinit in any case. */
enum exit_code scale_plan(struct scale *scale);
void scale_deinit(struct scale *scale);

/* A value of an axis of numbers; false: it is none. */
bool scale_read_value(const struct scale_axis *axis, const char *value, uint64_t *number);
/* The batch of a point of a list, in percent; 0: the list is run as it is. */
uint64_t scale_batch_percent(const struct scale *scale, const struct scale_point *point);
/* Makes the setup of a point.  False: there is no such job; reason says why. */
bool scale_make_setup(const struct scale *scale, const struct scale_point *point,
                      struct setup *setup, char reason[RUN_REASON_BYTES]);
/* "hosts=4 chip=v4 batch=8"; without: the axis that is left out, axis_count = none. */
void scale_name(const struct scale *scale, const struct scale_point *point, size_t without,
                char name[SCALE_NAME_BYTES]);

/* Runs the point in a process of its own.  EXIT_KEPT, or EXIT_HARNESS after one message. */
enum exit_code scale_measure(struct scale *scale, const struct scale_point *point,
                             struct scale_result *result);

/* All rows, as many at once as --workers says; tells of each in order.  The same codes. */
enum exit_code scale_measure_rows(struct scale *scale,
                                  void (*tell)(void *context, const struct scale_row *row),
                                  void *context);

/* Once all rows have results: finds the edges, with more runs.  The usual codes. */
enum exit_code scale_find_edges(struct scale *scale);
/* The value of an edge as the axis has it. */
void scale_print_value(const struct scale *scale, size_t axis, uint64_t number,
                       char text[SCALE_VALUE_BYTES]);

/* It came to its end, or to a refusal: the result has sizes. */
bool scale_has_run(const struct scale_result *result);

/* All of it as facts, in this order: the start, each row, the edges, the end.  JSON may be printed
 * after each; words are of all together, with the changes before the end. */
void scale_tell_start(struct scale *scale, struct facts *facts);
void scale_tell_row(const struct scale *scale, const struct scale_row *row, struct facts *facts);
void scale_tell_edges(struct scale *scale, struct facts *facts);
void scale_tell_end(const struct scale *scale, enum exit_code code, struct facts *facts);

/* A stored run: what is read of its lines. */
struct stored_row {
    char name[SCALE_NAME_BYTES];
    struct scale_result result; /* end, op, step, peak, image, stack and limit; the rest is 0 */
};
struct stored_edge {
    char name[SCALE_NAME_BYTES], axis[SETUP_NAME_BYTES];
    bool is_smallest;
    struct edge edge;
};
struct stored {
    struct stored_row *rows; /* row_count of them */
    size_t row_count, row_capacity;
    struct stored_edge *edges; /* edge_count of them */
    size_t edge_count, edge_capacity;
};
/* Reads a file of --out, which may be any file.  EXIT_KEPT; or EXIT_USAGE after one message: it
 * cannot be read, is no such file, is of another job, or has no row of this ladder.  Deinit in any
 * case. */
enum exit_code stored_read(const char *path, const struct scale *scale, struct stored *stored);
void stored_deinit(struct stored *stored);
/* What changed, as scale->changes, with its counts. */
void stored_compare(const struct stored *stored, struct scale *scale);

#endif
