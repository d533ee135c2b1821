/* Manual pages of C headers: their comments and declarations, in their order. */
#ifndef CLI_MANUAL_HEADER_PAGE_H
#define CLI_MANUAL_HEADER_PAGE_H

#include "harness/base/writing.h"

/* Appends, of the header's text, the comment that opens it. */
void header_description(struct writing *text, const char *header);
/* Appends a list of what it declares, each with its comment and members. */
void header_declarations(struct writing *text, const char *header);

#endif
