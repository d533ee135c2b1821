#include "diagnosis/cause.h"
#include "diagnosis/strength.h"
#include "harness/base/align.h"

#include <inttypes.h>

/* The verdict proves it. */

/* With this much free beyond the request, neither rounding nor a near-fit search is the reason. */
enum { FAR_MORE_FACTOR = 4 };

/* Which defect the numbers point to.  Each is known of real allocators. */
struct defect {
    const char *name;
    const char *words;  /* what the numbers point to */
    const char *remedy; /* for whoever owns the allocator */
};

/* --- when a hole was there --- */

static const struct defect not_searched_again = {
    "not_searched_again", "a request that is not tried again after a mitigation",
    "search all holes again after each wait, move and eviction"};
static const struct defect alignment = {
    "alignment", "an alignment that is added to the size before the search",
    "look for an aligned address inside each hole, and add nothing to the size"};
static const struct defect size_class = {
    "size_class", "a size class: a rounding up, or a search that begins one bin too high",
    "also search the bin of the request's own size, and hold the request itself against each hole"};
static const struct defect rounding = {
    "rounding", "a rounding up before the fit test",
    "hold the request itself, not the rounded size, against each hole"};
static const struct defect exact_fit = {
    "exact_fit", "room for a header, or a search that excludes a hole of exactly the size",
    "accept a hole of exactly the size, and keep headers outside the device"};
static const struct defect leak = {
    "leak", "a leak: free memory that the allocator has lost track of",
    "compare the allocator's list of holes with the blocks that are live after each free"};
static const struct defect search = {"search", "a search that does not reach this hole",
                                     "search every bin and every hole, the last one as well"};

/* That size, or the next with no more than four significant bits: eight classes between two powers
 * of two.
 */
static uint64_t round_to_class(uint64_t size)
{
    uint64_t step = 1;
    while (size / step >= 16) {
        step *= 2;
    }
    return align_up(size, step);
}

static uint64_t round_to_power(uint64_t size)
{
    uint64_t power = 1;
    while (power < size && power <= UINT64_MAX / 2) {
        power *= 2;
    }
    return power;
}

static bool has_far_more(const struct evidence *evidence)
{
    return evidence->in_use_bytes == 0 ||
           evidence->free_bytes / FAR_MORE_FACTOR >= evidence->requested_bytes;
}

/* A size explains a refusal only where it is too large for the largest hole.  *rounded: that size,
 * or 0. */
static const struct defect *find_defect_of_search(const struct evidence *evidence,
                                                  uint64_t *rounded)
{
    const struct line_fit *fit = &evidence->fit;
    const uint64_t granule = evidence->contract->granule_bytes;
    const uint64_t padded = fit->need_bytes + fit->align_bytes - granule;
    const uint64_t class = round_to_class(fit->need_bytes);
    const uint64_t power = round_to_power(fit->need_bytes);
    const uint64_t largest = evidence->largest_hole_bytes > fit->hole_bytes
                                 ? evidence->largest_hole_bytes
                                 : fit->hole_bytes;
    *rounded = 0;
    if (fit->waits_done + fit->moves_done + fit->evictions_done > 0) {
        return &not_searched_again;
    }
    if (padded > largest) {
        *rounded = padded;
        return &alignment;
    }
    if (power > largest) {
        *rounded = class > largest ? class : power;
        return class > largest ? &size_class : &rounding;
    }
    if (largest == fit->need_bytes) {
        return &exact_fit;
    }
    return has_far_more(evidence) ? &leak : &search;
}

static void describe_call(const struct line_fit *fit, struct diagnosis *diagnosis)
{
    diagnosis_describe(diagnosis,
                       " Before it refused, the call made %" PRIu64 " wait%s, %" PRIu64
                       " move%s and %" PRIu64 " eviction%s.",
                       fit->waits_done, fit->waits_done == 1 ? "" : "s", fit->moves_done,
                       fit->moves_done == 1 ? "" : "s", fit->evictions_done,
                       fit->evictions_done == 1 ? "" : "s");
}

static void describe_search(const struct evidence *evidence, struct diagnosis *diagnosis)
{
    const struct line_fit *fit = &evidence->fit;
    uint64_t rounded;
    const struct defect *defect = find_defect_of_search(evidence, &rounded);
    diagnosis->kind = defect->name;
    if (rounded > 0) {
        diagnosis_number(diagnosis, "rounded_bytes", rounded);
        diagnosis_describe(diagnosis, " Rounded up to %s, it would fit no hole.",
                           size_text_of(rounded).text);
    } else if (defect == &not_searched_again) {
        describe_call(fit, diagnosis);
    } else if (evidence->in_use_bytes == 0) {
        diagnosis_describe(diagnosis, " Nothing is in use.");
    } else {
        diagnosis_describe(diagnosis, " %s are free in all, in %" PRIu64 " hole%s.",
                           size_text_of(evidence->free_bytes).text, evidence->hole_count,
                           evidence->hole_count == 1 ? "" : "s");
    }
    diagnosis_describe(diagnosis, " The numbers point to %s. Remedy: %s.", defect->words,
                       defect->remedy);
}

/* --- when a mitigation was left out --- */

static const struct defect drain = {
    "drain", "waiting that was left out, or that ended early",
    "wait for every queued free that can complete, then search again"};
static const struct defect defragment = {
    "defragment", "moving that was left out, or that ended early",
    "move blocks whenever enough is free and no hole fits, then search again"};
static const struct defect evict = {
    "evict", "eviction that was left out, or that ended early",
    "unload idle programs one by one, and search and move again after each, until the request fits"};

static const struct defect grow = {
    "grow", "a region that was not taken, or empty ones that were not given back before",
    "give back every empty region, then ask for one of the size of the block in whole steps"};

/* The first that the plan needs and the call did nothing of; else the last that it needs.  A call
 * that evicts has come to the last of them, and must try the others again behind each program. */
static const struct defect *find_defect_of_efforts(const struct line_fit *fit)
{
    const struct {
        const struct defect *defect;
        uint64_t needed, done;
    } efforts[] = {{&drain, fit->awaited_count, fit->waits_done},
                   {&defragment, fit->moved_count, fit->moves_done},
                   {&evict, fit->evicted_count, fit->evictions_done},
                   {&grow, fit->needs_region, 0}};
    const struct defect *last = NULL;
    if (fit->evictions_done > 0) {
        return &evict;
    }
    for (size_t i = 0; i < sizeof efforts / sizeof *efforts; i++) {
        if (efforts[i].needed > 0 && efforts[i].done == 0) {
            return efforts[i].defect;
        }
        last = efforts[i].needed > 0 ? efforts[i].defect : last;
    }
    return last;
}

static void describe_efforts(const struct evidence *evidence, struct diagnosis *diagnosis)
{
    const struct line_fit *fit = &evidence->fit;
    const struct defect *defect = find_defect_of_efforts(fit);
    diagnosis->kind = defect->name;
    diagnosis_number(diagnosis, "awaited_frees", fit->awaited_count);
    diagnosis_number(diagnosis, "moved_bytes", fit->moved_bytes);
    diagnosis_number(diagnosis, "evicted_bytes", fit->evicted_bytes);
    if (!evidence->history->has_lanes) {
        describe_call(fit, diagnosis);
    }
    diagnosis_describe(diagnosis, " The numbers point to %s. Remedy: %s.", defect->words,
                       defect->remedy);
}

/* --- the placement --- */

/* Lists what the target must do first, each step after its own separator. */
static void describe_plan(const struct line_fit *fit, struct diagnosis *diagnosis)
{
    const char *separator = " after";
    if (fit->awaited_count > 0) {
        diagnosis_describe(diagnosis, "%s waiting for queued frees (%" PRIu64 ")", separator,
                           fit->awaited_count);
        separator = ", then";
    }
    if (fit->evicted_count > 0) {
        diagnosis_describe(diagnosis, "%s evicting idle programs (%" PRIu64 ", %s)", separator,
                           fit->evicted_count, size_text_of(fit->evicted_bytes).text);
        separator = ", then";
    }
    if (fit->moved_count > 0) {
        diagnosis_describe(diagnosis, "%s moving blocks (%" PRIu64 ", %s)", separator,
                           fit->moved_count, size_text_of(fit->moved_bytes).text);
        separator = ", then";
    }
    if (fit->needs_region) {
        diagnosis_describe(diagnosis, "%s taking it from the device", separator);
    }
}

static void describe_hole(const struct evidence *evidence, struct diagnosis *diagnosis)
{
    const struct line_fit *fit = &evidence->fit;
    const bool is_at_once = evidence->room == ROOM_AT_ONCE;
    const uint64_t spare = fit->hole_bytes - fit->need_bytes;
    diagnosis_number(diagnosis, "hole_address", fit->hole_address);
    diagnosis_number(diagnosis, "hole_bytes", fit->hole_bytes);
    diagnosis_number(diagnosis, "spare_bytes", spare);
    diagnosis_describe(diagnosis, "A %s of %s at 0x%" PRIx64 " %s %s (%s",
                       fit->needs_region ? "new region" : "hole",
                       size_text_of(fit->hole_bytes).text, fit->hole_address,
                       is_at_once ? "takes the" : "would take the",
                       evidence->op != NULL && fit->stack_bytes > 0 ? "program's image" : "request",
                       size_text_of(fit->need_bytes).text);
    if (spare > 0) {
        diagnosis_describe(diagnosis, "; the %s is %s larger)",
                           fit->needs_region ? "region" : "hole", size_text_of(spare).text);
    } else {
        diagnosis_describe(diagnosis, "; exactly its size)");
    }
}

static void find_refused_though_it_fits(const struct evidence *evidence,
                                        struct diagnosis *diagnosis)
{
    const struct line_fit *fit = &evidence->fit;
    const bool is_at_once = evidence->room == ROOM_AT_ONCE;
    strength_set(diagnosis, STRENGTH_REFUSED);
    diagnosis->op = evidence->verdict->op;
    if (fit->need_bytes > 0) {
        describe_hole(evidence, diagnosis);
    } else {
        diagnosis_number(diagnosis, "stack_bytes", fit->stack_bytes);
        diagnosis_describe(diagnosis, "The stack of %s has room at the bottom",
                           size_text_of(fit->stack_bytes).text);
    }
    describe_plan(fit, diagnosis);
    diagnosis_describe(diagnosis, "%s.", is_at_once ? ", and no mitigation is needed" : "");
    if (!is_at_once) {
        describe_efforts(evidence, diagnosis);
    } else if (fit->need_bytes > 0) {
        describe_search(evidence, diagnosis);
    } else {
        diagnosis->kind = "stack";
        diagnosis_describe(
            diagnosis,
            " The numbers point to the reservation of the stack. Remedy: hold the stack against the lowest block that cannot move, not against the largest hole.");
    }
}

const struct cause cause_refused_though_it_fits = {
    .name = "refused_though_it_fits",
    .summary = "the target refused a request that fits",
    .claim = CLAIM_ROOM,
    .find = find_refused_though_it_fits,
};
