/* Writes the folder of replay --certificates: the list as it was run, what it met, and the
 * certificate of each out-of-memory (docs/certificate.md). */
#ifndef REPLAY_REPLAY_PROOFS_H
#define REPLAY_REPLAY_PROOFS_H

#include "campaign/base/file.h"
#include "campaign/base/message.h"
#include "harness/run/observation_log.h"

#include <stdbool.h>

/* A file that grows. */
struct proof_file {
    const char *name;
    int descriptor;         /* -1: not open */
    struct writing waiting; /* whole lines */
    uint64_t length;        /* that is written */
};

struct replay_proofs {
    const char *directory; /* NULL: nothing is left */
    struct proof_file list, observations;
    struct observation_log *log;
    size_t op_count; /* in both files */
    char partial[FILE_PATH_BYTES], path[FILE_PATH_BYTES];
    bool is_failed; /* a message was given; nothing more is written */
};

/* Makes the folder before anything runs.  EXIT_KEPT, or another code after one message. */
enum exit_code replay_proofs_init(struct replay_proofs *proofs, const char *directory);
void replay_proofs_deinit(struct replay_proofs *proofs);

/* To be called after each op.  ops: what is replayed, with its schedule if it has lanes. */
void replay_proofs_take(struct replay_proofs *proofs, const struct run *run,
                        const struct op_list *ops);
/* Writes the certificate of the last op, and what was taken up to it.  Its path, valid until the
 * next; NULL: it cannot be written, which is told once. */
const char *replay_proofs_save(struct replay_proofs *proofs, const struct verdict *verdict,
                               const struct writing *certificate);
/* To be called after the last op.  False: something could not be written. */
bool replay_proofs_end(struct replay_proofs *proofs);

#endif
