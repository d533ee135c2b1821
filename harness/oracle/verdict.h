/* The judgement on one op: on an out-of-memory, or the first broken promise. */
#ifndef HARNESS_ORACLE_VERDICT_H
#define HARNESS_ORACLE_VERDICT_H

#include "harness/oracle/rule.h"

#include <stdint.h>

enum verdict_kind {
    VERDICT_NONE = 0,  /* nothing to judge, every promise kept */
    VERDICT_JUSTIFIED, /* an OOM, and no placement exists in any state the mitigations reach */
    VERDICT_PREMATURE, /* an OOM, and `reason` shows a placement; rule is RULE_PREMATURE */
    VERDICT_UNKNOWN,   /* an OOM, and the search budget ended, or heaps that a message allows
                          disagree */
    VERDICT_BROKEN,    /* another rule is broken; rule says which */
    VERDICT_DISPUTED   /* an OOM on which our own judges disagree: a fault of ours, never of the
                          target */
};
enum { VERDICT_REASON_BYTES = 512, VERDICT_MECHANISM_BYTES = 96 };

/* The kinds of OOM that are hard to decide: a search seldom ends early in a plain one. */
enum oom_class {
    OOM_PLAIN = 0, /* none of the others */
    OOM_ALIGNED,   /* the request or a movable block needs more alignment than the granule */
    OOM_HELD,      /* not aligned, and an external reference keeps a block in its place */
    OOM_CLASS_COUNT
};
const char *oom_class_name(enum oom_class class); /* "plain", ... */

/* An unknown OOM of a list that rebuilds a message: in every heap that the message allows the
 * refusal was premature, unless at least so many bytes lay pinned in [from, to). */
struct premature_unless {
    uint64_t bytes; /* 0 = no such condition is proved */
    uint64_t from, to;
};

struct verdict {
    enum verdict_kind kind;
    enum rule rule;
    uint32_t op;
    uint64_t requested_bytes; /* OOMs: image and stack together for a program */
    uint64_t free_bytes;
    uint64_t nodes;           /* of the search */
    uint64_t nodes_max;       /* OOMs: the budget within which it was decided, or not */
    enum oom_class oom_class; /* of an unknown OOM */
    struct premature_unless premature_unless;
    /* how it came about, in a few words without numbers of this run: verdicts on one rule are told
     * apart by it; "" = by the kind of op */
    char mechanism[VERDICT_MECHANISM_BYTES];
    char reason[VERDICT_REASON_BYTES]; /* in words, with numbers; no newline */
};
/* The member "premature_unless" of a JSON object; nothing if there is no condition. */
struct writing;
void premature_unless_add_json(const struct premature_unless *unless, struct writing *text);
const char *verdict_name(enum verdict_kind kind); /* "justified", ... */

#endif
