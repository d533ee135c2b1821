/* The memory of one accelerator core: a stack reserved at the bottom of [0, capacity) for the
 * temporaries of executing programs, and a heap above it for buffers and program images, placed
 * from the top down.  libhbm hands out ranges of addresses, waits, moves and evicts when no hole
 * fits, and says why when nothing does.  It never touches device memory itself: all device work
 * and all host memory go through a table of services that the caller supplies.
 *
 * Words.  A *granule* is the unit of placement.  A *block* is one allocated range.  A block is
 *   movable  live, nobody uses it;
 *   held     an unfinished event uses it, or somebody has an external reference: it stays in place;
 *   dying    freed while held (a queued free): it stays in place until it is no longer held;
 *   program  the image of a loaded program: idle (movable and evictable) or busy (neither);
 *   retired  memory that went bad: it keeps its place for ever.
 *
 * Mitigations.  A request that finds no hole is tried again after, in the configured order,
 *   drain       unless drains is off: wait for the events of dying blocks, earliest queued first;
 *   defragment  move movable blocks, only as many as the request needs (see enum hbm_defrag);
 *   evict       for a buffer or output unless evicts is off (for a program if
 *               program_evicts_program): unload idle programs, least recently used first, one at a
 *               time, until the request fits.
 * Nothing is moved or evicted unless the request is known to fit afterwards.  A full round that
 * changed nothing ends in HBM_NO_MEMORY.
 *
 * Failure.  A call that does not return HBM_OK leaves the set of blocks, their sizes and all
 * counters as they were.  What a mitigation did before the failure stays done: queued frees that
 * were awaited are gone, moved blocks stay moved, evicted programs stay evicted.
 *
 * Time.  Every call that takes a struct hbm * without const first collects the events that have
 * completed; that costs one service call when none has, and nothing when no event is pending.
 * Events may complete during any service.  HBM_NO_MEMORY is said only when none did since the last
 * look.
 *
 * Refusals.  Any service may refuse at any time, once or for ever.  A mitigation that was refused
 * is skipped for that call; if the request does not fit without it, the result is HBM_UNAVAILABLE,
 * never HBM_NO_MEMORY, and the same call works once the service does.  A refusal loses no contents
 * (see HBM_ADDRESS_NONE).
 *
 * Threads.  Every function may be called from any thread at any time, with three exceptions:
 * hbm_destroy must be the last call; a handle must not be passed to any call while another thread
 * is inside the call that invalidates it; and no service may call back into the same struct hbm.
 * A short spinning lock guards each struct hbm.  It is released around event_wait and held around
 * all other services.
 *
 * Errors in arguments return HBM_INVALID and change nothing.  A dangling or foreign handle is a
 * caller's bug, and is not always detected. */
#ifndef HBM_HBM_H
#define HBM_HBM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) /* what is declared here is all that libhbm exports */

#define HBM_MUST_USE __attribute__((warn_unused_result))

struct hbm;
struct hbm_buffer;
struct hbm_program;
struct hbm_shape; /* see hbm_shape.h */

enum hbm_result {
    HBM_OK,
    HBM_NO_MEMORY,   /* nothing fits after every mitigation; hbm_error has the documented text */
    HBM_INVALID,     /* an argument that can never be right */
    HBM_UNAVAILABLE, /* a service refused, and without it the request cannot be met */
};

/* ---- services --- */

enum hbm_service_result {
    HBM_SERVICE_OK,
    HBM_SERVICE_REFUSED, /* not done, nothing changed; a later call may be accepted */
    HBM_SERVICE_LOST,    /* only from event_wait: waiting will never complete this event */
    HBM_SERVICE_PARTIAL, /* only from copy, stage_in and unload: done in part.  The same call made
                            again goes on; it is not refused, and ends within HBM_PARTIAL_CALLS_MAX
                            calls.  libhbm makes it again at once, before any other device call.
                            Until it ends the destination, the overlap of source and destination,
                            and the image hold nothing of use. */
};
#define HBM_PARTIAL_CALLS_MAX 64

/* Every call gets `context` first.  Addresses and sizes are bytes; addresses are device offsets.
 * Every call is required. event_wait is called without any lock held, possibly from several threads
 * at once; all other calls are made with the lock held, hence one at a time, must not block for
 * long, and must not call libhbm. */
struct hbm_services {
    void *context;

    /* Copies device memory to device memory, as memmove does: the ranges may overlap. */
    enum hbm_service_result (*copy)(void *context, uint64_t from, uint64_t to, uint64_t bytes);

    /* Moves through host memory.  stage_out copies device memory to the host and sets *token (kept
     * by libhbm until stage_in or stage_drop).  stage_in copies it to the device and, when it
     * returns OK, consumes the token; after a refusal the token is still valid. */
    enum hbm_service_result (*stage_out)(void *context, uint64_t from, uint64_t bytes,
                                         uint64_t *token);
    enum hbm_service_result (*stage_in)(void *context, uint64_t token, uint64_t to, uint64_t bytes);
    void (*stage_drop)(void *context, uint64_t token);

    /* The number of events completed so far, never decreasing.  While it is unchanged no event
     * has completed and nothing is polled. */
    uint64_t (*completed_count)(void *context);

    /* Returns true when the event has completed.  An event that has completed stays completed. */
    bool (*event_done)(void *context, uint64_t event);

    /* Waits until the event has completed: OK.  LOST: it will not.  REFUSED: it did not wait, or
     * gave up; time may have passed.  The event is not awaited again in the same call, which ends
     * in HBM_UNAVAILABLE where it would else end in HBM_NO_MEMORY. */
    enum hbm_service_result (*event_wait)(void *context, uint64_t event);

    /* Asks the device to unload an idle program: an eviction, never hbm_program_unload.
     * program_id is the id of its hbm_program_request. */
    enum hbm_service_result (*unload)(void *context, uint64_t program_id);

    /* Monotone time in nanoseconds; measures what mitigations cost (hbm_stats.mitigation_ns). */
    uint64_t (*clock_ns)(void *context);

    /* Supplies all host memory of libhbm, its own struct included: 16-byte aligned, NULL when
     * refused. host_free gets the bytes that were asked for. */
    void *(*host_alloc)(void *context, size_t bytes);
    void (*host_free)(void *context, void *memory, size_t bytes);
};

/* ---- options --- */

/* The defragmentation contract: what may move where. */
enum hbm_defrag {
    HBM_DEFRAG_NONE,   /* nothing moves */
    HBM_DEFRAG_SLIDE,  /* blocks move between their two unmovable neighbours and keep their order */
    HBM_DEFRAG_REPACK, /* a movable block may go anywhere that no unmovable block is */
};

enum hbm_mitigation {
    HBM_DRAIN,
    HBM_DEFRAGMENT,
    HBM_EVICT,
};
#define HBM_MITIGATION_COUNT 3

enum hbm_chip {
    HBM_CHIP_NONE, /* capacity_bytes says it */
    HBM_CHIP_V2,
    HBM_CHIP_V3,
    HBM_CHIP_V4,
    HBM_CHIP_V5E,
    HBM_CHIP_V5P,
    HBM_CHIP_V6E,
    HBM_CHIP_V7X,
};
#define HBM_CHIP_COUNT 8

/* The device's coordinate, printed as (XxYxZ_HBMn) behind buffer errors when shown. */
struct hbm_coordinate {
    bool shown;
    uint32_t x, y, z;
    uint32_t n;
};

/* Receives one line of text, without its newline; valid during the call. */
struct hbm_sink {
    void (*line)(void *context, const char *text);
    void *context;
};

#define HBM_GRANULE_BYTES_MAX 65536u
#define HBM_ALIGN_BYTES_MAX ((uint64_t)1 << 21)
#define HBM_SIZE_BYTES_MAX ((uint64_t)1 << 63)
#define HBM_SEARCH_NODES_DEFAULT 16000000u

struct hbm_options {
    uint64_t capacity_bytes; /* granule multiple, 1 granule..2^63; or 0 with a chip */
    enum hbm_chip chip;      /* its usable capacity, rounded down to the granule; or NONE */
    uint32_t granule_bytes;  /* a power of two, 1..65536; 512 by default */
    enum hbm_defrag defrag;  /* REPACK by default */
    /* a permutation; default drain, defragment, evict */
    enum hbm_mitigation order[HBM_MITIGATION_COUNT];
    bool drains; /* whether a request waits for queued frees; yes by default */
    bool evicts; /* whether a buffer or output may evict idle programs; yes by default */
    bool program_evicts_program; /* whether a program load may evict others; no by default */
    bool log_allocations_on_oom; /* print the report to `sink` before HBM_NO_MEMORY; off by default
                                  */
    struct hbm_sink sink;        /* where that goes; the lock is held, so it must not call libhbm */
    struct hbm_coordinate coordinate; /* not shown by default */
    bool code_shown;           /* "E0100: RuntimeBufferAllocationFailure:\n" and its like; off */
    uint64_t search_nodes_max; /* steps each exact repack search may take; 16,000,000 by default */
};

/* Sets every option to its default; capacity and chip are left at 0 and NONE for the caller. */
void hbm_options_init(struct hbm_options *options);

/* One chip generation.  usable_bytes is per device as programs see it (a core on v2, v3 and v7x).
 */
struct hbm_chip_description {
    enum hbm_chip chip;
    const char *name; /* "v5e" */
    uint64_t usable_bytes;
    bool exact; /* seen to the byte in a public counter dump, else derived from what is printed */
    const char *source; /* where usable_bytes comes from */
};

/* The description of a chip, by number or by name; NULL for NONE and for unknown ones. */
const struct hbm_chip_description *hbm_chip_describe(enum hbm_chip chip);
const struct hbm_chip_description *hbm_chip_find(const char *name);

/* ---- life --- */

/* Makes an empty device.  Services and options are copied; the services' context must outlive it.
 * HBM_INVALID: a missing service, an order that is no permutation, a granule that is not a power
 * of two or too large, a capacity of 0, above 2^63, or no multiple of the granule, both or neither
 * of chip and capacity, log_allocations_on_oom without a sink.  HBM_UNAVAILABLE: host memory. */
HBM_MUST_USE enum hbm_result hbm_create(const struct hbm_services *services,
                                        const struct hbm_options *options, struct hbm **out);

/* Gives all host memory back, whatever is still allocated; waits for nothing.  NULL is ignored. */
void hbm_destroy(struct hbm *hbm);

/* ---- buffers --- */

enum hbm_kind {
    HBM_KIND_BUFFER,  /* user data */
    HBM_KIND_OUTPUT,  /* the output of an execution; same rights as a buffer */
    HBM_KIND_PROGRAM, /* the image of a program; only in reports */
    HBM_KIND_RETIRED, /* memory that went bad: see hbm_retire; only in reports */
};

struct hbm_request {
    uint64_t size_bytes; /* 1..2^63; the block is this rounded up to the granule */
    /* a power of two up to 2^21; 0 and anything below the granule: the granule */
    uint64_t align_bytes;
    enum hbm_kind kind;      /* BUFFER or OUTPUT */
    uint64_t unpadded_bytes; /* for reports: bytes without tile padding; 0: same as size_bytes */
    const struct hbm_shape *shape; /* for reports: copied; may be NULL */
    int32_t tag;                   /* for reports: any number */
    const char *tag_name; /* for reports: kept by pointer while the block exists; may be NULL */
};

/* Allocates a block.  HBM_OK sets *out, valid until hbm_free, hbm_free_after or a donation.
 * HBM_NO_MEMORY: no placement exists after every mitigation (a size above the capacity: at once,
 * no mitigation is tried).  HBM_INVALID: size 0 or above 2^63, bad alignment or kind, or a shape
 * that is not valid.  HBM_UNAVAILABLE: host memory or the device refused what was needed.
 * O(log blocks) without mitigation. */
HBM_MUST_USE enum hbm_result hbm_allocate(struct hbm *hbm, const struct hbm_request *request,
                                          struct hbm_buffer **out);

/* Frees a buffer.  Without unfinished uses and external references it is gone at once, else it is
 * dying until they end.  The handle is invalid afterwards, except that each external reference
 * may still be released through it. */
void hbm_free(struct hbm *hbm, struct hbm_buffer *buffer);

/* hbm_use and then hbm_free: the block goes no earlier than the event.  HBM_UNAVAILABLE: no host
 * memory to remember the event; nothing changed, the buffer is still live. */
HBM_MUST_USE enum hbm_result hbm_free_after(struct hbm *hbm, struct hbm_buffer *buffer,
                                            uint64_t event);

/* The device uses the buffer until the event completes: it is held from the start of the call on,
 * so that work enqueued before finds it where it was.  An event that has completed already changes
 * nothing. HBM_UNAVAILABLE as above, or the contents are stranded on the host (see
 * hbm_buffer_address). */
HBM_MUST_USE enum hbm_result hbm_use(struct hbm *hbm, struct hbm_buffer *buffer, uint64_t event);

/* Counts external references up and down.  hbm_release without a hold is HBM_INVALID; it is legal
 * on a dying buffer, and the last release of one may end it.  2^32-1 holds at most: HBM_INVALID. */
HBM_MUST_USE enum hbm_result hbm_hold(struct hbm *hbm, struct hbm_buffer *buffer);
HBM_MUST_USE enum hbm_result hbm_release(struct hbm *hbm, struct hbm_buffer *buffer);

/* An output takes over the block of `buffer` in place: address and block size stay, kind, shape and
 * tags become the request's, unfinished uses carry over.  HBM_OK sets *out (it may equal `buffer`)
 * and invalidates the old handle.  HBM_INVALID, and nothing changed: the request is larger than the
 * block, needs an alignment that the address does not have, or there is an external reference. */
HBM_MUST_USE enum hbm_result hbm_donate(struct hbm *hbm, struct hbm_buffer *buffer,
                                        const struct hbm_request *request, struct hbm_buffer **out);

#define HBM_ADDRESS_NONE UINT64_MAX
/* Return where the block is now and how large it is (a multiple of the granule).  The address may
 * change in any call that defragments while the buffer is movable: hold it to rely on it.
 * HBM_ADDRESS_NONE: the contents are stranded on the host.  Blocks that must change places go by
 * way of a hole; where none is large enough the smallest goes by way of the host, and while it is
 * there a refused copy is tried again.  Only if the device goes on refusing after another block was
 * written to the old place, and before the contents are at the new one, they stay on the host.
 * They are safe there, count as in use, and are put back by the first call that is granted: every
 * call tries that first, but for those that only read (addresses, sizes, counters, reports). */
uint64_t hbm_buffer_address(struct hbm *hbm, const struct hbm_buffer *buffer);
uint64_t hbm_buffer_size(struct hbm *hbm, const struct hbm_buffer *buffer);

/* ---- programs --- */

struct hbm_program_request {
    uint64_t id;          /* the caller's; passed to services.unload */
    uint64_t image_bytes; /* 1..2^63: an ordinary heap block */
    uint64_t stack_bytes; /* 0..2^63: needed at the bottom while it executes */
    const char *name;     /* copied; shown in errors; NULL or "": not shown; up to 511 bytes */
};

/* Loads a program: places its image, and proves that its stack could be reserved with the image in
 * place by reserving it for a moment (which counts in peak_bytes_reserved).  HBM_NO_MEMORY: the
 * image alone has no place (the "allocate" text), or image and stack together have none (the
 * "reserve" text).  HBM_INVALID: image 0, a size above 2^63, a name too long.  HBM_UNAVAILABLE.
 * A program may be idle, busy, or evicted; the handle is valid until hbm_program_unload. */
HBM_MUST_USE enum hbm_result hbm_program_load(struct hbm *hbm,
                                              const struct hbm_program_request *request,
                                              struct hbm_program **out);

/* Frees the image: at once when idle, else it is dying, and its stack stays reserved, until its
 * executions complete.  The handle is invalid afterwards.  services.unload is not called. */
void hbm_program_unload(struct hbm *hbm, struct hbm_program *program);

/* Returns true when the image is in memory (not evicted). */
bool hbm_program_is_loaded(struct hbm *hbm, const struct hbm_program *program);

/* The image's address (HBM_ADDRESS_NONE while evicted or stranded) and block size. */
uint64_t hbm_program_address(struct hbm *hbm, const struct hbm_program *program);
uint64_t hbm_program_size(struct hbm *hbm, const struct hbm_program *program);

/* Executes: loads the program again if it was evicted, reserves its stack, and makes it busy until
 * the event completes.  The stack is one reservation, as large as the largest of all executing
 * programs.  Results as hbm_program_load; on failure nothing executes. */
HBM_MUST_USE enum hbm_result hbm_execute(struct hbm *hbm, struct hbm_program *program,
                                         uint64_t event);

#define HBM_NOT_DONATED SIZE_MAX

/* One compound execution. */
struct hbm_launch {
    struct hbm_program *program;
    uint64_t event;
    struct hbm_buffer *const *inputs; /* [input_count], live */
    size_t input_count;
    const struct hbm_request *outputs; /* [output_count] */
    const size_t *donations; /* [output_count]: the input whose block each output takes over,
                              * or HBM_NOT_DONATED; NULL: none; each input at most once */
    size_t output_count;
};

/* In this order: holds the inputs, allocates the outputs (class buffer; donated ones take over
 * their input's block), loads the program if needed and reserves its stack (class program), then
 * inputs, outputs and program are in use until the event.  HBM_OK sets outputs[0..output_count) and
 * invalidates the donated inputs.  Any failure undoes all of it and returns what the failing step
 * returned; HBM_INVALID also for a donation that does not fit, is repeated, is externally held, or
 * whose input appears more than once among the inputs. */
HBM_MUST_USE enum hbm_result hbm_launch(struct hbm *hbm, const struct hbm_launch *launch,
                                        struct hbm_buffer **outputs);

/* ---- defragmentation on request --- */

/* Compacts as far as the contract allows: movable blocks go to the top of their spans (repack: and
 * first into holes higher up).  HBM_INVALID: the contract is none.  HBM_UNAVAILABLE: a service
 * refused; what was moved stays moved. */
HBM_MUST_USE enum hbm_result hbm_defragment(struct hbm *hbm);

/* ---- memory that goes bad --- */

/* Takes [address, address + size_bytes) out of use for ever: it becomes a block of kind
 * HBM_KIND_RETIRED that is never moved or freed and that the stack cannot grow over; it counts as
 * in use like any other.  HBM_INVALID: the range is empty, not of whole granules, outside the
 * device, or not wholly free (a block, a dying one included, or the stack lies there).
 * HBM_UNAVAILABLE, and nothing changed: no host memory, or contents that are stranded on the host
 * may need the place.  O(blocks). */
HBM_MUST_USE enum hbm_result hbm_retire(struct hbm *hbm, uint64_t address, uint64_t size_bytes);

/* ---- counters --- */

/* Named as in PJRT_Device_MemoryStats.
 * Free bytes = bytes_limit - bytes_in_use - bytes_reserved, always. */
struct hbm_stats {
    uint64_t num_allocs;   /* blocks in the heap now: live, dying, images, retired */
    uint64_t bytes_in_use; /* their bytes */
    uint64_t peak_bytes_in_use;
    uint64_t largest_alloc_size; /* the largest block ever allocated */
    uint64_t bytes_limit;        /* the capacity */
    uint64_t bytes_reserved;     /* the stack now */
    uint64_t peak_bytes_reserved;
    uint64_t bytes_reservable_limit;   /* the largest possible stack, as computed at the end of the
                                        * last   successful load or execute; bytes_limit before any */
    uint64_t largest_free_block_bytes; /* the largest hole in [bytes_reserved, bytes_limit) */
    /* The mitigations' totals so far: not in PJRT. */
    uint64_t events_awaited; /* waits that ended with a completed event */
    uint64_t blocks_moved;
    uint64_t bytes_moved;
    uint64_t programs_evicted;
    uint64_t mitigation_ns; /* by services.clock_ns, waits included */
};

void hbm_stats(struct hbm *hbm, struct hbm_stats *out);

/* ---- errors --- */

enum hbm_failure_form {
    HBM_FAILURE_NONE,
    HBM_FAILURE_BUFFER,        /* Error allocating device buffer: Attempting to allocate .. */
    HBM_FAILURE_PROGRAM_IMAGE, /* Error loading program: Attempting to allocate .. */
    HBM_FAILURE_PROGRAM_STACK, /* Error loading program: Attempting to reserve .. */
    HBM_FAILURE_INVALID,
    HBM_FAILURE_UNAVAILABLE,
};

#define HBM_ERROR_BYTES_MAX 1024

/* The last failure.  The numbers are those of the state at the failing return, and for the three
 * HBM_NO_MEMORY forms only. */
struct hbm_failure {
    enum hbm_failure_form form;
    uint64_t requested_bytes; /* as asked, before rounding */
    uint64_t free_bytes;
    uint64_t reserved_bytes;
    uint64_t reservable_bytes; /* the largest stack that could be reserved */
    uint64_t largest_bytes;    /* the largest hole */
    bool fragmentation_shown;  /* contract none, and free_bytes >= requested_bytes */
    char text[HBM_ERROR_BYTES_MAX];
};

/* The text, or all, of the last failure of the calling thread, if it was on this device; "" and
 * form NONE otherwise.  Success does not clear it.  Valid until the thread's next failing call. */
const char *hbm_error(const struct hbm *hbm);
const struct hbm_failure *hbm_last_failure(const struct hbm *hbm);

#define HBM_SIZE_TEXT_BYTES 24
/* Prints bytes as the runtime does (1002.00M, 4.0K, 0B).  Writes at most `capacity` bytes with the
 * terminating NUL and returns text.  HBM_SIZE_TEXT_BYTES is always enough. */
char *hbm_size_print(int64_t bytes, char *text, size_t capacity);

/* ---- report --- */

enum hbm_state {
    HBM_STATE_MOVABLE,
    HBM_STATE_HELD,
    HBM_STATE_DYING,
    HBM_STATE_PROGRAM_IDLE,
    HBM_STATE_PROGRAM_BUSY,
    HBM_STATE_RETIRED,
};
#define HBM_STATE_COUNT 6

struct hbm_report_entry {
    uint64_t address;    /* HBM_ADDRESS_NONE when stranded on the host */
    uint64_t size_bytes; /* of the block */
    uint64_t unpadded_bytes;
    uint64_t padding_bytes; /* size_bytes - unpadded_bytes */
    uint64_t align_bytes;
    enum hbm_kind kind;
    enum hbm_state state;
    uint32_t hold_count;           /* external references */
    uint32_t use_count;            /* unfinished uses */
    int32_t tag;                   /* 0 for a program and what is retired */
    const char *tag_name;          /* the name of a program; NULL when there is none */
    const struct hbm_shape *shape; /* NULL when there is none */
    uint64_t program_id;           /* of a program, else 0 */
    const void *handle;            /* the struct hbm_buffer or hbm_program; NULL: retired */
};

/* Calls visit once for each heap block, largest first, then highest address first.  The entry is
 * valid during its call, which must not call libhbm.  HBM_UNAVAILABLE: no host memory to sort in.
 * O(blocks log blocks). */
HBM_MUST_USE enum hbm_result hbm_report_visit(struct hbm *hbm,
                                              void (*visit)(void *context,
                                                            const struct hbm_report_entry *entry),
                                              void *context);

/* Bytes of the blocks in each state, by enum hbm_state; their sum is bytes_in_use.  Needs no host
 * memory.  O(blocks). */
void hbm_report_sum(struct hbm *hbm, uint64_t bytes[HBM_STATE_COUNT]);

/* Prints the same as text, with a header whose sums agree with hbm_stats.  When host memory is
 * refused the blocks are listed in address order instead. */
void hbm_report_print(struct hbm *hbm, const struct hbm_sink *sink);

const char *hbm_kind_name(enum hbm_kind kind);
const char *hbm_state_name(enum hbm_state state);
const char *hbm_result_name(enum hbm_result result);

/* ---- for tests --- */

/* Checks every invariant of the structure: slow and complete.  Takes the lock. */
HBM_MUST_USE bool hbm_invariants_hold(const struct hbm *hbm);

/* Host memory held now, in bytes as asked from host_alloc. */
uint64_t hbm_host_bytes(const struct hbm *hbm);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
