/* A list of ops and the log of what its target answered, as they are read. */
#ifndef CHECKER_PRIVATE_HISTORY_H
#define CHECKER_PRIVATE_HISTORY_H

#include "checker/private/text.h"

#include <jansson.h>

/* Bounds how large a block may be that was asked for with so many bytes. */

struct rounding {
    enum { ROUNDING_GRANULE, ROUNDING_ANY, ROUNDING_CLASSES } kind;
    uint64_t steps, smallest, overhead; /* steps: classes in each doubling */
};

/* Reads it as in a list's head: "granule", "any" or "classes=N", then smallest= and overhead=. */
bool rounding_read(struct text_word text, struct rounding *rounding);
/* Returns true when a request needs what it asks for, and no more. */
bool rounding_is_exact(const struct rounding *rounding);
/* The most that the block may have; UINT64_MAX: nothing is promised. */
uint64_t rounding_most(const struct rounding *rounding, uint64_t granule, uint64_t asked);
/* Returns what a request of so many bytes needs. */
uint64_t rounding_needed(const struct rounding *rounding, uint64_t granule, uint64_t asked);

enum { HOSTS_MAX = 64, STREAM_COUNT = 64, OPTIONS_MAX = 16 };
#define NO_OP UINT32_MAX    /* block=none, and an op without event= */
#define NEVER_NS UINT64_MAX /* the time of what does not come */
#define IN_HOST_MEMORY_ADDRESS UINT64_MAX

enum list_op_kind {
    OP_ALLOC,
    OP_OUTPUT,
    OP_FREE,
    OP_FREE_AFTER,
    OP_USE,
    OP_HOLD,
    OP_RELEASE,
    OP_DONATE,
    OP_LOAD,
    OP_UNLOAD,
    OP_EXECUTE,
    OP_DEFRAGMENT,
    OP_COMPLETE,
    OP_ADVANCE,
    OP_TOUCH,
    OP_REPORT,
    OP_FAULT,
    OP_RETIRE,
    OP_SWITCH,
    OP_SLEEP,
    OP_WAKE,
    OP_RECORD,
    OP_RECORD_END,
    OP_RECORD_DROP,
    OP_KIND_COUNT
};

/* The changes of an op follow from these; fields that change nothing are only read. */
struct list_op {
    uint64_t size, align, stack, delay, address; /* align 0: none was asked for */
    size_t line_end;                             /* where the next line begins in the text */
    uint32_t ref, event;                         /* ops above it, or NO_OP */
    uint8_t kind, host, stream, tag;
    bool is_collective;
};

struct list_option {
    struct text_word key, value;
};

/* A message reports these of its request: from low to high, both included. */
struct reported {
    bool is_there;
    int64_t requested[2], free[2];
    int64_t image; /* the least that an image takes; 0: as the list says */
};

struct list {
    struct certificate_text text; /* the caller's */
    uint64_t capacity, granule;   /* granule 0: the target's own */
    uint64_t host_count;
    struct text_word target;
    struct list_option options[OPTIONS_MAX];
    size_t option_count;
    struct rounding rounding; /* plain without a line of it */
    bool has_tag[UINT8_MAX + 1];
    bool is_assumed_tag[UINT8_MAX + 1]; /* of what is held by assumption */
    bool is_placed_tag[UINT8_MAX + 1];  /* of what lies where it does by assumption */
    struct reported reported;
    bool has_clocks;           /* each host has a time of its own */
    uint64_t collective_bound; /* NEVER_NS: none */
    struct list_op *ops;
    size_t op_count, op_capacity;
    bool has_lanes;
};

enum answer { ANSWER_OK, ANSWER_NO_MEMORY, ANSWER_INVALID, ANSWER_FAILED, ANSWER_SKIPPED };
enum {
    REFUSED_COPY = 1,
    REFUSED_WAIT = 2,
    REFUSED_UNLOAD = 4,
    REFUSED_HOST_MEMORY = 8,
    REFUSED_REGION = 16
};

/* Something that came to be while an op ran: of the block or event of that op. */
struct change {
    enum {
        CHANGE_MOVED,
        CHANGE_EVICTED,
        CHANGE_DONE,
        CHANGE_DUE,
        CHANGE_GIVEN, /* a region; of no op */
        CHANGE_TAKEN
    } kind;
    uint32_t op;
    uint64_t value, end; /* the new address, or the time; the start and the end of a region */
};

struct observed {
    uint64_t now, address, size; /* 0 and 0 if no place was answered */
    size_t change_end;           /* its changes are those from the end of the line before on */
    uint8_t answer, refused;     /* refused: REFUSED_... */
};

/* The promises of one host's target. */
struct promise {
    uint64_t granule;
    struct rounding rounding;
    int defrag; /* by its index in "none|slide|repack" */
    int drains, evicts, program_evicts_program;
    int grows, trims;
    uint64_t step; /* 0 unless it grows */
    int placement; /* by its index in "ranges|hidden|pages" */
    uint64_t header;
    int aligns_naturally;
    int stream_ordered, records;
};

struct log {
    struct promise promises[HOSTS_MAX];
    struct observed *lines; /* of op 0, 1, 2, ... */
    struct change *changes;
    size_t line_count, line_capacity, change_count, change_capacity;
};

struct certificate_history {
    struct list list;
    struct log log;
    bool has_log;
};

/* Each returns false with the reason in lines.  What was read until then is released by the other.
 */
bool list_read(struct list *list, struct lines *lines);
bool log_read(struct log *log, const struct list *list, struct lines *lines);
void list_deinit(struct list *list);
void log_deinit(struct log *log);

bool op_makes_block(const struct list_op *op);
bool op_makes_event(const struct list_op *op);
/* Returns true when the op may be answered out of memory. */
bool op_is_request(const struct list_op *op);

/* The line of its next op. */
bool list_read_op(struct list *list, struct lines *lines);

/* SHA-256 of the list up to that op, as lower-case hexadecimal digits. */
enum { HASH_TEXT_BYTES = 65 };
void list_hash(const struct list *list, size_t op, char hash[HASH_TEXT_BYTES]);
/* Returns true when the object of strings has the list's options. */
bool list_has_options(const struct list *list, const json_t *options);

#endif
