/* The usual causes of an out-of-memory: a table, one file each.  A cause looks at the evidence and
 * says whether this is its story, how sure it is, and with which numbers. */
#ifndef DIAGNOSIS_CAUSE_H
#define DIAGNOSIS_CAUSE_H

#include "diagnosis/diagnosis.h"
#include "diagnosis/remedy.h"
#include "harness/base/writing.h"

/* The claim that a cause makes about the room that the request had.  The verdict decides which
 * claims may stand beside it: only cause_may_accompany knows that. */
enum cause_claim {
    CLAIM_ROOM = 0, /* there was room: the target refused what fits */
    CLAIM_NO_ROOM,  /* there was none: it is full, in pieces, or in the wrong place */
    CLAIM_TIGHT,    /* nothing, but it names what takes the memory: it had to be tight for that */
    CLAIM_GROWTH,   /* nothing at all: it is worth saying of any run */
    CAUSE_CLAIM_COUNT
};

enum { CAUSE_REMEDY_COUNT_MAX = 6 };

struct cause {
    const char *name;    /* lower case, underscores */
    const char *summary; /* one line */
    enum cause_claim claim;
    bool yields; /* says nothing of a tag of which a surer cause is told */
    /* Fills the diagnosis, which is initialised; a confidence below DIAGNOSIS_POSSIBLE: it is not
     * this.  O(ops + blocks), but for leak, growing_set and still_growing: O(tags + blocks) beside
     * a constant of 10 ms for each tag that may grow. */
    void (*find)(const struct evidence *evidence, struct diagnosis *diagnosis);
    /* The remedies that answer it, ended by NULL: the first that makes the list fit is the one.
     * None: it is the allocator that has to change, as of a premature out-of-memory. */
    const struct remedy *remedies[CAUSE_REMEDY_COUNT_MAX + 1];
};

#define CAUSE(name) extern const struct cause cause_##name;
#include "diagnosis/causes/list.h"
#undef CAUSE

enum {
    CAUSE_COUNT = 0
#define CAUSE(name) +1
#include "diagnosis/causes/list.h"
#undef CAUSE
};
/* In the order in which equally sure diagnoses are told. */
extern const struct cause *const causes[CAUSE_COUNT];

/* True if a cause with that claim may be reported for a request that had that room. */
bool cause_may_accompany(enum cause_claim claim, enum evidence_room room);

/* Asks every cause that may accompany the verdict; diagnoses[0..result) are those that are told,
 * the surest first.  That of CLAIM_ROOM leads whenever the out-of-memory was premature. */
size_t causes_find(const struct evidence *evidence, struct diagnosis diagnoses[CAUSE_COUNT]);

/* Members: the cause, its form, how sure it is, its op and tag, its numbers and its sentences.
 * tag_name: of the tag that it names; not read when it names none. */
void causes_add_members(struct writing *text, const struct diagnosis *diagnosis,
                        const char *tag_name);

/* "sure", "likely" or "possible". */
const char *confidence_name(uint32_t confidence);

#endif
