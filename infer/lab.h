/* Where an experiment is made: a run of the target that is judged as usual, and the few words in
 * which experiments are written.  Each op that it makes is noted in a trace, with the answer to it
 * and what the oracle found: plain data that a child process can send. */
#ifndef INFER_LAB_H
#define INFER_LAB_H

#include "harness/base/writing.h"
#include "harness/call/call.h"
#include "harness/op/op.h"
#include "harness/oracle/verdict.h"
#include "harness/run/run.h"
#include "harness/target.h"

#include <stdbool.h>
#include <stdint.h>

/* --- what an experiment saw --- */

enum { SIGHT_CALLS_BYTES = 16, TRACE_WHY_BYTES = 160 };

/* One op of an experiment. */
struct lab_sight {
    struct observation seen;
    uint32_t verdict;         /* enum verdict_kind */
    uint32_t partial_count;   /* device calls that were done in part */
    uint64_t counters_digest; /* FNV-1a over the counters of which the contract says something */
    uint64_t region_bytes;    /* of the last region that was taken; 0 = none was */
    /* Which device calls were done, in their order, equal neighbours once: w(ait), m(ove),
     * u(nload), t(ake a region), g(ive one back). */
    char calls[SIGHT_CALLS_BYTES];
    char message[OBSERVATION_MESSAGE_BYTES]; /* the error text; "" = none */
};

/* Numbers that an experiment measures; 0 = it did not. */
enum measured_number {
    MEASURED_LARGEST_REQUEST, /* bytes granted on an empty device */
    MEASURED_LARGEST_ALIGN,   /* bytes */
    MEASURED_SMALLEST_CAPACITY,
    MEASURED_LARGEST_CAPACITY,
    MEASURED_HOST_OPEN, /* bytes of host memory: after open */
    MEASURED_HOST_FULL, /* with every block there */
    MEASURED_HOST_END,  /* after the last free */
    MEASURED_BLOCK_COUNT,
    MEASURED_COUNT
};

/* An open value; trace_init makes it empty. */
struct lab_trace {
    struct target_contract contract; /* as the target declared it, or as it was claimed */
    uint64_t measured[MEASURED_COUNT];
    struct op_costs costs; /* of its ops, as the rule `cost` counts them */
    uint32_t is_opened;    /* 0: the target refused the setup; why says so */
    uint32_t is_dead;      /* the target took the process with it, or hung; why says how */
    uint32_t asked; /* the op whose answer the experiment is about; OP_NONE: it was not made */
    char why[TRACE_WHY_BYTES]; /* why the experiment was not made, or not to its end; "" = it was */
    struct run_findings findings;
    struct op_list ops;
    struct lab_sight *sights; /* ops.count of them */
    size_t sight_capacity;
};

void trace_init(struct lab_trace *trace);
void trace_deinit(struct lab_trace *trace);

/* Empties it. */
void trace_clear(struct lab_trace *trace);
/* Adds an op that was begun and never ended: nothing was seen of it. */
void trace_add_begun(struct lab_trace *trace, const struct op *op);

/* What the op saw; NULL: the trace has no such op. */
const struct lab_sight *trace_sight(const struct lab_trace *trace, uint32_t op);
/* The same for the op that the experiment is about. */
const struct lab_sight *trace_asked(const struct lab_trace *trace);

/* Appends it as bytes for another process of the same program. */
void trace_append(const struct lab_trace *trace, struct writing *bytes);
/* Reads it back from bytes[length] into *trace, initialised by the caller; returns how many bytes
 * it took.  0: they are too few. */
size_t trace_read(struct lab_trace *trace, const char *bytes, size_t length);

/* --- where it is made --- */

/* What is known of the target before an experiment: its own experiments find it. */
struct limits {
    uint64_t largest_request_bytes; /* 0 = not known: the capacity */
    uint64_t largest_align_bytes;   /* 0 = not known: 2 MiB */
};

/* A block that lies on the device. */
struct lab_block {
    uint64_t address, size_bytes;
    uint32_t op;
    bool is_unit; /* a buffer of one unit */
};

/* The ops that were begun, in memory that outlives the process where the caller shares it: what is
 * left of an experiment that the target does not survive. */
enum { JOURNAL_OP_COUNT_MAX = 1 << 15 };
struct journal {
    uint32_t count; /* ops that were begun; those beyond the bound are not kept */
    struct op ops[JOURNAL_OP_COUNT_MAX];
};

struct lab {
    struct run *run;
    struct lab_trace *trace;
    struct journal *journal; /* NULL: nobody reads one */
    const struct target *target;
    const struct setup *setup;
    struct limits limits;
    uint64_t granule_bytes, capacity_bytes;
    uint64_t unit_bytes;      /* of the usual block: a sixteenth of the device, if it is granted */
    struct lab_block *blocks; /* block_count of them, by address: since lab_fill() */
    size_t block_count, block_capacity;
};

/* Opens the target.  trace is initialised and outlives the lab.  False: the target refused;
 * trace->why says why. */
bool lab_open(struct lab *lab, const struct target *target, const struct setup *setup,
              const struct limits *limits, struct lab_trace *trace);
/* Frees all, judges the last promises, and closes the target. */
void lab_close(struct lab *lab);

/* The experiment cannot be made, because of `why`; what was seen by now stays. */
void lab_give_up(struct lab *lab, const char *why);
bool lab_is_over(const struct lab *lab);

/* --- one op each; the number of the op --- */

uint32_t lab_step(struct lab *lab, const struct op *op);
uint32_t lab_alloc(struct lab *lab, uint64_t size_bytes);
uint32_t lab_alloc_aligned(struct lab *lab, uint64_t size_bytes, unsigned align_log2);
/* An alloc that the experiment is about. */
uint32_t lab_ask(struct lab *lab, uint64_t size_bytes);
uint32_t lab_load(struct lab *lab, uint64_t image_bytes, uint64_t stack_bytes);
/* An alloc on the stream, 0..63. */
uint32_t lab_alloc_on(struct lab *lab, uint64_t size_bytes, unsigned stream);
/* lab_ask() that may not have what was freed behind unfinished work of stream 0: on stream 1 where
 * the contract orders frees by streams. */
uint32_t lab_ask_elsewhere(struct lab *lab, uint64_t size_bytes);
/* OP_FREE, OP_HOLD, OP_RELEASE, OP_TOUCH, OP_UNLOAD, OP_RECORD_DROP of what op `ref` made; with
 * OP_NONE one of nothing: OP_RECORD, OP_SLEEP, OP_WAKE ... */
uint32_t lab_name(struct lab *lab, enum op_kind kind, uint32_t ref);
/* OP_FREE_AFTER, OP_USE, OP_EXECUTE, until an event after delay_ns (DELAY_NEVER: a lost one). */
uint32_t lab_until(struct lab *lab, enum op_kind kind, uint32_t ref, uint64_t delay_ns);
/* The same with an event on the stream, 0..63. */
uint32_t lab_until_on(struct lab *lab, enum op_kind kind, uint32_t ref, uint64_t delay_ns,
                      unsigned stream);
/* The event of that op is done now. */
void lab_complete(struct lab *lab, uint32_t event);
/* From here on each call that the fault strikes meets it, or only the next; false: it is disarmed.
 */
void lab_fault(struct lab *lab, enum fault_kind kind, bool is_for_ever);
void lab_disarm(struct lab *lab, enum fault_kind kind);
/* Counters and the report are compared, if the target has a report. */
void lab_report(struct lab *lab);
/* The last op was granted. */
bool lab_was_granted(const struct lab *lab);

/* --- many --- */

/* Fills the device with blocks of one unit, the rest with what fits.  Then blocks are set. */
void lab_fill(struct lab *lab);
/* Looks where all blocks lie. */
void lab_look(struct lab *lab);
/* The index in blocks of the first of `count` units that touch each other, none of them below
 * index `from`; it gives up and returns block_count where there are none. */
size_t lab_find_row(struct lab *lab, size_t from, size_t count);
/* The op that made the block at that index; OP_NONE where there is none: it gave up. */
uint32_t lab_op(const struct lab *lab, size_t index);
/* Every block but those at indices free[count] gets an external reference: it may not move. */
void lab_hold_others(struct lab *lab, const size_t *free, size_t count);
/* In a full device: a block between two holes of its size, all else held.  The index of the block;
 * block_count where it gave up. */
size_t lab_make_slide(struct lab *lab);
/* So many programs of one unit each, idle, and a full device in which no buffer may move. */
void lab_load_and_fill(struct lab *lab, size_t count);
/* Gives up unless a request of so many units may be granted: the limits say so.  False: it gave up.
 */
bool lab_may_ask(struct lab *lab, uint64_t units);
/* The last request again, so many times. */
void lab_ask_again(struct lab *lab, size_t times);
/* Reads what every block of blocks holds, as far as it is still there. */
void lab_touch_all(struct lab *lab);

#endif
