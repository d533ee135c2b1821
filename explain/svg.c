/* explain --svg: memory over time and the heap as one picture. */
#include "harness/base/svg.h"
#include "explain/private/explain_parts.h"
#include "harness/base/size.h"

#include <inttypes.h>

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
    char used[SIZE_TEXT_BYTES], whole[SIZE_TEXT_BYTES];
    const struct moment *moment = &explanation->moment;
    size_print_field(moment->occupancy.in_use_bytes + moment->occupancy.reserved_bytes, used);
    size_print_field(moment->occupancy.capacity_bytes, whole);
    writing_append_format(title, "%s: at op %lu", explanation->options->paths[0],
                          (unsigned long)moment->op);
    step_axis_append(explanation->steps, moment->op, ", ", title);
    writing_append_format(title, ", host %u: %s of %s in use", moment->host, used, whole);
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
        char name[SETUP_NAME_BYTES], size[SIZE_TEXT_BYTES],
            line[SETUP_NAME_BYTES + SIZE_TEXT_BYTES + 40];
        size_print_field(sum->bytes, size);
        snprintf(line, sizeof line, "%s in %" PRIu64 " block%s: %s", size, sum->count,
                 sum->count == 1 ? "" : "s",
                 explain_tag_name(explanation->run, occupancy->tags[i].tag, name));
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
    struct writing title;
    writing_init(&title);
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
