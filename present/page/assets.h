/* The scripts and the style of the page, as the build embedded them: the files of
 * present/page/assets/, and uPlot where it was there. */
#ifndef PRESENT_PAGE_ASSETS_H
#define PRESENT_PAGE_ASSETS_H

#include <stddef.h>

struct page_asset {
    const char *name; /* of the file */
    const unsigned char *bytes;
    size_t length;
};

/* In the order in which they stand in the page; each ends with an entry without a name. */
extern const struct page_asset page_styles[];
extern const struct page_asset page_scripts[];

#endif
