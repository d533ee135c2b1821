#include "formats/export/private/svg_record.h"
#include "harness/base/size.h"
#include "harness/base/svg.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- what a map has no room for: shades, by how much of each part is taken --- */

/* Cells of the map; each is shaded by the share of it that is taken. */
enum { COLUMN_COUNT = 90, ROW_COUNT = 32, LEVEL_COUNT = 4 };

/* The part of [low, high) that lies in cell number `cell`, in cells. */
static double find_common(double low, double high, size_t cell)
{
    const double from = low > (double)cell ? low : (double)cell;
    const double to = high < (double)cell + 1 ? high : (double)cell + 1;
    return to > from ? to - from : 0;
}

static void add_share(double shares[ROW_COUNT][COLUMN_COUNT], const struct svg_record *record,
                      const struct svg_rect *rect)
{
    const double columns = (double)COLUMN_COUNT / (double)record->time;
    const double rows = (double)ROW_COUNT / (double)record->setup->capacity_bytes;
    const double left = (double)rect->stay.begin_op * columns;
    const double right = (double)rect->end * columns;
    const double low = (double)rect->stay.address * rows;
    const double high = (double)(rect->stay.address + rect->stay.size_bytes) * rows;
    for (size_t row = (size_t)low; row < ROW_COUNT && (double)row < high; row++) {
        for (size_t column = (size_t)left; column < COLUMN_COUNT && (double)column < right;
             column++) {
            shares[row][column] += find_common(low, high, row) * find_common(left, right, column);
        }
    }
}

/* 0: next to nothing. */
static unsigned find_level(double share)
{
    const double level = share * LEVEL_COUNT + 0.5;
    return level >= LEVEL_COUNT ? LEVEL_COUNT : (unsigned)level;
}

static void draw_shade(struct writing *svg, const struct svg_box *map, size_t row, size_t begin,
                       size_t end, unsigned level)
{
    static const char *const classes[LEVEL_COUNT] = {"rest r1", "rest r2", "rest r3", "rest r4"};
    const uint64_t left = svg_scale(begin, COLUMN_COUNT, map->width);
    const uint64_t top = svg_scale(ROW_COUNT - 1 - row, ROW_COUNT, map->height);
    svg_add_box(svg,
                &(struct svg_box){map->x + left, map->y + top,
                                  svg_scale(end, COLUMN_COUNT, map->width) - left,
                                  svg_scale(ROW_COUNT - row, ROW_COUNT, map->height) - top},
                classes[level - 1], NULL);
}

/* Cells of one level that touch are one box. */
static void draw_shades(struct writing *svg, const struct svg_box *map,
                        const double shares[COLUMN_COUNT], size_t row)
{
    for (size_t begin = 0; begin < COLUMN_COUNT;) {
        const unsigned level = find_level(shares[begin]);
        size_t end = begin + 1;
        while (end < COLUMN_COUNT && find_level(shares[end]) == level) {
            end++;
        }
        if (level > 0) {
            draw_shade(svg, map, row, begin, end, level);
        }
        begin = end;
    }
}

/* Draws the rectangles of the record from number `first` on, those of one host, as at most 2,880
 * boxes in the map: of the classes rest, and r1 (a quarter is taken) to r4 (all of it). */
static void svg_draw_rest(const struct svg_record *record, size_t first, uint32_t host,
                          const struct svg_box *map, struct writing *svg)
{
    double shares[ROW_COUNT][COLUMN_COUNT] = {{0}};
    for (size_t i = first; i < record->rect_count; i++) {
        if (record->rects[i].stay.host == host) {
            add_share(shares, record, &record->rects[i]);
        }
    }
    for (size_t row = 0; row < ROW_COUNT; row++) {
        draw_shades(svg, map, shares[row], row);
    }
}

enum {
    LEFT = 70 * SVG_PIXEL,
    WIDTH = 900 * SVG_PIXEL,
    RIGHT = 30 * SVG_PIXEL,
    PANELS_TOP = 104 * SVG_PIXEL,
    TITLE_HEIGHT = 20 * SVG_PIXEL,
    LABEL_HEIGHT = 15 * SVG_PIXEL,
    MAP_HEIGHT = 320 * SVG_PIXEL,
    MAP_HEIGHT_OF_MANY = 160 * SVG_PIXEL, /* hosts */
    CURVE_HEIGHT = 110 * SVG_PIXEL,
    GAP = 24 * SVG_PIXEL,
    LETTER_WIDTH = 6 * SVG_PIXEL, /* of small text, about */
    BAR_WIDTH = 8 * SVG_PIXEL,    /* of the request that failed */
    LEAST = SVG_PIXEL / 2         /* of what would be too thin to be seen */
};
enum { LABEL_ROW_COUNT = 3 };

/* Patterns and dashes tell apart what colours do. */
static const struct svg_style style = {
    .light =
        ".hole{fill:#f1f1f1;stroke:#999}.live{fill:#8db4e2;stroke:#fff;stroke-width:.4}\n"
        ".queued{fill:url(#hbm-queued);stroke:#a85b00;stroke-width:.4}.queued-base{fill:#ffe2bf}"
        ".queued-line{stroke:#b86400;stroke-width:2}\n"
        ".program{fill:url(#hbm-program);stroke:#2f6b3c;stroke-width:.4}.program-base{fill:#cfe8d3}"
        ".program-dot{fill:#2f6b3c}\n"
        ".rest{fill:#8db4e2}.r1{fill-opacity:.2}.r2{fill-opacity:.4}.r3{fill-opacity:.6}"
        ".r4{fill-opacity:.8}.thin{stroke:none}\n"
        ".retired{fill:#444}.stack{fill:url(#hbm-stack);stroke:#6b4ea0}.stack-base{fill:#e3d9f3}"
        ".stack-line{stroke:#6b4ea0;stroke-width:1}\n"
        ".move{stroke:#222;stroke-width:1}.failure{stroke:#b00020;stroke-width:1.5;"
        "stroke-dasharray:5 3}.failed{fill:#b00020}\n"
        ".request{fill:none;stroke:#b00020;stroke-width:2}\n"
        ".use{fill:#8db4e2;fill-opacity:.5;stroke:#2d5f9a;stroke-width:1.5}"
        ".largest{fill:none;stroke:#222;stroke-width:1.5;stroke-dasharray:6 3}"
        ".waiting{fill:none;stroke:#b86400;stroke-width:1.5;stroke-dasharray:2 2}",
    .dark = ".hole{fill:#24272e;stroke:#777}.live{fill:#3d6a9c;stroke:#16181d}\n"
            ".queued{stroke:#f0a040}.queued-base{fill:#4a3418}.queued-line{stroke:#f0a040}\n"
            ".program{stroke:#7fc08d}.program-base{fill:#1f4028}.program-dot{fill:#7fc08d}\n"
            ".rest{fill:#3d6a9c}.retired{fill:#aaa}.stack{stroke:#b79ce6}.stack-base{fill:#3a2f52}"
            ".stack-line{stroke:#b79ce6}\n"
            ".move{stroke:#e4e4e4}.failure,.request{stroke:#ff6b7d}.failed{fill:#ff6b7d}\n"
            ".use{fill:#4d7fb8;stroke:#8db4e2}.largest{stroke:#e4e4e4}.waiting{stroke:#f0a040}",
    .defs = "<defs>\n"
            "<pattern id=\"hbm-queued\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\">"
            "<rect class=\"queued-base\" width=\"7\" height=\"7\"/>"
            "<path class=\"queued-line\" d=\"M-1 8L8 -1\"/></pattern>\n"
            "<pattern id=\"hbm-program\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
            "<rect class=\"program-base\" width=\"6\" height=\"6\"/>"
            "<circle class=\"program-dot\" cx=\"3\" cy=\"3\" r=\"1.2\"/></pattern>\n"
            "<pattern id=\"hbm-stack\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\">"
            "<rect class=\"stack-base\" width=\"5\" height=\"5\"/>"
            "<path class=\"stack-line\" d=\"M0 2.5H5\"/></pattern>\n"
            "</defs>\n",
};

static const char *const state_classes[STAY_STATE_COUNT] = {[STAY_LIVE] = "live",
                                                            [STAY_QUEUED] = "queued",
                                                            [STAY_PROGRAM] = "program",
                                                            [STAY_RETIRED] = "retired"};

/* A picture under way. */
struct picture {
    const struct svg_record *record;
    struct writing *svg;
    struct svg_choice choice;
    uint64_t map_height;
};

/* One host, and where it is drawn. */
struct panel {
    uint32_t host;
    uint64_t map_top, curve_top;
};

/* --- where it is drawn --- */

static uint64_t find_x(const struct picture *picture, uint64_t time)
{
    return LEFT + svg_scale(time, picture->record->time, WIDTH);
}

/* From the bottom of a box. */
static uint64_t find_y(const struct picture *picture, uint64_t bottom, uint64_t height,
                       uint64_t bytes)
{
    return bottom - svg_scale(bytes, picture->record->setup->capacity_bytes, height);
}

static uint64_t find_map_y(const struct picture *picture, const struct panel *panel, uint64_t bytes)
{
    return find_y(picture, panel->map_top + picture->map_height, picture->map_height, bytes);
}

static uint64_t find_panel_height(const struct picture *picture)
{
    return TITLE_HEIGHT + LABEL_ROW_COUNT * LABEL_HEIGHT + picture->map_height + GAP +
           CURVE_HEIGHT + GAP + GAP;
}

static struct panel find_panel(const struct picture *picture, uint32_t index)
{
    const uint64_t top = PANELS_TOP + index * find_panel_height(picture);
    const uint64_t map_top = top + TITLE_HEIGHT + LABEL_ROW_COUNT * LABEL_HEIGHT;
    return (struct panel){.host = picture->choice.hosts[index],
                          .map_top = map_top,
                          .curve_top = map_top + picture->map_height + GAP};
}

/* --- the map --- */

static void append_rect_title(const struct picture *picture, const struct svg_rect *rect,
                              struct writing *title)
{
    char tag[SETUP_NAME_BYTES];
    const struct stay *stay = &rect->stay;
    (void)export_tag(picture->record->setup, stay->tag, tag);
    writing_clear(title);
    const uint64_t time = rect->end - stay->begin_op;
    writing_append_format(
        title, "%s%s%s at 0x%" PRIx64 ", %s, made by op %u, so for %" PRIu64 " op%s", tag,
        tag[0] == '\0' ? "" : ", ", size_text_of(stay->size_bytes).text, stay->address,
        stay_state_name(stay->state), stay->block, time, time == 1 ? "" : "s");
}

/* The tag in its rectangle, where there is room and nothing behind the text. */
static void draw_name(const struct picture *picture, const struct stay *stay,
                      const struct svg_box *box)
{
    char tag[SETUP_NAME_BYTES];
    (void)export_tag(picture->record->setup, stay->tag, tag);
    if (stay->state == STAY_LIVE && tag[0] != '\0' && box->height >= LABEL_HEIGHT &&
        box->width >= (strlen(tag) + 2) * LETTER_WIDTH) {
        svg_add_text(picture->svg, box->x + 4 * SVG_PIXEL, box->y + 12 * SVG_PIXEL, "start",
                     "ink small", tag);
    }
}

static void draw_rect(const struct picture *picture, const struct panel *panel,
                      const struct svg_rect *rect, struct writing *title)
{
    const uint64_t left = find_x(picture, rect->stay.begin_op);
    const uint64_t right = find_x(picture, rect->end);
    const uint64_t top = find_map_y(picture, panel, rect->stay.address + rect->stay.size_bytes);
    const uint64_t bottom = find_map_y(picture, panel, rect->stay.address);
    append_rect_title(picture, rect, title);
    const struct svg_box box = {.x = left,
                                .y = top,
                                .width = right - left < LEAST ? LEAST : right - left,
                                .height = bottom - top < LEAST ? LEAST : bottom - top};
    /* A line around it would hide what is thin. */
    const bool is_thin = box.width < 2 * SVG_PIXEL || box.height < 2 * SVG_PIXEL;
    char class[32];
    snprintf(class, sizeof class, "%s%s", state_classes[rect->stay.state], is_thin ? " thin" : "");
    svg_add_box(picture->svg, &box, class, writing_string(title));
    draw_name(picture, &rect->stay, &box);
}

static void draw_rects(const struct picture *picture, const struct panel *panel)
{
    struct writing title;
    writing_init(&title);
    for (size_t i = 0; i < picture->choice.rect_count; i++) {
        if (picture->record->rects[i].stay.host == panel->host) {
            draw_rect(picture, panel, &picture->record->rects[i], &title);
        }
    }
    writing_deinit(&title);
}

static void draw_moves(const struct picture *picture, const struct panel *panel)
{
    for (size_t i = 0; i < picture->choice.move_count; i++) {
        const struct svg_move *move = &picture->record->moves[i];
        const uint64_t x = find_x(picture, move->time);
        if (move->host == panel->host) {
            svg_add_line(picture->svg, x, find_map_y(picture, panel, move->from), x,
                         find_map_y(picture, panel, move->to), "move");
        }
    }
}

/* --- curves --- */

static size_t count_points(const struct svg_record *record)
{
    return (size_t)((record->time + record->ops_per_point - 1) / record->ops_per_point);
}

struct step_line {
    const char *class;
    enum svg_value first, last; /* the sum of them */
    bool is_area;               /* closed along the bottom */
};

static void append_place(struct writing *svg, const char *command, uint64_t x, uint64_t y)
{
    writing_append(svg, command);
    svg_append_length(svg, x);
    writing_append(svg, " ");
    svg_append_length(svg, y);
}

static void draw_steps(const struct picture *picture, uint32_t host, uint64_t top, uint64_t height,
                       const struct step_line *line)
{
    const struct svg_record *record = picture->record;
    struct writing *svg = picture->svg;
    const uint64_t bottom = top + height;
    writing_append_format(svg, "<path class=\"%s\" d=\"", line->class);
    append_place(svg, "M", LEFT, bottom);
    for (size_t i = 0; i < count_points(record); i++) {
        uint64_t value = 0;
        for (size_t j = line->first; j <= line->last; j++) {
            value += record->curves[host].points[i].values[j];
        }
        const uint64_t y = find_y(picture, bottom, height, value);
        const uint64_t end = (i + 1) * record->ops_per_point;
        append_place(svg, i == 0 && !line->is_area ? "M" : "L",
                     find_x(picture, i * record->ops_per_point), y);
        append_place(svg, "L", find_x(picture, end < record->time ? end : record->time), y);
    }
    if (line->is_area) {
        append_place(svg, "L", LEFT + WIDTH, bottom);
        writing_append(svg, "Z");
    }
    writing_append(svg, "\"/>\n");
}

static bool has_stack(const struct picture *picture, uint32_t host)
{
    for (size_t i = 0; i < count_points(picture->record); i++) {
        if (picture->record->curves[host].points[i].values[SVG_STACK] > 0) {
            return true;
        }
    }
    return false;
}

static void draw_curves(const struct picture *picture, const struct panel *panel)
{
    static const struct step_line lines[] = {{"use", SVG_STACK, SVG_IN_USE, true},
                                             {"largest", SVG_HOLE, SVG_HOLE, false},
                                             {"waiting", SVG_QUEUED, SVG_QUEUED, false}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        draw_steps(picture, panel->host, panel->curve_top, CURVE_HEIGHT, &lines[i]);
    }
    svg_add_box(picture->svg, &(struct svg_box){LEFT, panel->curve_top, WIDTH, CURVE_HEIGHT},
                "grid", NULL);
}

/* --- failures --- */

/* Labels stand in rows, none over another; the one that the picture is about always has one.  ends:
 * where the last of each row ends. */
static void draw_label(struct picture *picture, const struct panel *panel,
                       uint64_t ends[LABEL_ROW_COUNT], const struct svg_failure *failure)
{
    char line[128];
    const uint64_t x = find_x(picture, failure->time);
    snprintf(line, sizeof line, "op %u: no room for %s, %s", failure->op,
             size_text_of(failure->requested_bytes).text,
             failure->verdict == VERDICT_NONE ? "not judged" : verdict_name(failure->verdict));
    const uint64_t width = strlen(line) * LETTER_WIDTH;
    const bool is_left = x + width > LEFT + WIDTH + RIGHT;
    const uint64_t left = is_left ? x - width : x;
    const bool is_about = failure == picture->choice.about;
    unsigned row = is_about ? LABEL_ROW_COUNT - 1 : 0; /* the lowest is for the one */
    while (!is_about && row < LABEL_ROW_COUNT - 1 && ends[row] > left) {
        row++;
    }
    if (!is_about && row == LABEL_ROW_COUNT - 1) {
        return;
    }
    ends[row] = left + width + LETTER_WIDTH;
    svg_add_text(picture->svg, is_left ? x - 3 * SVG_PIXEL : x + 3 * SVG_PIXEL,
                 panel->map_top - (LABEL_ROW_COUNT - 1 - row) * LABEL_HEIGHT - 4 * SVG_PIXEL,
                 is_left ? "end" : "start", "small failed", line);
}

/* Draws the request next to the holes, as tall as what was asked for. */
static void draw_request(const struct picture *picture, const struct panel *panel)
{
    const struct svg_failure *failure = picture->choice.about;
    const uint64_t bottom = panel->map_top + picture->map_height;
    const uint64_t x = find_x(picture, failure->time);
    const uint64_t top = find_map_y(picture, panel, failure->requested_bytes);
    svg_add_box(picture->svg,
                &(struct svg_box){x + BAR_WIDTH > LEFT + WIDTH ? x - BAR_WIDTH : x, top, BAR_WIDTH,
                                  bottom - top},
                "request", "as many bytes as were asked for");
}

static void draw_failures(struct picture *picture, const struct panel *panel)
{
    uint64_t ends[LABEL_ROW_COUNT] = {0};
    uint64_t last = 0;
    for (size_t i = 0; i < picture->record->failure_count; i++) {
        const struct svg_failure *failure = &picture->record->failures[i];
        const uint64_t x = find_x(picture, failure->time);
        if (failure->host != panel->host) {
            continue;
        }
        if (x >= last + SVG_PIXEL || failure == picture->choice.about) { /* one of each pixel */
            svg_add_line(picture->svg, x, panel->map_top - 3 * SVG_PIXEL, x,
                         panel->curve_top + CURVE_HEIGHT, "failure");
            last = x;
        }
        draw_label(picture, panel, ends, failure);
    }
    if (picture->choice.about != NULL && picture->choice.about->host == panel->host) {
        draw_request(picture, panel);
    }
}

/* --- words --- */

static void draw_ops_axis(const struct picture *picture, uint64_t y)
{
    enum { PART_COUNT = 4 };
    for (uint64_t i = 0; i <= PART_COUNT; i++) {
        char number[32];
        const uint64_t time = picture->record->time * i / PART_COUNT;
        snprintf(number, sizeof number, i == 0 ? "op %" PRIu64 : "%" PRIu64, time);
        svg_add_text(picture->svg, find_x(picture, time), y,
                     i == 0            ? "start"
                     : i == PART_COUNT ? "end"
                                       : "middle",
                     "ink small", number);
    }
}

struct legend_entry {
    const char *class, *name;
    bool is_line;
};

static void draw_legend(struct writing *svg, uint64_t y, const struct legend_entry *entries,
                        size_t count)
{
    uint64_t x = LEFT;
    for (size_t i = 0; i < count; i++) {
        if (entries[i].is_line) {
            svg_add_line(svg, x, y - 4 * SVG_PIXEL, x + 16 * SVG_PIXEL, y - 4 * SVG_PIXEL,
                         entries[i].class);
        } else {
            svg_add_box(svg,
                        &(struct svg_box){x, y - 9 * SVG_PIXEL, 16 * SVG_PIXEL, 10 * SVG_PIXEL},
                        entries[i].class, NULL);
        }
        svg_add_text(svg, x + 20 * SVG_PIXEL, y, "start", "ink small", entries[i].name);
        x += 34 * SVG_PIXEL + strlen(entries[i].name) * LETTER_WIDTH;
    }
}

static const struct legend_entry map_legend[] = {{"live", "live", false},
                                                 {"queued", "queued free", false},
                                                 {"program", "program", false},
                                                 {"stack", "stack", false},
                                                 {"retired", "retired", false},
                                                 {"hole", "free", false},
                                                 {"move", "move", true},
                                                 {"failure", "out of memory", true},
                                                 {"request", "as tall as the request", false}};
static const struct legend_entry curve_legend[] = {{"use", "in use, with the stack", false},
                                                   {"largest", "largest hole", true},
                                                   {"waiting", "queued frees", true}};

static void draw_bytes_axis(const struct picture *picture, uint64_t top, uint64_t height)
{
    svg_add_text(picture->svg, LEFT - 6 * SVG_PIXEL, top + 10 * SVG_PIXEL, "end", "ink small",
                 size_text_of(picture->record->setup->capacity_bytes).text);
    svg_add_text(picture->svg, LEFT - 6 * SVG_PIXEL, top + height, "end", "ink small", "0");
}

static void draw_panel(struct picture *picture, const struct panel *panel)
{
    const struct svg_box map = {LEFT, panel->map_top, WIDTH, picture->map_height};
    char line[64];
    snprintf(line, sizeof line, "host %u: who has which address", panel->host);
    svg_add_text(picture->svg, LEFT,
                 panel->map_top - LABEL_ROW_COUNT * LABEL_HEIGHT - 4 * SVG_PIXEL, "start", "ink",
                 line);
    svg_add_box(picture->svg, &map, "hole", NULL);
    svg_draw_rest(picture->record, picture->choice.rect_count, panel->host, &map, picture->svg);
    draw_rects(picture, panel);
    if (has_stack(picture, panel->host)) {
        draw_steps(picture, panel->host, panel->map_top, picture->map_height,
                   &(struct step_line){"stack", SVG_STACK, SVG_STACK, true});
    }
    draw_moves(picture, panel);
    draw_bytes_axis(picture, panel->map_top, picture->map_height);
    draw_bytes_axis(picture, panel->curve_top, CURVE_HEIGHT);
    draw_legend(picture->svg, panel->curve_top - 7 * SVG_PIXEL, curve_legend,
                sizeof curve_legend / sizeof *curve_legend);
    draw_curves(picture, panel);
    draw_failures(picture, panel);
    draw_ops_axis(picture, panel->curve_top + CURVE_HEIGHT + 14 * SVG_PIXEL);
}

/* Appends a note on what is not drawn, or nothing. */
static void append_note(const struct picture *picture, struct writing *note)
{
    const struct svg_record *record = picture->record;
    if (picture->choice.rect_count < record->rect_count) {
        writing_append_format(note, "%zu of %zu rectangles are drawn", picture->choice.rect_count,
                              record->rect_count);
        if (picture->choice.about != NULL && picture->choice.is_whole_near) {
            writing_append_format(note, ", all of them near op %u", picture->choice.about->op);
        }
        writing_append(note, ". The smallest and shortest are shades of where they are. ");
    }
    if (picture->choice.move_count < picture->choice.whole_move_count) {
        writing_append_format(note, "%zu of %zu moves are drawn. ", picture->choice.move_count,
                              picture->choice.whole_move_count);
    }
    if (picture->choice.host_count < record->setup->host_count) {
        writing_append_format(note, "%u of %u hosts are drawn. ", picture->choice.host_count,
                              record->setup->host_count);
    }
}

static void draw_words(const struct picture *picture, const struct writing *facts)
{
    struct writing note;
    writing_init(&note);
    append_note(picture, &note);
    svg_add_text(picture->svg, LEFT, 24 * SVG_PIXEL, "start", "ink", picture->record->source);
    svg_add_text(picture->svg, LEFT, 43 * SVG_PIXEL, "start", "ink", writing_string(facts));
    svg_add_text(picture->svg, LEFT, 62 * SVG_PIXEL, "start", "ink small", writing_string(&note));
    writing_deinit(&note);
}

void svg_draw(struct svg_record *record, struct writing *text)
{
    struct picture picture = {.record = record, .svg = text, .choice = svg_choose(record)};
    struct writing facts;
    picture.map_height = picture.choice.host_count > 2 ? MAP_HEIGHT_OF_MANY : MAP_HEIGHT;
    writing_init(&facts);
    writing_append_format(&facts, "target %s, %s, %" PRIu64 " ops, ", record->setup->target,
                          size_text_of(record->setup->capacity_bytes).text, record->time);
    writing_append_count(&facts, record->failure_count, "out-of-memory");
    svg_open(text, LEFT + WIDTH + RIGHT,
             PANELS_TOP + picture.choice.host_count * find_panel_height(&picture), &style,
             record->source, writing_string(&facts));
    draw_words(&picture, &facts);
    writing_deinit(&facts);
    draw_legend(text, 88 * SVG_PIXEL, map_legend, sizeof map_legend / sizeof *map_legend);
    for (uint32_t i = 0; i < picture.choice.host_count; i++) {
        const struct panel panel = find_panel(&picture, i);
        draw_panel(&picture, &panel);
    }
    svg_close(text);
}
