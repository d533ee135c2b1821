/* An out-of-memory message of PyTorch, taken apart, and a heap that it allows.  The grammar is the
 * one of public logs and sources from 2018 to 2026: CUDA, HIP and XPU with the numbers in
 * parentheses or in sentences, MPS, and the table of the cudaMallocAsync backend. */
#ifndef FORMATS_TORCH_PRIVATE_TORCH_MESSAGE_H
#define FORMATS_TORCH_PRIVATE_TORCH_MESSAGE_H

#include "formats/common/import.h"
#include "formats/common/phrase.h"

enum torch_message_form {
    TORCH_MESSAGE_NONE,
    TORCH_MESSAGE_CACHING, /* of the caching allocator, in parentheses or in sentences */
    TORCH_MESSAGE_MPS,
    TORCH_MESSAGE_ASYNC, /* of the cudaMallocAsync backend */
    TORCH_MESSAGE_BARE,  /* "CUDA error: out of memory": no size at all */
    TORCH_MESSAGE_RETRY  /* one cudaMalloc failed, and the allocator goes on: no failure yet */
};

/* Numbers that a message may have. */
enum torch_fact {
    TORCH_REQUESTED,
    TORCH_TOTAL,       /* of the device; of MPS: the most that it allows */
    TORCH_FREE,        /* on the device */
    TORCH_ALLOWED,     /* to this process, by the memory fraction */
    TORCH_ALLOCATED,   /* by PyTorch, private pools included */
    TORCH_POOLS,       /* of it: free in the private pools of graphs */
    TORCH_UNALLOCATED, /* reserved by PyTorch and free in it */
    TORCH_RESERVED,    /* allocated and unallocated together */
    TORCH_OTHER,       /* "other allocations" of MPS */
    TORCH_FACT_COUNT
};

enum { TORCH_PROCESS_COUNT_MAX = 32 };

struct torch_process {
    bool is_own; /* this process, with what is not PyTorch's */
    uint64_t pid;
    struct unit_size in_use;
};

/* One message.  A fact is there when its bit (1 << fact) is set in known. */
struct torch_message {
    enum torch_message_form form;
    size_t begin, end;   /* bytes of the text */
    const char *missing; /* what a cut message lacks; NULL: nothing */
    bool has_device;
    uint64_t device; /* as the process counts */
    uint32_t known;
    struct unit_size facts[TORCH_FACT_COUNT];
    struct torch_process processes[TORCH_PROCESS_COUNT_MAX];
    size_t process_count;
};

static inline bool torch_message_has(const struct torch_message *message, enum torch_fact fact)
{
    return (message->known & 1u << fact) != 0;
}

/* The messages of a text, one after the other, complete or cut.  Linear in the text. */
enum { TORCH_ANCHOR_COUNT = 3 };
struct torch_search {
    const char *text;
    size_t length;
    size_t next[TORCH_ANCHOR_COUNT]; /* where the next words of each kind stand */
};
struct torch_search torch_search_begin(const char *text, size_t length);
/* False: no further one. */
bool torch_search_next(struct torch_search *search, struct torch_message *message);

/* Fills the empty import with one heap that the message allows and the request that failed in it,
 * and says what of it is assumed.  line and column of *error are set by the caller.
 * IMPORT_INCOMPLETE: a fact is missing; IMPORT_INVALID: it contradicts itself or what is fixed. */
enum import_result torch_message_build(const struct torch_message *message,
                                       const struct import_input *input, struct import *import,
                                       struct import_error *error);

#endif
