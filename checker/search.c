#include "checker/private/check.h"

/* A node as the page has it, spans counted from the end; items are types here. */
struct search_node {
    size_t spans_left, items_left, t, first;
    json_int_t at, slack, passed, spare;
};

static void walk_node(struct check *check, struct search_node node)
{
    while (check->result == CERTIFICATE_VALID) {
        struct checked_piece *span = &check->spans[node.spans_left - 1], *type = check->items;
        const json_int_t end = span->key + span->size, room = end - node.at;
        json_int_t start = 0, sum = 0;
        if (!check_require(check, node.items_left > 0 && check->log[check->letter] != '\0',
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
            struct search_node child = {.spans_left = node.spans_left,
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
            node = (struct search_node){.spans_left = node.spans_left - 1,
                                        .items_left = node.items_left,
                                        .at = span[-1].key,
                                        .slack = node.slack - room,
                                        .spare = node.slack - room};
        } else {
            for (size_t i = node.t; i < check->item_count; i++) {
                sum += check->items[i].size * check->items[i].count;
            }
            check_require(check,
                          letter == 'f' && room > node.spare && room - node.spare > sum &&
                              (check->is_plain || !has_type),
                          "log[%zu] is false", check->letter - 1);
            return;
        }
    }
}

void check_search(struct check *check)
{
    json_int_t least, slack;
    if (!check_unpack(check, check->proof, "proof", "{s:s,s:I,s:b,s:s}", "kind", &check->kind,
                      "least", &least, "plain", &check->is_plain, "log", &check->log)) {
        return;
    }
    for (size_t i = 0; check->is_plain && i < check->item_count; i++) {
        check->items[i].key = check->granule;
    }
    const size_t count = pieces_make_types(check, least, &slack);
    if (check->result != CERTIFICATE_VALID) {
        return;
    }
    walk_node(check, (struct search_node){.spans_left = check->span_count,
                                          .items_left = count,
                                          .at = check->spans[check->span_count - 1].key,
                                          .slack = slack,
                                          .spare = slack});
    check_require(check, check->log[check->letter] == '\0',
                  "log[%zu]: the walk ends before the log", check->letter);
}
