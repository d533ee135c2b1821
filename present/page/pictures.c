#include "present/page/pictures.h"

#include "harness/base/check.h"
#include "present/page/page.h"

#include <inttypes.h>

/* Of the drawing, which is stretched to the width that there is; texts stand next to it. */
enum { WIDTH = 1000, BAR_TOP = 2, BAR_HEIGHT = 40, MEASURE_HEIGHT = 14, SWATCH = 12 };

/* What lies over the tint of a state, in a tile of 8 x 8. */
struct look {
    const char *name;
    const char *class; /* for the style of the page */
    const char *shapes;
};

static const struct look looks[STRIP_STATE_COUNT] = {
    [STRIP_MOVABLE] = {"movable", "movable", ""},
    [STRIP_HELD] = {"held", "held", "<path d=\"M0 8L8 0\" stroke=\"currentColor\"/>"},
    [STRIP_DYING] = {"dying", "dying",
                     "<circle cx=\"4\" cy=\"4\" r=\"1.5\" fill=\"currentColor\"/>"},
    [STRIP_IDLE_PROGRAM] = {"idle program", "idle", "<path d=\"M2 0V8\" stroke=\"currentColor\"/>"},
    [STRIP_BUSY_PROGRAM] = {"busy program", "busy",
                            "<path d=\"M0 0L8 8M0 8L8 0\" stroke=\"currentColor\"/>"},
    [STRIP_RETIRED] = {"retired", "retired",
                       "<rect width=\"8\" height=\"8\" fill=\"currentColor\"/>"},
    [STRIP_STACK] = {"stack", "stack", "<path d=\"M0 2H8M0 6H8\" stroke=\"currentColor\"/>"},
    [STRIP_MOVED] = {"moved", "moved", "<path d=\"M0 0L8 8\" stroke=\"currentColor\"/>"},
    [STRIP_REQUEST] = {"the request", "request",
                       "<path d=\"M0 4H8M4 0V8\" stroke=\"currentColor\" stroke-width=\"2\"/>"},
};

const char *strip_state_name(enum strip_state state)
{
    CHECK(state < STRIP_STATE_COUNT);
    return looks[state].name;
}

/* --- shapes --- */

static unsigned scale(const struct strip *strip, uint64_t address)
{
    const uint64_t within = address < strip->capacity ? address : strip->capacity;
    return (unsigned)((double)within / (double)strip->capacity * WIDTH);
}

static void append_shape(struct writing *html, enum strip_state state, unsigned from, unsigned to,
                         unsigned top, unsigned height, unsigned number)
{
    writing_append_format(html,
                          "<g class=\"%s\"><rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" "
                          "fill=\"currentColor\" fill-opacity=\".2\" stroke=\"currentColor\" "
                          "stroke-width=\".5\" vector-effect=\"non-scaling-stroke\"/>",
                          looks[state].class, from, top, to - from, height);
    if (looks[state].shapes[0] != '\0') {
        writing_append_format(html,
                              "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" "
                              "fill=\"url(#strip-%u-%s)\"/>",
                              from, top, to - from, height, number, looks[state].class);
    }
    writing_append(html, "</g>\n");
}

/* What is about to be drawn, in columns of the picture. */
struct strip_shape {
    enum strip_state state;
    unsigned from, to;
};

static void append_blocks(struct writing *html, const struct strip *strip, unsigned number)
{
    struct strip_shape open = {0};
    for (size_t i = 0; i < strip->count; i++) {
        const struct strip_block *block = &strip->blocks[i];
        struct strip_shape next = {block->state, scale(strip, block->from),
                                   scale(strip, block->to)};
        next.to = next.to > next.from ? next.to : next.from + 1;
        if (next.from < open.to && next.to <= open.to) {
            if (block->state != STRIP_REQUEST) {
                continue; /* narrower than a column that is drawn already */
            }
            open.to = next.from; /* it is never hidden */
        }
        if (next.state == open.state && open.to > open.from && next.from <= open.to) {
            open.to = next.to;
            continue;
        }
        if (open.to > open.from) {
            append_shape(html, open.state, open.from, open.to, BAR_TOP, BAR_HEIGHT, number);
        }
        next.from = next.from > open.to ? next.from : open.to;
        open = next;
    }
    if (open.to > open.from) {
        append_shape(html, open.state, open.from, open.to, BAR_TOP, BAR_HEIGHT, number);
    }
}

/* A bar below, as long as what did not fit. */
static void append_measure(struct writing *html, const struct strip *strip)
{
    const unsigned top = BAR_TOP + BAR_HEIGHT + 4, right = scale(strip, strip->measure_bytes) + 1;
    page_print(html,
               "<path class=\"request\" d=\"M1 %uV%uM1 %uH%uM%u %uV%u\" fill=\"none\" "
               "stroke=\"currentColor\" stroke-width=\"2\" "
               "vector-effect=\"non-scaling-stroke\"/>\n",
               top, top + 8, top + 4, right, right, top, top + 8);
}

static void append_legend(struct writing *html, const struct strip *strip,
                          const bool used[STRIP_STATE_COUNT], unsigned number)
{
    writing_append(html, "<p class=\"quiet\">");
    for (unsigned state = 0; state < STRIP_STATE_COUNT; state++) {
        if (!used[state]) {
            continue;
        }
        writing_append_format(html, "<svg width=\"%u\" height=\"%u\" aria-hidden=\"true\">", SWATCH,
                              SWATCH);
        append_shape(html, (enum strip_state)state, 0, SWATCH, 0, SWATCH, number);
        writing_append_format(html, "</svg> %s &#160; ", looks[state].name);
    }
    writing_append_format(html,
                          "<svg width=\"%u\" height=\"%u\" aria-hidden=\"true\"><rect width=\"%u\" "
                          "height=\"%u\" fill=\"none\" stroke=\"currentColor\"/></svg> free",
                          SWATCH, SWATCH, SWATCH, SWATCH);
    page_print(html, "%s%s</p>\n", strip->measure_bytes > 0 ? "; below: " : "",
               strip->measure_bytes > 0 ? strip->measure : "");
}

static void append_patterns(struct writing *html, const bool used[STRIP_STATE_COUNT],
                            unsigned number)
{
    writing_append(html, "<defs>");
    for (unsigned state = 0; state < STRIP_STATE_COUNT; state++) {
        if (used[state] && looks[state].shapes[0] != '\0') {
            writing_append_format(html,
                                  "<pattern id=\"strip-%u-%s\" width=\"8\" height=\"8\" "
                                  "patternUnits=\"userSpaceOnUse\">%s</pattern>",
                                  number, looks[state].class, looks[state].shapes);
        }
    }
    writing_append(html, "</defs>\n");
}

void strip_draw(struct writing *html, const struct strip *strip, unsigned number)
{
    bool used[STRIP_STATE_COUNT] = {false};
    CHECK(strip->capacity > 0);
    for (size_t i = 0; i < strip->count; i++) {
        used[strip->blocks[i].state] = true;
    }
    const unsigned height = BAR_TOP + BAR_HEIGHT + 2 +
                            (strip->measure_bytes > 0 ? MEASURE_HEIGHT : 0);
    page_print(html,
               "<div class=\"strip\"><svg role=\"img\" width=\"100%%\" height=\"%u\" "
               "viewBox=\"-1 0 %u %u\" preserveAspectRatio=\"none\" "
               "aria-labelledby=\"strip-%u\">\n<title id=\"strip-%u\">%s</title>\n",
               height, WIDTH + 3, height, number, number, strip->title);
    append_patterns(html, used, number);
    writing_append_format(html,
                          "<rect x=\"0\" y=\"%u\" width=\"%u\" height=\"%u\" fill=\"none\" "
                          "stroke=\"currentColor\" vector-effect=\"non-scaling-stroke\"/>\n",
                          BAR_TOP, WIDTH, BAR_HEIGHT);
    append_blocks(html, strip, number);
    if (strip->measure_bytes > 0) {
        append_measure(html, strip);
    }
    writing_append(html, "</svg>\n");
    append_legend(html, strip, used, number);
    writing_append(html, "</div>\n");
}

/* --- memory in use --- */

enum { SPARK_WIDTH = 240, SPARK_HEIGHT = 32, FULL = 10000 };

static unsigned scale_op(const struct memory_track *track, uint64_t op_count)
{
    const uint64_t first = track->points[0].op_count;
    const uint64_t last = track->points[track->point_count - 1].op_count;
    if (last == first) {
        return SPARK_WIDTH / 2;
    }
    const uint64_t at = op_count < first ? first : op_count > last ? last : op_count;
    return (unsigned)((double)(at - first) / (double)(last - first) * SPARK_WIDTH);
}

static unsigned scale_share(const struct memory_point *point)
{
    const uint64_t share = memory_share(point);
    return SPARK_HEIGHT - (unsigned)((share < FULL ? share : FULL) * SPARK_HEIGHT / FULL);
}

void sparkline_draw(struct writing *html, const struct memory_track *track)
{
    if (track->point_count == 0) {
        return;
    }
    const uint64_t peak = memory_share(&track->peak);
    writing_append_format(html,
                          "<svg class=\"sparkline\" role=\"img\" width=\"%u\" height=\"%u\" "
                          "viewBox=\"-3 -3 %u %u\"><title>in use over the ops of the job, %" PRIu64
                          " points; the peak is %" PRIu64 " %% of the device</title>"
                          "<path d=\"M0 0H%uM0 %uH%u\" stroke=\"currentColor\" "
                          "stroke-opacity=\".3\"/><polyline fill=\"none\" stroke=\"currentColor\" "
                          "points=\"",
                          SPARK_WIDTH + 6, SPARK_HEIGHT + 6, SPARK_WIDTH + 6, SPARK_HEIGHT + 6,
                          track->point_count, peak / (FULL / 100), SPARK_WIDTH, SPARK_HEIGHT,
                          SPARK_WIDTH);
    for (uint64_t i = 0; i < track->point_count; i++) {
        writing_append_format(html, "%s%u,%u", i == 0 ? "" : " ",
                              scale_op(track, track->points[i].op_count),
                              scale_share(&track->points[i]));
    }
    writing_append_format(html,
                          "\"/><circle cx=\"%u\" cy=\"%u\" r=\"3\" fill=\"currentColor\"/></svg>",
                          scale_op(track, track->peak.op_count), scale_share(&track->peak));
}
