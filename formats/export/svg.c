/* A picture of the run: which address was whose over time, and how full the memory was.  For a bug
 * report or a README: it stands alone, and its text is text. */
#include "formats/export/export.h"
#include "formats/export/private/svg_record.h"
#include "harness/base/array.h"
#include "harness/base/order.h"

#include <stdlib.h>
#include <string.h>

/* The most that a browser, and a reader, can take in at once; more only near the failure. */
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

static bool is_drawn(const struct svg_choice *choice, uint32_t host)
{
    for (uint32_t i = 0; i < choice->host_count; i++) {
        if (choice->hosts[i] == host) {
            return true;
        }
    }
    return false;
}

static int compare_begins(const void *a, const void *b)
{
    const struct stay *x = &((const struct svg_rect *)a)->stay;
    const struct stay *y = &((const struct svg_rect *)b)->stay;
    return compare_then(compare_numbers(x->begin_op, y->begin_op),
                        compare_places(x->host, x->address, y->host, y->address));
}

/* Sorts rectangles that are needed first, and then those that cover most. */
static int compare_weights(const void *a, const void *b)
{
    const struct svg_rect *x = a;
    const struct svg_rect *y = b;
    const double x_area = (double)x->stay.size_bytes * (double)(x->end - x->stay.begin_op);
    const double y_area = (double)y->stay.size_bytes * (double)(y->end - y->stay.begin_op);
    return compare_then(y->is_needed - x->is_needed,
                        compare_then((y_area > x_area) - (y_area < x_area), compare_begins(a, b)));
}

static void choose_rects(struct svg_record *record, struct svg_choice *choice)
{
    const struct svg_failure *about = choice->about;
    size_t needed_count = 0, count = 0;
    for (size_t i = 0; i < record->rect_count; i++) {
        struct svg_rect rect = record->rects[i];
        if (is_drawn(choice, rect.stay.host)) {
            rect.is_needed = about != NULL && rect.stay.host == about->host &&
                             rect.stay.begin_op <= about->time + NEAR_OPS &&
                             rect.end + NEAR_OPS >= about->time;
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
    return compare_then(compare_places(y->is_whole, y->size_bytes, x->is_whole, x->size_bytes),
                        compare_places(x->time, x->from, y->time, y->from));
}

static void choose_moves(struct svg_record *record, struct svg_choice *choice)
{
    if (record->move_count > 0) {
        qsort(record->moves, record->move_count, sizeof *record->moves, compare_moves);
    }
    while (choice->whole_move_count < record->move_count &&
           record->moves[choice->whole_move_count].is_whole) {
        choice->whole_move_count++;
    }
    choice->move_count = choice->whole_move_count < MOVE_COUNT_MAX ? choice->whole_move_count
                                                                   : MOVE_COUNT_MAX;
}

struct svg_choice svg_choose(struct svg_record *record)
{
    struct svg_choice choice = {.about = find_subject(record)};
    const uint32_t count = record->setup->host_count;
    choice.host_count = count < SVG_HOST_COUNT_MAX ? count : SVG_HOST_COUNT_MAX;
    for (uint32_t i = 0; i < choice.host_count; i++) {
        choice.hosts[i] = i;
    }
    if (choice.about != NULL && choice.about->host >= SVG_HOST_COUNT_MAX) {
        choice.hosts[SVG_HOST_COUNT_MAX - 1] = choice.about->host;
    }
    choose_rects(record, &choice);
    choose_moves(record, &choice);
    return choice;
}

static bool begin_svg(struct export *export)
{
    struct svg_record *record = export->state;
    record->setup = export->setup;
    record->source = export->source;
    record->ops_per_point = 1;
    record->curves = calloc(export->setup->host_count, sizeof *record->curves);
    return record->curves != NULL;
}

/* --- blocks --- */

static void add_rect(struct svg_record *record, const struct stay *stay)
{
    if (stay->begin_op == record->time) {
        return; /* it was there for no time */
    }
    ARRAY_ADD(record->rects, record->rect_count,
              record->rect_room) = (struct svg_rect){.stay = *stay, .end = record->time};
}

static uint64_t measure_queued(const struct stay *stay)
{
    return stay->state == STAY_QUEUED ? stay->size_bytes : 0;
}

static void take_svg_event(struct export *export, const struct export_event *event)
{
    struct svg_record *record = export->state;
    struct export_event timed = *event;
    timed.op = (uint32_t)record->time;
    const struct stay_change change = stays_take(&record->stays, &timed);
    if (change.has_ended) {
        record->curves[change.ended.host].queued_bytes -= measure_queued(&change.ended);
        add_rect(record, &change.ended);
    }
    if (change.has_begun) {
        record->curves[change.begun.host].queued_bytes += measure_queued(&change.begun);
    }
    if (event->action == EXPORT_MOVED_OUT) {
        number_map_set(&record->under_way, event->block, (uint32_t)record->move_count);
        ARRAY_ADD(record->moves, record->move_count,
                  record->move_room) = (struct svg_move){.time = record->time,
                                                         .from = event->address,
                                                         .size_bytes = event->size_bytes,
                                                         .host = event->host};
        return;
    }
    const uint32_t place = event->action == EXPORT_MOVED_IN
                               ? number_map_find(&record->under_way, event->block)
                               : NUMBER_NONE;
    if (place != NUMBER_NONE) {
        record->moves[place].to = event->address;
        record->moves[place].is_whole = true;
        number_map_remove(&record->under_way, event->block);
    }
}

/* --- curves --- */

static struct svg_point join_points(const struct svg_point *a, const struct svg_point *b)
{
    struct svg_point joined = *a;
    for (size_t i = 0; i < SVG_VALUE_COUNT; i++) {
        const bool is_replaced = i == SVG_HOLE ? b->values[i] < a->values[i]
                                               : b->values[i] > a->values[i];
        joined.values[i] = is_replaced ? b->values[i] : a->values[i];
    }
    return joined;
}

static void add_point(struct svg_record *record, uint32_t host, const struct export_memory *memory)
{
    struct svg_curve *curve = &record->curves[host];
    struct svg_point *at = &curve->points[record->time / record->ops_per_point];
    const struct svg_point point = {{[SVG_STACK] = memory->reserved_bytes,
                                     [SVG_IN_USE] = memory->in_use_bytes,
                                     [SVG_QUEUED] = curve->queued_bytes,
                                     [SVG_HOLE] = memory->largest_hole_bytes}};
    *at = record->time % record->ops_per_point == 0 ? point : join_points(at, &point);
}

static void add_failure(struct svg_record *record, const struct export_op *op)
{
    const struct verdict *verdict = op->verdict;
    ARRAY_ADD(record->failures, record->failure_count, record->failure_room) = (struct svg_failure){
        .time = record->time,
        .op = op->number,
        .requested_bytes = verdict->requested_bytes != 0 ? verdict->requested_bytes
                                                         : op->op->size_bytes,
        .host = op->op->host,
        .verdict = verdict->kind};
}

static void take_svg_op(struct export *export, const struct export_op *op)
{
    struct svg_record *record = export->state;
    if (record->time == SVG_POINT_COUNT_MAX * record->ops_per_point) {
        for (uint32_t i = 0; i < export->setup->host_count; i++) {
            struct svg_point *points = record->curves[i].points;
            for (size_t j = 0; j < SVG_POINT_COUNT_MAX / 2; j++) { /* two points become one */
                points[j] = join_points(&points[2 * j], &points[2 * j + 1]);
            }
        }
        record->ops_per_point *= 2;
    }
    for (uint32_t i = 0; i < export->setup->host_count; i++) {
        add_point(record, i, &op->memory[i]);
    }
    if (!op->is_skipped && op->result == TARGET_NO_MEMORY) {
        add_failure(record, op);
    }
    record->time++;
}

/* --- the end --- */

static bool end_svg(struct export *export, const struct export_final *final)
{
    struct svg_record *record = export->state;
    if (final != NULL) {
        struct writing text;
        for (size_t i = 0; i < record->stays.count; i++) {
            add_rect(record, &record->stays.stays[i]);
        }
        writing_init(&text);
        svg_draw(record, &text);
        (void)writing_print(&text, export->stream);
        writing_deinit(&text);
    }
    stays_deinit(&record->stays);
    number_map_deinit(&record->under_way);
    free(record->rects);
    free(record->moves);
    free(record->failures);
    free(record->curves);
    return true;
}

const struct exporter exporter_svg = {
    .name = "svg",
    .suffix = ".svg",
    .summary = "a picture: the memory by address over time, and curves of its use",
    .state_bytes = sizeof(struct svg_record),
    .begin = begin_svg,
    .event = take_svg_event,
    .op = take_svg_op,
    .end = end_svg,
};
