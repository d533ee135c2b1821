/* Planted defects: libhbm, made to break one promise.  A plant is a wrapper that stands between the
 * harness and an instance of the target hbm, and between that instance and the device, and bends
 * one thing that passes through: an answer, a device call, a counter.  How real allocators came to
 * do the same is said at each defect (targets/plants/).  Defects are deterministic: they count
 * cases, never time or addresses.  With the option `with` a plant wraps another plant instead, so
 * that one target has both defects. */
#ifndef TARGETS_PLANTS_PRIVATE_PLANT_H
#define TARGETS_PLANTS_PRIVATE_PLANT_H

#include "harness/target.h"

enum { PLANT_MESSAGE_BYTES = 1024, PLANT_FORGOTTEN_USE_COUNT = 8 };
#define PLANT_BLOCK_NONE UINT32_MAX /* no index of a block */

/* The wrapper's record of a block or program that the client can name. */
struct plant_block {
    uint64_t handle; /* the wrapper names programs itself, so that one can be loaded anew behind its
                        name */
    uint64_t event;  /* the latest use or execution; 0 = none */
    uint32_t next;   /* index of the next block in the same chain; PLANT_BLOCK_NONE ends */
    bool is_program;
    uint64_t inner; /* programs: libhbm's name; 0 = libhbm does not know it, see plant_evict */
    struct target_program program;
    bool overlaps; /* programs: an execution was enqueued before another ended, so event does not
                      say when all have */
    /* Told to the wrapper and not yet to libhbm: see plant_held_moved. */
    bool is_remembered;
    uint32_t forgotten_hold_count;
    uint32_t forgotten_use_count;
    uint32_t hold_count; /* as far as a defect counts holds */
    uint64_t forgotten_uses[PLANT_FORGOTTEN_USE_COUNT];
};

/* A freed block whose own event was not done then. */
struct plant_dying {
    uint64_t address, size_bytes;
    uint64_t event;
};

/* The counts of what the device was asked for during the call under way. */
struct plant_call {
    uint64_t wait_count; /* waits that ended with a completed event */
    uint64_t lost_count; /* waits that will never end */
    uint64_t copy_count; /* copies and stages that were granted */
    uint64_t unload_count;
    uint64_t refused_count; /* refused by the defect, not by the device */
    uint64_t completed_before;
    bool is_alloc, is_wake, has_failed;
};

struct plant_defect;

/* One instance.  Fields after `call` belong to the defect alone. */
struct plant {
    const struct plant_defect *defect;
    const struct target *target;   /* what it wraps: hbm, or another plant */
    struct target_instance *inner; /* of target */
    struct target_instance *hbm;   /* the instance of target_hbm inside all plants */
    struct device_services device; /* the harness's */
    struct device_services bent;   /* what the inner instance sees; its context is the plant */
    struct target_contract contract;
    uint64_t capacity_bytes;
    uint32_t coordinate[4];
    struct plant_block *blocks; /* block_count of them, order by the calls alone */
    uint32_t
        *chains; /* block_capacity of them, a power of two: by the hash of a handle, an index */
    struct plant_dying *dying; /* dying_count of them; the oldest first */
    size_t block_count, block_capacity, dying_count, dying_capacity;
    uint64_t looked_count, told_count; /* completions: at the last look, and as libhbm knows */
    uint64_t dying_completed_count;    /* of the device, when the dead were last forgotten */
    char message[PLANT_MESSAGE_BYTES]; /* of the last call; "" = libhbm's */
    struct plant_call call;

    uint64_t case_count;
    uint64_t hold_count, pop_count;
    uint64_t handle, address;
    uint64_t amount;
    bool latched;
    struct target_row row;
    char previous_message[PLANT_MESSAGE_BYTES];
    struct page *pages;
};

/* One defect: what it bends.  Every member may be NULL or zero: then nothing is bent there. */
struct plant_defect {
    struct target_option forced;          /* given to libhbm after the user's options */
    void (*declare)(struct plant *plant); /* after open: changes plant->contract */

    /* A request, step by step: what libhbm is asked instead, whether it is refused at once in the
     * documented words, and what becomes of a block that libhbm has placed. */
    void (*asked)(struct plant *plant, struct target_request *request);
    bool (*refuses)(struct plant *plant, const struct target_request *request);
    void (*placed)(struct plant *plant, const struct target_request *request,
                   struct target_block *block);
    /* Calls of the harness; alloc is in place of these three.  Each calls plant_inner_… when it
     * wants libhbm's answer. */
    enum target_result (*alloc)(struct plant *plant, const struct target_request *request,
                                struct target_block *block);
    enum target_result (*free)(struct plant *plant, uint64_t handle, uint64_t event);
    enum target_result (*use)(struct plant *plant, uint64_t handle, uint64_t event);
    enum target_result (*hold)(struct plant *plant, uint64_t handle);
    enum target_result (*release)(struct plant *plant, uint64_t handle);
    void (*around_program)(struct plant *plant,
                           bool begins); /* before and after load and execute */
    /* What becomes of a block that libhbm has found; or all of the call. */
    void (*located)(struct plant *plant, struct target_block *block);
    enum target_result (*locate)(struct plant *plant, uint64_t handle, struct target_block *block);
    void (*stats)(struct plant *plant, struct target_stats *stats); /* bends what libhbm counted */
    void (*report)(struct plant *plant, void (*row)(void *context, const struct target_row *row),
                   void *context);
    enum target_result (*wake)(struct plant *plant);
    void (*close)(struct plant *plant); /* before libhbm is closed */
    /* After a call that did not succeed. */
    void (*failed)(struct plant *plant, enum target_result result);

    /* Calls of libhbm into the device. */
    enum device_result (*copy)(struct plant *plant, uint64_t from, uint64_t to, uint64_t bytes);
    enum device_result (*event_wait)(struct plant *plant, uint64_t event);
    enum device_result (*unload)(struct plant *plant, uint64_t program);
    void (*unmap)(struct plant *plant, uint64_t address, uint64_t bytes);
    enum device_result (*map)(struct plant *plant, uint64_t address, uint64_t bytes);
    enum device_result (*stage_copy)(struct plant *plant, uint64_t stage, uint64_t to);
    void (*stage_drop)(struct plant *plant, uint64_t stage);
    size_t (*host_free_bytes)(struct plant *plant,
                              size_t bytes); /* what is said to be given back */
    bool hides_completions; /* events that end during an alloc are seen only after it */
    bool counts_late;       /* it reads the count of completions after it looked at the events */
    bool refuses_stages;    /* where copy refuses, moves through host memory are refused too */
};

/* --- for defects --- */

/* Returns true when the request's size can be right: up to 2^63. */
static inline bool plant_is_valid_size(const struct target_request *request)
{
    return request->size_bytes > 0 && request->size_bytes <= UINT64_C(1) << 63;
}

static inline uint64_t plant_free_bytes(const struct target_stats *stats)
{
    return stats->bytes_limit - stats->bytes_in_use - stats->bytes_reserved;
}

/* Counts an applicable case; true for every period-th. */
bool plant_strikes(struct plant *plant, uint64_t period);

/* The answers of what is wrapped: libhbm's own, or those of the next plant. */
enum target_result plant_inner_alloc(struct plant *plant, const struct target_request *request,
                                     struct target_block *block);
enum target_result plant_inner_free(struct plant *plant, uint64_t handle, uint64_t event);
enum target_result plant_inner_use(struct plant *plant, uint64_t handle, uint64_t event);
enum target_result plant_inner_hold(struct plant *plant, uint64_t handle);
enum target_result plant_inner_release(struct plant *plant, uint64_t handle);
enum target_result plant_inner_wake(struct plant *plant);
bool plant_inner_locate(struct plant *plant, uint64_t handle, struct target_block *block);
/* Reads libhbm's own counters, whatever another plant makes of them. */
struct target_stats plant_inner_stats(struct plant *plant);

/* For defects of counters: amount is in use, too. */
void plant_stats_with_amount(struct plant *plant, struct target_stats *stats);

/* For defects that keep host memory: keeps a piece more, unless it is refused, and gives all back,
 * which are of that size. */
void plant_keep_page(struct plant *plant, size_t bytes);
void plant_give_pages(struct plant *plant, size_t bytes);

/* Answers NO_MEMORY to a buffer in the documented words, with the numbers of now. */
enum target_result plant_refuse(struct plant *plant, const struct target_request *request);

/* Moves blocks together, whether anybody needs it or not. */
enum target_result plant_inner_defragment(struct plant *plant);
/* The device's answer, called again after each DEVICE_PARTIAL. */
enum device_result plant_device_unload(struct plant *plant, uint64_t program);
/* Evicts a program without libhbm, which forgets it; the next execution loads it anew.  False: it
 * is not loaded, or may be busy, or the device refused. */
bool plant_evict(struct plant *plant, struct plant_block *program);

/* NULL when the client cannot name the handle. */
struct plant_block *plant_find(struct plant *plant, uint64_t handle);
/* Returns true when an event that was given to a call is still unfinished. */
bool plant_is_pending(const struct plant *plant, uint64_t event);
/* Drops dying blocks whose events are done: those left are pending. */
void plant_forget_dead(struct plant *plant);
/* Returns true when a dying block lies in [address, address + bytes). */
bool plant_is_dying_in(struct plant *plant, uint64_t address, uint64_t bytes);

/* Finds where the heap of a plant is free, for defects that lose a hole.
 * [start, end), in bytes; start < end. */
struct plant_hole {
    uint64_t start, end;
};

/* The holes between the stack and the end of the device, the lowest first; count of them.  The
 * caller frees the list.  O(blocks log blocks). */
struct plant_hole *plant_list_holes(struct plant *plant, size_t *count);

/* Returns true when the request fits there now. */
bool plant_hole_fits(const struct plant *plant, const struct plant_hole *hole,
                     const struct target_request *request);

/* Work in memory that is counted: walk.c alone is compiled as explored targets are.  Returns the
 * index of the one of the first count_max blocks that was used last; 0 where there is none.
 * O(count_max), some reads for each. */
size_t walk_find_latest(const struct plant *plant, size_t count_max);

/* --- the wrapper itself: defects need none of these --- */

/* A target's open() of what has the defect. */
enum target_result plant_open(const struct plant_defect *defect, const struct target_setup *setup,
                              const struct device_services *device, struct target_instance **out,
                              struct target_contract *contract, char *reason, size_t reason_bytes);

/* The device as libhbm sees it; plant outlives it. */
struct device_services plant_make_services(struct plant *plant);

/* A block or program that the client can name from now on, and no more. */
void plant_add_block(struct plant *plant, const struct plant_block *block);
void plant_remove_block(struct plant *plant, uint64_t handle);
/* Renames the block: from now on the client names it by that handle. */
void plant_rename_block(struct plant *plant, struct plant_block *block, uint64_t handle);
/* A freed block, until its event is done. */
void plant_add_dying(struct plant *plant, const struct plant_dying *dying);

/* libhbm's name for what the client names; 0: libhbm does not know it. */
uint64_t plant_find_inner_handle(struct plant *plant, uint64_t handle);

/* The option with which a plant wraps others. */
#define PLANT_WITH "with"

/* The target that a plant wraps.  `rest` is for the option `with` of target; NULL: no option. */
struct plant_inside {
    const struct target *target;
    const char *rest;
};

/* Reads the option `with` of a plant, which lists others, outermost first.  Without it a plant
 * wraps hbm.  False, with one line in reason: it names no plant, one twice, or one that bends the
 * same place as another. */
bool plant_find_inside(const struct plant_defect *outer, const struct target_setup *setup,
                       struct plant_inside *inside, char *reason, size_t reason_bytes);

#endif
