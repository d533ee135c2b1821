/* The table that an allocator under test exports, and the device it acts on.
 *
 * This is the only header a plug-in needs.  A plug-in is a shared object that exports
 *
 *     const struct target hbmstress_target = {
 *         .abi_version = TARGET_ABI_VERSION,
 *         ...
 *     };
 *
 * and is loaded with `hbmstress run --target ./mine.so`.  Plug-ins are trusted code: they run
 * inside the harness.  All sizes and addresses are bytes; all addresses are offsets into the
 * device, [0, capacity_bytes).  No call may block except in device_services.event_wait. */
#ifndef HARNESS_TARGET_H
#define HARNESS_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TARGET_ABI_VERSION 1u

/* Mitigations in the documented order; `order` in the contract lists each at most once. */
enum mitigation {
    MITIGATION_NONE = 0, /* ends the list early */
    MITIGATION_DRAIN,
    MITIGATION_DEFRAGMENT,
    MITIGATION_EVICT
};
enum { MITIGATION_ORDER_COUNT = 3 };

/* The moves that defragmentation may make with blocks that are neither held nor dying. */
enum defrag_contract {
    DEFRAG_NONE = 0, /* nothing ever moves */
    DEFRAG_SLIDE,    /* blocks move within the span between two unmovable ones, order kept */
    DEFRAG_REPACK    /* any movable block may go to any span */
};

/* The rules for how large a block may be: docs/promise.md gives the formula and examples. */
enum rounding_kind {
    ROUNDING_GRANULE = 0, /* the request, rounded up to granules */
    ROUNDING_ANY,         /* nothing is promised */
    ROUNDING_CLASSES      /* size classes: powers of two, each doubling cut into `steps` */
};

/* The fate of the contents while the target sleeps (target.sleep). */
enum sleep_contract {
    SLEEP_NONE = 0, /* it never sleeps: sleep and wake are not called */
    SLEEP_KEEPS,    /* after wake each block holds what it held before */
    SLEEP_DISCARDS  /* the client writes them again after wake */
};

/* Plain data, so that anybody can compute the sizes and an op list can name them. */
struct target_rounding {
    enum rounding_kind kind;
    uint32_t steps;          /* classes: equal ones in each doubling, a power of two, 1..64 */
    uint64_t smallest_bytes; /* classes: the smallest class, 0..2^50; 0 = one granule */
    uint64_t overhead_bytes; /* granule, classes: 0..2^50, that a block may have beyond its rounded
                                size, as a header or a remainder too small to split off */
};

/* The promise about one counter of struct target_stats: docs/promise.md gives the exact rules. */
enum target_counting {
    TARGET_COUNT_EXACT = 0,
    TARGET_COUNT_AT_MOST, /* an upper bound: the true value is at most what it shows */
    TARGET_COUNT_LATE,    /* what was right after one of the last 64 ops, never an older one than it
                             showed before */
    TARGET_COUNT_ABSENT   /* anything */
};

/* The counters of struct target_stats that may be other than exact, in its order. */
enum target_counter {
    TARGET_COUNTER_NUM_ALLOCS = 0,
    TARGET_COUNTER_BYTES_IN_USE,
    TARGET_COUNTER_PEAK_BYTES_IN_USE,
    TARGET_COUNTER_LARGEST_ALLOC_SIZE,
    TARGET_COUNTER_BYTES_LIMIT,
    TARGET_COUNTER_BYTES_RESERVED,
    TARGET_COUNTER_PEAK_BYTES_RESERVED,
    TARGET_COUNTER_BYTES_RESERVABLE_LIMIT, /* not judged, whatever it says */
    TARGET_COUNTER_LARGEST_FREE_BLOCK_BYTES
};
enum { TARGET_COUNTER_COUNT = TARGET_COUNTER_LARGEST_FREE_BLOCK_BYTES + 1 };

/* The limit says who takes from the memory of the device. */
enum target_limit {
    TARGET_LIMIT_DEVICE = 0, /* this target alone */
    TARGET_LIMIT_PROCESS     /* others of its process, too: an out-of-memory proves nothing */
};

/* Says what is known of where a block lies. */
enum placement {
    PLACEMENT_RANGES = 0, /* one range of the device, at its address */
    PLACEMENT_HIDDEN,     /* one range, and nobody is told where: address is not read */
    PLACEMENT_PAGES       /* any free granules, neighbours or not: address is not read */
};

/* Memory in regions: parts of the device that the target takes and gives back as it needs them, as
 * the extensions of a BFC allocator, arenas, and the segments of a caching allocator.  Regions that
 * lie next to each other stay two.  Only with ranges that have no headers, and without
 * defragmentation, programs and target.retire. */
struct target_regions {
    bool grows; /* every block lies in one region; before an OOM it takes a new one if one with room
                   for the request is to be had */
    bool trims; /* before it asks for that one it gives back every region that holds no block */
    uint64_t step_bytes; /* the region for a request has the size of its block, rounded up to a
                            multiple of this; a multiple of the granule; 0 = one granule */
};

/* The growth of a cost from few blocks, or holes, to many: docs/promise.md gives the formula. */
enum target_growth {
    TARGET_GROWTH_UNDECLARED = 0, /* nothing is promised */
    TARGET_GROWTH_CONSTANT,
    TARGET_GROWTH_LOGARITHMIC,
    TARGET_GROWTH_LINEAR
};

/* The average cost of an op, against the blocks and the holes of the heap. */
struct target_cost {
    enum target_growth calls; /* device calls, looks at events and at the clock among them, for the
                                 op and each effect: a move, an eviction, a wait that ended */
    enum target_growth moved_bytes; /* for each byte that was asked for */
    enum target_growth accesses; /* to memory, of code compiled for races (docs/interleavings.md),
                                    for the op and each effect; of other code not measured */
};

/* The most that single ops cost.  A bound of 0 is none. */
struct target_latency {
    uint32_t
        per_mille; /* 1..1000: so many of 1000 ops keep to both bounds; 0 = nothing is promised */
    uint64_t calls_max; /* device calls, counted as in struct target_cost */
    uint64_t moved_bytes_max;
};

/* The promises of the allocator; the oracle judges it by exactly this. */
struct target_contract {
    uint64_t granule_bytes; /* power of two; addresses and block sizes are multiples of it */
    enum defrag_contract defrag;
    bool queues_frees; /* free() may be given an event that is not done; if false the harness
                          calls free() only when the event is done */
    bool drains;       /* before an OOM it awaits the queued frees that can complete */
    bool programs;     /* load, execute and unload are there */
    bool evicts;       /* before an OOM of a buffer it unloads idle programs */
    bool program_evicts_program; /* the same before an OOM of a program */
    bool documented_messages;    /* message() follows the XLA:TPU grammar, numbers included */
    bool thread_safe;            /* calls may come from several threads at once */
    bool resumes; /* it calls again after DEVICE_PARTIAL; if false the device never answers so */
    enum mitigation order[MITIGATION_ORDER_COUNT];
    struct target_rounding rounding; /* all zero = granules alone */

    /* hidden, pages: with defrag none alone; retire, report and locate are not called.  hidden:
     * without programs. */
    enum placement placement;
    /* In-band headers: so many bytes before its address belong to the block.  size_bytes counts
     * them, and so must rounding.overhead_bytes; alignments are those of the address.  A multiple
     * of the granule up to 2^20; with ranges, defrag none and no programs alone. */
    uint64_t header_bytes;
    enum sleep_contract sleeps;             /* with placement ranges alone */
    uint8_t counting[TARGET_COUNTER_COUNT]; /* enum target_counting, by enum target_counter */
    enum target_limit limit;
    bool order_binds;       /* a mitigation begins only when those before it in `order` can do no
                               more, and no hole fits */
    bool evicts_until_fits; /* it unloads one idle program after the other and stops as soon as the
                               request fits: an OOM of a request that may evict leaves none */
    bool counts_owners; /* the stats say who has the memory: free, used, evictable and held bytes */
    struct target_regions regions; /* all zero = the whole device is its own from the start */
    /* The block of a request lies at a multiple of its size class, as a buddy allocator has it.
     * Only with ranges that have no headers, and without defragmentation, programs and regions;
     * every class is a power of two: rounding is ROUNDING_CLASSES of one step without overhead, and
     * smallest_bytes is a power of two or 0. */
    bool aligns_naturally;
    /* A block is of the stream of its request, and a free waits for all that was enqueued there
     * before it.  The block ends as soon as it is freed and all that it still waits for is on its
     * stream: it counts as free, and requests of its stream may have its memory at once.  Other
     * streams may have it once that is done.  With queued
     * frees alone, and without moves, programs, regions and sleep. */
    bool stream_ordered;
    /* Recorded programs (record_begin): nobody gets the memory of a block that was asked for in a
     * recording before the recording is dropped, whether the block was freed or not; but requests
     * of the same recording do.  A freed one counts as free, and it does not move.  With placement
     * ranges, and without moves, programs, regions and sleep. */
    bool records;
    struct target_cost cost;       /* all zero = nothing is promised of what ops cost */
    struct target_latency latency; /* all zero = the same of single ops */
};

enum device_result {
    DEVICE_OK = 0,
    DEVICE_LOST,    /* event_wait: waiting will never complete this event */
    DEVICE_REFUSED, /* the device did not do it; nothing changed */
    DEVICE_PARTIAL  /* copy, stage_in, stage_copy, unload: done in part.  The same call made again
                       goes on; it is not refused, and ends within 64 calls.  Until then the
                       destination, the overlap of source and destination, and the image hold
                       nothing of use.  Only where contract.resumes. */
};

/* [address, address + size_bytes) of the device. */
struct device_region {
    uint64_t address, size_bytes;
};
/* Regions begin at multiples of it, so that a block at the start of one has any alignment. */
#define TARGET_REGION_ALIGN_BYTES (UINT64_C(1) << 21)

/* The allocator's only way to act on the world.  Owned by the harness, valid from open() until
 * close() returns.  Any call may be refused; a refused call has no effect. */
struct device_services {
    uint32_t size_bytes; /* sizeof(struct device_services) of the harness */
    void *context;       /* first argument of each call */

    /* Copies bytes inside the device; the ranges may overlap, as with memmove. */
    enum device_result (*copy)(void *context, uint64_t from, uint64_t to, uint64_t bytes);
    /* Copies out to host memory and back, for moves that have no free place in between.
     * stage_out sets *stage (never 0); stage_in and stage_drop end it. */
    enum device_result (*stage_out)(void *context, uint64_t from, uint64_t bytes, uint64_t *stage);
    enum device_result (*stage_in)(void *context, uint64_t stage, uint64_t to);
    void (*stage_drop)(void *context, uint64_t stage);

    /* Events.  completed_count grows by one with each event that completes: while it stands
     * still there is nothing to poll.  event_wait returns when the event is done (OK), or LOST
     * at once when no amount of waiting will complete it; other events may complete meanwhile, and
     * also between any two of these calls: the count is to be read before the events. */
    uint64_t (*completed_count)(void *context);
    bool (*event_done)(void *context, uint64_t event);
    enum device_result (*event_wait)(void *context, uint64_t event);

    /* Evicts: takes a loaded, idle program off the device.  program is the id given to load().
     * The program stays known to the allocator and is loaded again by execute(). */
    enum device_result (*unload)(void *context, uint64_t program);

    uint64_t (*clock_ns)(void *context); /* the host's virtual time; never runs backwards */

    /* Host memory for the allocator's own use, aligned to 16 bytes; NULL when refused.  bytes of
     * host_free must be those of host_alloc.  After each call it may hold what it held after open,
     * 1 MiB, and 4 KiB for each block, event and program at the peak.  Writing beyond a piece is
     * noticed when it is given back, or at once. */
    void *(*host_alloc)(void *context, size_t bytes);
    void (*host_free)(void *context, void *memory, size_t bytes);

    /* For sleep and wake alone.  unmap gives the memory behind
     * [address, address + bytes) back to the device, and what it holds is lost; it is never
     * refused.  map takes memory for the range again, which holds nothing; what is mapped already
     * stays as it is.  All of the device is mapped at first, and nothing can be copied from or to
     * what is not.  stage_copy is stage_in, but the stage stays. */
    void (*unmap)(void *context, uint64_t address, uint64_t bytes);
    enum device_result (*map)(void *context, uint64_t address, uint64_t bytes);
    enum device_result (*stage_copy)(void *context, uint64_t stage, uint64_t to);
    /* Takes a region of the device: the lowest one of so many bytes that no region held meets, at a
     * multiple of TARGET_REGION_ALIGN_BYTES.  OK sets *region; it may have fewer bytes than asked,
     * at least 1.  REFUSED: there is none. */
    enum device_result (*region_take)(void *context, uint64_t bytes, struct device_region *region);
    /* Gives back the whole region that begins at address.  Cannot be refused.  close() gives back
     * every one. */
    void (*region_give)(void *context, uint64_t address);
    /* The stream on which the event was enqueued: 0..63, 0 where nobody named one.  Events of one
     * stream complete in the order of their ids. */
    uint32_t (*event_stream)(void *context, uint64_t event);
    /* The event that was enqueued last on the stream, of those that are not done; 0: there is
     * none. */
    uint64_t (*last_event)(void *context, uint32_t stream);
};

enum target_result {
    TARGET_OK = 0,
    TARGET_NO_MEMORY, /* RESOURCE_EXHAUSTED: judged by the oracle */
    TARGET_INVALID,   /* the request can never be right (size 0, above 2^63, a bad alignment) */
    TARGET_FAILED     /* the device or host memory refused; only right after such a refusal */
};

enum block_kind {
    BLOCK_BUFFER = 0,
    BLOCK_OUTPUT,
    BLOCK_PROGRAM,
    BLOCK_RETIRED /* memory that went bad: see target.retire */
};

struct target_setup {
    uint64_t capacity_bytes; /* a multiple of the granule */
    uint64_t granule_bytes;  /* 0: the target's own default */
    uint32_t coordinate[4];  /* x, y, z of the chip and number of its memory, for messages */
    const struct target_option *options; /* option_count of them; unknown keys must be refused,
                                            unless target.options has rows */
    uint32_t option_count;
};
struct target_option {
    const char *key;
    const char *value;
};

/* The kinds of value that an option takes. */
enum target_option_kind {
    TARGET_OPTION_TEXT = 0, /* any text, which open looks at */
    TARGET_OPTION_FLAG,     /* yes, no */
    TARGET_OPTION_WORD,     /* one of values, "a|b|c": least for the first of them, ascending */
    TARGET_OPTION_ORDER,    /* each of values, "a,b,c", once, in any order: numbers as of words */
    TARGET_OPTION_NUMBER,   /* from least to most */
    TARGET_OPTION_SIZE,     /* the same in bytes, as 512, 16K or 1M */
    TARGET_OPTION_POWER     /* the same, a power of two */
};
enum { TARGET_OPTION_WORD_COUNT_MAX = 32 };
/* One option; all of it is constant. */
struct target_option_row {
    const char *key;
    enum target_option_kind kind;
    const char *values;   /* as lists show them: "none|slide|repack", "N", "<MiB>" */
    uint64_t least, most; /* bounds; most 0 = none */
    const char *help;     /* what it does, in one line; may be NULL */
    /* The place of the value in a structure of the target's, of size_bytes: 1, 2, 4 or 8; a pointer
     * for a text, a uint32_t per word for an order.  The harness does not read it. */
    size_t offset, size_bytes;
};

/* A request for a block.  size_bytes is what the message must print as requested. */
struct target_request {
    /* Names the block for its life; never 0, never used again.  One client's ids ascend.  What the
     * target answers, and what it does to the device, must not depend on more of it. */
    uint64_t id;
    uint64_t size_bytes;
    uint64_t align_bytes;    /* 0 = granule, else a power of two up to 2^21 */
    uint64_t unpadded_bytes; /* 0 = same as size_bytes */
    enum block_kind kind;
    uint32_t tag;
    const char *tag_name; /* valid until close(); "" when the tag has no name, never NULL */
    uint32_t stream;      /* 0..63; 0 unless contract.stream_ordered */
};
struct target_program {
    uint64_t id; /* what device_services.unload takes; never 0; as a block's */
    uint64_t image_bytes;
    uint64_t stack_bytes; /* 0 = needs none */
    const char *name;     /* valid until close(); "" when it has none, never NULL */
};

/* The place of a block.  handle is the target's own name for it and never 0 while the block or
 * program lives.  size_bytes counts what the block takes, rounding included: at least what was
 * asked, at most what contract.rounding allows. */
struct target_block {
    uint64_t handle;
    uint64_t address;
    uint64_t size_bytes;
};

/* Counters in the field's names (PJRT_Device_MemoryStats).  They count dying blocks and program
 * images as in use; events that are done must be taken in before counting. */
struct target_stats {
    uint64_t num_allocs; /* heap blocks now: live, dying, images */
    uint64_t bytes_in_use;
    uint64_t peak_bytes_in_use;
    uint64_t largest_alloc_size; /* largest block ever */
    uint64_t bytes_limit;        /* capacity */
    uint64_t bytes_reserved;     /* stack now: the most any unfinished execution needs */
    uint64_t peak_bytes_reserved;
    uint64_t bytes_reservable_limit; /* not judged */
    uint64_t largest_free_block_bytes;

    /* Judged where contract.counts_owners.  Their sum is bytes_limit. */
    uint64_t free_bytes;
    uint64_t used_bytes;      /* live blocks that are neither of the next two */
    uint64_t evictable_bytes; /* idle programs, if some request may evict them */
    uint64_t held_bytes; /* the stack, busy programs, dying and retired blocks, and live ones with a
                            hold or an unfinished use */
};

#define TARGET_ADDRESS_NONE UINT64_MAX
struct target_row {
    uint64_t address; /* TARGET_ADDRESS_NONE: the contents are in host memory (see locate) */
    uint64_t size_bytes;
    enum block_kind kind;
    uint32_t tag;
};

/* The limits of what a target can take, known before it is opened; 0 = no limit of its own.  A
 * device beyond them is refused before open, draws keep to them, and a request beyond them in an op
 * list is skipped and counted. */
struct target_limits {
    uint64_t smallest_capacity_bytes; /* of a device */
    uint64_t largest_capacity_bytes;  /* at least the smallest */
    uint64_t capacity_step_bytes;     /* a capacity is a multiple of it, and so are these two */
    uint64_t largest_size_bytes;      /* of a request, images of programs too */
    uint64_t largest_align_bytes;     /* of a request; a power of two */
};

/* An instance of the target; its type is the target's own business. */
struct target_instance;

/* The allocator's own API, for a program that has nothing of hbmstress.  From these texts
 * `hbmstress report-bug` writes a program for the maintainer, a statement for each op, compiles and
 * runs it.  Each is C or C++ as it stands in a file, lines included.  In all of them @capacity and
 * @granule are numbers of bytes; in the texts of a block, @block is an identifier of its own (b0,
 * b1, ...), @size and @align are numbers of bytes.  Units are those of the table: what the adapter
 * adds or rounds before its call, the text does, too.  @size is rounded up to granules already.
 * Names that begin with report_ are the program's.  NULL where not marked required. */
struct target_api {
    const char *language; /* required: "c" or "c++" */
    const char *build;   /* required.  The command: @source and @program are files, $NAMES variables
                            of the environment, as "cc @source -I$TLSF $TLSF/tlsf.c -o @program" */
    const char *head;    /* required.  Before main: includes, and what the calls share */
    const char *version; /* statements that print one line: which version this is */
    const char *create;  /* required.  Statements at the start of main */
    const char *alloc;   /* required.  Statements that declare @block, for @size bytes */
    const char *alloc_aligned; /* the same, aligned to @align; NULL: such requests are not shown */
    const char *failed;        /* expression: @block was refused; NULL = "@block == NULL" */
    const char *address;       /* expression: where it lies, a number; NULL = "(uintptr_t)@block" */
    const char *memory;        /* expression: a pointer to its bytes; "" = it has none here; NULL =
                                  "@block" */
    const char *free;          /* required.  Statements */
    const char *destroy;       /* statements at the end of main */
    const char *bytes; /* expression: how many bytes it takes, as target_block.size_bytes counts
                          them; NULL = nobody knows */
};

/* Calls marked required may not be NULL; a missing optional call makes the ops that need it be
 * skipped and counted.  Unless said otherwise a call that does not return TARGET_OK changes nothing
 * that these calls show, except for what its mitigations did to the device.  Those are for requests
 * (alloc, load, execute) and defragment: any other call that fails, and any call that returns
 * TARGET_INVALID, moves, evicts and awaits nothing, but for blocks that come back from host memory
 * (see locate).  No stage is left but those of such blocks. */
struct target {
    uint32_t abi_version; /* TARGET_ABI_VERSION */
    uint32_t size_bytes;  /* sizeof(struct target) */
    const char *name;
    const char *summary;
    const char *breaks;      /* planted targets: the rule that must catch them; else NULL */
    const char *option_help; /* valid keys and values, one line each "key=a|b|c\n"; NULL: options
                                has them, or there are none */

    /* required.  Opens an instance for setup and says what it promises.  On a value it does not
     * accept it returns TARGET_INVALID and writes one line into reason[reason_bytes]. */
    enum target_result (*open)(const struct target_setup *setup,
                               const struct device_services *services,
                               struct target_instance **instance, struct target_contract *contract,
                               char *reason, size_t reason_bytes);
    /* required.  Gives back everything, blocks that are still live included. */
    void (*close)(struct target_instance *instance);

    /* required.  Sets *block.  NO_MEMORY: nothing fits after every mitigation. */
    enum target_result (*alloc)(struct target_instance *instance,
                                const struct target_request *request, struct target_block *block);
    /* required.  The block goes when event (0: none), every event given to use() and every hold
     * have ended; until then it keeps its place.  The handle may still be given to release(). */
    enum target_result (*free)(struct target_instance *instance, uint64_t handle, uint64_t event);

    /* optional.  The block is in use, and may not move, until event is done. */
    enum target_result (*use)(struct target_instance *instance, uint64_t handle, uint64_t event);
    /* optional, both or none.  An external reference, counted: the block may not move. */
    enum target_result (*hold)(struct target_instance *instance, uint64_t handle);
    enum target_result (*release)(struct target_instance *instance, uint64_t handle);
    /* optional.  A new buffer takes over the block: same address, same size_bytes; the old
     * handle ends; pending uses go on.  Only called when request->size_bytes fits in the block
     * and nothing holds it. */
    enum target_result (*donate)(struct target_instance *instance, uint64_t handle,
                                 const struct target_request *request, struct target_block *block);

    /* optional, all or none (contract.programs).  load sets *image to the image's block (handle
     * names the program).  The stack must be reservable, and is given back.  execute loads an
     * evicted program again, reserves its stack until event is done, and sets *image too.
     * unload ends the program: its image goes when its executions have ended. */
    enum target_result (*load)(struct target_instance *instance,
                               const struct target_program *program, struct target_block *image);
    enum target_result (*execute)(struct target_instance *instance, uint64_t handle, uint64_t event,
                                  struct target_block *image);
    enum target_result (*unload)(struct target_instance *instance, uint64_t handle);

    /* optional.  Moves blocks together as its contract allows; under hidden and pages as it likes,
     * because nobody is told where they lie: what they hold must stay. */
    enum target_result (*defragment)(struct target_instance *instance);
    /* optional.  The device lost [address, address + size_bytes), a multiple of the granule, for
     * ever: the target makes a block of it that nobody can free and that never moves, and counts
     * and reports it like any other. Only called while the range is free: no block lies there,
     * dying ones included, nor the stack, and no block is in host memory, which may need it. */
    enum target_result (*retire)(struct target_instance *instance, uint64_t address,
                                 uint64_t size_bytes);
    /* required when contract.defrag is not none.  Where the block (or the image of a loaded
     * program) is now; size_bytes may be left 0.  INVALID for a program that is not loaded, and,
     * under DEFRAG_REPACK, for a block whose contents are in host memory because the device refused
     * to take them back (stage_in): such a block counts as before, has no address, answers FAILED
     * to use, donate and execute (no call need have been refused for that), and is where locate
     * says once it is back.  It must be back after the first call, other than locate, stats, report
     * and message, in which the device refuses nothing and for which a free range of its size and
     * alignment was there before and is there after it.  NO_MEMORY may keep room for such blocks,
     * and no more. */
    enum target_result (*locate)(struct target_instance *instance, uint64_t handle,
                                 struct target_block *block);

    /* required. */
    void (*stats)(struct target_instance *instance, struct target_stats *stats);
    /* optional.  Calls row once per heap block, largest first. */
    void (*report)(struct target_instance *instance,
                   void (*row)(void *context, const struct target_row *row), void *context);
    /* required.  The error text of the last call that did not return TARGET_OK; valid until the
     * next call. */
    const char *(*message)(struct target_instance *instance);

    struct target_limits limits;
    /* optional, both or none.  Bytes [offset, offset + bytes) of a live block, inside what was
     * asked for; at most 16 at a time.  They are called where the contract's placement is hidden
     * or pages, and for no program: there contents can be checked in no other way. */
    enum target_result (*read)(struct target_instance *instance, uint64_t handle, uint64_t offset,
                               void *to, size_t bytes);
    enum target_result (*write)(struct target_instance *instance, uint64_t handle, uint64_t offset,
                                const void *from, size_t bytes);

    /* optional, both or none (contract.sleeps).  sleep gives all memory of the device back (unmap);
     * every block keeps its handle, address and size, and the counters stay as they are.  Only
     * called while no block is dying, in use or in host memory, and no program executes.  Until
     * wake is OK nothing is called but wake, locate, stats, report, message and close.  wake takes
     * all of it back.  Then each block is as it was before, its contents as contract.sleeps says,
     * and no stage is left.  FAILED: the device or host memory refused; the target still sleeps (or
     * is still awake), all as before, and the same call may come again.  Where the same blocks
     * sleep again at once, host memory after the next wake is no more than after this one. */
    enum target_result (*sleep)(struct target_instance *instance);
    enum target_result (*wake)(struct target_instance *instance);

    /* optional, all or none (contract.records).  From begin to end every request belongs to the
     * recording, and what it records writes to their memory each time that it is played.  One is
     * open at a time.  id names the recording: never 0, never used again.  record_drop ends one
     * that is not open; blocks of it that live go on as others. */
    enum target_result (*record_begin)(struct target_instance *instance, uint64_t id);
    enum target_result (*record_end)(struct target_instance *instance, uint64_t id);
    enum target_result (*record_drop)(struct target_instance *instance, uint64_t id);

    /* optional.  Outlives the table. */
    const struct target_api *api;
    /* optional, in place of option_help: rows, the last one with key NULL.  open gets no option
     * that they do not list: the harness refuses others, and says what is valid. */
    const struct target_option_row *options;
};

#endif
