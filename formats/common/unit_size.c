#include "formats/common/unit_size.h"

#include <string.h>

enum { WHOLE_DIGITS_MAX = 12, FRACTION_DIGITS_MAX = 6 };
#define UNIT_SIZE_BYTES_MAX (UINT64_C(1) << 62)

static size_t take_digits(struct phrase_cursor *cursor, uint64_t *number, size_t count_max)
{
    size_t count = 0;
    while (phrase_peek(cursor) >= '0' && phrase_peek(cursor) <= '9' && count <= count_max) {
        *number = *number * 10 + (uint64_t)(phrase_peek(cursor) - '0');
        cursor->at++;
        count++;
    }
    return count;
}

/* How many bits the unit here shifts by. */
static bool take_unit(struct phrase_cursor *cursor, unsigned *bits)
{
    static const struct {
        const char *name;
        unsigned bits;
    } units[] = {{"bytes", 0}, {"byte", 0}, {"B", 0},    {"KB", 10}, {"KiB", 10}, {"kB", 10},
                 {"MB", 20},   {"MiB", 20}, {"mb", 20},  {"GB", 30}, {"GiB", 30}, {"TB", 40},
                 {"TiB", 40},  {"PiB", 50}, {"EiB", 60}, {"PB", 50}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (phrase_word_is_here(cursor, units[i].name, strlen(units[i].name))) {
            cursor->at += strlen(units[i].name);
            *bits = units[i].bits;
            return true;
        }
    }
    return false;
}

static uint64_t shift(uint64_t number, unsigned bits, uint64_t divisor)
{
    __extension__ typedef unsigned __int128 wide;
    const wide bytes = (((wide)number << bits) + divisor / 2) / divisor;
    return bytes > UNIT_SIZE_BYTES_MAX ? UNIT_SIZE_BYTES_MAX : (uint64_t)bytes;
}

bool unit_size_take(struct phrase_cursor *cursor, struct unit_size *size)
{
    struct phrase_cursor ahead = *cursor;
    uint64_t number = 0;
    uint64_t divisor = 1;
    unsigned bits = 0;
    (void)phrase_skip_gap(&ahead);
    const size_t whole = take_digits(&ahead, &number, WHOLE_DIGITS_MAX);
    if (whole == 0 || whole > WHOLE_DIGITS_MAX) {
        return false;
    }
    if (phrase_take_character(&ahead, '.')) {
        const size_t fraction = take_digits(&ahead, &number, FRACTION_DIGITS_MAX);
        if (fraction == 0 || fraction > FRACTION_DIGITS_MAX) {
            return false;
        }
        for (size_t i = 0; i < fraction; i++) {
            divisor *= 10;
        }
    }
    (void)phrase_skip_gap(&ahead);
    if (!take_unit(&ahead, &bits)) {
        return false;
    }
    *size = (struct unit_size){.bytes = shift(number, bits, divisor),
                               .step_bytes = bits == 0 ? 0 : shift(1, bits, divisor)};
    *cursor = ahead;
    return true;
}
