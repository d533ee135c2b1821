/* The adapter of jemalloc with one thing bent between the kit and jemalloc, as the option says:
 * each must be found through the adapter as it would be in the allocator. */
#include "targets/adapters/private/adapter.h"

#include <string.h>

/* One call in so many is bent: often enough to be met in a trial, and not in its first calls. */
enum { FREES_PER_LEAK = 4, REQUESTS_PER_DEFECT = 64, EVENTS_PER_LOSS = 8 };

static const struct kit_allocator *const honest = &allocator_jemalloc;

enum bend { BEND_LEAK, BEND_OVERLAP, BEND_PREMATURE, BEND_LOST };

/* Behind the honest state. */
struct bent {
    unsigned request_count, free_count;
    void *last;    /* the last block that was allocated; NULL: it is gone */
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
    return honest->open(state, setup);
}

static void *allocate_bent(void *state, uint64_t size_bytes, uint64_t align_bytes)
{
    struct bent *bent = find_bent(state);
    const bool is_due = ++bent->request_count % REQUESTS_PER_DEFECT == 0;
    if (is_due && bend == BEND_PREMATURE) {
        return NULL;
    }
    if (is_due && bend == BEND_OVERLAP && bent->last != NULL && bent->doubled == NULL) {
        bent->doubled = bent->last;
        return bent->last;
    }
    bent->last = honest->allocate(state, size_bytes, align_bytes);
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
    honest->free(state, memory, size_bytes);
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
    allocator.allocate = allocate_bent;
    allocator.free = free_bent;
    return kit_open(&allocator, option_help, setup, device, out, contract, reason, reason_bytes);
}

struct target hbmstress_target;

__attribute__((constructor)) static void copy_honest(void)
{
    hbmstress_target = adapter_jemalloc;
    hbmstress_target.name = "bent";
    hbmstress_target.summary = "malloc:jemalloc with one defect";
    hbmstress_target.option_help = option_help;
    hbmstress_target.open = target_open;
    hbmstress_target.free = free_losing;
}
