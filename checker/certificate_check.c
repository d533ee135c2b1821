#include "checker/certificate_check.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LEAST(a, b) ((a) < (b) ? (a) : (b))
enum { NONE, SLIDE, REPACK, NEVER = -1, IN_HOST_MEMORY = -1, NOWHERE = -1 };
enum { WALK_ITEMS_MAX = 8192 }; /* no search has more, so that the walk may call itself */
enum { SETS_MAX = 1 << 23 };    /* no table has more, so that there is memory for it */
enum { WORD_BITS = 64 };
/* No fills have more sums, or go through them more often, so that there is time for it. */
static const json_int_t sums_max = 1 << 28, sums_work_max = INT64_C(1) << 35;
static const json_int_t align_max = 1 << 30, capacity_max = INT64_C(1) << 50,
                        size_max = INT64_C(1) << 62;

struct block {
    json_int_t op, address, size, align, stack, holds, used_until, freed_at;
    bool is_program, is_live;
    enum { FIXED, MOVABLE, GONE } fate; /* by the time that is looked at */
};
/* An item or (with a count) a type of items, whose key is its align; or a span, whose key is its
 * start. */
struct piece {
    json_int_t size, key, count;
};
struct check {
    enum certificate_result result; /* once something is wrong, nothing after it counts */
    char *reason;
    json_t *proof;
    const char *claim, *kind, *log;
    json_int_t capacity, granule, need, align, stack, own_program;
    json_int_t time, bottom; /* which uses have ended, and the bottom that follows */
    bool drains, evicts;     /* as promised for this class of request, and not refused */
    struct block *blocks;    /* by address; behind them one of size 0 at the end of the device */
    struct piece *items, *spans;
    size_t block_count, item_count, span_count, defrag,
        letter; /* letter: the next one of the log */
    int is_plain;
};

/* Returns is_true.  The first time that it is false decides the result and the reason. */
__attribute__((format(printf, 3, 4))) static bool require_that(struct check *check, bool is_true,
                                                               const char *format, ...)
{
    va_list arguments;
    if (!is_true && check->result == CERTIFICATE_VALID) {
        check->result = CERTIFICATE_REFUTED;
        va_start(arguments, format);
        vsnprintf(check->reason, CERTIFICATE_REASON_BYTES, format, arguments);
        va_end(arguments);
    }
    return is_true;
}

/* The members of an object by jansson's format; no other member may be there. */
static bool unpack_members(struct check *check, json_t *json, const char *what, const char *format,
                           ...)
{
    json_error_t error;
    va_list arguments;
    va_start(arguments, format);
    const bool is_read = json_vunpack_ex(json, &error, JSON_STRICT, format, arguments) == 0;
    va_end(arguments);
    if (!require_that(check, is_read, "%s: a member is missing, unknown, or of the wrong type",
                      what)) {
        check->result = CERTIFICATE_UNREADABLE;
    }
    return is_read;
}

static json_int_t round_up(json_int_t value, json_int_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static bool is_in_range(json_int_t value, json_int_t low, json_int_t high, json_int_t unit)
{
    return value >= low && value <= high && value % unit == 0;
}

static bool is_valid_align(const struct check *check, json_int_t value)
{
    return is_in_range(value, check->granule, align_max, 1) && (value & (value - 1)) == 0;
}

/* The index of the text in words, which are separated by |. */
static size_t find_word_index(struct check *check, const char *what, const char *text,
                              const char *words)
{
    size_t index = 0, length;
    for (const char *at = words; *at != '\0'; at += length + (at[length] == '|'), index++) {
        length = strcspn(at, "|");
        if (strlen(text) == length && strncmp(text, at, length) == 0) {
            return index;
        }
    }
    require_that(check, false, "%s is not one of %s", what, words);
    return 0;
}

static bool has_ended(json_int_t end, json_int_t time)
{
    return end != NEVER && end <= time;
}

static void read_block(struct check *check, size_t i, json_t *json)
{
    struct block *block = &check->blocks[i];
    const bool follows_absent = i > 0 && block[-1].address == IN_HOST_MEMORY;
    const json_int_t floor = i == 0 ? 0 : block[-1].address + block[-1].size;
    const char *kind, *state;
    char what[32];
    snprintf(what, sizeof what, "blocks[%zu]", i);
    if (!unpack_members(check, json, what, "{s:I,s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "op",
                        &block->op, "kind", &kind, "state", &state, "address", &block->address,
                        "size", &block->size, "align", &block->align, "stack", &block->stack,
                        "holds", &block->holds, "used_until", &block->used_until, "freed_at",
                        &block->freed_at)) {
        return;
    }
    block->is_program = find_word_index(check, what, kind, "buffer|output|program|retired") == 2;
    block->is_live = find_word_index(check, what, state, "dying|live") == 1;
    const bool is_absent = block->address == IN_HOST_MEMORY;
    require_that(check, is_absent ? check->defrag == REPACK : !follows_absent,
                 "%s: it is in host memory without repack, or not among the last", what);
    require_that(
        check,
        is_valid_align(check, block->align) &&
            (is_absent || is_in_range(block->address, floor, check->capacity, block->align)) &&
            is_in_range(block->size, 1, check->capacity - (is_absent ? 0 : block->address),
                        check->granule),
        "%s: it is not aligned, overlaps the block before it, or is outside the device", what);
    require_that(check,
                 is_in_range(block->stack, 0, block->is_program ? size_max : 0, check->granule) &&
                     block->holds >= 0 && block->used_until >= NEVER && block->freed_at >= NEVER &&
                     (block->freed_at == 0 || !block->is_live),
                 "%s: stack, holds, used_until or freed_at is out of range", what);
    if (check->drains && !block->is_live && block->holds == 0 && block->freed_at > check->time) {
        check->time = block->freed_at;
    }
}

static void read_document(struct check *check, json_t *root)
{
    const char *format, *defrag, *class;
    json_int_t version, bytes;
    json_t *blocks, *about;
    int drains, evicts[2], copy, wait, unload, host_memory;
    if (!unpack_members(check, root, "certificate",
                        "{s:s,s:I,s:s,s:{s:I,s:I},s:{s:s,s:b,s:b,s:b},s:{s:b,s:b,s:b,s:b},"
                        "s:{s:s,s:I,s:I,s:I,s:I},s:o,s:o,s?o}",
                        "format", &format, "version", &version, "claim", &check->claim, "device",
                        "capacity", &check->capacity, "granule", &check->granule, "contract",
                        "defrag", &defrag, "drains", &drains, "evicts", &evicts[0],
                        "program_evicts_program", &evicts[1], "refused", "copy", &copy, "wait",
                        &wait, "unload", &unload, "host_memory", &host_memory, "request", "class",
                        &class, "bytes", &bytes, "align", &check->align, "stack", &check->stack,
                        "program", &check->own_program, "blocks", &blocks, "proof", &check->proof,
                        "about", &about) ||
        !require_that(check, strcmp(format, "hbmstress-certificate") == 0 && version == 1,
                      "the format or version is wrong") ||
        !require_that(check,
                      check->granule > 0 && is_valid_align(check, check->granule) &&
                          is_in_range(check->capacity, 1, capacity_max, check->granule),
                      "device: the capacity or granule is out of range")) {
        return;
    }
    const bool is_program = find_word_index(check, "request.class", class, "buffer|program") == 1;
    check->block_count = json_array_size(blocks);
    require_that(check,
                 is_in_range(bytes, !is_program, size_max, 1) &&
                     is_valid_align(check, check->align) && json_is_array(blocks) &&
                     is_in_range(check->stack, 0, is_program ? size_max : 0, check->granule),
                 "request: a number is out of range");
    require_that(
        check,
        is_in_range(check->own_program, -1, bytes > 0 ? -1 : (json_int_t)check->block_count - 1, 1),
        "request: the program is out of range");
    check->need = bytes > check->capacity ? check->capacity + check->granule
                                          : round_up(bytes, check->granule);
    check->defrag = find_word_index(check, "contract.defrag", defrag, "none|slide|repack");
    check->defrag = copy || host_memory ? NONE : check->defrag;
    check->drains = drains && !wait && !host_memory;
    check->evicts = evicts[is_program] && !unload && !host_memory;
    check->blocks = calloc(check->block_count + 1, sizeof *check->blocks);
    check->items = calloc(2 * check->block_count + 2, sizeof *check->items);
    if (!require_that(check, check->blocks != NULL && check->items != NULL, "no memory")) {
        check->result = CERTIFICATE_UNREADABLE;
    }
    for (size_t i = 0; i < check->block_count && check->result == CERTIFICATE_VALID; i++) {
        read_block(check, i, json_array_get(blocks, i));
    }
}

static bool is_evictable(const struct check *check, const struct block *block)
{
    return check->evicts && block->is_program && block->is_live &&
           has_ended(block->used_until, check->time) && block->fate != GONE &&
           block->address != IN_HOST_MEMORY && block - check->blocks != check->own_program;
}

/* What can become of each block by that time without evictions, and where the bottom is then. */
static void set_time(struct check *check, json_int_t time)
{
    check->time = time;
    check->bottom = check->stack;
    for (struct block *block = check->blocks; block < check->blocks + check->block_count; block++) {
        const bool is_free = block->holds == 0 &&
                             has_ended(block->is_live ? block->used_until : block->freed_at, time);
        block->fate = is_free && !block->is_live          ? GONE
                      : block->address == IN_HOST_MEMORY  ? MOVABLE
                      : !is_free || check->defrag == NONE ? FIXED
                                                          : MOVABLE;
        if (!has_ended(block->used_until, time) && block->stack > check->bottom) {
            check->bottom = block->stack;
        }
    }
}

/* False: a fixed block or the end of the device is in the way of the stack, so there are no spans.
 */
static bool find_spans(struct check *check)
{
    json_int_t edge = check->bottom;
    check->spans = check->items + check->block_count + 1;
    if (check->need > 0) {
        check->items[check->item_count++] = (struct piece){.size = check->need,
                                                           .key = check->align};
    }
    for (struct block *block = check->blocks; block <= check->blocks + check->block_count;
         block++) {
        if (is_evictable(check, block)) {
            block->fate = GONE;
        }
        if (block->fate == MOVABLE) {
            check->items[check->item_count++] = (struct piece){.size = block->size,
                                                               .key = block->align};
        }
        if (block->fate == FIXED && block->address < check->bottom) {
            return false;
        }
        if (block->fate == FIXED && block->address > edge) {
            check->spans[check->span_count++] = (struct piece){.size = block->address - edge,
                                                               .key = edge};
        }
        edge = block->fate == FIXED ? block->address + block->size : edge;
    }
    return true;
}

/* Pushes all movable blocks down, in order, with the request before block `before`: does every one
 * end where it may? */
static bool can_slide(const struct check *check, size_t before)
{
    json_int_t low = check->bottom;
    for (size_t i = 0; i <= check->block_count; i++) {
        const struct block *block = &check->blocks[i];
        if (i == before && check->need > 0) {
            low = round_up(low, check->align) + check->need;
        }
        if (block->fate == FIXED && low > block->address) {
            return false;
        }
        if (block->fate != GONE) {
            low = (block->fate == MOVABLE ? round_up(low, block->align) : block->address) +
                  block->size;
        }
    }
    return true;
}

static json_int_t sum_sizes(const struct piece *pieces, size_t count, json_int_t unit)
{
    json_int_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += pieces[i].size / unit;
    }
    return sum;
}

static int compare_pieces(const void *left, const void *right)
{
    const struct piece *a = left, *b = right;
    return a->size != b->size ? (a->size < b->size) - (a->size > b->size)
                              : (a->key > b->key) - (a->key < b->key);
}

/* A node as the page has it, spans counted from the end; items are types here. */
struct node {
    size_t spans_left, items_left, t, first;
    json_int_t at, slack, passed, spare;
};

static void walk_node(struct check *check, struct node node)
{
    while (check->result == CERTIFICATE_VALID) {
        struct piece *span = &check->spans[node.spans_left - 1], *type = check->items;
        const json_int_t end = span->key + span->size, room = end - node.at;
        json_int_t start = 0, sum = 0;
        if (!require_that(check, node.items_left > 0 && check->log[check->letter] != '\0',
                          "log[%zu]: the log ends before the walk, or all items are placed here",
                          check->letter)) {
            return;
        }
        for (; node.t < check->item_count; node.t++) {
            type = &check->items[node.t];
            start = round_up(node.at, type->key);
            if (type->count > 0 && (type->key > check->granule || node.t >= node.first) &&
                start + type->size <= end && start - node.at <= node.slack) {
                break;
            }
        }
        const char letter = check->log[check->letter++];
        const bool has_type = node.t < check->item_count;
        if (letter == 'b' && has_type) {
            struct node child = {.spans_left = node.spans_left,
                                 .items_left = node.items_left - 1,
                                 .first = type->key == check->granule ? node.t : 0,
                                 .at = start + type->size,
                                 .slack = node.slack - (start - node.at),
                                 .passed = node.passed,
                                 .spare = node.spare};
            if (!check->is_plain || node.passed > 0) {
                child.spare = check->is_plain ? LEAST(node.spare, node.passed - type->size - 1)
                                              : child.slack;
            }
            type->count--;
            walk_node(check, child);
            type->count++;
            node.t++;
            node.passed = type->size;
            node.spare = check->is_plain ? LEAST(node.spare, type->size - 1) : node.spare;
        } else if (letter == 'c' && !has_type && room <= node.spare && node.spans_left > 1) {
            node = (struct node){.spans_left = node.spans_left - 1,
                                 .items_left = node.items_left,
                                 .at = span[-1].key,
                                 .slack = node.slack - room,
                                 .spare = node.slack - room};
        } else {
            for (size_t i = node.t; i < check->item_count; i++) {
                sum += check->items[i].size * check->items[i].count;
            }
            require_that(check,
                         letter == 'f' && room > node.spare && room - node.spare > sum &&
                             (check->is_plain || !has_type),
                         "log[%zu] is false", check->letter - 1);
            return;
        }
    }
}

/* Makes types of the items of at least so many bytes, in the page's order, and returns how many
 * items that are; sets the slack. */
static size_t sort_items(struct check *check, json_int_t least, json_int_t *slack)
{
    size_t count = check->item_count, type_count = 0;
    qsort(check->spans, check->span_count, sizeof *check->spans, compare_pieces);
    qsort(check->items, count, sizeof *check->items, compare_pieces);
    while (count > 0 && check->items[count - 1].size < least) {
        count--;
    }
    *slack = sum_sizes(check->spans, check->span_count, 1) - sum_sizes(check->items, count, 1);
    require_that(check, *slack >= 0 && check->span_count > 0 && count <= WALK_ITEMS_MAX,
                 "proof: no span, no slack, or too many items");
    for (size_t i = 0; i < count; check->items[type_count - 1].count++, i++) {
        if (i == 0 || compare_pieces(&check->items[type_count - 1], &check->items[i]) != 0) {
            check->items[type_count++] = check->items[i];
        }
    }
    check->item_count = type_count;
    return count;
}

static void check_search(struct check *check)
{
    json_int_t least, slack;
    if (!unpack_members(check, check->proof, "proof", "{s:s,s:I,s:b,s:s}", "kind", &check->kind,
                        "least", &least, "plain", &check->is_plain, "log", &check->log)) {
        return;
    }
    for (size_t i = 0; check->is_plain && i < check->item_count; i++) {
        check->items[i].key = check->granule;
    }
    const size_t count = sort_items(check, least, &slack);
    if (check->result != CERTIFICATE_VALID) {
        return;
    }
    walk_node(check, (struct node){.spans_left = check->span_count,
                                   .items_left = count,
                                   .at = check->spans[check->span_count - 1].key,
                                   .slack = slack,
                                   .spare = slack});
    require_that(check, check->log[check->letter] == '\0', "log[%zu]: the walk ends before the log",
                 check->letter);
}

/* A set of items as a number with one digit for each type, and the least that its orders lose. */
struct set {
    uint64_t code;
    json_int_t lost;
};
struct table {
    struct set *sets; /* in the order in which they were reached, so that fewer items come first */
    uint32_t *slots;  /* by code: the number of its set, from 1; 0 = not reached */
    size_t count, count_max, slot_count;
    uint64_t whole; /* the code of all items */
    json_int_t slack;
};

static void reach_set(struct check *check, struct table *table, uint64_t code, json_int_t lost)
{
    size_t slot = (size_t)(code % 0xfffffffb * 0x9e3779b1 >> 7) & (table->slot_count - 1);
    while (table->slots[slot] != 0 && table->sets[table->slots[slot] - 1].code != code) {
        slot = (slot + 1) & (table->slot_count - 1);
    }
    if (table->slots[slot] != 0) {
        struct set *set = &table->sets[table->slots[slot] - 1];
        set->lost = LEAST(set->lost, lost);
    } else if (require_that(check, code != table->whole, "proof: all items can be placed") &&
               require_that(check, table->count < table->count_max,
                            "proof: more than %zu sets are reached", table->count_max)) {
        table->sets[table->count++] = (struct set){code, lost};
        table->slots[slot] = (uint32_t)table->count;
    }
}

/* Reaches the sets with one item more. */
static void follow_set(struct check *check, struct table *table, struct set set)
{
    const struct piece *span = &check->spans[check->span_count - 1];
    json_int_t at = set.lost;
    uint64_t rest = set.code;
    for (const struct piece *type = check->items; rest > 0; type++) {
        at += type->size * (json_int_t)(rest % (uint64_t)(type->count + 1));
        rest /= (uint64_t)(type->count + 1);
    }
    for (; span > check->spans && at >= span->size; span--) {
        at -= span->size;
    }
    for (at += span->key;; span--, at = span->key) {
        const json_int_t room = span->key + span->size - at;
        uint64_t weight = 1;
        bool has_fitting = false;
        rest = set.code;
        for (size_t t = 0; t < check->item_count; t++) {
            const struct piece *type = &check->items[t];
            const uint64_t base = (uint64_t)(type->count + 1);
            const json_int_t padding = round_up(at, type->key) - at;
            if (rest % base + 1 < base && padding + type->size <= room) {
                has_fitting = true;
                if (set.lost + padding <= table->slack) {
                    reach_set(check, table, set.code + weight, set.lost + padding);
                }
            }
            rest /= base;
            weight *= base;
        }
        set.lost += room;
        if (has_fitting || span == check->spans || set.lost > table->slack) {
            return;
        }
    }
}

static void fill_table(struct check *check, struct table *table)
{
    table->whole = 1;
    for (size_t t = 0; t < check->item_count; t++) {
        const uint64_t base = (uint64_t)(check->items[t].count + 1);
        if (!require_that(check, table->whole <= (UINT64_C(1) << 63) / base,
                          "proof: there are too many sets to number them")) {
            return;
        }
        table->whole *= base;
    }
    table->whole--;
    for (table->slot_count = 16; table->slot_count < 2 * table->count_max;) {
        table->slot_count *= 2;
    }
    table->sets = calloc(table->count_max, sizeof *table->sets);
    table->slots = calloc(table->slot_count, sizeof *table->slots);
    if (!require_that(check, table->sets != NULL && table->slots != NULL, "no memory")) {
        check->result = CERTIFICATE_UNREADABLE;
        return;
    }
    reach_set(check, table, 0, 0);
    for (size_t i = 0; i < table->count && check->result == CERTIFICATE_VALID; i++) {
        follow_set(check, table, table->sets[i]);
    }
    require_that(check, table->count == table->count_max, "proof: only %zu sets are reached",
                 table->count);
}

static void check_table(struct check *check)
{
    struct table table = {0};
    json_int_t sets;
    if (!unpack_members(check, check->proof, "proof", "{s:s,s:I}", "kind", &check->kind, "sets",
                        &sets) ||
        !require_that(check, is_in_range(sets, 1, SETS_MAX, 1), "proof: sets is out of range")) {
        return;
    }
    table.count_max = (size_t)sets;
    (void)sort_items(check, 0, &table.slack);
    if (check->result == CERTIFICATE_VALID) {
        fill_table(check, &table);
    }
    free(table.sets);
    free(table.slots);
}

/* Bit i of words: some choice of the types up to now has the sum i, in units. */
struct sums {
    uint64_t *words;
    size_t word_count;
};

/* To each sum that is there, the sum with `more` added; what is behind the words is left out. */
static void shift_sums(struct sums *sums, uint64_t more)
{
    const size_t whole = (size_t)(more / WORD_BITS), bits = (size_t)(more % WORD_BITS);
    for (size_t to = sums->word_count; to-- > 0 && to >= whole;) {
        uint64_t moved = sums->words[to - whole] << bits;
        if (bits > 0 && to > whole) {
            moved |= sums->words[to - whole - 1] >> (WORD_BITS - bits);
        }
        sums->words[to] |= moved;
    }
}

/* Takes all items of types [first, end) into the sums, as many together as a power of two. */
static void make_sums(const struct check *check, struct sums *sums, size_t first, json_int_t unit)
{
    for (const struct piece *item = check->items + first, *next;
         item < check->items + check->item_count; item = next) {
        uint64_t left = 0;
        for (next = item; next < check->items + check->item_count && next->size == item->size;
             next++) {
            left++;
        }
        for (uint64_t together = 1; left > 0; together *= 2) {
            together = LEAST(together, left);
            shift_sums(sums, (uint64_t)(item->size / unit) * together);
            left -= together;
        }
    }
}

/* Whether the items from `first` on are multiples of the unit, and their sums within the limits. */
static bool require_countable(struct check *check, size_t first, json_int_t unit,
                              json_int_t sum_count)
{
    json_int_t passes = 0;
    for (size_t i = first, run = 1; i < check->item_count; i++, run++) {
        if (!require_that(check, check->items[i].size % unit == 0,
                          "proof: an item is no multiple of the unit")) {
            return false;
        }
        /* Each binary digit of a count comes with the first item that needs it. */
        run = i == first || check->items[i - 1].size != check->items[i].size ? 1 : run;
        passes += (run & (run - 1)) == 0;
    }
    return require_that(check, sum_count <= sums_max && passes * sum_count <= sums_work_max,
                        "proof: there are too many sums");
}

static json_int_t find_best_fill(const struct sums *sums, json_int_t length, json_int_t unit)
{
    size_t sum = (size_t)(length / unit);
    while ((sums->words[sum / WORD_BITS] >> sum % WORD_BITS & 1) == 0) {
        sum--;
    }
    return (json_int_t)sum * unit;
}

static void check_fills(struct check *check)
{
    json_int_t spans, unit, lost, found = 0;
    size_t first = 0;
    if (!unpack_members(check, check->proof, "proof", "{s:s,s:I,s:I,s:I}", "kind", &check->kind,
                        "spans", &spans, "unit", &unit, "lost", &lost) ||
        !require_that(check,
                      is_in_range(spans, 1, (json_int_t)check->span_count, 1) &&
                          is_in_range(unit, 1, INT64_MAX, check->granule),
                      "proof: spans or unit is out of range")) {
        return;
    }
    qsort(check->spans, check->span_count, sizeof *check->spans, compare_pieces);
    qsort(check->items, check->item_count, sizeof *check->items, compare_pieces);
    const struct piece *longest = &check->spans[check->span_count - (size_t)spans];
    while (first < check->item_count && check->items[first].size > longest->size) {
        first++;
    }
    const json_int_t sum_count = longest->size / unit + 1;
    if (!require_countable(check, first, unit, sum_count)) {
        return;
    }
    struct sums sums = {.word_count = (size_t)(sum_count / WORD_BITS) + 1};
    sums.words = calloc(sums.word_count, sizeof *sums.words);
    if (!require_that(check, sums.words != NULL, "no memory")) {
        check->result = CERTIFICATE_UNREADABLE;
        return;
    }
    sums.words[0] = 1;
    make_sums(check, &sums, first, unit);
    for (const struct piece *span = longest; span < check->spans + check->span_count; span++) {
        found += span->size - find_best_fill(&sums, span->size, unit);
    }
    free(sums.words);
    require_that(check, found == lost, "proof: the spans lose %lld", (long long)found);
    require_that(check,
                 lost > sum_sizes(check->spans, check->span_count, 1) -
                            sum_sizes(check->items, check->item_count, 1),
                 "proof: what the spans lose is no more than the slack");
}

/* A place above bottom, on no block but own (NULL: the request); under slide a block must not pass
 * another. */
static void check_place(struct check *check, const char *what, const struct block *own,
                        json_int_t start, json_int_t size, json_int_t align)
{
    require_that(check, is_in_range(start, check->bottom, check->capacity - size, align),
                 "%s: it is below bottom, outside the device, or not aligned", what);
    for (size_t i = 0; i < check->block_count && check->result == CERTIFICATE_VALID; i++) {
        const struct block *block = &check->blocks[i];
        const bool is_above = start >= block->address + block->size,
                   is_below = start + size <= block->address;
        const bool keeps_order = own == NULL || check->defrag != SLIDE ||
                                 (block < own ? is_above : is_below);
        require_that(check,
                     ((is_above || is_below) && keeps_order) || block == own ||
                         block->fate == GONE || block->address == IN_HOST_MEMORY,
                     "%s: blocks[%zu] is in the way", what, i);
    }
}

static void check_move(struct check *check, size_t i, json_t *json)
{
    json_int_t index, from, to, bytes;
    char what[32];
    snprintf(what, sizeof what, "moves[%zu]", i);
    if (!unpack_members(check, json, what, "{s:I,s:I,s:I,s:I}", "block", &index, "from", &from,
                        "to", &to, "bytes", &bytes) ||
        !require_that(check, is_in_range(index, 0, (json_int_t)check->block_count - 1, 1),
                      "%s: there is no such block", what)) {
        return;
    }
    struct block *block = &check->blocks[index];
    if (require_that(check, block->fate == MOVABLE, "%s: the block may not move", what) &&
        require_that(check, block->size == bytes && block->address == from,
                     "%s: the block has another address or size", what) &&
        to != IN_HOST_MEMORY) {
        check_place(check, what, block, to, block->size, block->align);
    }
    block->address = to;
}

static void check_plan(struct check *check)
{
    json_int_t until, address, index;
    json_t *evict, *moves;
    if (!unpack_members(check, check->proof, "proof", "{s:s,s:I,s:I,s:o,s:o}", "kind", &check->kind,
                        "until", &until, "address", &address, "evict", &evict, "moves", &moves)) {
        return;
    }
    require_that(check,
                 is_in_range(until, 0, check->time, 1) && json_is_array(evict) &&
                     json_is_array(moves),
                 "proof: until is too late, or evict or moves is not an array");
    set_time(check, until);
    for (size_t i = 0; i < json_array_size(evict) && check->result == CERTIFICATE_VALID; i++) {
        if (unpack_members(check, json_array_get(evict, i), "evict", "I", &index) &&
            require_that(check,
                         is_in_range(index, 0, (json_int_t)check->block_count - 1, 1) &&
                             is_evictable(check, &check->blocks[index]),
                         "evict[%zu]: the block may not be evicted", i)) {
            check->blocks[index].fate = GONE;
        }
    }
    for (size_t i = 0; i < json_array_size(moves) && check->result == CERTIFICATE_VALID; i++) {
        check_move(check, i, json_array_get(moves, i));
    }
    for (size_t i = 0; i < check->block_count; i++) {
        require_that(check,
                     check->blocks[i].fate == GONE || check->blocks[i].address >= check->bottom,
                     "blocks[%zu] ends in host memory or below bottom", i);
    }
    require_that(check,
                 check->bottom <= check->capacity && (address == NOWHERE) == (check->need == 0),
                 "address: the stack is too large, or only one of block and address is there");
    if (check->need > 0 && check->result == CERTIFICATE_VALID) {
        check_place(check, "address", NULL, address, check->need, check->align);
    }
}

/* The sums of items and of spans, rounded to units, are as the proof says. */
static void check_sums(struct check *check, bool is_rounding)
{
    json_int_t unit = 1, nodes = 0, need, have;
    if (unpack_members(check, check->proof, "proof", "{s:s,s:I,s:I,s:I}", "kind", &check->kind,
                       is_rounding ? "unit" : "nodes", is_rounding ? &unit : &nodes, "need", &need,
                       "have", &have)) {
        require_that(check,
                     nodes >= 0 &&
                         is_in_range(unit, 1, INT64_MAX, is_rounding ? check->granule : 1) &&
                         sum_sizes(check->items, check->item_count, unit) == need &&
                         (need > have) == is_rounding &&
                         sum_sizes(check->spans, check->span_count, unit) == have,
                     "proof: one of unit, nodes, need and have is wrong");
    }
}

static void check_proof(struct check *check)
{
    enum { PLAN, BUDGET, STACK, SPANS, ROUNDING, SEARCH, TABLE, FILLS };
    if (!unpack_members(check, check->proof, "proof", "{s:s*}", "kind", &check->kind)) {
        return;
    }
    const size_t kind = find_word_index(check, "proof.kind", check->kind,
                                        "plan|budget|stack|spans|rounding|search|table|fills");
    check->blocks[check->block_count].address = check->capacity;
    set_time(check, check->time);
    require_that(check,
                 find_word_index(check, "claim", check->claim, "premature|unknown|justified") ==
                     LEAST(kind, STACK),
                 "proof: its kind does not prove this claim");
    require_that(check, kind == PLAN || find_spans(check) == (kind != STACK),
                 "proof: its kind does not match whether the stack fits");
    require_that(check,
                 kind == PLAN || kind == STACK || (check->defrag == REPACK) == (kind != SPANS),
                 "proof: its kind does not match the contract");
    if (check->result != CERTIFICATE_VALID) {
        return;
    }
    if (kind == PLAN) {
        check_plan(check);
    } else if (kind == SEARCH) {
        check_search(check);
    } else if (kind == TABLE) {
        check_table(check);
    } else if (kind == FILLS) {
        check_fills(check);
    } else if (kind == ROUNDING || kind == BUDGET) {
        check_sums(check, kind == ROUNDING);
    } else if (unpack_members(check, check->proof, "proof", "{s:s}", "kind", &check->kind) &&
               kind == SPANS) {
        for (size_t i = 0; i <= check->block_count && check->result == CERTIFICATE_VALID; i++) {
            require_that(check, !can_slide(check, i), "proof: the request fits before blocks[%zu]",
                         i);
        }
    }
}

enum certificate_result certificate_check(const char *text, size_t length,
                                          char reason[CERTIFICATE_REASON_BYTES])
{
    struct check check = {.result = CERTIFICATE_VALID, .reason = reason};
    json_error_t error;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    require_that(&check, root != NULL, "line %d, column %d: this is not JSON", error.line,
                 error.column);
    read_document(&check, root);
    if (check.result == CERTIFICATE_VALID) {
        check_proof(&check);
    }
    if (check.result == CERTIFICATE_VALID) {
        snprintf(reason, CERTIFICATE_REASON_BYTES, "%s, %s", check.claim, check.kind);
    }
    free(check.blocks);
    free(check.items);
    json_decref(root);
    return check.result;
}
