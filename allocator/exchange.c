#include "allocator/private/search.h"

#define NO_ITEM UINT32_MAX
/* After so many exchanges another start is worth more. */
#define ROUNDS_MAX 200u
/* One in so many items starts where the lot says, so that no two starts are the same. */
#define STRAYS 8u
/* This many pairs change places at random when no exchange improves anything. */
#define KICKS 3u
/* A sum of a list is made once, and compared some times while the list is sorted. */
#define STEPS_PER_SUM 8u

/* Items `out` of bin `from` for items `in` of bin `to`. */
struct trade {
    uint32_t from, to;
    struct hbm_exchange_sum out, in;
    int64_t gain; /* less bytes that are too much */
};

static uint32_t draw_below(struct hbm_exchange *exchange, size_t below)
{
    HBM_CHECK(below != 0);
    HBM_CHECK(below <= UINT32_MAX);
    exchange->lot = exchange->lot * 1664525u + 1013904223u;
    return (exchange->lot >> 8) % (uint32_t)below;
}

static bool has_used_steps(const struct hbm_exchange *exchange)
{
    return exchange->steps >= exchange->steps_max;
}

static int64_t find_excess(int64_t room)
{
    return room < 0 ? -room : 0;
}

static int64_t size_of_item(const struct hbm_exchange *exchange, uint32_t item)
{
    return item == NO_ITEM ? 0 : (int64_t)exchange->sizes[item];
}

static void put_item(struct hbm_exchange *exchange, uint32_t item, uint32_t bin)
{
    HBM_CHECK_COSTLY(item < exchange->item_count);
    HBM_CHECK_COSTLY(bin < exchange->bin_count);
    exchange->bins[item] = bin;
    exchange->room[bin] -= size_of_item(exchange, item);
    exchange->next[item] = exchange->first[bin];
    exchange->first[bin] = item;
}

static void take_item(struct hbm_exchange *exchange, uint32_t item)
{
    HBM_CHECK_COSTLY(exchange->bins[item] < exchange->bin_count);
    const uint32_t bin = exchange->bins[item];
    uint32_t *link = &exchange->first[bin];
    while (*link != item) {
        HBM_CHECK_COSTLY(*link != NO_ITEM);
        link = &exchange->next[*link];
    }
    *link = exchange->next[item];
    exchange->room[bin] += size_of_item(exchange, item);
}

/* ---- the start ---- */

/* The rule that chooses an item's bin among those with room; the largest is the last bin. */
enum exchange_rule { RULE_TIGHTEST, RULE_ROOMIEST, RULE_LARGEST, RULE_COUNT };

/* Chooses a bin by the rule; where no bin has room, the roomiest. */
static uint32_t choose_bin(const struct hbm_exchange *exchange, int64_t size,
                           enum exchange_rule rule)
{
    uint32_t chosen = NO_ITEM, roomiest = 0;
    for (uint32_t bin = 0; bin < exchange->bin_count; bin++) {
        const int64_t room = exchange->room[bin];
        roomiest = room > exchange->room[roomiest] ? bin : roomiest;
        if (room < size) {
            continue;
        }
        const bool better = chosen == NO_ITEM || rule == RULE_LARGEST ||
                            (rule == RULE_TIGHTEST ? room < exchange->room[chosen]
                                                   : room > exchange->room[chosen]);
        chosen = better ? bin : chosen;
    }
    return chosen == NO_ITEM ? roomiest : chosen;
}

/* Largest first: by one rule after the other, then with strays.  False: the steps ended before the
 * items. */
static bool start_attempt(struct hbm_exchange *exchange)
{
    HBM_CHECK(exchange->bin_count != 0);
    HBM_CHECK(exchange->attempt < UINT32_MAX);
    const enum exchange_rule rule = (enum exchange_rule)(exchange->attempt % RULE_COUNT);
    const bool strays = exchange->attempt++ >= RULE_COUNT;
    for (size_t bin = 0; bin < exchange->bin_count; bin++) {
        exchange->room[bin] = (int64_t)exchange->capacities[bin];
        exchange->first[bin] = NO_ITEM;
    }
    uint32_t item = 0;
    for (; item < exchange->item_count && !has_used_steps(exchange); item++) {
        uint32_t bin = choose_bin(exchange, size_of_item(exchange, item), rule);
        if (strays && draw_below(exchange, STRAYS) == 0) {
            const uint32_t stray = draw_below(exchange, exchange->bin_count);
            bin = exchange->room[stray] >= size_of_item(exchange, item) ? stray : bin;
        }
        put_item(exchange, item, bin);
        exchange->steps += exchange->bin_count;
    }
    return item == exchange->item_count;
}

/* ---- exchanges ---- */

static bool is_sum_smaller(const void *context, uint32_t left, uint32_t right)
{
    const struct hbm_exchange_list *list = context;
    uint64_t left_bytes = list->sums[left].bytes, right_bytes = list->sums[right].bytes;
    return left_bytes != right_bytes ? left_bytes < right_bytes : left < right;
}

static struct hbm_exchange_sum make_sum(const struct hbm_exchange *exchange, uint32_t one,
                                        uint32_t two, uint32_t three)
{
    const int64_t bytes = size_of_item(exchange, one) + size_of_item(exchange, two) +
                          size_of_item(exchange, three);
    return (struct hbm_exchange_sum){(uint64_t)bytes, {one, two, three}};
}

static void add_sum(const struct hbm_exchange *exchange, struct hbm_exchange_list *list,
                    uint32_t one, uint32_t two, uint32_t three)
{
    HBM_CHECK_COSTLY(list->count <= HBM_EXCHANGE_SUMS);
    HBM_CHECK_COSTLY(one != NO_ITEM || two == NO_ITEM);
    if (list->count < HBM_EXCHANGE_SUMS) {
        list->sums[list->count++] = make_sum(exchange, one, two, three);
    }
}

static uint32_t find_item_after(const struct hbm_exchange *exchange,
                                const struct hbm_exchange_list *list, uint32_t item)
{
    return list->count < HBM_EXCHANGE_SUMS ? exchange->next[item] : NO_ITEM;
}

static void fill_list(struct hbm_exchange *exchange, struct hbm_exchange_list *list, uint32_t bin)
{
    HBM_CHECK(bin < exchange->bin_count);
    const uint32_t first = exchange->first[bin];
    list->count = 0;
    add_sum(exchange, list, NO_ITEM, NO_ITEM, NO_ITEM);
    for (uint32_t one = first; one != NO_ITEM; one = find_item_after(exchange, list, one)) {
        add_sum(exchange, list, one, NO_ITEM, NO_ITEM);
    }
    for (uint32_t one = first; one != NO_ITEM; one = find_item_after(exchange, list, one)) {
        for (uint32_t two = exchange->next[one]; two != NO_ITEM;
             two = find_item_after(exchange, list, two)) {
            add_sum(exchange, list, one, two, NO_ITEM);
        }
    }
    for (uint32_t one = first; one != NO_ITEM; one = find_item_after(exchange, list, one)) {
        for (uint32_t two = exchange->next[one]; two != NO_ITEM;
             two = find_item_after(exchange, list, two)) {
            for (uint32_t three = exchange->next[two]; three != NO_ITEM;
                 three = find_item_after(exchange, list, three)) {
                add_sum(exchange, list, one, two, three);
            }
        }
    }
    for (uint32_t i = 0; i < list->count; i++) {
        list->order[i] = i;
    }
    hbm_sort(list->order, list->count, is_sum_smaller, list);
    exchange->steps += STEPS_PER_SUM * list->count;
    HBM_CHECK(list->count != 0);
    HBM_CHECK(list->count <= HBM_EXCHANGE_SUMS);
}

static const struct hbm_exchange_sum *get_sum(const struct hbm_exchange_list *list, size_t i)
{
    return &list->sums[list->order[i]];
}

static void consider_trade(struct hbm_exchange *exchange, struct trade *best,
                           const struct hbm_exchange_sum *out, const struct hbm_exchange_sum *in)
{
    HBM_CHECK_COSTLY(best->from != best->to);
    HBM_CHECK_COSTLY(best->gain >= 0);
    const int64_t bytes = (int64_t)out->bytes - (int64_t)in->bytes;
    int64_t from = exchange->room[best->from], to = exchange->room[best->to];
    const int64_t gain = find_excess(from) + find_excess(to) - find_excess(from + bytes) -
                         find_excess(to - bytes);
    exchange->steps++;
    if (gain > best->gain) {
        best->out = *out;
        best->in = *in;
        best->gain = gain;
    }
}

/* Finds a trade that takes from bin `from` its excess, or what bin `to` has room for, if that is
 * less.  Of the exchanges that come to so much it considers those that come to least, and of the
 * others those that come to most. */
static struct trade find_trade_with(struct hbm_exchange *exchange, uint32_t from, uint32_t to)
{
    HBM_CHECK(from != to);
    HBM_CHECK(exchange->room[from] < 0);
    const struct hbm_exchange_list *outs = &exchange->lists[0], *ins = &exchange->lists[1];
    struct trade best = {.from = from, .to = to};
    int64_t too_much = find_excess(exchange->room[from]), room = exchange->room[to];
    const uint64_t wanted = (uint64_t)(too_much < room ? too_much : room);
    fill_list(exchange, &exchange->lists[1], to);
    size_t in = 0; /* those before it are small enough */
    for (size_t out = 0; out < outs->count && !has_used_steps(exchange) && best.gain < too_much;
         out++) {
        while (in < ins->count && get_sum(ins, in)->bytes + wanted <= get_sum(outs, out)->bytes) {
            in++;
        }
        if (in > 0) {
            consider_trade(exchange, &best, get_sum(outs, out), get_sum(ins, in - 1));
        }
        if (in < ins->count) {
            consider_trade(exchange, &best, get_sum(outs, out), get_sum(ins, in));
        }
    }
    return best;
}

static struct trade find_best_trade(struct hbm_exchange *exchange, uint32_t from)
{
    HBM_CHECK(from < exchange->bin_count);
    HBM_CHECK(exchange->room[from] < 0);
    struct trade best = {.gain = 0};
    const int64_t too_much = find_excess(exchange->room[from]);
    fill_list(exchange, &exchange->lists[0], from);
    for (uint32_t to = 0;
         to < exchange->bin_count && best.gain < too_much && !has_used_steps(exchange); to++) {
        if (exchange->room[to] <= best.gain) {
            continue; /* it can take no more than it has room for */
        }
        const struct trade trade = find_trade_with(exchange, from, to);
        best = trade.gain > best.gain ? trade : best;
    }
    exchange->steps += exchange->bin_count;
    HBM_CHECK(best.gain <= too_much);
    return best;
}

static void make_trade(struct hbm_exchange *exchange, const struct trade *trade)
{
    HBM_CHECK(trade->from != trade->to);
    HBM_CHECK(trade->to < exchange->bin_count);
    for (unsigned i = 0; i < HBM_EXCHANGE_ITEMS; i++) {
        uint32_t out = trade->out.items[i], in = trade->in.items[i];
        if (out != NO_ITEM) {
            take_item(exchange, out);
            put_item(exchange, out, trade->to);
        }
        if (in != NO_ITEM) {
            take_item(exchange, in);
            put_item(exchange, in, trade->from);
        }
    }
}

/* Some pairs of items change places, whatever comes of it. */
static void make_random_trades(struct hbm_exchange *exchange)
{
    HBM_CHECK(exchange->item_count != 0);
    for (unsigned i = 0; i < KICKS; i++) {
        uint32_t item = draw_below(exchange, exchange->item_count),
                 other = draw_below(exchange, exchange->item_count);
        uint32_t bin = exchange->bins[item], other_bin = exchange->bins[other];
        HBM_CHECK(bin < exchange->bin_count);
        if (bin == other_bin || exchange->sizes[item] > exchange->capacities[other_bin] ||
            exchange->sizes[other] > exchange->capacities[bin]) {
            continue;
        }
        make_trade(exchange, &(struct trade){.from = bin,
                                             .to = other_bin,
                                             .out = make_sum(exchange, item, NO_ITEM, NO_ITEM),
                                             .in = make_sum(exchange, other, NO_ITEM, NO_ITEM)});
    }
}

/* Some bin that holds too much; NO_ITEM when there is none. */
static uint32_t draw_overfull_bin(struct hbm_exchange *exchange)
{
    uint32_t found = NO_ITEM, count = 0;
    for (uint32_t bin = 0; bin < exchange->bin_count; bin++) {
        if (exchange->room[bin] < 0 && draw_below(exchange, ++count) == 0) {
            found = bin;
        }
    }
    return found;
}

/* False: this start leads nowhere. */
static bool improve_packing(struct hbm_exchange *exchange)
{
    for (unsigned round = 0; round < ROUNDS_MAX && !has_used_steps(exchange); round++) {
        const uint32_t from = draw_overfull_bin(exchange);
        if (from == NO_ITEM) {
            return true;
        }
        const struct trade best = find_best_trade(exchange, from);
        HBM_CHECK(best.gain >= 0);
        if (best.gain > 0) {
            make_trade(exchange, &best);
        } else {
            make_random_trades(exchange);
        }
    }
    return draw_overfull_bin(exchange) == NO_ITEM;
}

bool hbm_exchange_next(struct hbm_exchange *exchange)
{
    HBM_CHECK(exchange->bin_count != 0);
    while (!has_used_steps(exchange)) {
        if (start_attempt(exchange) && improve_packing(exchange)) {
            return true;
        }
    }
    return false;
}
