/* Things that a contract leaves open: no rule can judge them; every report lists them. */
#ifndef HARNESS_OP_NOT_CHECKED_H
#define HARNESS_OP_NOT_CHECKED_H

#include "harness/target.h"

/* One row for each: a name for programs, what is not checked, and why. */
#define NOT_CHECKED_LIST(X)                                                                       \
    X(SIZES, "sizes", "how large blocks may be: the contract has rounding any")                   \
    X(TEXTS, "texts", "error texts: the contract has no documented_messages")                     \
    X(PLACES, "places", "where blocks lie: the contract tells no addresses")                      \
    X(CONTENTS, "contents", "contents: blocks have no address, and the target no read and write") \
    X(WOKEN, "woken_contents", "contents after a wake: the contract discards them in a sleep")    \
    X(COUNTERS, "counters",                                                                       \
      "some counters: the contract has them absent, late or as upper bounds")                     \
    X(OUT_OF_MEMORIES, "out_of_memories", "out-of-memories: the contract has limit process")      \
    X(ACCESSES, "accesses", "how memory accesses grow: the target is not compiled to count them")

enum not_checked {
#define NOT_CHECKED_ENUM(name, text, why) NOT_CHECKED_##name,
    NOT_CHECKED_LIST(NOT_CHECKED_ENUM)
#undef NOT_CHECKED_ENUM
        NOT_CHECKED_COUNT
};

struct not_checked_info {
    const char *name; /* "sizes" */
    const char *what; /* and why, for people */
};
const struct not_checked_info *not_checked_info(enum not_checked which);

/* True if a target with that contract leaves it open.  This thread has opened the target. */
bool not_checked_by(enum not_checked which, const struct target *target,
                    const struct target_contract *contract);

#endif
