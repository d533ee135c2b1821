#include "harness/sweep/sweep.h"

#include "harness/base/hash.h"

#include <execinfo.h>

/* Deeper than any target goes; where one does, its outermost calls are not told apart. */
enum { DEPTH_MAX = 128 };

struct sweep_site *sweep_site_find(struct sweep_sites *sites, uint64_t hash)
{
    for (size_t i = 0; i < SWEEP_SITE_COUNT_MAX; i++) {
        struct sweep_site *site = &sites->sites[(hash + i) % SWEEP_SITE_COUNT_MAX];
        if (site->hash == hash) {
            return site;
        }
        if (site->hash == 0) {
            site->hash = hash;
            sites->count++;
            return site;
        }
    }
    sites->is_full = 1;
    return NULL;
}

void sweep_sites_add(struct sweep_sites *sites, const struct sweep_sites *other)
{
    for (size_t i = 0; i < SWEEP_SITE_COUNT_MAX; i++) {
        const struct sweep_site *from = &other->sites[i];
        struct sweep_site *to = from->hash == 0 ? NULL : sweep_site_find(sites, from->hash);
        if (to != NULL) {
            to->struck_by |= from->struck_by;
            to->is_plain |= from->is_plain;
        }
    }
    sites->is_full |= other->is_full;
}

struct sweep_site_counts sweep_sites_count(const struct sweep_sites *sites, uint32_t kinds)
{
    struct sweep_site_counts counts = {0};
    for (size_t i = 0; i < SWEEP_SITE_COUNT_MAX; i++) {
        const struct sweep_site *site = &sites->sites[i];
        if (site->hash != 0) {
            const bool is_struck = (site->struck_by & kinds) != 0;
            counts.plain += site->is_plain;
            counts.plain_struck += site->is_plain != 0 && is_struck;
            counts.later += site->is_plain == 0;
            counts.later_struck += site->is_plain == 0 && is_struck;
        }
    }
    return counts;
}

/* Returns which of the addresses is that one: a sanitizer puts frames of its own before ours. */
static int index_of(void *const *addresses, int count, const void *address)
{
    for (int i = 0; i < count; i++) {
        if (addresses[i] == address) {
            return i;
        }
    }
    return 0;
}

__attribute__((noinline)) int sweep_depth(void)
{
    void *addresses[DEPTH_MAX];
    const int count = backtrace(addresses, DEPTH_MAX);
    return count - index_of(addresses, count, __builtin_return_address(0));
}

uint64_t sweep_site_here(enum fault_kind call, const void *caller, int depth)
{
    void *addresses[DEPTH_MAX];
    const int count = backtrace(addresses, DEPTH_MAX);
    uint64_t hash = (uint64_t)call + 1;
    for (int i = index_of(addresses, count, caller); i < count - depth; i++) {
        hash = hash_word(hash, (uint64_t)(uintptr_t)addresses[i]);
    }
    return hash == 0 ? 1 : hash;
}
