/* A picture of the run: which address was whose over time, and how full the memory was.  For a bug
 * report or a README: it stands alone, and its text is text. */
#include "formats/export/export.h"
#include "formats/export/private/svg_record.h"
#include "harness/base/array.h"

#include <stdlib.h>
#include <string.h>

static bool begin_svg(struct export *export)
{
    struct svg_record *record = calloc(1, sizeof *record);
    export->state = record;
    if (record == NULL) {
        return false;
    }
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
    record->rects = array_grown(record->rects, record->rect_count, &record->rect_room,
                                sizeof *record->rects);
    record->rects[record->rect_count++] = (struct svg_rect){.stay = *stay, .end = record->time};
}

static void begin_move(struct svg_record *record, const struct export_event *event)
{
    record->moves = array_grown(record->moves, record->move_count, &record->move_room,
                                sizeof *record->moves);
    number_map_set(&record->under_way, event->block, (uint32_t)record->move_count);
    record->moves[record->move_count++] = (struct svg_move){.time = record->time,
                                                            .from = event->address,
                                                            .size_bytes = event->size_bytes,
                                                            .host = event->host};
}

static void end_move(struct svg_record *record, const struct export_event *event)
{
    const uint32_t place = number_map_find(&record->under_way, event->block);
    if (place != NUMBER_NONE) {
        record->moves[place].to = event->address;
        record->moves[place].is_whole = true;
        number_map_remove(&record->under_way, event->block);
    }
}

static void take_svg_event(struct export *export, const struct export_event *event)
{
    struct svg_record *record = export->state;
    struct export_event timed = *event;
    timed.op = (uint32_t)record->time;
    const struct stay_change change = stays_take(&record->stays, &timed);
    if (change.has_ended) {
        const uint8_t host = change.ended.host;
        record->curves[host].queued_bytes -= change.ended.state == STAY_QUEUED
                                                 ? change.ended.size_bytes
                                                 : 0;
        add_rect(record, &change.ended);
    }
    if (change.has_begun) {
        const uint8_t host = change.begun.host;
        record->curves[host].queued_bytes += change.begun.state == STAY_QUEUED
                                                 ? change.begun.size_bytes
                                                 : 0;
    }
    if (event->action == EXPORT_MOVED_OUT) {
        begin_move(record, event);
    } else if (event->action == EXPORT_MOVED_IN) {
        end_move(record, event);
    }
}

/* --- curves --- */

static uint64_t find_most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static struct svg_point join_points(const struct svg_point *a, const struct svg_point *b)
{
    return (struct svg_point){.in_use_bytes = find_most(a->in_use_bytes, b->in_use_bytes),
                              .stack_bytes = find_most(a->stack_bytes, b->stack_bytes),
                              .queued_bytes = find_most(a->queued_bytes, b->queued_bytes),
                              .hole_bytes = a->hole_bytes < b->hole_bytes ? a->hole_bytes
                                                                          : b->hole_bytes};
}

/* Two points become one. */
static void halve_points(struct svg_curve *curve)
{
    for (size_t i = 0; i < SVG_POINT_COUNT_MAX / 2; i++) {
        curve->points[i] = join_points(&curve->points[2 * i], &curve->points[2 * i + 1]);
    }
}

static void add_point(struct svg_record *record, uint32_t host, const struct export_memory *memory)
{
    struct svg_curve *curve = &record->curves[host];
    struct svg_point *at = &curve->points[record->time / record->ops_per_point];
    const struct svg_point point = {.in_use_bytes = memory->in_use_bytes,
                                    .stack_bytes = memory->reserved_bytes,
                                    .queued_bytes = curve->queued_bytes,
                                    .hole_bytes = memory->largest_hole_bytes};
    *at = record->time % record->ops_per_point == 0 ? point : join_points(at, &point);
}

static void add_failure(struct svg_record *record, const struct export_op *op)
{
    const struct verdict *verdict = op->verdict;
    record->failures = array_grown(record->failures, record->failure_count, &record->failure_room,
                                   sizeof *record->failures);
    record->failures[record->failure_count++] = (struct svg_failure){
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
            halve_points(&record->curves[i]);
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

static void put_picture(struct export *export, struct svg_record *record)
{
    struct writing text;
    for (size_t i = 0; i < record->stays.count; i++) {
        add_rect(record, &record->stays.stays[i]);
    }
    writing_init(&text);
    svg_draw(record, &text);
    (void)writing_print(&text, export->stream);
    writing_deinit(&text);
}

static bool end_svg(struct export *export, const struct export_final *final)
{
    struct svg_record *record = export->state;
    if (record == NULL) {
        return false;
    }
    if (final != NULL) {
        put_picture(export, record);
    }
    stays_deinit(&record->stays);
    number_map_deinit(&record->under_way);
    free(record->rects);
    free(record->moves);
    free(record->failures);
    free(record->curves);
    free(record);
    export->state = NULL;
    return true;
}

const struct exporter exporter_svg = {
    .name = "svg",
    .suffix = ".svg",
    .summary = "a picture: the memory by address over time, and curves of its use",
    .begin = begin_svg,
    .event = take_svg_event,
    .op = take_svg_op,
    .end = end_svg,
};
