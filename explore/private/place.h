/* Names places in the code, for reports. */
#ifndef EXPLORE_PRIVATE_PLACE_H
#define EXPLORE_PRIVATE_PLACE_H

enum { PLACE_TEXT_BYTES = 160 };

/* "function+0x12 (file)"; "+0x12 (file)" where no symbol is, counted from the start of the file as
 * it is loaded; "an unknown place" for NULL and for what no loaded file has.  Static functions have
 * names where the file was not stripped.  Reads the file each time, for reports are few.  Returns
 * text. */
const char *place_print(const void *place, char text[PLACE_TEXT_BYTES]);

#endif
