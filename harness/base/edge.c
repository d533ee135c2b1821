#include "harness/base/edge.h"

static bool try_number(const struct edge_search *search, uint64_t number, struct edge *edge)
{
    const bool holds = search->holds(search->context, number);
    if (holds) {
        edge->holds = number;
    } else {
        edge->fails = number;
    }
    return holds;
}

static bool may_try(const struct edge_search *search)
{
    return search->may_try(search->context);
}

void edge_find(const struct edge_search *search, uint64_t start, struct edge *edge)
{
    if (edge->holds == 0 && edge->fails == 0) {
        (void)try_number(search, start, edge);
    }
    while (edge->fails == 0 && edge->holds < search->high && may_try(search)) {
        const bool is_far = edge->holds > search->high / 2;
        (void)try_number(search, is_far ? search->high : edge->holds * 2, edge);
    }
    while (edge->holds == 0 && edge->fails > search->low && may_try(search)) {
        const uint64_t half = edge->fails / 2;
        (void)try_number(search, half > search->low ? half : search->low, edge);
    }
    while (edge->holds > 0 && edge->fails > edge->holds + 1 && may_try(search)) {
        (void)try_number(search, edge->holds + (edge->fails - edge->holds) / 2, edge);
    }
}
