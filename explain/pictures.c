/* Memory over time and the heap by address: in words, and as the picture of --svg. */
#include "explain/private/explanation.h"
#include "harness/base/svg.h"
#include "harness/device/span_map.h"
#include "present/memory_chart.h"
#include "recording/device_name.h"

#include <inttypes.h>

static uint64_t find_edge(uint64_t capacity_bytes, size_t part)
{
    return (uint64_t)((__uint128_t)capacity_bytes * part / HEAP_MAP_PART_COUNT);
}

static uint64_t count_common(uint64_t a_start, uint64_t a_end, uint64_t b_start, uint64_t b_end)
{
    const uint64_t start = a_start > b_start ? a_start : b_start;
    const uint64_t end = a_end < b_end ? a_end : b_end;
    return end > start ? end - start : 0;
}

/* The part in which the address lies, or one before it. */
static size_t find_part(uint64_t capacity_bytes, uint64_t address)
{
    const size_t part = (size_t)((__uint128_t)address * HEAP_MAP_PART_COUNT / capacity_bytes);
    return part > 0 ? part - 1 : 0;
}

static void add_range(struct heap_map *map, uint64_t capacity_bytes, uint64_t start, uint64_t end,
                      bool is_held)
{
    for (size_t i = find_part(capacity_bytes, start); i < HEAP_MAP_PART_COUNT; i++) {
        const uint64_t part_start = find_edge(capacity_bytes, i);
        if (part_start >= end) {
            return;
        }
        const uint64_t bytes = count_common(start, end, part_start,
                                            find_edge(capacity_bytes, i + 1));
        *(is_held ? &map->parts[i].held_bytes : &map->parts[i].used_bytes) += bytes;
    }
}

void heap_map_take(const struct model *model, struct heap_map *map)
{
    const uint64_t capacity_bytes = model_capacity_bytes(model);
    struct span_cursor cursor;
    *map = (struct heap_map){.has_places = model_contract(model)->placement == PLACEMENT_RANGES};
    if (!map->has_places) {
        return;
    }
    for (size_t i = 0; i < HEAP_MAP_PART_COUNT; i++) {
        map->parts[i].bytes = find_edge(capacity_bytes, i + 1) - find_edge(capacity_bytes, i);
    }
    add_range(map, capacity_bytes, 0, model_reserved_bytes(model), true);
    for (bool found = span_map_first(model_map(model), &cursor); found;
         found = span_map_next(model_map(model), &cursor)) {
        struct span span;
        span_map_get(model_map(model), &cursor, &span);
        const struct block *block = model_block(model, (uint32_t)span.owner);
        add_range(map, capacity_bytes, span.start, span.end, !block_is_movable(block));
    }
}

/* '.' free, '-' less than half in use, '#' at least half, 'H' where more is held than may move, '='
 * where all of it is full. */
static char draw_part(const struct heap_part *part)
{
    const uint64_t full_bytes = part->used_bytes + part->held_bytes;
    return full_bytes == 0                       ? '.'
           : part->held_bytes > part->used_bytes ? 'H'
           : full_bytes == part->bytes           ? '='
           : full_bytes * 2 < part->bytes        ? '-'
                                                 : '#';
}

static void say_heap(struct explanation *explanation)
{
    struct facts *facts = &explanation->facts;
    const struct heap_map *map = &explanation->moment.heap;
    char picture[HEAP_MAP_PART_COUNT + 1] = "";
    for (size_t i = 0; i < HEAP_MAP_PART_COUNT; i++) {
        picture[i] = draw_part(&map->parts[i]);
    }
    facts_heading(facts, "The heap at op %" PRIu32 ", from address 0 to the end",
                  explanation->moment.op);
    facts_answer(facts, "  [%s]", picture);
    facts_answer(facts, "  . free, - partly used, # mostly used, = full, H held in place");
}

/* One device over time. */
static void tell_curve(struct explanation *explanation, const struct survey_curves *curves,
                       uint32_t host)
{
    struct facts *facts = &explanation->facts;
    const struct memory_chart chart = {
        .alarm_percent = (unsigned)explanation->options->alarm_percent, .is_indented = true};
    char name[DEVICE_NAME_BYTES];
    struct list_growth growth;
    struct writing lines = {0};
    list_growth_find(&curves->uses[host], explanation->steps, &growth);
    const int64_t slope = list_growth_per_1000_ops(&growth);
    const struct memory_device device = {device_name(explanation->recording, host, name),
                                         &curves->tracks[host], &slope};
    if (explanation->options->has_timeline) {
        memory_chart_json(&chart, &device, facts_given(facts));
        facts_given_end(facts);
    }
    (void)memory_chart_draw(&chart, &device, &lines);
    facts_answers(facts, &lines);
    writing_deinit(&lines);
    explanation->is_alarmed |= chart.alarm_percent > 0 &&
                               memory_is_alarming(device.track, chart.alarm_percent);
}

void explain_pictures(struct explanation *explanation)
{
    const struct moment *moment = &explanation->moment;
    const bool has_all = explanation->options->has_timeline;
    const struct survey_curves *curves = has_all ? explanation->survey->curves
                                                 : explanation->curves;
    const bool is_drawn = moment->is_taken && explanation->recording->view != IMPORT_SUMS &&
                          explanation->curves->tracks[moment->host].point_count > 0;
    if (has_all || (is_drawn && explanation->recording->view == IMPORT_EVENTS)) {
        facts_heading(&explanation->facts, "Memory over time");
        for (uint32_t host = 0; host < OP_HOST_COUNT_MAX; host++) {
            if (curves->tracks[host].point_count > 0 && (has_all || host == moment->host)) {
                tell_curve(explanation, curves, host);
            }
        }
    }
    if (is_drawn && moment->heap.has_places) {
        say_heap(explanation);
    }
}

/* --- the picture --- */

enum {
    LEFT = 20 * SVG_PIXEL,
    WIDTH = 860 * SVG_PIXEL,
    CHART_TOP = 60 * SVG_PIXEL,
    CHART_HEIGHT = 200 * SVG_PIXEL,
    HEAP_TOP = 320 * SVG_PIXEL,
    HEAP_HEIGHT = 60 * SVG_PIXEL,
    ROWS_TOP = 420 * SVG_PIXEL,
    ROW_HEIGHT = 18 * SVG_PIXEL,
    GAP = 8 * SVG_PIXEL /* between a line of text and what it is about */
};

static const struct svg_style style = {
    .light = ".used{fill:#4477aa}.held{fill:#cc6677}.free{fill:#eee}",
    .dark = ".used{fill:#6699cc}.held{fill:#dd8899}.free{fill:#33363d}",
    .defs = "",
};

static void draw_box(struct writing *svg, uint64_t x, uint64_t y, uint64_t width, uint64_t height,
                     const char *class)
{
    svg_add_box(svg, &(struct svg_box){x, y, width, height}, class, NULL);
}

static void append_title(const struct explanation *explanation, struct writing *title)
{
    const struct moment *moment = &explanation->moment;
    const struct occupancy *occupancy = &moment->occupancy;
    writing_append_format(title, "%s: at op %" PRIu32 "%s, host %u: %s of %s in use",
                          explanation->options->paths[0], moment->op,
                          explain_step(explanation->steps, moment->op, ", ").text, moment->host,
                          size_text_of(occupancy->in_use_bytes + occupancy->reserved_bytes).text,
                          size_text_of(occupancy->capacity_bytes).text);
}

static void draw_chart(struct explanation *explanation)
{
    struct writing *svg = &explanation->svg;
    const struct memory_track *track = &explanation->curves->tracks[explanation->moment.host];
    svg_add_text(svg, LEFT, CHART_TOP - GAP, "start", "ink", "memory in use over time");
    draw_box(svg, LEFT, CHART_TOP, WIDTH, CHART_HEIGHT, "free");
    uint64_t from = 0;
    for (uint64_t i = 0; i < track->point_count; i++) {
        const struct memory_point *point = &track->points[i];
        const uint64_t to = svg_scale(point->op_count + 1, track->last.op_count + 1, WIDTH);
        const uint64_t height = svg_scale(point->used_bytes, point->capacity_bytes, CHART_HEIGHT);
        draw_box(svg, LEFT + from, CHART_TOP + CHART_HEIGHT - height, to - from, height, "used");
        from = to;
    }
}

static void draw_heap(struct explanation *explanation)
{
    struct writing *svg = &explanation->svg;
    const struct heap_map *map = &explanation->moment.heap;
    if (!map->has_places) {
        return;
    }
    svg_add_text(svg, LEFT, HEAP_TOP - GAP, "start", "ink",
                 "the heap by address: in use (blue), held in place (red, below), free (grey)");
    draw_box(svg, LEFT, HEAP_TOP, WIDTH, HEAP_HEIGHT, "free");
    for (uint64_t i = 0; i < HEAP_MAP_PART_COUNT; i++) {
        const struct heap_part *part = &map->parts[i];
        const uint64_t x = LEFT + i * WIDTH / HEAP_MAP_PART_COUNT;
        const uint64_t width = LEFT + (i + 1) * WIDTH / HEAP_MAP_PART_COUNT - x;
        const uint64_t held = svg_scale(part->held_bytes, part->bytes, HEAP_HEIGHT);
        const uint64_t full = svg_scale(part->held_bytes + part->used_bytes, part->bytes,
                                        HEAP_HEIGHT);
        const uint64_t used = full - held;
        draw_box(svg, x, HEAP_TOP + HEAP_HEIGHT - held, width, held, "held");
        draw_box(svg, x, HEAP_TOP + HEAP_HEIGHT - held - used, width, used, "used");
    }
}

static void draw_holders(struct explanation *explanation)
{
    struct writing *svg = &explanation->svg;
    const struct occupancy *occupancy = &explanation->moment.occupancy;
    for (uint32_t i = 0; i < occupancy->tag_count; i++) {
        const struct occupancy_sum *sum = &occupancy->tags[i].sum;
        const uint64_t y = ROWS_TOP + (uint64_t)i * ROW_HEIGHT;
        char line[SETUP_NAME_BYTES + SIZE_TEXT_BYTES + 40];
        snprintf(line, sizeof line, "%s in %" PRIu64 " block%s: %s", size_text_of(sum->bytes).text,
                 sum->count, plural(sum->count, "", "s"),
                 explain_tag_name(explanation, occupancy->tags[i].tag).text);
        draw_box(svg, LEFT, y, svg_scale(sum->bytes, occupancy->capacity_bytes, WIDTH / 4),
                 ROW_HEIGHT - 6 * SVG_PIXEL, "used");
        svg_add_text(svg, LEFT + WIDTH / 4 + 10 * SVG_PIXEL, y + ROW_HEIGHT - 7 * SVG_PIXEL,
                     "start", "ink", line);
    }
}

void explain_draw_svg(struct explanation *explanation)
{
    struct writing *svg = &explanation->svg;
    writing_clear(svg);
    if (explanation->options->svg == NULL || !explanation->moment.is_taken) {
        return;
    }
    const uint64_t height = ROWS_TOP + explanation->moment.occupancy.tag_count * ROW_HEIGHT + GAP;
    struct writing title = {0};
    append_title(explanation, &title);
    svg_open(svg, WIDTH + 2 * LEFT, height, &style, writing_string(&title),
             "Memory in use over time, the heap by address, and who holds the memory.");
    svg_add_text(svg, LEFT, 24 * SVG_PIXEL, "start", "ink", writing_string(&title));
    writing_deinit(&title);
    draw_chart(explanation);
    draw_heap(explanation);
    draw_holders(explanation);
    svg_close(svg);
}
