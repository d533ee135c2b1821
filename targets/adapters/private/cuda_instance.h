/* An instance of cuda:pool: its blocks, what they wait for, and how they end. */
#ifndef TARGETS_ADAPTERS_PRIVATE_CUDA_INSTANCE_H
#define TARGETS_ADAPTERS_PRIVATE_CUDA_INSTANCE_H

#include "harness/target.h"
#include "targets/adapters/private/cuda_pool.h"

/* An event that a block waits for. */
struct cuda_use {
    struct cuda_use *next;
    uint64_t event;
    bool was_awaited; /* in the drain under way */
};

struct cuda_block {
    uint64_t handle, address, size_bytes;
    struct cuda_use *uses;
    struct cuda_use free_event;   /* the memory of the last two uses: until what it is freed with */
    struct cuda_use stream_event; /* is done, and all that its stream had to do then */
    struct cuda_wait *wait;       /* for when it is freed behind a wait; NULL: it was needed */
    uint32_t behind;              /* the wait of its stream that it was allocated behind; 0: none */
    uint32_t stream;
    struct cuda_block *next_kept; /* of those that are freed, and not yet in the pool */
};

/* A handle is the slot's number and how often the slot was named. */
struct cuda_slot {
    struct cuda_block *block; /* NULL: free */
    uint32_t name_count;
    uint32_t next_free; /* of a free slot: the next one, or CUDA_SLOT_NONE */
};

#define CUDA_SLOT_NONE UINT32_MAX
enum { CUDA_MESSAGE_BYTES = 256 };

struct target_instance {
    struct cuda_pool pool;
    struct device_services device;
    struct cuda_slot *slots; /* slot_capacity of them; the first slot_count were used */
    uint32_t slot_count, slot_capacity;
    uint32_t slot_free; /* a free one, or CUDA_SLOT_NONE */
    struct cuda_block *kept;
    uint64_t completed_seen; /* completed_count before events were last looked at */
    uint64_t capacity_bytes;
    bool drains;
    char message[CUDA_MESSAGE_BYTES];
};

/* --- cuda_blocks.c --- */

/* NULL: the harness refused. */
void *cuda_host_alloc(struct target_instance *instance, size_t bytes);
void cuda_host_free(struct target_instance *instance, void *memory, size_t bytes);

/* A block that is nowhere yet, with a handle, and with all that its end will need: no free can
 * fail. NULL: host memory was refused. */
struct cuda_block *cuda_block_create(struct target_instance *instance, uint32_t stream);
/* Forgets the block, whose handle means nothing from now on. */
void cuda_block_forget(struct target_instance *instance, const struct cuda_block *block);
/* Gives its memory back, and that of its uses; its handle was forgotten. */
void cuda_block_destroy(struct target_instance *instance, struct cuda_block *block);
/* NULL: no block that was not freed has that handle. */
struct cuda_block *cuda_block_find(const struct target_instance *instance, uint64_t handle);

bool cuda_is_done(const struct target_instance *instance, uint64_t event);
/* The block waits for the event, with a record that the caller provides. */
void cuda_block_use(struct cuda_block *block, uint64_t event, struct cuda_use *use);
/* Forgets the uses that are done. */
void cuda_block_end_uses(struct target_instance *instance, struct cuda_block *block);

/* --- cuda_frees.c --- */

/* Takes in what is done, and ends at an instant at which no more was done. */
void cuda_settle(struct target_instance *instance);
/* Frees a block whose handle was forgotten: now, in the order of its stream, or later. */
void cuda_free_block(struct target_instance *instance, struct cuda_block *block);
/* Awaits every queued free that can complete.  false: the device refused. */
bool cuda_drain(struct target_instance *instance);
/* Ends everything, whatever waits, and frees every block. */
void cuda_free_all(struct target_instance *instance);

#endif
