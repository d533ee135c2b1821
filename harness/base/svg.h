/* SVG, element by element, at the end of a text.  Colours are classes of a style that follows the
 * reader's setting, dark or light.  Texts are any text of the caller's and are escaped; classes are
 * the caller's own words. */
#ifndef HARNESS_BASE_SVG_H
#define HARNESS_BASE_SVG_H

#include "harness/base/writing.h"

#include <stdint.h>

/* Lengths are hundredths of a pixel. */
enum { SVG_PIXEL = 100 };
struct svg_box {
    uint64_t x, y, width, height;
};

struct svg_style {
    const char *light; /* rules of CSS, for a light page and for print */
    const char *dark;  /* those that differ on a dark one */
    const char *defs;  /* elements such as patterns; may be "" */
};

/* The head of a document, with a background.  The rules of every picture are there: ink (texts),
 * paper (the background), grid (frames), and small (texts). */
void svg_open(struct writing *text, uint64_t width, uint64_t height, const struct svg_style *style,
              const char *title, const char *description);
void svg_close(struct writing *text);

/* Nothing where the box has no area.  title is shown under the pointer; NULL: none. */
void svg_add_box(struct writing *text, const struct svg_box *box, const char *class,
                 const char *title);
void svg_add_line(struct writing *text, uint64_t x1, uint64_t y1, uint64_t x2, uint64_t y2,
                  const char *class);
/* anchor: "start", "middle" or "end"; y is the base line. */
void svg_add_text(struct writing *text, uint64_t x, uint64_t y, const char *anchor,
                  const char *class, const char *string);
void svg_append_length(struct writing *text, uint64_t length); /* "12.5" */

/* part of whole, as that part of a length; at most the length, 0 where whole is 0. */
uint64_t svg_scale(uint64_t part, uint64_t whole, uint64_t length);

#endif
