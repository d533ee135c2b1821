#include "present/wrap.h"

#include "harness/base/check.h"

#include <string.h>

void wrap_append(struct writing *text, const char *words, size_t indent, size_t width)
{
    CHECK(indent < width);
    size_t column = indent;
    for (const char *at = words; *at != '\0';) {
        const size_t length = strcspn(at, " ");
        if (column > indent && column + length + 1 > width) {
            writing_append_format(text, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            writing_append(text, " ");
            column++;
        }
        writing_append_bytes(text, at, length);
        column += length;
        at += length + (at[length] == ' ');
    }
}
