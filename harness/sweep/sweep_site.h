/* Call sites: by which ways through a target's code its device calls come.  Two calls come from one
 * site when they are of one kind and the same functions called each other at the same places. */
#ifndef HARNESS_SWEEP_SWEEP_SITE_H
#define HARNESS_SWEEP_SWEEP_SITE_H

#include "harness/op/fault.h"

#include <stddef.h>

/* Sites beyond so many are not kept: sweep_sites.is_full says so. */
enum { SWEEP_SITE_COUNT_MAX = 4096 };

struct sweep_site {
    uint64_t hash;      /* of the kind of call and the return addresses; 0 = free place */
    uint32_t struck_by; /* bit per fault_kind that struck here */
    uint32_t is_plain;  /* 1: seen in the run without a fault; else only after one */
};
/* A plain value without pointers; zero at first.  What it holds is of one process and its forks:
 * never print a hash. */
struct sweep_sites {
    struct sweep_site sites[SWEEP_SITE_COUNT_MAX];
    uint64_t count;
    uint64_t is_full;
};

/* The site with that hash, made if it is new; NULL when there is no place. */
struct sweep_site *sweep_site_find(struct sweep_sites *sites, uint64_t hash);
/* Adds what other knows; both are of one process or its forks. */
void sweep_sites_add(struct sweep_sites *sites, const struct sweep_sites *other);

struct sweep_site_counts {
    uint64_t plain;        /* seen without a fault */
    uint64_t plain_struck; /* of these: a fault of the mask struck there */
    uint64_t later;        /* reached only after a fault */
    uint64_t later_struck;
};
/* kinds: bit per fault_kind. */
struct sweep_site_counts sweep_sites_count(const struct sweep_sites *sites, uint32_t kinds);

/* Returns how deep the caller is in calls. */
int sweep_depth(void);
/* The site of a device call, as its witness sees it: what lies between caller, the witness's own
 * return address, and the function that was at `depth`.  Never 0.  About a microsecond. */
uint64_t sweep_site_here(enum fault_kind call, const void *caller, int depth);

#endif
