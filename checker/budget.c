#include "checker/private/check.h"

#include <string.h>

/* More is not searched: an oracle may give up without using up its limit. */
enum { SEARCH_ITEMS_MAX = 8192, FILLS_MAX = 1 << 22 };

/* The steps that the search took, and those that it might take. */
struct effort {
    json_int_t limit, until, greedy, search, fills, table;
    const char *class;
};

static const char *find_class(const struct check *check)
{
    const char *class = "plain";
    for (size_t i = 0; i < check->block_count; i++) {
        class = check->blocks[i].fate == FIXED && check->blocks[i].holds > 0 ? "held" : class;
    }
    for (size_t i = 0; i < check->item_count; i++) {
        class = check->items[i].key > check->granule ? "aligned" : class;
    }
    return class;
}

/* True if the search used its steps up; one that ended sooner was too large, or none. */
static bool is_used_up(const struct check *check, json_int_t nodes, json_int_t limit)
{
    const bool is_too_large = check->item_count > SEARCH_ITEMS_MAX ||
                              check->item_count + 1 > FILLS_MAX / check->span_count;
    return nodes == limit || (nodes < limit && is_too_large);
}

static void check_effort(struct check *check, json_int_t nodes, const struct effort *effort)
{
    check_require(check, is_used_up(check, nodes, effort->limit),
                  "proof: trivial: the limit of %lld steps is not used up",
                  (long long)effort->limit);
    const json_int_t tried[] = {effort->greedy, effort->search, effort->fills, effort->table};
    const char *class = find_class(check);
    /* A number that does not fit is not subtracted, so that no sum overflows. */
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        nodes = is_in_range(tried[i], 0, nodes, 1) ? nodes - tried[i] : -1;
    }
    check_require(check, nodes == 0, "tried: the steps do not add up to nodes");
    check_require(check, effort->until == check->time, "proof: until is %lld, not %lld",
                  (long long)effort->until, (long long)check->time);
    check_require(check, strcmp(effort->class, class) == 0, "proof: the class is %s", class);
}

void check_budget(struct check *check)
{
    struct effort effort = {0};
    json_int_t nodes, need, have;
    if (!check_unpack(check, check->proof, "proof",
                      "{s:s,s:I,s:I,s:I,s:I,s:I,s:s,s:{s:I,s:I,s:I,s:I}}", "kind", &check->kind,
                      "nodes", &nodes, "need", &need, "have", &have, "limit", &effort.limit,
                      "until", &effort.until, "class", &effort.class, "tried", "greedy",
                      &effort.greedy, "search", &effort.search, "fills", &effort.fills, "table",
                      &effort.table)) {
        return;
    }
    check_require(check,
                  nodes >= 1 && need <= have &&
                      pieces_sum(check->items, check->item_count, 1) == need &&
                      pieces_sum(check->spans, check->span_count, 1) == have,
                  "proof: one of nodes, need and have is wrong");
    if (check->result == CERTIFICATE_VALID) {
        check_is_open(check);
    }
    if (check->result == CERTIFICATE_VALID) {
        check_effort(check, nodes, &effort);
    }
}
