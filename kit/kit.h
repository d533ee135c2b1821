/* The bookkeeping of a plug-in, for allocators that know only how to allocate and to free.
 *
 * A whole plug-in:
 *
 *     #include <hbmstress/kit.h>
 *
 *     struct mine { ... };
 *     static uint64_t mine_allocate(void *state, uint64_t size_bytes, uint64_t align_bytes) { ... }
 *     static void mine_free(void *state, uint64_t offset, uint64_t size_bytes) { ... }
 *
 *     KIT_TARGET("mine", "what it is, in one sentence",
 *                .state_bytes = sizeof(struct mine),
 *                .allocate_offset = mine_allocate, .free_offset = mine_free);
 *
 * The kit makes the handles, queues frees, counts uses and holds, donates, counts and reports,
 * parses options and writes the messages.  Before an out-of-memory it awaits every queued free that
 * can complete.  The contract that follows: nothing moves, frees are queued, it drains, there are
 * no programs, calls come from one thread at a time.
 *
 * All of its memory is the harness's host memory.  Where that is refused, a call fails and changes
 * nothing.  One thread calls at a time, and the calls of an allocator may not call the target. */
#ifndef KIT_KIT_H
#define KIT_KIT_H

#include "harness/target.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KIT_NOTHING UINT64_MAX /* allocate_offset: nothing fits */
#define KIT_GRANULE_BYTES 512u /* where neither the setup nor the allocator names one */

/* Host memory that the harness counts, for an allocator's own records.  Owned by the kit, valid
 * from open to close. */
struct kit_host;
/* Aligned to 16 bytes, not zeroed.  NULL: the harness refused; allocate may then return nothing,
 * and the kit answers TARGET_FAILED instead of an out-of-memory. */
void *kit_host_alloc(struct kit_host *host, size_t bytes);
/* bytes are those of the allocation; memory may be NULL. */
void kit_host_free(struct kit_host *host, void *memory, size_t bytes);

struct kit_setup;
/* Host memory for the life of the instance, as that of kit_host_alloc: the kit gives it back after
 * close, or when open fails.  NULL: open must refuse, too.  Only in open. */
void *kit_records(const struct kit_setup *setup, size_t bytes);

/* The upstream of an allocator in layers: regions of the device, as device_services.region_take and
 * region_give have them, for one that declares kit_allocator.regions: its offsets lie in regions
 * that it holds.  A region may be shorter than asked.  false: there is none, or the device refused
 * it.  Valid from open to close. */
bool kit_region_take(struct kit_host *host, uint64_t bytes, struct device_region *region);
/* The whole region that begins at the offset.  close() gives back all that are left. */
void kit_region_give(struct kit_host *host, uint64_t offset);

/* Returns true when the block at place (from allocate_offset or allocate) is live, nobody holds it
 * and none of its uses is unfinished: an allocator that moves blocks moves no other. */
bool kit_may_move(const struct kit_host *host, uint64_t place);

/* The setup of an allocator; valid during open, but for what the fields say. */
struct kit_setup {
    uint64_t capacity_bytes; /* offsets are [0, capacity_bytes) */
    uint64_t granule_bytes;  /* a power of two */
    void *arena; /* allocators of pointers: zeroed, writable memory until close, as struct kit_arena
                    says; NULL for the others */
    uint64_t arena_bytes;              /* the capacity, and what is in front of it and behind */
    struct kit_host *host;             /* valid until close */
    struct target_contract *contract;  /* filled in; open may change what its options change, as
                                          granule_bytes, rounding and regions */
    const struct target_setup *target; /* as the harness gave it */
    const char *option_help;           /* as kit_open got it */
    const struct target_option_row *options; /* those of the allocator */
    uint32_t variant;                        /* kit_allocator.variant */
};
/* Returns the value that was given for an option; NULL: none was. */
const char *kit_option(const struct kit_setup *setup, const char *key);
/* Returns true when an option has that value.  One that was not given has the first value that
 * option_help or the row lists for it. */
bool kit_option_is(const struct kit_setup *setup, const char *key, const char *value);

/* The memory that an allocator of pointers gets, on top of the capacity as it keeps some of it for
 * itself: front_bytes, then the device, whose offset 0 is aligned to align_bytes, then back_bytes.
 */
struct kit_arena {
    uint64_t align_bytes; /* a power of two; less than 2 MiB = 2 MiB */
    uint64_t front_bytes; /* before the first block, or its header: records at the start */
    uint64_t back_bytes;  /* behind the last one: a sentinel */
    bool is_own; /* there is no arena: the allocator has memory of its own, as malloc.  Only with a
                    placement that is not ranges */
};

/* An allocator.  Required is one of the pairs allocate_offset and free_offset, or allocate and
 * free (the first one counts where both are there); all else may be 0.  Calls get the state first.
 */
struct kit_allocator {
    size_t state_bytes;     /* of the state, zeroed and aligned to 16 bytes before open */
    uint64_t granule_bytes; /* where the setup names none; 0 = KIT_GRANULE_BYTES */
    bool is_granule_fixed;  /* another granule in the setup is refused */
    struct kit_arena arena;
    struct target_rounding rounding; /* how large blocks may be: see target_contract */
    bool takes_class;                /* a block takes the whole size class that rounding names */
    enum placement placement;        /* what is known of where blocks lie: see target_contract */
    /* Before each block.  As the contract has it: what allocate is asked for leaves the header out,
     * and the block takes it besides.  in_request: the request has room for it, because the size
     * classes count it; allocate is asked for so much less, and the contract has no header.  Then
     * it is less than the granule, and the placement is ranges. */
    uint64_t header_bytes;
    bool header_in_request;
    struct target_regions regions; /* grows: allocate_offset and largest_free_bytes are there */
    uint32_t variant;              /* told to open, for several targets of one set of calls */
    bool aligns_naturally; /* each block lies at a multiple of its size class: see target_contract;
                              align_bytes of allocate need not be so much */

    /* These rows take the place of option_help, as in target.options; NULL = none.  The harness
     * checks the values that are given. */
    const struct target_option_row *options;

    /* NULL: it is open.  Otherwise one line that says why not, valid until the kit has read it;
     * close is then not called. */
    const char *(*open)(void *state, const struct kit_setup *setup);
    /* No block is left then: the kit frees what is still live before. */
    void (*close)(void *state);

    /* size_bytes is the request, rounded up to granules; it may exceed the capacity.  align_bytes
     * is a power of two, at least one granule and at most 2 MiB or one granule.  Returns the offset
     * (a multiple of align_bytes) or KIT_NOTHING. */
    uint64_t (*allocate_offset)(void *state, uint64_t size_bytes, uint64_t align_bytes);
    /* size_bytes is what the block takes (see block_bytes). */
    void (*free_offset)(void *state, uint64_t offset, uint64_t size_bytes);

    /* Does the same for pointers into setup.arena; NULL: nothing fits. */
    void *(*allocate)(void *state, uint64_t size_bytes, uint64_t align_bytes);
    void (*free)(void *state, void *pointer, uint64_t size_bytes);

    /* For kit_retire: takes exactly this free range, in whole granules, for good; free_offset gives
     * it back at the end.  false: host memory was refused.  Of offsets without headers alone. */
    bool (*reserve_offset)(void *state, uint64_t offset, uint64_t size_bytes);

    /* Returns what the block at place takes; place is the offset that allocate_offset returned, or
     * the pointer of allocate.  A multiple of the granule, at least size_bytes and the header, at
     * most what rounding allows.  NULL: just these two, or with takes_class their size class.
     * Called once, after the block was allocated. */
    uint64_t (*block_bytes)(void *state, uint64_t place, uint64_t size_bytes);
    /* The largest free range; of one that grows, in a region that it holds.  NULL: the largest one
     * between blocks, or all that is free where nobody knows where they lie. */
    uint64_t (*largest_free_bytes)(void *state);

    /* For kit_defragment: moves what kit_may_move allows.  The kit does not learn where blocks are
     * then, so the places that it knows stay, and the placement is hidden or pages.  Where host
     * memory is refused it may do less. */
    void (*defragment)(void *state);

    /* Bytes [offset, offset + bytes) of the block at place, which is what allocate returned; for
     * kit_read and kit_write.  NULL: they follow the pointer. */
    void (*read)(void *state, const void *place, uint64_t offset, void *to, size_t bytes);
    void (*write)(void *state, void *place, uint64_t offset, const void *from, size_t bytes);
};

/* The calls of the table.  kit_open is target.open for the allocator, which must outlive the
 * instance; options are those of option_help (as target.option_help; NULL = there are none). A
 * value in angle brackets there, as in "limit=<bytes>\n", stands for any text.  The other calls are
 * what harness/target.h says of their names; alloc is O(log blocks) and settles what is done in
 * O(events pending). */
enum target_result kit_open(const struct kit_allocator *allocator, const char *option_help,
                            const struct target_setup *setup, const struct device_services *device,
                            struct target_instance **instance, struct target_contract *contract,
                            char *reason, size_t reason_bytes);
void kit_close(struct target_instance *instance);
enum target_result kit_alloc(struct target_instance *instance, const struct target_request *request,
                             struct target_block *block);
enum target_result kit_free(struct target_instance *instance, uint64_t handle, uint64_t event);
enum target_result kit_use(struct target_instance *instance, uint64_t handle, uint64_t event);
enum target_result kit_hold(struct target_instance *instance, uint64_t handle);
enum target_result kit_release(struct target_instance *instance, uint64_t handle);
enum target_result kit_donate(struct target_instance *instance, uint64_t handle,
                              const struct target_request *request, struct target_block *block);
enum target_result kit_locate(struct target_instance *instance, uint64_t handle,
                              struct target_block *block);
void kit_stats(struct target_instance *instance, struct target_stats *stats);
void kit_report(struct target_instance *instance,
                void (*row)(void *context, const struct target_row *row), void *context);
const char *kit_message(struct target_instance *instance);
/* Only allocators with reserve_offset have this; then a table has it. */
enum target_result kit_retire(struct target_instance *instance, uint64_t address,
                              uint64_t size_bytes);
/* Only allocators with defragment have this; called where placement is hidden or pages. */
enum target_result kit_defragment(struct target_instance *instance);
/* Allocators of pointers have these, or those with read and write; a table has them where the
 * contract's placement is not ranges. */
enum target_result kit_read(struct target_instance *instance, uint64_t handle, uint64_t offset,
                            void *to, size_t bytes);
enum target_result kit_write(struct target_instance *instance, uint64_t handle, uint64_t offset,
                             const void *from, size_t bytes);

/* The members of a table all of whose calls but open are the kit's; others may follow, as
 *
 *     const struct target hbmstress_target = {
 *         KIT_TABLE("mine", "what it is", NULL, my_open),
 *         .limits = {.largest_capacity_bytes = 1 << 30}};
 */
#define KIT_TABLE(name_, summary_, option_help_, open_) \
    KIT_TABLE_FREEING(name_, summary_, option_help_, open_, kit_free)
/* Does the same with another free. */
#define KIT_TABLE_FREEING(name_, summary_, option_help_, open_, free_)                           \
    .abi_version = TARGET_ABI_VERSION, .size_bytes = sizeof(struct target), .name = name_,       \
    .summary = summary_, .option_help = option_help_, .open = open_, .close = kit_close,         \
    .alloc = kit_alloc, .free = free_, .use = kit_use, .hold = kit_hold, .release = kit_release, \
    .donate = kit_donate, .locate = kit_locate, .stats = kit_stats, .report = kit_report,        \
    .message = kit_message

/* Exports hbmstress_target for the kit_allocator that the designated initialisers after summary
 * make.  name, summary and option_help are string literals.  members: further ones of the table, in
 * parentheses, as (.limits = {.largest_align_bytes = 64}). */
#define KIT_TARGET(name_, summary_, ...) KIT_TARGET_WITH(name_, summary_, NULL, (), __VA_ARGS__)
#define KIT_TARGET_WITH_OPTIONS(name_, summary_, option_help_, ...) \
    KIT_TARGET_WITH(name_, summary_, option_help_, (), __VA_ARGS__)
#define KIT_TARGET_WITH(name_, summary_, option_help_, members_, ...) \
    KIT_OPEN(kit_target_open, option_help_, __VA_ARGS__)              \
    extern const struct target hbmstress_target;                      \
    const struct target hbmstress_target = {                          \
        KIT_TABLE(name_, summary_, option_help_, kit_target_open), KIT_MEMBERS members_}
#define KIT_MEMBERS(...) __VA_ARGS__

/* Defines a target's open() of that name for the kit_allocator that the designated initialisers
 * make: for a table beside others in one file. */
#define KIT_OPEN(function_, option_help_, ...)                                               \
    static enum target_result function_(                                                     \
        const struct target_setup *setup, const struct device_services *device,              \
        struct target_instance **instance, struct target_contract *contract, char *reason,   \
        size_t reason_bytes)                                                                 \
    {                                                                                        \
        static const struct kit_allocator allocator = {__VA_ARGS__};                         \
        return kit_open(&allocator, option_help_, setup, device, instance, contract, reason, \
                        reason_bytes);                                                       \
    }

/* For an allocator over one arena that aligns to its granule and to nothing more: KIT_HEAP makes
 * the calls of a kit_allocator from three functions or macros, with the heap's own type, and
 * KIT_HEAP_CALLS names them.  A whole plug-in:
 *
 *     static struct my_heap *create(const struct kit_setup *setup)
 *     {
 *         return my_heap_create(setup->arena, setup->arena_bytes);
 *     }
 *     KIT_HEAP(create, my_heap_allocate, my_heap_free);
 *     KIT_TARGET_WITH("my_heap", "what it is, in one sentence", NULL,
 *                     (.limits = {.largest_align_bytes = 16}), KIT_HEAP_CALLS,
 *                     .granule_bytes = 16, .is_granule_fixed = true);
 *
 * create returns the heap, or NULL: it refuses.  allocate gets the heap and size_bytes, free the
 * heap and the pointer.  The state that other calls get is a pointer to the heap. */
#define KIT_HEAP(create_, allocate_, free_)                                                \
    static const char *kit_heap_open(void *state, const struct kit_setup *setup)           \
    {                                                                                      \
        void **heap = state;                                                               \
        *heap = create_(setup);                                                            \
        return *heap != NULL ? NULL : "the heap cannot be created";                        \
    }                                                                                      \
    static void *kit_heap_allocate(void *state, uint64_t size_bytes, uint64_t align_bytes) \
    {                                                                                      \
        (void)align_bytes;                                                                 \
        return allocate_(*(void **)state, (size_t)size_bytes);                             \
    }                                                                                      \
    static void kit_heap_free(void *state, void *pointer, uint64_t size_bytes)             \
    {                                                                                      \
        (void)size_bytes;                                                                  \
        free_(*(void **)state, pointer);                                                   \
    }                                                                                      \
    struct kit_allocator
#define KIT_HEAP_CALLS                                                                   \
    .state_bytes = sizeof(void *), .open = kit_heap_open, .allocate = kit_heap_allocate, \
    .free = kit_heap_free

#ifdef __cplusplus
}
#endif

#endif
