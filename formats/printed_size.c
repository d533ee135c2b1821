#include "formats/printed_size.h"

#include "harness/check.h"
#include "harness/size.h"

#include <string.h>

#define SIZE_BYTES_MAX ((uint64_t)1 << 63)
enum { FRACTION_DIGITS_MAX = 6 };

static const char units[] = "BKMGTPE"; /* unit i is 1024^i */

/* Printed texts in the order of what they stand for: unit first, then the number without its point. */
static uint64_t text_rank(const char *text)
{
    uint64_t rank = 0;
    for (; *text != '\0'; text++) {
        if (*text >= '0' && *text <= '9') {
            rank = rank * 10 + (uint64_t)(*text - '0');
            continue;
        }
        const char *unit = strchr(units, *text);
        if (unit != NULL) {
            rank += (uint64_t)(unit - units) << 32;
        }
    }
    return rank;
}

static uint64_t size_rank(uint64_t size_bytes)
{
    char text[SIZE_TEXT_BYTES];
    size_print_field(size_bytes, text);
    return text_rank(text);
}

/* The smallest size whose rank is at least `rank`; SIZE_BYTES_MAX + 1 when none is. */
static uint64_t first_of_rank(uint64_t rank)
{
    uint64_t low = 0;
    uint64_t high = SIZE_BYTES_MAX + 1;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (size_rank(middle) >= rank) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static bool take_digits(const char **at, const char *end, uint64_t *number, size_t count_max, size_t *count)
{
    *count = 0;
    while (*at < end && **at >= '0' && **at <= '9') {
        if (++*count > count_max) {
            return false;
        }
        *number = *number * 10 + (uint64_t)(**at - '0');
        (*at)++;
    }
    return *count > 0;
}

/* number / 10^fraction_digits units, rounded to the nearest byte. */
static bool nominal_bytes(uint64_t number, size_t fraction_digits, unsigned unit, uint64_t *size_bytes)
{
    __extension__ typedef unsigned __int128 wide;
    uint64_t divisor = 1;
    for (size_t i = 0; i < fraction_digits; i++) {
        divisor *= 10;
    }
    const wide bytes = (((wide)number << (10 * unit)) + divisor / 2) / divisor;
    if (bytes > SIZE_BYTES_MAX) {
        return false;
    }
    *size_bytes = (uint64_t)bytes;
    return true;
}

bool printed_size_parse(const char *text, size_t length, struct size_range *range)
{
    const char *at = text;
    const char *end = text + length;
    uint64_t number = 0;
    size_t whole_digits = 0;
    size_t fraction_digits = 0;
    if (!take_digits(&at, end, &number, 12, &whole_digits)) {
        return false;
    }
    if (at < end && *at == '.') {
        at++;
        if (!take_digits(&at, end, &number, FRACTION_DIGITS_MAX, &fraction_digits)) {
            return false;
        }
    }
    const char *unit = end - at == 1 && *at != '\0' ? strchr(units, *at) : NULL;
    uint64_t nominal = 0;
    if (unit == NULL || !nominal_bytes(number, fraction_digits, (unsigned)(unit - units), &nominal)) {
        return false;
    }
    char printed[SIZE_TEXT_BYTES];
    if (length >= sizeof printed) {
        return false;
    }
    memcpy(printed, text, length);
    printed[length] = '\0';
    const uint64_t rank_as_written = text_rank(printed);
    uint64_t rank = rank_as_written;
    uint64_t low = first_of_rank(rank);
    size_print_field(low, printed);
    if (low > SIZE_BYTES_MAX || strlen(printed) != length || memcmp(printed, text, length) != 0) {
        rank = size_rank(nominal);
        low = first_of_rank(rank);
    }
    const uint64_t high = first_of_rank(rank + 1) - 1;
    CHECK(low <= high);
    nominal = nominal < low ? low : nominal;
    *range = (struct size_range){.low = low, .high = high, .nominal = nominal > high ? high : nominal};
    return true;
}

struct size_range printed_size_exact(uint64_t size_bytes)
{
    return (struct size_range){.low = size_bytes, .high = size_bytes, .nominal = size_bytes};
}

bool printed_size_align(struct size_range *range, uint64_t granule_bytes)
{
    const uint64_t mask = granule_bytes - 1;
    const uint64_t low = (range->low + mask) & ~mask; /* low <= 2^63 and small granules: no overflow */
    const uint64_t high = range->high & ~mask;
    if (low > high) {
        return false;
    }
    uint64_t nominal = (range->nominal + granule_bytes / 2) & ~mask;
    nominal = nominal < low ? low : nominal;
    *range = (struct size_range){.low = low, .high = high, .nominal = nominal > high ? high : nominal};
    return true;
}
