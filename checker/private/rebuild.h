/* The facts of an out-of-memory, made again from the list and its observations. */
#ifndef CHECKER_PRIVATE_REBUILD_H
#define CHECKER_PRIVATE_REBUILD_H
#include "checker/private/fact.h"
#include "checker/private/history.h"

struct fact_request {
    const char *class;
    int64_t bytes, align, stack;
    uint32_t program; /* the op of the program on the device that is executed; or NO_OP */
};
struct facts {
    struct fact_request request;
    struct fact_regions regions;
    struct fact_block *blocks; /* by op, then by address; the caller frees them */
    size_t block_count;
    bool hides_kept; /* set by the caller: what is kept is left out */
};

/* Returns what the op asks for if granule and rounding are those.  Of an execute it omits the bytes
 * and the program: those depend on the state.  The op is a request; an execute names a load. */
struct fact_request request_of_op(const struct list *list, size_t op, uint64_t granule,
                                  const struct rounding *rounding);
/* Rebuilds all facts at that op, of which the log has a line and the list no lanes.  Refuted: the
 * log goes against the list.  Unreadable: there is no memory.  The reason says so. */
enum certificate_result facts_rebuild(const struct certificate_history *history, size_t op,
                                      struct facts *facts, char reason[CERTIFICATE_REASON_BYTES]);

#endif
