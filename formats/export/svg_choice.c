#include "formats/export/private/svg_choice.h"

#include <stdlib.h>

/* What a browser, and a reader, takes in at once; more only near the failure. */
enum {
    RECT_COUNT_MAX = 2000,
    NEEDED_COUNT_MAX = 10000,
    NEAR_OPS = 16, /* before and after the failure */
    MOVE_COUNT_MAX = 500
};

/* The first one that is a defect, or that nobody could decide; else the first. */
static const struct svg_failure *find_subject(const struct svg_record *record)
{
    for (size_t i = 0; i < record->failure_count; i++) {
        const enum verdict_kind verdict = record->failures[i].verdict;
        if (verdict != VERDICT_JUSTIFIED && verdict != VERDICT_NONE) {
            return &record->failures[i];
        }
    }
    return record->failure_count > 0 ? &record->failures[0] : NULL;
}

static void choose_hosts(const struct svg_record *record, struct svg_choice *choice)
{
    const uint32_t count = record->setup->host_count;
    choice->host_count = count < SVG_HOST_COUNT_MAX ? count : SVG_HOST_COUNT_MAX;
    for (uint32_t i = 0; i < choice->host_count; i++) {
        choice->hosts[i] = i;
    }
    if (choice->about != NULL && choice->about->host >= SVG_HOST_COUNT_MAX) {
        choice->hosts[SVG_HOST_COUNT_MAX - 1] = choice->about->host;
    }
}

static bool is_drawn(const struct svg_choice *choice, uint32_t host)
{
    for (uint32_t i = 0; i < choice->host_count; i++) {
        if (choice->hosts[i] == host) {
            return true;
        }
    }
    return false;
}

static bool is_near(const struct svg_rect *rect, const struct svg_failure *failure)
{
    return failure != NULL && rect->stay.host == failure->host &&
           rect->stay.begin_op <= failure->time + NEAR_OPS && rect->end + NEAR_OPS >= failure->time;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_times(const struct svg_rect *a, const struct svg_rect *b)
{
    const int begins = compare_numbers(a->stay.begin_op, b->stay.begin_op);
    if (begins != 0) {
        return begins;
    }
    const int hosts = compare_numbers(a->stay.host, b->stay.host);
    return hosts != 0 ? hosts : compare_numbers(a->stay.address, b->stay.address);
}

/* What is needed first, and then what covers most. */
static int compare_weights(const void *a, const void *b)
{
    const struct svg_rect *x = a;
    const struct svg_rect *y = b;
    const double x_area = (double)x->stay.size_bytes * (double)(x->end - x->stay.begin_op);
    const double y_area = (double)y->stay.size_bytes * (double)(y->end - y->stay.begin_op);
    if (x->is_needed != y->is_needed) {
        return x->is_needed ? -1 : 1;
    }
    if (x_area != y_area) {
        return x_area > y_area ? -1 : 1;
    }
    return compare_times(x, y);
}

static int compare_begins(const void *a, const void *b)
{
    return compare_times(a, b);
}

static void choose_rects(struct svg_record *record, struct svg_choice *choice)
{
    size_t needed_count = 0, count = 0;
    for (size_t i = 0; i < record->rect_count; i++) {
        struct svg_rect rect = record->rects[i];
        if (is_drawn(choice, rect.stay.host)) {
            rect.is_needed = is_near(&rect, choice->about);
            needed_count += rect.is_needed;
            record->rects[count++] = rect;
        }
    }
    record->rect_count = count;
    if (count == 0) {
        return;
    }
    qsort(record->rects, record->rect_count, sizeof *record->rects, compare_weights);
    choice->is_whole_near = needed_count <= NEEDED_COUNT_MAX;
    needed_count = choice->is_whole_near ? needed_count : NEEDED_COUNT_MAX;
    const size_t most = needed_count > RECT_COUNT_MAX ? needed_count : RECT_COUNT_MAX;
    choice->rect_count = record->rect_count < most ? record->rect_count : most;
    qsort(record->rects, choice->rect_count, sizeof *record->rects, compare_begins);
}

static int compare_moves(const void *a, const void *b)
{
    const struct svg_move *x = a;
    const struct svg_move *y = b;
    if (x->is_whole != y->is_whole) {
        return x->is_whole ? -1 : 1;
    }
    const int sizes = compare_numbers(y->size_bytes, x->size_bytes);
    if (sizes != 0) {
        return sizes;
    }
    const int times = compare_numbers(x->time, y->time);
    return times != 0 ? times : compare_numbers(x->from, y->from);
}

static size_t count_whole_moves(const struct svg_record *record)
{
    size_t count = 0;
    for (size_t i = 0; i < record->move_count; i++) {
        count += record->moves[i].is_whole;
    }
    return count;
}

static void choose_moves(struct svg_record *record, struct svg_choice *choice)
{
    if (record->move_count > 0) {
        qsort(record->moves, record->move_count, sizeof *record->moves, compare_moves);
    }
    choice->whole_move_count = count_whole_moves(record);
    choice->move_count = choice->whole_move_count < MOVE_COUNT_MAX ? choice->whole_move_count
                                                                   : MOVE_COUNT_MAX;
}

struct svg_choice svg_choose(struct svg_record *record)
{
    struct svg_choice choice = {.about = find_subject(record)};
    choose_hosts(record, &choice);
    choose_rects(record, &choice);
    choose_moves(record, &choice);
    return choice;
}
