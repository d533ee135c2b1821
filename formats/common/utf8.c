#include "formats/common/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The character of the form that its first byte has, as a number; UINT32_MAX: bytes of it are
 * missing. */
static uint32_t decode_character(const char *text, size_t length, uint32_t first_bits)
{
    uint32_t character = first_bits;
    for (size_t i = 1; i < length; i++) {
        if (((unsigned char)text[i] & 0xC0) != 0x80) {
            return UINT32_MAX; /* the NUL at the end, too */
        }
        character = character << 6 | ((unsigned char)text[i] & 0x3F);
    }
    return character;
}

size_t utf8_length(const char *text)
{
    static const struct {
        unsigned char mask, lead;
        size_t length;
        uint32_t lowest, highest; /* what a shorter form says is not well-formed */
    } forms[] = {{0x80, 0x00, 1, 0, 0x7F},
                 {0xE0, 0xC0, 2, 0x80, 0x7FF},
                 {0xF0, 0xE0, 3, 0x800, 0xFFFF},
                 {0xF8, 0xF0, 4, 0x10000, 0x10FFFF}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const unsigned char first = (unsigned char)text[0];
        if ((first & forms[i].mask) != forms[i].lead) {
            continue;
        }
        const uint32_t character = decode_character(text, forms[i].length,
                                                    first & (unsigned char)~forms[i].mask);
        const bool is_surrogate = character >= 0xD800 && character <= 0xDFFF;
        return character >= forms[i].lowest && character <= forms[i].highest && !is_surrogate
                   ? forms[i].length
                   : 0;
    }
    return 0;
}

/* C1 controls are two bytes in UTF-8, and terminals obey some of them: U+009B begins a command as
 * ESC [ does. */
static bool is_control(const char *text, size_t length)
{
    const unsigned char first = (unsigned char)text[0];
    return first < 0x20 || first == 0x7F ||
           (length == 2 && first == 0xC2 && (unsigned char)text[1] < 0xA0);
}

void utf8_make_printable(char *text)
{
    while (*text != '\0') {
        const size_t length = utf8_length(text);
        if (length == 0 || is_control(text, length)) {
            memset(text, '?', length == 0 ? 1 : length);
        }
        text += length == 0 ? 1 : length;
    }
}
