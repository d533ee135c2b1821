/* A run as a page draws it: which block lay where, in which state and for how long, what each op
 * did, mitigations, failures, and what was in use.  It stands in memory that a child shares, so
 * that what was recorded is there when the target dies.
 *
 * Time is counted in turns: the ops in the order in which they were judged, from 0.  Without lanes
 * the turn of an op is its number in the list. */
#ifndef PAGE_RUN_RECORD_H
#define PAGE_RUN_RECORD_H

#include "diagnosis/tag_trend.h"
#include "harness/base/writing.h"
#include "harness/run/run.h"
#include "harness/trial/trial_run.h"

enum record_state {
    RECORD_MOVABLE = 0,
    RECORD_HELD, /* by references or unfinished uses */
    RECORD_DYING,
    RECORD_IDLE, /* programs */
    RECORD_BUSY,
    RECORD_STACK, /* at the bottom: a block for each time that its size stays */
    RECORD_RETIRED,
    RECORD_STATE_COUNT
};
const char *record_state_name(enum record_state state); /* "movable", ... */

#define RECORD_OPEN UINT32_MAX /* it was there when the record ended */
#define RECORD_NONE UINT32_MAX /* no turn */

/* A block in one place and one state, in turns [begin, end); begin == end: within one op, nobody
 * sees it. */
struct record_block {
    uint64_t address, size_bytes;
    uint32_t begin, end;
    uint32_t maker; /* the turn of the op that made it; of a stack, begin */
    uint8_t state;  /* enum record_state */
    uint8_t tag, host;
};

/* The effect of one op, and the state of its host after it. */
struct record_op {
    uint64_t size_bytes, address; /* address: of what it made, where makes_block */
    uint64_t now_ns;
    uint64_t in_use_bytes; /* the stack counted, fillers (SETUP_FILLER_NAME) not */
    uint64_t reserved_bytes, queued_bytes, free_bytes;
    uint64_t largest_hole_bytes;
    uint32_t program_count; /* on the device */
    uint32_t op;            /* its number in the list */
    uint32_t ref;           /* the turn of the op that it refers to; RECORD_NONE */
    uint8_t kind, lane, host, tag;
    uint8_t result; /* enum target_result, or RECORD_SKIPPED */
    bool makes_block;
};
enum { RECORD_SKIPPED = TARGET_FAILED + 1, RECORD_RESULT_COUNT };

enum record_mark_kind {
    RECORD_DRAIN = 0, /* the op waited for queued frees; what follows kind and host is 0 */
    RECORD_MOVE,
    RECORD_EVICTION,
    RECORD_STAGING /* a move through the memory of the host */
};
struct record_mark {
    uint64_t from, to, size_bytes;
    uint32_t turn, maker; /* RECORD_NONE: of no block */
    uint8_t kind;         /* enum record_mark_kind */
    uint8_t host;
};

struct model;
enum { RECORD_HOLE_COUNT_MAX = 8 };
/* An out-of-memory, or a broken promise. */
struct record_failure {
    struct verdict verdict;
    uint32_t turn;
    uint8_t host;
    bool is_oom, is_judged;
    uint64_t requested_bytes, align_bytes, free_bytes, largest_hole_bytes;
    struct device_region holes[RECORD_HOLE_COUNT_MAX]; /* hole_count of them, the largest first */
    size_t hole_count;
    char message[OBSERVATION_MESSAGE_BYTES];
};
/* The failures that are kept: the first ones, and of later ones those that are not justified. */
enum { RECORD_FAILURE_COUNT_MAX = 256, RECORD_FAILURE_FIRST_COUNT = 192 };

enum { RECORD_GROWTH_COUNT_MAX = 8 };
/* The least of a tag in each of count equal times, and its trend where it keeps growing. */
struct record_growth {
    uint64_t first_op[HISTORY_SAMPLE_COUNT_MAX], floor_bytes[HISTORY_SAMPLE_COUNT_MAX];
    uint32_t count;
    uint8_t tag, host;
    bool has_trend;
    struct tag_trend trend;
};

/* The whole record; open to read. */
struct run_record {
    const struct op_list *list;
    struct setup setup; /* completed by the run */
    uint64_t capacity_bytes[OP_HOST_COUNT_MAX];
    struct record_op *ops; /* op_count of them, by turn */
    uint32_t op_count;
    struct record_block *blocks; /* block_count of them, by begin */
    size_t block_count, block_room;
    uint64_t left_out_count; /* blocks that were dropped to make room */
    struct record_mark *marks;
    size_t mark_count, mark_room;
    uint64_t mark_left_out_count;
    struct record_failure failures[RECORD_FAILURE_COUNT_MAX]; /* failure_count of them */
    size_t failure_count;
    uint64_t failure_left_out_count;
    bool has_lanes;
    bool has_places; /* the target says where blocks lie */
    bool is_refused; /* the target did not open; why says it */
    bool is_done;    /* the run came to its end, or to a broken promise; then the rest is set */
    char why[RUN_REASON_BYTES];
    struct verdict first;
    struct run_totals totals;
    struct record_growth growth[RECORD_GROWTH_COUNT_MAX];
    size_t growth_count;
};

/* Sets the largest holes of the model, where the contract says where blocks lie. */
void record_failure_find_holes(struct record_failure *failure, const struct model *model);

/* Room for a run of that list, which outlives it; the setup is what it begins with.  NULL: no
 * memory. */
struct run_record *run_record_create(const struct setup *setup, const struct op_list *list);
void run_record_destroy(struct run_record *record);

/* In a child: runs the list and records it. */
void run_record_run(struct run_record *record, const struct target *target);

/* Returns the turn with the most memory in use, as a share of the device, and its *host; of equals
 * the first.  RECORD_NONE: no op was run. */
uint32_t run_record_peak(const struct run_record *record, uint32_t *host);

/* Leaves at most count blocks, the ones that lived longest and are largest; what is there within
 * 2,000 turns of a failure or of the peak stays whole, within fewer where that is too much. */
void run_record_thin(struct run_record *record, size_t count);

/* --- who holds memory at one turn --- */

/* The memory that a tag held at one turn on one host; its stack and retired memory are separate. */
struct run_holders {
    uint64_t bytes[OP_TAG_COUNT], counts[OP_TAG_COUNT];
    uint64_t stack_bytes, retired_bytes, retired_count;
};
/* Before the record is thinned. */
void run_holders_take(const struct run_record *record, uint32_t turn, uint32_t host,
                      struct run_holders *holders);
/* Appends the member `flame`: the tree of their tags, whose names are paths between / or ;. */
void run_holders_append_flame(const struct run_holders *holders, const struct setup *setup,
                              struct writing *json);

/* Appends the member `flameStacks`: what was there at that turn on that host by stack, the
 * outermost frame first.  A tag that is none of the frames is a child of the innermost.  Blocks
 * without a stack stand as in the tree by tag.  What has less than 1/2,000 of the whole is
 * gathered.  Before the record is thinned.  O(blocks log blocks + nodes). */
struct stacks;
void run_stacks_append(const struct run_record *record, const struct stacks *stacks, uint32_t turn,
                       uint32_t host, struct writing *json);
/* Returns what that tree leaves out; "" = nothing. */
const char *run_stacks_note(const struct stacks *stacks);

/* --- for the scripts of the page --- */

/* Appends the record as one object (present/page/README.md).  It is thinned where it is too large
 * for a page; O(record). */
struct recording;
struct step_axis;
void run_data_append(struct run_record *record, const struct recording *recording,
                     const struct step_axis *steps, const char *title, struct writing *json);

#endif
