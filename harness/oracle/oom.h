/* An out-of-memory as plain data: the device, the contract, the request, and every block at the
 * moment of the refusal.  Whoever judges one (the oracle, the exhaustive judge) or proves one (the
 * certificate) sees this and nothing else.  docs/certificate.md says what each part means. */
#ifndef HARNESS_ORACLE_OOM_H
#define HARNESS_ORACLE_OOM_H

#include "harness/model/model.h"
#include "harness/op/setup.h"

enum request_class { REQUEST_BUFFER = 0, REQUEST_PROGRAM };

/* The request that was refused. */
struct oom_request {
    enum request_class class;
    uint64_t size_bytes;  /* that its block needs, as rounding_bytes_needed() says; 0 = no block is
                             needed (a loaded program's stack alone) */
    uint64_t asked_bytes; /* what the error text must print; it decides nothing */
    uint64_t asked_align_bytes; /* at least the granule; decides nothing: align_bytes may be more */
    uint64_t align_bytes;       /* at least the granule */
    uint64_t stack_bytes;       /* programs: rounded up to granules */
    uint32_t own_op;            /* the program that is executed or loaded again; OP_NONE */
    uint32_t stream;            /* contract.stream_ordered */
    uint64_t other_bytes;       /* its size_bytes in the other heap: see oom_assume() */
};

/* The address of a block whose contents are in host memory alone: it takes no range now, and may be
 * brought back to any. */
#define OOM_IN_HOST_MEMORY UINT64_MAX

/* One block of the heap. */
struct oom_block {
    uint64_t address, size_bytes; /* multiples of the granule; size_bytes > 0, and no more than the
                                     contract's rounding allows */
    uint64_t surplus_bytes;       /* that it has beyond them: they count as free */
    uint64_t align_bytes; /* at least the granule; address is a multiple of it, or in host memory */
    uint64_t stack_bytes; /* programs; else 0 */
    uint64_t used_until_ns; /* its last use or execution ends; 0 = unused, DELAY_NEVER = never */
    uint64_t freed_at_ns;   /* dying: its last event, uses included, is done; 0 = it waits for holds
                               alone */
    uint32_t op;            /* that made it: names the block */
    uint32_t hold_count;
    uint8_t kind;    /* enum block_kind */
    uint8_t state;   /* BLOCK_LIVE or BLOCK_DYING */
    bool is_assumed; /* it is held by assumption: see oom_assume() */
    bool is_placed;  /* it lies where it does by assumption, and nothing may move: the same */
    bool is_kept;    /* dying: a piece of memory that is kept for another stream than the request's;
                        there may be several of one op */
};

/* An open value apart from its blocks, which oom_take grows and oom_deinit frees; zero is a valid
 * start. */
struct oom {
    uint64_t capacity_bytes, granule_bytes;
    enum defrag_contract defrag;
    enum placement placement; /* not ranges: addresses of blocks are 0, and sums decide */
    uint64_t header_bytes;    /* below what must be aligned: the request's address is so much above
                                 the start of its range */
    bool drains, evicts, program_evicts_program;
    bool aligns_naturally; /* the request is as large as its size class, a power of two, and aligned
                              to it if that is no more than the device: what oracle_find_largest
                              asks for is, too */
    uint32_t faults_fired; /* bit per fault_kind: these calls were refused during the op */
    struct oom_request request;
    struct oom_block *blocks; /* block_count of them, ascending, disjoint; then those in host
                                 memory, which are there under DEFRAG_REPACK alone */
    size_t block_count, block_capacity;
    /* A contract that grows: the regions that are held now, ascending and disjoint; each block lies
     * in one.  defrag is none then, and there is no stack. */
    struct target_regions promised; /* step_bytes is not 0 */
    uint64_t region_align_bytes;    /* where regions begin; not below the alignments of blocks */
    struct device_region *regions;  /* region_count of them */
    size_t region_count, region_capacity;
    bool needs_trim; /* a shared device has not enough for the request's region before the empty
                        ones are given back */
    struct setup_reported reported; /* see oom_assume(); not there in most */
    struct oom_block *kept;         /* scratch of oom_add_kept */
    size_t kept_capacity;
    uint64_t *due_times_ns; /* scratch of oom_take */
    size_t due_time_capacity;
};

/* Takes the state from the model, with places what is kept for other streams too (oom_add_kept).
 * *oom keeps its memory from one call to the next.  O(blocks + events). */
void oom_take(struct oom *oom, const struct model *model, const struct oom_request *request,
              uint32_t faults_fired);
/* From the same model as oom_take(): memory that is kept for other streams than that of the
 * request is among the blocks, as what dies with the last event that it is kept for; that of
 * recordings, as what is held and dies.  With places,
 * in pieces of which no two meet, and which meet no block; else a piece for each, though it may
 * have been given out again.  False: there is none. */
bool oom_add_kept(struct oom *oom, const struct model *model);
/* After oom_take() from the same model: the blocks that are in host memory are among the others. */
void oom_add_absent(struct oom *oom, const struct model *model);
/* True if blocks could be moved during the op: the contract has moves, and the device refused none.
 */
bool oom_may_move(const struct oom *oom);
/* After oom_take(): which blocks are held by assumption alone (setup_is_assumed_name() of their
 * tag); which lie where they do by assumption (setup_is_placed_name()), if nothing may move; and
 * what a message says of this request, if the setup has it and its numbers are those of the
 * request. Such a state is one of two heaps that the message allows.  In the other one nothing is
 * assumed: the first are not held, the free bytes around the second are in one piece, as
 * oom_place_others() has it, and an image has its least size. */
void oom_assume(struct oom *oom, const struct model *model, const struct setup *setup);
/* Puts each block that is placed by assumption directly above what lies below it, or, where a stack
 * is asked for, directly below what lies above it.  So all that is free around neighbours of them
 * is in one piece, which is the best for the request: where it does not fit then, it fits in no
 * arrangement of them that is aligned to granules. */
void oom_place_others(struct oom *oom);
/* Some block is placed by assumption, and nothing may move. */
bool oom_has_placed(const struct oom *oom);
/* False: both heaps are the same. */
bool oom_has_other(const struct oom *oom);
/* *to becomes *from, with blocks and regions of its own, for which it keeps its memory; it has no
 * scratch. */
void oom_copy(struct oom *to, const struct oom *from);
void oom_deinit(struct oom *oom);

static inline bool oom_block_is_absent(const struct oom_block *block)
{
    return block->address == OOM_IN_HOST_MEMORY;
}

/* The bytes of the region that it would take for a block of so many: at most the capacity and a
 * step. */
uint64_t oom_region_bytes(const struct oom *oom, uint64_t block_bytes);
/* True if a region that is held now has all of [address, address + size_bytes). */
bool oom_has_region(const struct oom *oom, uint64_t address, uint64_t size_bytes);

/* Returns the bytes that the programs that execute now reserve at the bottom. */
uint64_t oom_reserved_bytes(const struct oom *oom);

/* The most that could be reserved there, with blocks as large as they are, surplus and all: bounds
 * of what the message may print as reservable.  The request plays no part.  Where movable blocks
 * have alignments above the granule, high leaves out what aligning them costs. */
struct oom_bounds {
    uint64_t low_bytes, high_bytes;
};
struct oom_bounds oom_reservable(const struct oom *oom);

#endif
