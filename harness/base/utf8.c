#include "harness/base/utf8.h"

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

size_t utf8_decode(const char *text, uint32_t *point)
{
    static const struct {
        unsigned char mask, lead;
        size_t length;
        uint32_t lowest, highest; /* what a shorter form holds is not well-formed */
    } forms[] = {{0x80, 0x00, 1, 0, 0x7F},
                 {0xE0, 0xC0, 2, 0x80, 0x7FF},
                 {0xF0, 0xE0, 3, 0x800, 0xFFFF},
                 {0xF8, 0xF0, 4, 0x10000, 0x10FFFF}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const unsigned char first = (unsigned char)text[0];
        if ((first & forms[i].mask) != forms[i].lead) {
            continue;
        }
        *point = decode_character(text, forms[i].length, first & (unsigned char)~forms[i].mask);
        const bool is_surrogate = *point >= 0xD800 && *point <= 0xDFFF;
        return *point >= forms[i].lowest && *point <= forms[i].highest && !is_surrogate
                   ? forms[i].length
                   : 0;
    }
    return 0;
}

/* Terminals obey the C1 controls, too: U+009B begins a command as ESC [ does. */
static bool is_control(uint32_t point)
{
    return point < 0x20 || (point >= 0x7F && point < 0xA0);
}

void utf8_make_printable(char *text)
{
    while (*text != '\0') {
        uint32_t point;
        const size_t length = utf8_decode(text, &point);
        if (length == 0 || is_control(point)) {
            memset(text, '?', length == 0 ? 1 : length);
        }
        text += length == 0 ? 1 : length;
    }
}
