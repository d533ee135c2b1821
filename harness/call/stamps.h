/* Stamps are bytes that the harness writes into blocks without an address, and reads back, through
 * the target's own calls: a few bytes at both ends of each block. */
#ifndef HARNESS_CALL_STAMPS_H
#define HARNESS_CALL_STAMPS_H

#include "harness/call/host.h"

/* True if the host's target and contract allow it. */
bool stamps_apply(const struct host *host);
/* Both are for a live block that the client may name; nothing is done, and nothing is wrong, for a
 * program and where stamps do not apply.  stamps_write replaces what an earlier owner of the slot
 * had.  Each makes up to two calls of up to 16 bytes; false: a call failed, or the bytes differ. */
bool stamps_write(const struct host *host, uint32_t slot);
bool stamps_are_there(const struct host *host, uint32_t slot);

#endif
