#include "allocator/exchange.h"

#include "allocator/check.h"

#define NO_ITEM UINT32_MAX
/* After so many exchanges another start is worth more. */
#define ROUNDS_MAX 200u
/* One in so many items starts where the lot says, so that no two starts are the same. */
#define STRAYS 8u
/* How many pairs change places at random where no exchange is for the better. */
#define KICKS 3u

/* Items `out` of bin `from` for items `in` of bin `to`; what is not there is NO_ITEM. */
struct trade {
    uint32_t from, to;
    uint32_t out[2], in[2];
    int64_t gain; /* less bytes that are too much */
};

static uint32_t draw(struct hbm_exchange *exchange, size_t below)
{
    exchange->lot = exchange->lot * 1664525u + 1013904223u;
    return (exchange->lot >> 8) % (uint32_t)below;
}

static bool is_over(const struct hbm_exchange *exchange)
{
    return exchange->steps >= exchange->steps_max;
}

static int64_t excess(int64_t room)
{
    return room < 0 ? -room : 0;
}

static int64_t size_of(const struct hbm_exchange *exchange, uint32_t item)
{
    return item == NO_ITEM ? 0 : (int64_t)exchange->sizes[item];
}

static void put(struct hbm_exchange *exchange, uint32_t item, uint32_t bin)
{
    exchange->bins[item] = bin;
    exchange->room[bin] -= size_of(exchange, item);
    exchange->next[item] = exchange->first[bin];
    exchange->first[bin] = item;
}

static void take(struct hbm_exchange *exchange, uint32_t item)
{
    uint32_t bin = exchange->bins[item];
    uint32_t *link = &exchange->first[bin];
    while (*link != item)
        link = &exchange->next[*link];
    *link = exchange->next[item];
    exchange->room[bin] += size_of(exchange, item);
}

/* ---- the start ---- */

/* Which bin with room for it takes an item; the largest is the last of them. */
enum rule { RULE_TIGHTEST, RULE_ROOMIEST, RULE_LARGEST, RULE_COUNT };

/* Where no bin has room, the roomiest. */
static uint32_t bin_choose(const struct hbm_exchange *exchange, int64_t size, enum rule rule)
{
    uint32_t chosen = NO_ITEM, roomiest = 0;
    for (uint32_t bin = 0; bin < exchange->bin_count; bin++) {
        int64_t room = exchange->room[bin];
        roomiest = room > exchange->room[roomiest] ? bin : roomiest;
        if (room < size)
            continue;
        bool better = chosen == NO_ITEM || rule == RULE_LARGEST ||
                      (rule == RULE_TIGHTEST ? room < exchange->room[chosen] : room > exchange->room[chosen]);
        chosen = better ? bin : chosen;
    }
    return chosen == NO_ITEM ? roomiest : chosen;
}

/* Largest first: by one rule after the other, then with strays.  False: the steps ended before the items. */
static bool start(struct hbm_exchange *exchange)
{
    enum rule rule = (enum rule)(exchange->attempt % RULE_COUNT);
    bool strays = exchange->attempt++ >= RULE_COUNT;
    for (size_t bin = 0; bin < exchange->bin_count; bin++) {
        exchange->room[bin] = (int64_t)exchange->capacities[bin];
        exchange->first[bin] = NO_ITEM;
    }
    uint32_t item = 0;
    for (; item < exchange->item_count && !is_over(exchange); item++) {
        uint32_t bin = bin_choose(exchange, size_of(exchange, item), rule);
        if (strays && draw(exchange, STRAYS) == 0) {
            uint32_t stray = draw(exchange, exchange->bin_count);
            bin = exchange->room[stray] >= size_of(exchange, item) ? stray : bin;
        }
        put(exchange, item, bin);
        exchange->steps += exchange->bin_count;
    }
    return item == exchange->item_count;
}

/* ---- exchanges ---- */

static void consider(struct hbm_exchange *exchange, struct trade *best, const struct trade *trade)
{
    int64_t bytes = size_of(exchange, trade->out[0]) + size_of(exchange, trade->out[1]) -
                    size_of(exchange, trade->in[0]) - size_of(exchange, trade->in[1]);
    int64_t from = exchange->room[trade->from], to = exchange->room[trade->to];
    int64_t gain = excess(from) + excess(to) - excess(from + bytes) - excess(to - bytes);
    exchange->steps++;
    if (gain > best->gain) {
        *best = *trade;
        best->gain = gain;
    }
}

/* With nothing, with each item of bin `to`, and, unless that was enough, with each two of them. */
static void consider_against(struct hbm_exchange *exchange, struct trade *best, struct trade trade, bool pairs)
{
    consider(exchange, best, &trade);
    for (uint32_t in = exchange->first[trade.to]; in != NO_ITEM && !is_over(exchange); in = exchange->next[in]) {
        trade.in[0] = in;
        trade.in[1] = NO_ITEM;
        consider(exchange, best, &trade);
        for (uint32_t other = exchange->next[in]; pairs && other != NO_ITEM && !is_over(exchange);
             other = exchange->next[other]) {
            trade.in[1] = other;
            consider(exchange, best, &trade);
        }
    }
}

static void consider_bin(struct hbm_exchange *exchange, struct trade *best, uint32_t from, uint32_t to)
{
    int64_t enough = excess(exchange->room[from]);
    for (uint32_t out = exchange->first[from]; out != NO_ITEM && !is_over(exchange); out = exchange->next[out]) {
        struct trade trade = {from, to, {out, NO_ITEM}, {NO_ITEM, NO_ITEM}, 0};
        consider_against(exchange, best, trade, best->gain < enough);
        for (uint32_t other = exchange->next[out]; other != NO_ITEM && best->gain < enough && !is_over(exchange);
             other = exchange->next[other]) {
            trade.out[1] = other;
            consider_against(exchange, best, trade, false);
        }
    }
}

static void trade_make(struct hbm_exchange *exchange, const struct trade *trade)
{
    for (unsigned i = 0; i < 2; i++) {
        if (trade->out[i] != NO_ITEM) {
            take(exchange, trade->out[i]);
            put(exchange, trade->out[i], trade->to);
        }
        if (trade->in[i] != NO_ITEM) {
            take(exchange, trade->in[i]);
            put(exchange, trade->in[i], trade->from);
        }
    }
}

/* Some pairs of items change places, whatever comes of it. */
static void kick(struct hbm_exchange *exchange)
{
    for (unsigned i = 0; i < KICKS; i++) {
        uint32_t item = draw(exchange, exchange->item_count), other = draw(exchange, exchange->item_count);
        uint32_t bin = exchange->bins[item], other_bin = exchange->bins[other];
        if (exchange->sizes[item] > exchange->capacities[other_bin] ||
            exchange->sizes[other] > exchange->capacities[bin])
            continue;
        if (bin != other_bin)
            trade_make(exchange, &(struct trade){bin, other_bin, {item, NO_ITEM}, {other, NO_ITEM}, 0});
    }
}

/* Some bin that holds too much; NO_ITEM when there is none. */
static uint32_t bin_overfull(struct hbm_exchange *exchange)
{
    uint32_t found = NO_ITEM, count = 0;
    for (uint32_t bin = 0; bin < exchange->bin_count; bin++) {
        if (exchange->room[bin] < 0 && draw(exchange, ++count) == 0)
            found = bin;
    }
    return found;
}

/* False: this start leads nowhere. */
static bool improve(struct hbm_exchange *exchange)
{
    for (unsigned round = 0; round < ROUNDS_MAX && !is_over(exchange); round++) {
        uint32_t from = bin_overfull(exchange);
        if (from == NO_ITEM)
            return true;
        struct trade best = {.gain = 0};
        for (uint32_t to = 0; to < exchange->bin_count; to++) {
            if (to != from)
                consider_bin(exchange, &best, from, to);
        }
        exchange->steps += exchange->bin_count;
        if (best.gain > 0)
            trade_make(exchange, &best);
        else
            kick(exchange);
    }
    return bin_overfull(exchange) == NO_ITEM;
}

bool hbm_exchange_next(struct hbm_exchange *exchange)
{
    HBM_CHECK(exchange->bin_count != 0);
    while (!is_over(exchange)) {
        if (start(exchange) && improve(exchange))
            return true;
    }
    return false;
}
