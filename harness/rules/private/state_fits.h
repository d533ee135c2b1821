/* The state of a call alone, as the model shows it before its next device call, and whether the
 * request has room there. */
#ifndef HARNESS_RULES_PRIVATE_STATE_FITS_H
#define HARNESS_RULES_PRIVATE_STATE_FITS_H

#include "harness/oracle/oom.h"
#include "harness/oracle/reach.h"
#include "harness/rules/private/evidence.h"

/* Takes it into the scratch of the judge, where it stays until the next state is taken.  Its
 * evidence needs the judge, the host and the call.  O(blocks + events). */
const struct oom *state_take(const struct evidence *evidence);

/* Whether the request fits once the mitigations have gone so far, and blocks are moved by sliding
 * alone.  False where a block is larger than was promised: what its target takes for free is not
 * known.  Blocks have addresses.  O(blocks + events). */
bool state_fits(const struct evidence *evidence, const struct reach_limits *limits);

#endif
