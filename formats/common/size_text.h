/* A size as text within a call: size_text_of(bytes).text, as the runtime prints it ("6.43G"). */
#ifndef FORMATS_COMMON_SIZE_TEXT_H
#define FORMATS_COMMON_SIZE_TEXT_H

#include "harness/base/size.h"

struct size_text {
    char text[SIZE_TEXT_BYTES];
};

static inline struct size_text size_text_of(uint64_t size_bytes)
{
    struct size_text text;
    size_print_field(size_bytes, text.text);
    return text;
}

#endif
