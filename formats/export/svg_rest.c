#include "formats/export/private/svg_rest.h"

/* Cells of the map; each is shaded by the share of it that is taken. */
enum { COLUMN_COUNT = 90, ROW_COUNT = 32, LEVEL_COUNT = 4 };

struct rest {
    double shares[ROW_COUNT][COLUMN_COUNT];
};

/* The part of [low, high) that lies in cell number `cell`, in cells. */
static double find_common(double low, double high, size_t cell)
{
    const double from = low > (double)cell ? low : (double)cell;
    const double to = high < (double)cell + 1 ? high : (double)cell + 1;
    return to > from ? to - from : 0;
}

static void add_rect(struct rest *rest, const struct svg_record *record,
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
            rest->shares[row][column] += find_common(low, high, row) *
                                         find_common(left, right, column);
        }
    }
}

/* 0: next to nothing. */
static unsigned find_level(double share)
{
    const double level = share * LEVEL_COUNT + 0.5;
    return level >= LEVEL_COUNT ? LEVEL_COUNT : (unsigned)level;
}

static void draw_run(struct writing *svg, const struct svg_box *map, size_t row, size_t begin,
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
static void draw_row(struct writing *svg, const struct svg_box *map, const struct rest *rest,
                     size_t row)
{
    for (size_t begin = 0; begin < COLUMN_COUNT;) {
        const unsigned level = find_level(rest->shares[row][begin]);
        size_t end = begin + 1;
        while (end < COLUMN_COUNT && find_level(rest->shares[row][end]) == level) {
            end++;
        }
        if (level > 0) {
            draw_run(svg, map, row, begin, end, level);
        }
        begin = end;
    }
}

void svg_draw_rest(const struct svg_record *record, size_t first, uint32_t host,
                   const struct svg_box *map, struct writing *svg)
{
    struct rest rest = {.shares = {{0}}};
    for (size_t i = first; i < record->rect_count; i++) {
        if (record->rects[i].stay.host == host) {
            add_rect(&rest, record, &record->rects[i]);
        }
    }
    for (size_t row = 0; row < ROW_COUNT; row++) {
        draw_row(svg, map, &rest, row);
    }
}
