/* explain --svg: memory over time and the heap as one picture. */
#include "cli/explain/private/explain_parts.h"
#include "harness/base/size.h"

#include <inttypes.h>

/* Pixels. */
enum {
    LEFT = 20,
    WIDTH = 860,
    CHART_TOP = 60,
    CHART_HEIGHT = 200,
    HEAP_TOP = 320,
    HEAP_HEIGHT = 60,
    ROWS_TOP = 420,
    ROW_HEIGHT = 18
};
#define COLOUR_USED "#4477aa"
#define COLOUR_HELD "#cc6677"
#define COLOUR_FREE "#eeeeee"
#define COLOUR_INK "#222222"

static uint64_t scale(uint64_t part, uint64_t whole, uint64_t length)
{
    if (whole == 0) {
        return 0;
    }
    const uint64_t scaled = (uint64_t)((__uint128_t)part * length / whole);
    return scaled > length ? length : scaled;
}

static void draw_rect(struct writing *svg, uint64_t x, uint64_t y, uint64_t width, uint64_t height,
                      const char *colour)
{
    if (width > 0 && height > 0) {
        writing_append_format(svg,
                              "<rect x=\"%" PRIu64 "\" y=\"%" PRIu64 "\" width=\"%" PRIu64
                              "\" height=\"%" PRIu64 "\" fill=\"%s\"/>\n",
                              x, y, width, height, colour);
    }
}

/* string is any text of the file's. */
static void draw_text(struct writing *svg, uint64_t x, uint64_t y, const char *string)
{
    writing_append_format(svg, "<text x=\"%" PRIu64 "\" y=\"%" PRIu64 "\" fill=\"" COLOUR_INK "\">",
                          x, y);
    writing_append_xml(svg, string);
    writing_append(svg, "</text>\n");
}

static void draw_title(struct explanation *explanation)
{
    struct writing title;
    char used[SIZE_TEXT_BYTES], whole[SIZE_TEXT_BYTES];
    const struct moment *moment = &explanation->moment;
    writing_init(&title);
    size_print_field(moment->occupancy.in_use_bytes + moment->occupancy.reserved_bytes, used);
    size_print_field(moment->occupancy.capacity_bytes, whole);
    writing_append_format(&title, "%s: at op %lu", explanation->arguments->words[0],
                          (unsigned long)moment->op);
    step_axis_append(explanation->steps, moment->op, ", ", &title);
    writing_append_format(&title, ", host %u: %s of %s in use", moment->host, used, whole);
    draw_text(&explanation->svg, LEFT, 24, writing_string(&title));
    writing_deinit(&title);
}

static void draw_chart(struct explanation *explanation)
{
    struct writing *svg = &explanation->svg;
    const struct memory_track *track = &explanation->tracks[explanation->moment.host];
    draw_text(svg, LEFT, CHART_TOP - 8, "memory in use over time");
    draw_rect(svg, LEFT, CHART_TOP, WIDTH, CHART_HEIGHT, COLOUR_FREE);
    uint64_t from = 0;
    for (uint64_t i = 0; i < track->point_count; i++) {
        const struct memory_point *point = &track->points[i];
        const uint64_t to = scale(point->op_count + 1, track->last.op_count + 1, WIDTH);
        const uint64_t height = scale(point->used_bytes, point->capacity_bytes, CHART_HEIGHT);
        draw_rect(svg, LEFT + from, CHART_TOP + CHART_HEIGHT - height, to - from, height,
                  COLOUR_USED);
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
    draw_text(svg, LEFT, HEAP_TOP - 8,
              "the heap by address: in use (blue), held in place (red), free (grey)");
    draw_rect(svg, LEFT, HEAP_TOP, WIDTH, HEAP_HEIGHT, COLOUR_FREE);
    for (uint64_t i = 0; i < HEAP_MAP_PART_COUNT; i++) {
        const struct heap_part *part = &map->parts[i];
        const uint64_t x = LEFT + i * WIDTH / HEAP_MAP_PART_COUNT;
        const uint64_t width = LEFT + (i + 1) * WIDTH / HEAP_MAP_PART_COUNT - x;
        const uint64_t held = scale(part->held_bytes, part->bytes, HEAP_HEIGHT);
        const uint64_t full = scale(part->held_bytes + part->used_bytes, part->bytes, HEAP_HEIGHT);
        const uint64_t used = full - held;
        draw_rect(svg, x, HEAP_TOP + HEAP_HEIGHT - held, width, held, COLOUR_HELD);
        draw_rect(svg, x, HEAP_TOP + HEAP_HEIGHT - held - used, width, used, COLOUR_USED);
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
        draw_rect(svg, LEFT, y, scale(sum->bytes, occupancy->capacity_bytes, WIDTH / 4),
                  ROW_HEIGHT - 6, COLOUR_USED);
        draw_text(svg, LEFT + WIDTH / 4 + 10, y + ROW_HEIGHT - 7, line);
    }
}

void explain_draw_svg(struct explanation *explanation)
{
    struct writing *svg = &explanation->svg;
    writing_clear(svg);
    if (explanation->arguments->svg == NULL || !explanation->moment.is_taken) {
        return;
    }
    const uint64_t height = ROWS_TOP + explanation->moment.occupancy.tag_count * ROW_HEIGHT + 10;
    writing_append_format(svg,
                          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%" PRIu64
                          "\" font-family=\"sans-serif\" font-size=\"13\">\n",
                          WIDTH + 2 * LEFT, height);
    draw_rect(svg, 0, 0, WIDTH + 2 * LEFT, height, "#ffffff");
    draw_title(explanation);
    draw_chart(explanation);
    draw_heap(explanation);
    draw_holders(explanation);
    writing_append(svg, "</svg>\n");
}
