/* A finding as a maintainer of the allocator needs it: the calls that lead to it, in the
 * allocator's own API, and what they show.  A program (bug_program.h) and a report in Markdown
 * (bug_report.h) are written from it. */
#ifndef PRESENT_BUG_H
#define PRESENT_BUG_H

#include "harness/oracle/verdict.h"
#include "harness/target.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bug_call_kind {
    BUG_ALLOC = 0, /* makes the next block: the first one is 0 */
    BUG_REFUSED,   /* the same request, which got no block */
    BUG_FREE       /* of `block` */
};

/* One call of the allocator.  Sizes and addresses are those of the table of the target. */
struct bug_call {
    uint32_t kind;        /* enum bug_call_kind */
    uint32_t op;          /* of the list */
    uint32_t block;       /* of an alloc or a refusal: a number of its own */
    uint64_t asked_bytes; /* as the op has it */
    uint64_t size_bytes;  /* the same, rounded up to granules */
    uint64_t align_bytes; /* 0: the granule suffices */
    uint64_t address;     /* of a block: where it lay in the replay, and what it took there */
    uint64_t taken_bytes;
};

/* What the last call shows. */
enum bug_sign {
    BUG_SIGN_REFUSED = 0, /* it was refused although it fits */
    BUG_SIGN_OVERLAP,     /* its block meets another one */
    BUG_SIGN_OUTSIDE,     /* its block ends beyond the memory of the allocator */
    BUG_SIGN_MISALIGNED,
    BUG_SIGN_TAKEN,    /* its block takes another number of bytes than it may */
    BUG_SIGN_CONTENTS, /* bytes of a block changed */
    BUG_SIGN_CRASH,    /* the process ends */
    BUG_SIGN_HANG      /* the call does not return */
};

/* An open value; the arrays belong to the caller. */
struct bug {
    const struct target_api *api;
    const char *target;           /* its name */
    const struct bug_call *calls; /* call_count of them */
    size_t call_count;
    uint32_t block_count; /* numbers of blocks are below it */
    enum bug_sign sign;
    const char *reason; /* of the verdict, in words */
    uint64_t capacity_bytes, granule_bytes, header_bytes;
    /* The block of the last call needs so many bytes, its address at a multiple of align_bytes; a
     * block that is too large or too small may take least_bytes..need_bytes. */
    uint64_t need_bytes, align_bytes, least_bytes;
    /* Blocks have addresses.  A request is served between from and to, of the device; without
     * places sums decide. */
    bool has_places;
    uint64_t from, to;
    uint64_t witness_address; /* refused, with places: the lowest byte of a range that serves */
};

/* In words: "a request is refused although it fits". */
const char *bug_sign_title(enum bug_sign sign);
/* Whether the sign is seen from outside of the process. */
bool bug_sign_is_death(enum bug_sign sign);

#endif
