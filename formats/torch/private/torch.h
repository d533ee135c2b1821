/* A memory snapshot of PyTorch's CUDA caching allocator, as plain numbers: what its segments and
 * blocks are at the end, and what its ring of events says happened before. */
#ifndef FORMATS_TORCH_PRIVATE_TORCH_H
#define FORMATS_TORCH_PRIVATE_TORCH_H

#include "formats/common/import.h"
#include "formats/common/stacks.h"
#include "formats/torch/private/plain.h"
#include "harness/base/align.h"

#include <jansson.h>

#define TORCH_ADDRESS_MAX ((uint64_t)1 << 62)
#define TORCH_NO_TIME INT64_MIN
enum { TORCH_NO_NAME = UINT32_MAX, TORCH_NO_EVENT = UINT32_MAX };

/* --- places in the user's code --- */

/* The facts known of each box of one tree; 0 = it was not looked at yet. */
struct torch_known {
    uint32_t *known; /* count of them */
    size_t count;
};

/* The places in the user's code where memory was asked for, "file:line function", and the bytes
 * that were asked for there, in all. */
struct torch_names {
    struct name_table table;
    struct torch_known
        known; /* of a list of frames 1 + its name, of a frame 1 + whose code it is */
};
/* The name of the innermost frame of the user's own Python code; of torch's own Python code, where
 * there is no other; else "no Python frame".  A line that no file has, as of 2^64 - 1, is left out.
 * TORCH_NO_NAME: there are no frames.  Looks at 512 frames at most, and at 1024 bytes of a text.  A
 * list that many share is looked at once; all are of one tree. */
uint32_t torch_name_of(struct torch_names *names, const struct plain_tree *tree,
                       struct plain_value frames);
/* O(1); TORCH_NO_NAME counts nothing. */
void torch_name_count(struct torch_names *names, uint32_t name, uint64_t bytes);
/* "" for TORCH_NO_NAME. */
const char *torch_name_text(const struct torch_names *names, uint32_t name);
/* The tag of a name, of tags by number; 0 where there is no name, or there are no tags (NULL). */
uint8_t torch_name_tag(const uint8_t *tags, uint32_t name);

/* --- stacks --- */

/* The stacks of a file, each of its lists and frames looked at once. */
struct torch_stacks {
    struct stacks *stacks;    /* NULL: nobody asked for them; not owned */
    struct torch_known known; /* of a list of frames 1 + its node, of a frame 1 + its number, or
                                 TORCH_NO_FRAME */
};
#define TORCH_NO_FRAME UINT32_MAX
/* The stack of a list of frames, without plumbing.  Looks at 512 frames at most.  STACKS_NONE:
 * nobody asked for stacks, or there are no frames.  All are of one tree. */
uint32_t torch_stack_of(struct torch_stacks *stacks, const struct plain_tree *tree,
                        struct plain_value frames);

/* --- the snapshot --- */

enum torch_state {
    TORCH_INACTIVE,
    TORCH_ALLOCATED,
    TORCH_AWAITING_FREE /* freed by the user; a stream may still use it */
};
enum torch_pool { TORCH_POOL_UNKNOWN, TORCH_POOL_SMALL, TORCH_POOL_LARGE };
struct torch_block {
    uint64_t address, size_bytes;
    uint64_t stream;          /* of its segment */
    uint64_t requested_bytes; /* of an active block: 1..size_bytes */
    uint32_t segment, index;  /* segments[segment].blocks[index] of the file */
    uint32_t name;            /* or TORCH_NO_NAME */
    uint32_t stack;           /* or STACKS_NONE */
    uint8_t host;             /* its device */
    uint8_t pool;             /* enum torch_pool, of its segment */
    bool is_private;
    enum torch_state state;
    bool begins_segment;
    bool is_in_trace; /* set by torch_lives: an event names its address */
};

enum torch_action {
    TORCH_ALLOC,
    TORCH_FREE_REQUESTED,
    TORCH_FREE_COMPLETED,
    TORCH_OOM,
    TORCH_SEGMENT_ALLOC, /* and segment_map: the device's memory grows */
    TORCH_SEGMENT_FREE,  /* and segment_unmap */
    TORCH_OTHER /* snapshot, user_defined, and what is not known: without effect on memory */
};
struct torch_event {
    union {
        uint64_t address;
        uint64_t free_bytes; /* TORCH_OOM: of the device; UINT64_MAX: not said */
    };
    uint64_t size_bytes; /* as the file says: of allocs and failures what was requested */
    uint64_t stream;
    int64_t time_us;      /* TORCH_NO_TIME: not said */
    uint64_t taken_bytes; /* set by torch_lives, for allocs and frees: what the block takes */
    uint32_t life; /* set by torch_lives: the event that began it; the first one of a block that was
                      there */
    uint32_t index; /* device_traces[host][index] of the file */
    uint32_t name;  /* or TORCH_NO_NAME */
    uint32_t stack; /* or STACKS_NONE */
    uint8_t host;
    uint8_t action;       /* enum torch_action */
    bool is_there_before; /* set by torch_lives: a free, and the first event of its address */
};

struct torch_snapshot {
    struct torch_block *blocks; /* by host and address, when read */
    size_t block_count, block_room;
    struct torch_event *events; /* by host, then in order of time; without those of TORCH_OTHER */
    size_t event_count, event_room;
    struct torch_names names;
    struct torch_stacks stacks;
    /* Set by torch_lives: the largest power of two up to IMPORT_GRANULE_BYTES that divides the
     * sizes and addresses of all blocks; less than that in what hbmstress exports. */
    uint64_t granule_bytes;
    uint64_t segment_bytes[OP_HOST_COUNT_MAX]; /* in all */
    size_t segment_count;
    uint64_t max_split_bytes;     /* of the allocator's settings; 0 = unlimited, or not said */
    uint64_t large_segment_bytes; /* the same; 20 MiB where they do not say it */
    uint64_t unknown_keys;        /* values of keys that mean nothing here */
    char unknown_key[SETUP_NAME_BYTES]; /* the first such key */
    uint64_t unknown_actions;
    char unknown_action[SETUP_NAME_BYTES];
};

/* Refuse an event or a block, with its place in the file; there is something to say of it. */
#define TORCH_FAIL_EVENT(error, event, reason, ...)                                   \
    IMPORT_REFUSE(error, 0, "device_traces[%u][%" PRIu32 "]: " reason, (event)->host, \
                  (event)->index, __VA_ARGS__)
#define TORCH_FAIL_BLOCK(error, block, reason, ...)                               \
    IMPORT_REFUSE(error, 0, "segments[%" PRIu32 "].blocks[%" PRIu32 "]: " reason, \
                  (block)->segment, (block)->index, __VA_ARGS__)

/* Rounds up to the granule; size_bytes < 2^63. */
static inline uint64_t torch_rounded(const struct torch_snapshot *snapshot, uint64_t size_bytes)
{
    return align_up(size_bytes, snapshot->granule_bytes);
}

/* Takes the decoded file apart.  visit_count_max bounds how many segments, blocks and events, and
 * keys of these, are visited: a pickle may share them, and the bytes of the file bound what is not
 * shared. IMPORT_INVALID, with the path in the file: a missing key, a wrong type, a number out of
 * range, blocks that do not tile their segment, sums that are not those of the segment, segments
 * that overlap, a device beyond 63. */
enum import_result torch_read(const struct plain_tree *tree, struct plain_value root,
                              size_t visit_count_max, struct torch_snapshot *snapshot,
                              struct import_error *error);

/* Decodes text[length] as JSON into *tree; *json has the texts, and the caller gives it to
 * json_decref after the tree.  Fails as a format does. */
enum import_result torch_read_json(const char *text, size_t length, json_t **json,
                                   struct plain_tree *tree, struct plain_value *root,
                                   struct import_error *error);

/* --- what it becomes --- */

/* Follows each block through the events and into the final state, and sets what torch_event and
 * torch_block leave to it.  IMPORT_INVALID: events of one address that contradict each other or the
 * final state, blocks that overlap. O(events log events). */
enum import_result torch_lives(struct torch_snapshot *snapshot, struct import_error *error);

/* Returns the bytes of that device: segments and free bytes when a request failed, or the most that
 * its segments ever had, if more. 0: no failure says the free bytes, or it is above 2^50. */
uint64_t torch_capacity(const struct torch_snapshot *snapshot, uint8_t host);

/* The events become ops, through formats/common/trace.h; after torch_lives. */
enum import_result torch_build_trace(struct torch_snapshot *snapshot,
                                     const struct import_input *input, struct import *import,
                                     struct import_error *error);

/* The final state becomes a heap, through formats/common/heap_image.h, and the request that failed,
 * if the last event was one. */
enum import_result torch_build_heap(const struct torch_snapshot *snapshot,
                                    const struct import_input *input, struct import *import,
                                    struct import_error *error);

/* --- the failure --- */

/* True if after the latest failure nothing was allocated or freed on its device, so that the final
 * state is that of the failure, and the device had the bytes: a run from the events, which places
 * blocks anew, would serve the request. */
bool torch_fails_by_place(const struct torch_snapshot *snapshot);

/* Quotes the event, with the place in the user's code. */
void torch_quote_failure(const struct torch_snapshot *snapshot, const struct torch_event *failure,
                         struct import *import);

/* --- the importer --- */

enum torch_form {
    TORCH_FORM_ANY,    /* the events; the final state where there are none, or where it is the heap
                          of a failure that torch_fails_by_place() */
    TORCH_FORM_EVENTS, /* where there are any */
    TORCH_FORM_STATE
};

/* Reads the text, JSON or a pickle, and makes the ops.  Fails as a format's import does. */
enum import_result torch_import(const struct import_input *input, enum torch_form form,
                                struct import *import, struct import_error *error);

#endif
