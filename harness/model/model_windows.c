#include "harness/base/align.h"
#include "harness/base/check.h"
#include "harness/model/private/model_state.h"

/* Looking at more blocks than this part of all is left to whoever looks at all. */
enum { STEPS_PART = 2, STEPS_LEAST = 256 };
/* A level of the free map has no more stretches to a block. */
enum { STRETCHES_TO_A_BLOCK = 4, STRETCHES_LEAST = 1024 };
/* Changes that are listed, beyond one for each block: with more a level is built again. */
enum { CHANGES_LEAST = 256 };

/* --- a walk over the blocks, in the order of their places --- */

struct block_walk {
    struct span_cursor cursor;
    const struct block *block;
    bool is_over;
    uint64_t start, end; /* without what the block has beyond its contract */
};

static void read_block(struct block_walk *walk, const struct model *model)
{
    struct span span;
    if (!walk->is_over) {
        span_map_get(&model->map, &walk->cursor, &span);
        walk->block = &model->blocks[span.owner];
        walk->start = span.start;
        walk->end = span.start + model_judged_bytes(walk->block);
    }
}

static void step_block(struct block_walk *walk, const struct model *model)
{
    walk->is_over = !span_map_next(&model->map, &walk->cursor);
    read_block(walk, model);
}

/* Begins at the first block that ends at `from` or above. */
static struct block_walk begin_walk(const struct model *model, uint64_t from)
{
    struct block_walk walk = {0};
    walk.is_over = !span_map_find(&model->map, from > 0 ? from - 1 : 0, &walk.cursor);
    read_block(&walk, model);
    return walk;
}

/* --- the free map --- */

/* So large that FREE_MAP_SPAN stretches in a row have the window, wherever it begins in the first.
 */
static uint32_t find_shift(const struct model *model, uint64_t size_bytes)
{
    uint32_t shift = 0;
    const uint64_t stretches = model->map.count * STRETCHES_TO_A_BLOCK + STRETCHES_LEAST;
    while (size_bytes - 1 > (uint64_t)(FREE_MAP_SPAN - 1) << shift ||
           model->counters.capacity_bytes >> shift > stretches) {
        shift++;
    }
    return shift;
}

/* For windows of so many bytes.  The map is not part of what the model says: it may be brought up
 * to date through a const pointer. */
static struct free_level *find_level(const struct model *model, uint64_t size_bytes)
{
    struct model *cache = (struct model *)(uintptr_t)model;
    bool is_new = false;
    struct free_level *level = free_map_level(&cache->free_map, find_shift(model, size_bytes),
                                              model->counters.capacity_bytes,
                                              model->map.count + CHANGES_LEAST, &is_new);
    if (is_new) {
        struct block_walk walk = begin_walk(model, 0);
        for (; !walk.is_over; step_block(&walk, model)) {
            const uint64_t end = lower_of(walk.end, model->counters.capacity_bytes);
            if (walk.block->state == BLOCK_LIVE && walk.start < end) {
                free_level_take(level, walk.start, end, true);
            }
        }
    }
    return level;
}

/* --- windows --- */

struct window_search {
    const struct model *model;
    const struct model_window_query *query;
    struct model_window *windows; /* count of them */
    size_t count;
    uint64_t taken_bytes; /* windows with so many are of no use */
    uint64_t free_bytes;  /* what others have at least, in a little more than the window */
    size_t steps_left;
};

/* Blocks from low up to, not including, high lie in a window, whole or in part. */
struct window_walk {
    struct block_walk low, high;
    size_t inside_count, fixed_count; /* of them; that may not be moved */
    uint64_t taken_bytes;             /* by them */
};

static bool is_fixed(const struct block *block)
{
    return !block_is_movable(block);
}

static void enter_block(struct window_walk *walk, struct window_search *search)
{
    walk->inside_count++;
    walk->fixed_count += is_fixed(walk->high.block);
    walk->taken_bytes += walk->high.end - walk->high.start;
    step_block(&walk->high, search->model);
    search->steps_left -= search->steps_left > 0;
}

static void leave_block(struct window_walk *walk, const struct model *model)
{
    walk->inside_count--;
    walk->fixed_count -= is_fixed(walk->low.block);
    walk->taken_bytes -= walk->low.end - walk->low.start;
    step_block(&walk->low, model);
}

/* True: the window at start is of use. */
static bool move_window(struct window_walk *walk, struct window_search *search, uint64_t start)
{
    const uint64_t end = start + search->query->size_bytes;
    for (;;) {
        while (walk->inside_count > 0 && walk->low.end <= start) {
            leave_block(walk, search->model);
        }
        const bool is_of_use = walk->taken_bytes < search->taken_bytes && walk->fixed_count == 0;
        if (!is_of_use || walk->high.is_over || walk->high.start >= end) {
            return is_of_use;
        }
        enter_block(walk, search);
    }
}

static void limit_search(struct window_search *search, uint64_t taken_bytes)
{
    const uint64_t size_bytes = search->query->size_bytes;
    search->taken_bytes = taken_bytes;
    search->free_bytes = taken_bytes > size_bytes ? 0 : size_bytes - taken_bytes + 1;
}

/* Sorted by bytes; of equal ones the lowest come first, as they are found. */
static void keep_window(struct window_search *search, uint64_t start, uint64_t taken_bytes)
{
    const size_t count_max = search->query->count_max;
    size_t at = search->count < count_max ? search->count++ : count_max - 1;
    for (; at > 0 && search->windows[at - 1].taken_bytes > taken_bytes; at--) {
        search->windows[at] = search->windows[at - 1];
    }
    search->windows[at] = (struct model_window){start, taken_bytes};
    if (search->count == count_max) {
        limit_search(search, search->windows[count_max - 1].taken_bytes);
    }
}

/* Windows that begin where a block ends in [from, to), or the stack does.  True: enough was looked
 * at. */
static bool look_for_windows(void *context, uint64_t from, uint64_t to)
{
    struct window_search *search = context;
    const struct model *model = search->model;
    const uint64_t bottom = model->counters.reserved_bytes;
    const uint64_t size_bytes = search->query->size_bytes;
    struct block_walk ends = begin_walk(model, from);
    struct window_walk walk = {.low = ends, .high = ends};
    bool is_bottom_next = bottom >= from && bottom < to;
    while (is_bottom_next || (!ends.is_over && ends.start < to)) {
        const uint64_t at = is_bottom_next ? bottom : ends.end;
        const uint64_t start = align_up(at, search->query->align_bytes);
        if (start > model->counters.capacity_bytes ||
            size_bytes > model->counters.capacity_bytes - start) {
            return false;
        }
        if ((is_bottom_next || (at >= from && at < to && at >= bottom)) &&
            move_window(&walk, search, start)) {
            keep_window(search, start, walk.taken_bytes);
        }
        if (search->steps_left == 0 || search->taken_bytes == 0) {
            return true;
        }
        if (!is_bottom_next) {
            step_block(&ends, model);
        }
        is_bottom_next = false;
    }
    return false;
}

/* Looks at the windows that have fewer than taken_bytes.  False: it gave up. */
static bool search_windows(struct window_search *search, struct free_level *level,
                           uint64_t taken_bytes)
{
    search->count = 0;
    limit_search(search, taken_bytes);
    (void)free_level_search(level, &search->free_bytes, look_for_windows, search);
    return search->steps_left > 0;
}

bool model_find_windows(const struct model *model, const struct model_window_query *query,
                        struct model_window *windows, size_t *count)
{
    /* 64ths of the size: the fewer bytes a window may have, the fewer places are looked at. */
    static const uint32_t parts[] = {16, 32, 44, 52, 56, 60, 62, 63};
    struct window_search search = {.model = model,
                                   .query = query,
                                   .windows = windows,
                                   .steps_left = model->map.count / STEPS_PART + STEPS_LEAST};
    CHECK(query->size_bytes > 0);
    CHECK(query->taken_bytes > 0);
    CHECK(query->count_max > 0);
    *count = 0;
    if (query->size_bytes > model->counters.capacity_bytes) {
        return true;
    }
    struct free_level *level = find_level(model, query->size_bytes);
    bool is_done = true;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && is_done; i++) {
        const uint64_t taken_bytes = query->size_bytes / 64 * parts[i];
        if (taken_bytes == 0 || taken_bytes >= query->taken_bytes) {
            break;
        }
        is_done = search_windows(&search, level, taken_bytes);
        if (search.count == query->count_max) {
            *count = search.count;
            return is_done;
        }
    }
    is_done = is_done && search_windows(&search, level, query->taken_bytes);
    *count = search.count;
    return is_done;
}

bool model_find_holes(const struct model *model, uint64_t size_bytes, size_t count_max,
                      struct model_window *holes, size_t *count)
{
    const struct model_window_query query = {
        .size_bytes = size_bytes, .align_bytes = 1, .taken_bytes = 1, .count_max = count_max};
    return model_find_windows(model, &query, holes, count);
}

uint64_t model_largest_inside(const struct model *model, uint64_t start, uint64_t size_bytes,
                              uint64_t *free_above_bytes)
{
    const uint64_t end = start + size_bytes;
    uint64_t largest = 0;
    struct block_walk walk = begin_walk(model, start);
    for (; !walk.is_over && walk.start < end; step_block(&walk, model)) {
        if (walk.end > start) {
            raise_to(&largest, walk.end - walk.start);
        }
    }
    *free_above_bytes = (walk.is_over ? model->counters.capacity_bytes : walk.start) - end;
    return largest;
}

/* --- spans --- */

struct span_search {
    const struct model *model;
    uint64_t size_bytes, taken_bytes;
    size_t steps_left;
};

/* Spans that begin where a block ends in [from, to), or the stack does. */
static bool look_for_spans(void *context, uint64_t from, uint64_t to)
{
    struct span_search *search = context;
    const struct model *model = search->model;
    const uint64_t bottom = model->counters.reserved_bytes;
    struct block_walk low = begin_walk(model, from);
    uint64_t at = bottom; /* where the span begins: below it is the bottom, or a block that stays */
    if (from > bottom) {
        if (low.is_over) {
            return false;
        }
        at = low.end;
        step_block(&low, model);
    }
    struct block_walk high = low;
    uint64_t taken = 0; /* by blocks from low up to, not including, high */
    while (at < to) {
        const uint64_t end = high.is_over ? model->counters.capacity_bytes : high.start;
        if (end >= at && end - at >= taken + search->size_bytes) {
            return true;
        }
        search->steps_left -= search->steps_left > 0;
        if (search->steps_left == 0) {
            return true;
        }
        const uint64_t bytes = high.is_over || is_fixed(high.block) ? UINT64_MAX
                                                                    : high.end - high.start;
        if (bytes < search->taken_bytes - taken) {
            taken += bytes;
            step_block(&high, model);
            continue;
        }
        if (low.is_over) {
            return false;
        }
        const bool is_empty = taken == 0;
        taken -= is_empty ? 0 : low.end - low.start;
        at = low.end;
        step_block(&low, model);
        high = is_empty ? low : high;
    }
    return false;
}

bool model_may_slide(const struct model *model, uint64_t size_bytes, uint64_t taken_bytes)
{
    struct span_search search = {.model = model,
                                 .size_bytes = size_bytes,
                                 .taken_bytes = taken_bytes,
                                 .steps_left = model->map.count / STEPS_PART + STEPS_LEAST};
    CHECK(size_bytes > 0);
    CHECK(taken_bytes > 0);
    if (size_bytes > model->counters.capacity_bytes) {
        return false;
    }
    if (taken_bytes > model->counters.capacity_bytes - size_bytes) {
        return true;
    }
    struct free_level *level = find_level(model, size_bytes + taken_bytes);
    return free_level_search(level, &size_bytes, look_for_spans, &search);
}
