#include "harness/base/svg.h"

void svg_append_length(struct writing *text, uint64_t length)
{
    writing_append_number(text, length / SVG_PIXEL);
    if (length % SVG_PIXEL != 0) {
        writing_append_format(text, ".%02u", (unsigned)(length % SVG_PIXEL));
    }
}

uint64_t svg_scale(uint64_t part, uint64_t whole, uint64_t length)
{
    if (whole == 0) {
        return 0;
    }
    const uint64_t scaled = (uint64_t)((__uint128_t)part * length / whole);
    return scaled > length ? length : scaled;
}

static void add_length(struct writing *text, const char *name, uint64_t length)
{
    writing_append_format(text, " %s=\"", name);
    svg_append_length(text, length);
    writing_append(text, "\"");
}

static void add_element(struct writing *text, const char *name, const char *string)
{
    writing_append_format(text, "<%s>", name);
    writing_append_xml(text, string);
    writing_append_format(text, "</%s>", name);
}

void svg_open(struct writing *text, uint64_t width, uint64_t height, const struct svg_style *style,
              const char *title, const char *description)
{
    writing_append(text, "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\"");
    add_length(text, "width", width);
    add_length(text, "height", height);
    writing_append(text, " viewBox=\"0 0 ");
    svg_append_length(text, width);
    writing_append(text, " ");
    svg_append_length(text, height);
    writing_append(text, "\" font-family=\"sans-serif\" font-size=\"13\">\n");
    add_element(text, "title", title);
    add_element(text, "desc", description);
    writing_append(text, "\n<style>\n.paper{fill:#fff}.ink{fill:#222}.small{font-size:11px}"
                         ".grid{fill:none;stroke:#999}\n");
    writing_append(text, style->light);
    writing_append(text, "\n@media (prefers-color-scheme:dark){\n.paper{fill:#16181d}"
                         ".ink{fill:#e4e4e4}.grid{stroke:#777}\n");
    writing_append(text, style->dark);
    writing_append(text, "\n}\n</style>\n");
    writing_append(text, style->defs);
    svg_add_box(text, &(struct svg_box){.width = width, .height = height}, "paper", NULL);
}

void svg_close(struct writing *text)
{
    writing_append(text, "</svg>\n");
}

void svg_add_box(struct writing *text, const struct svg_box *box, const char *class,
                 const char *title)
{
    if (box->width == 0 || box->height == 0) {
        return;
    }
    writing_append_format(text, "<rect class=\"%s\"", class);
    add_length(text, "x", box->x);
    add_length(text, "y", box->y);
    add_length(text, "width", box->width);
    add_length(text, "height", box->height);
    if (title == NULL) {
        writing_append(text, "/>\n");
        return;
    }
    writing_append(text, ">");
    add_element(text, "title", title);
    writing_append(text, "</rect>\n");
}

void svg_add_line(struct writing *text, uint64_t x1, uint64_t y1, uint64_t x2, uint64_t y2,
                  const char *class)
{
    writing_append_format(text, "<line class=\"%s\"", class);
    add_length(text, "x1", x1);
    add_length(text, "y1", y1);
    add_length(text, "x2", x2);
    add_length(text, "y2", y2);
    writing_append(text, "/>\n");
}

void svg_add_text(struct writing *text, uint64_t x, uint64_t y, const char *anchor,
                  const char *class, const char *string)
{
    writing_append_format(text, "<text class=\"%s\" text-anchor=\"%s\"", class, anchor);
    add_length(text, "x", x);
    add_length(text, "y", y);
    writing_append(text, ">");
    writing_append_xml(text, string);
    writing_append(text, "</text>\n");
}
