/* What happened in a run goes out in the words of other tools: one exporter a format, fed with
 * events in their order.
 */
#ifndef FORMATS_EXPORT_EXPORT_H
#define FORMATS_EXPORT_EXPORT_H

#include "harness/op/op.h"
#include "harness/op/setup.h"

#include <stdio.h>

/* What became of a block.  Moves of one op are told out first, all of them, and then in. */
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
    uint64_t address;    /* an offset into the device of the host; 0 with FAILED */
    uint64_t size_bytes; /* that the block takes; FAILED: as requested */
    uint64_t requested_bytes; /* image and stack of a program that failed */
    uint8_t lane, host, tag;
    uint64_t now_ns;                           /* virtual time */
    uint64_t in_use_bytes, largest_hole_bytes; /* of the host, after the op */
    bool is_absent; /* the block is in host memory: it left the address, and is nowhere on the
                       device */
    bool is_dying;  /* its free was requested */
};

/* A block that is there at the end. */
struct export_block {
    uint64_t address, size_bytes, requested_bytes;
    uint8_t host, tag, lane;
    bool is_dying;
    uint32_t op; /* that made it */
};
/* How it ended. */
struct export_final {
    const struct export_block *blocks; /* block_count of them, by host and address */
    size_t block_count;
    const uint64_t *reserved_bytes; /* of each host's stack, at the bottom */
    const struct op_list *ops;      /* that were run */
    uint64_t now_ns;
};

/* One export under way. */
struct export
{
    FILE *stream;              /* the caller's; write errors stay in it */
    const struct setup *setup; /* granule and capacity complete */
    void *state;               /* the exporter's own, between begin and end */
};

/* One format; a constant.  All calls are made in one thread. */
struct exporter {
    const char *name;
    const char *summary;
    bool (*begin)(struct export *export); /* false: no host memory */
    void (*event)(struct export *export, const struct export_event *event);
    /* Frees the state.  final is NULL when the run is given up.  False: no host memory, then or
     * before. */
    bool (*end)(struct export *export, const struct export_final *final);
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

/* The tag's name, or its number; written to text[SETUP_NAME_BYTES].  Tag 0 without a name is "". */
const char *export_tag(const struct setup *setup, uint8_t tag, char text[SETUP_NAME_BYTES]);

#endif
