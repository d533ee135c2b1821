/* Exports the events of a run in the words of other tools.  Each
 * format has one exporter, which is fed with events in their
 * order. */
#ifndef FORMATS_EXPORT_EXPORT_H
#define FORMATS_EXPORT_EXPORT_H

#include "harness/device/device.h"
#include "harness/model/model.h"
#include "harness/op/op.h"
#include "harness/op/setup.h"
#include "harness/oracle/verdict.h"

#include <stdio.h>

/* The things that happen to a block.  All moves of one op are told out first, and then in. */
enum export_action {
    EXPORT_ALLOC = 0, /* a buffer, an output, a program's image, also one that is loaded again */
    EXPORT_FREE_REQUESTED, /* by the client; it keeps its place until it is complete */
    EXPORT_FREE_COMPLETED, /* its place is free */
    EXPORT_EVICTED,        /* a program's image went: its place is free */
    EXPORT_MOVED_OUT,      /* it left this address */
    EXPORT_MOVED_IN,       /* it is at this address now */
    EXPORT_RETIRED,        /* memory that went bad: taken for ever */
    EXPORT_FAILED,         /* out of memory: no address */
    EXPORT_ACTION_COUNT
};
const char *export_action_name(enum export_action action); /* "alloc", "free_requested", ... */

struct export_event {
    enum export_action action;
    uint32_t op;         /* its number: of a free that completed late, the op in which it did */
    uint32_t block;      /* the op that made the block; of FAILED: op */
    uint64_t address;    /* an offset into the device of the host; 0 with FAILED */
    uint64_t size_bytes; /* that the block takes; FAILED: as requested */
    uint64_t requested_bytes; /* image and stack of a program that failed */
    uint8_t lane, host, tag;
    uint64_t now_ns;                           /* virtual time */
    uint64_t in_use_bytes, largest_hole_bytes; /* of the host, after the op */
    bool is_absent;  /* the block is in host memory: it left the address, and is nowhere on the
                        device */
    bool is_dying;   /* its free was requested */
    bool is_program; /* the block is an image */
};

/* A host's memory after an op, as its model has it. */
struct export_memory {
    uint64_t in_use_bytes, reserved_bytes, largest_hole_bytes;
};

/* An op of the list and what it did.  All that it points to is there during the call alone. */
struct export_op {
    const struct op *op;
    uint32_t number;
    bool is_skipped; /* the target was not called */
    enum target_result result;
    uint64_t address, size_bytes;
    uint64_t now_ns;                 /* virtual time of its host, after it */
    const struct device_call *calls; /* call_count that it made the target make, in order; of ops
                                        that overlap, the first has those of all */
    size_t call_count;
    const struct verdict *verdict;      /* on the op, or VERDICT_NONE */
    const char *message;                /* the target's error text, or "" */
    const struct export_memory *memory; /* of each host */
    const struct model *model;          /* of its host; it has the pending events of all hosts */
};

/* A block that is there at the end. */
struct export_block {
    uint64_t address, size_bytes, requested_bytes;
    uint8_t host, tag, lane;
    bool is_dying;
    uint32_t op; /* that made it */
};
/* The end of a run. */
struct export_final {
    const struct export_block *blocks; /* block_count of them, by host and address */
    size_t block_count;
    const uint64_t *reserved_bytes; /* of each host's stack, at the bottom */
    const struct op_list *ops;      /* that were run */
    uint64_t now_ns;
};

/* The moment of a format that shows one. */
enum export_moment { EXPORT_AT_PEAK = 0, EXPORT_AT_FAILURE, EXPORT_AT_OP };

/* One export under way. */
struct export
{
    FILE *stream;       /* the caller's; write errors stay in it */
    const char *source; /* the name of what was run */
    enum export_moment moment;
    uint32_t moment_op;        /* AT_OP: after which op */
    bool has_missed;           /* set by end: the run has no such moment, and nothing was written */
    const struct setup *setup; /* granule and capacity complete */
    void *state; /* the exporter's own, state_bytes of it, all zero at first; NULL: none is */
};

/* One format; a constant.  All calls are made in one thread; what the format has no need of is
 * NULL.
 */
struct exporter {
    const char *name;
    const char *summary;
    size_t state_bytes;                   /* of export->state */
    bool (*begin)(struct export *export); /* false: no host memory */
    void (*event)(struct export *export, const struct export_event *event);
    /* After the events of the op. */
    void (*op)(struct export *export, const struct export_op *op);
    /* Frees what the state holds.  final is NULL when the run is given up.  False: no host memory.
     */
    bool (*end)(struct export *export, const struct export_final *final);
    bool has_moment;    /* it shows one moment of the run */
    const char *suffix; /* of files that have it: ".csv"; NULL: it must be named */
};

/* Each exporter is one file, and one line in formats/export/list.h. */
#define EXPORTER(name) extern const struct exporter exporter_##name;
#include "formats/export/list.h"
#undef EXPORTER
/* Every exporter; ends with NULL. */
extern const struct exporter *const exporters[];

/* The first line of a table, which no importer takes: the events of a run are no list. */
#define EXPORT_CSV_HEADER "op,action,address,size,requested,lane,host,tag,in_use,largest_hole"

/* NULL when there is none of that name. */
const struct exporter *exporter_find(const char *name);
/* The one with the longest suffix that the path ends in; NULL: there is none. */
const struct exporter *exporter_of_path(const char *path);

/* Begin an export with the state of its own, and end it and free the state, whatever came of the
 * beginning: as the exporter's functions, which may be NULL. */
bool export_begin(const struct exporter *exporter, struct export *export);
bool export_end(const struct exporter *exporter, struct export *export,
                const struct export_final *final);

/* The tag's name, or its number; written to text[SETUP_NAME_BYTES].  Tag 0 without a name is "". */
const char *export_tag(const struct setup *setup, uint8_t tag, char text[SETUP_NAME_BYTES]);

#endif
