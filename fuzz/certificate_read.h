/* A certificate as the claim and the out-of-memory that it is about, so that the truth of the claim
 * can be judged anew. The proof is not read.  It is the third reader of docs/certificate.md beside
 * the checker and the tests. */
#ifndef FUZZ_CERTIFICATE_READ_H
#define FUZZ_CERTIFICATE_READ_H

#include "harness/oracle/oom.h"
#include "harness/oracle/verdict.h"

#include <stdbool.h>
#include <stddef.h>

struct certificate_claim {
    enum verdict_kind kind; /* justified, premature, unknown */
    struct oom oom; /* blocks are the claim's: oom_deinit.  They are named by their places */
};

/* False: it is no certificate, or of a state that cannot be; *claim is then empty. */
bool certificate_read(const char *text, size_t length, struct certificate_claim *claim);

#endif
