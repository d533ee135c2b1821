/* An adapter, which BENT names, with one thing bent between the kit and the allocator, as the
 * option says: each must be found through the adapter as it would be in the allocator. */
#include "targets/adapters/private/adapter.h"

#include <string.h>

/* One call in so many is bent: often enough to be met in a trial, and not in its first calls. */
enum { FREES_PER_LEAK = 4, REQUESTS_PER_DEFECT = 64, EVENTS_PER_LOSS = 8 };

#define JOIN_NOW(before, name) before##name
#define JOIN(before, name) JOIN_NOW(before, name)
#define TEXT_NOW(name) #name
#define TEXT(name) TEXT_NOW(name)

static const struct kit_allocator *const honest = &JOIN(allocator_, BENT);

enum bend { BEND_LEAK, BEND_OVERLAP, BEND_PREMATURE, BEND_LOST };

/* Behind the honest state. */
struct bent {
    unsigned request_count, free_count;
    void *last; /* the last block that was allocated; NULL: it is gone */
    uint64_t last_bytes;
    void *doubled; /* allocated twice, and to be freed once */
};

/* Those of the instance that was opened last: frees have no state. */
static enum bend bend;
static unsigned event_count;

static struct bent *find_bent(void *state)
{
    return (struct bent *)((char *)state + honest->state_bytes);
}

static const char *open_bent(void *state, const struct kit_setup *setup)
{
    static const char *const names[] = {[BEND_LEAK] = "leak",
                                        [BEND_OVERLAP] = "overlap",
                                        [BEND_PREMATURE] = "premature",
                                        [BEND_LOST] = "lost"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        if (kit_option_is(setup, "bend", names[i])) {
            bend = (enum bend)i;
        }
    }
    event_count = 0;
    /* The honest one knows no such option. */
    struct target_setup without = *setup->target;
    struct kit_setup inner = *setup;
    without.option_count = 0;
    inner.target = &without;
    inner.options = honest->options;
    return honest->open(state, &inner);
}

/* Some return offsets; nothing is at offset 0 but memory, so they count from 1 here. */
static void *allocate_honestly(void *state, uint64_t size_bytes, uint64_t align_bytes)
{
    if (honest->allocate_offset == NULL) {
        return honest->allocate(state, size_bytes, align_bytes);
    }
    const uint64_t offset = honest->allocate_offset(state, size_bytes, align_bytes);
    return offset == KIT_NOTHING ? NULL : (void *)(uintptr_t)(offset + 1);
}

static void free_honestly(void *state, void *memory, uint64_t size_bytes)
{
    if (honest->free_offset == NULL) {
        honest->free(state, memory, size_bytes);
    } else {
        honest->free_offset(state, (uint64_t)(uintptr_t)memory - 1, size_bytes);
    }
}

static void *allocate_bent(void *state, uint64_t size_bytes, uint64_t align_bytes)
{
    struct bent *bent = find_bent(state);
    const bool is_due = ++bent->request_count % REQUESTS_PER_DEFECT == 0;
    if (is_due && bend == BEND_PREMATURE) {
        return NULL;
    }
    if (is_due && bend == BEND_OVERLAP && bent->last != NULL && bent->doubled == NULL) {
        if (size_bytes <= bent->last_bytes) {
            bent->doubled = bent->last;
            return bent->last;
        }
        bent->request_count--; /* the next one that is no larger */
    }
    bent->last = allocate_honestly(state, size_bytes, align_bytes);
    bent->last_bytes = size_bytes;
    return bent->last;
}

static void free_bent(void *state, void *memory, uint64_t size_bytes)
{
    struct bent *bent = find_bent(state);
    if (bent->last == memory) {
        bent->last = NULL;
    }
    if (bent->doubled == memory) {
        bent->doubled = NULL;
        return;
    }
    if (bend == BEND_LEAK && ++bent->free_count % FREES_PER_LEAK == 0) {
        return;
    }
    free_honestly(state, memory, size_bytes);
}

static uint64_t allocate_offset_bent(void *state, uint64_t size_bytes, uint64_t align_bytes)
{
    void *memory = allocate_bent(state, size_bytes, align_bytes);
    return memory == NULL ? KIT_NOTHING : (uint64_t)(uintptr_t)memory - 1;
}

static void free_offset_bent(void *state, uint64_t offset, uint64_t size_bytes)
{
    free_bent(state, (void *)(uintptr_t)(offset + 1), size_bytes);
}

/* The one that the kit, not the allocator, answers for. */
static enum target_result free_losing(struct target_instance *instance, uint64_t handle,
                                      uint64_t event)
{
    if (bend == BEND_LOST && event != 0 && ++event_count % EVENTS_PER_LOSS == 0) {
        return TARGET_OK;
    }
    return kit_free(instance, handle, event);
}

static const char option_help[] = "bend=leak|overlap|premature|lost\n";
static struct kit_allocator allocator;

static enum target_result target_open(const struct target_setup *setup,
                                      const struct device_services *device,
                                      struct target_instance **out,
                                      struct target_contract *contract, char *reason,
                                      size_t reason_bytes)
{
    allocator = *honest;
    allocator.state_bytes += sizeof(struct bent);
    allocator.open = open_bent;
    allocator.options = NULL;
    if (honest->allocate_offset == NULL) {
        allocator.allocate = allocate_bent;
        allocator.free = free_bent;
    } else {
        allocator.allocate_offset = allocate_offset_bent;
        allocator.free_offset = free_offset_bent;
    }
    return kit_open(&allocator, option_help, setup, device, out, contract, reason, reason_bytes);
}

struct target hbmstress_target;

__attribute__((constructor)) static void copy_honest(void)
{
    hbmstress_target = JOIN(adapter_, BENT);
    hbmstress_target.name = "bent";
    hbmstress_target.summary = "malloc:" TEXT(BENT) " with one defect";
    hbmstress_target.options = NULL;
    hbmstress_target.option_help = option_help;
    hbmstress_target.open = target_open;
    hbmstress_target.free = free_losing;
}
