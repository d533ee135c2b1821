/* The request of a call, as the oracle takes it. */
#ifndef HARNESS_RULES_JUDGE_REQUEST_H
#define HARNESS_RULES_JUDGE_REQUEST_H

#include "harness/call/driver.h"
#include "harness/oracle/oom.h"

bool judge_is_request(const struct op *op);
/* The alignment that the block must have: what the op asks for, at least the granule, and its size
 * class where the contract aligns naturally.  What is larger than the device lies nowhere: it keeps
 * what it asks for. */
uint64_t judge_align_bytes(const struct host *host, const struct op *op);
/* Returns the bytes that a request of so many bytes needs by the host's contract. */
uint64_t judge_needed_bytes(const struct host *host, uint64_t asked_bytes);
/* The request of the call as the model stands now. */
struct oom_request judge_request(const struct host *host, const struct call *call);

#endif
