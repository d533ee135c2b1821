/* The strategy of a fuzzer: the bytes of an input decide who goes on, one byte for each decision.
 * So an engine that mutates bytes mutates schedules. */
#ifndef FUZZ_CHOICES_H
#define FUZZ_CHOICES_H

#include "explore/strategy.h"

/* The state of strategy_choices. */
struct choices {
    const uint8_t *bytes; /* count of them */
    size_t count;
    size_t used; /* by the run so far */
};

/* Neither seed nor argument; init leaves it without bytes.  What can happen next are the lanes that
 * can go on, the events that can complete and the time-outs that can fire.  They are counted from
 * decision_default() on, round and round: a byte takes the one at its value modulo their number, so
 * 0 is the default, and each of them is some byte's. A decision with one possibility takes no byte.
 * Where bytes have run out it is the default.  end: true always. */
extern const struct strategy_kind strategy_choices;

/* The bytes of the next runs, which must outlive them.  Not during a run. */
void choices_set(struct choices *choices, const uint8_t *bytes, size_t count);

#endif
