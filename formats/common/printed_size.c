#include "formats/common/printed_size.h"

#include "harness/base/check.h"
#include "harness/base/size.h"

#include <string.h>

#define SIZE_BYTES_MAX ((uint64_t)1 << 63)
enum { WHOLE_DIGITS_MAX = 12, FRACTION_DIGITS_MAX = 6 };

static const char units[] = "BKMGTPE"; /* unit i is 1024^i */

/* A text as numbers: "6.43M" is 643, with 2 digits behind the point, of unit 2. */
struct field {
    uint64_t digits;
    size_t fraction_digits;
    unsigned unit;
};

/* The smallest size that prints in this unit with these digits or more; without one, the first of
 * the next unit. size_print_field cuts sizes down to whole 1/1024 of the unit, and rounds these to
 * tenths of K and hundredths of larger units; half goes to even. */
static uint64_t find_first(unsigned unit, uint64_t digits)
{
    if (unit == 0) {
        return digits < 1024 ? digits : 1024;
    }
    const uint64_t scale = unit == 1 ? 10 : 100;
    const unsigned step_bits = 10 * (unit - 1);
    const uint64_t first = (uint64_t)1 << (10 * unit);
    const uint64_t end = unit == 6 ? SIZE_BYTES_MAX + 1 : first << 10;
    if (digits == 0 || digits > 1024 * scale) {
        return digits == 0 ? first : end;
    }
    const uint64_t half = (2 * digits - 1) * 512;
    const bool is_rounded_down = half % scale == 0 && digits % 2 == 1;
    const uint64_t steps = (half + scale - 1) / scale + (is_rounded_down ? 1 : 0);
    if (steps > end >> step_bits) {
        return end;
    }
    const uint64_t size_bytes = steps << step_bits;
    return size_bytes < first ? first : size_bytes < end ? size_bytes : end;
}

static bool take_digits(const char **at, const char *end, uint64_t *number, size_t count_max,
                        size_t *count)
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

/* Rounded to the nearest byte. */
static bool find_nominal(const struct field *field, uint64_t *size_bytes)
{
    __extension__ typedef unsigned __int128 wide;
    uint64_t divisor = 1;
    for (size_t i = 0; i < field->fraction_digits; i++) {
        divisor *= 10;
    }
    const wide bytes = (((wide)field->digits << (10 * field->unit)) + divisor / 2) / divisor;
    if (bytes > SIZE_BYTES_MAX) {
        return false;
    }
    *size_bytes = (uint64_t)bytes;
    return true;
}

static bool read_field(const char *text, size_t length, struct field *field)
{
    const char *at = text;
    const char *end = text + length;
    size_t whole_digits = 0;
    *field = (struct field){0};
    if (!take_digits(&at, end, &field->digits, WHOLE_DIGITS_MAX, &whole_digits)) {
        return false;
    }
    if (at < end && *at == '.') {
        at++;
        if (!take_digits(&at, end, &field->digits, FRACTION_DIGITS_MAX, &field->fraction_digits)) {
            return false;
        }
    }
    const char *unit = end - at == 1 && *at != '\0' ? strchr(units, *at) : NULL;
    field->unit = unit != NULL ? (unsigned)(unit - units) : 0;
    return unit != NULL;
}

bool printed_size_parse(const char *text, size_t length, struct size_range *range)
{
    struct field field;
    uint64_t nominal = 0;
    char printed[SIZE_TEXT_BYTES];
    if (!read_field(text, length, &field) || !find_nominal(&field, &nominal) ||
        length >= sizeof printed) {
        return false;
    }
    uint64_t low = find_first(field.unit, field.digits);
    size_print_field(low, printed);
    if (strlen(printed) != length || memcmp(printed, text, length) != 0) {
        size_print_field(nominal, printed);
        CHECK(read_field(printed, strlen(printed), &field));
        low = find_first(field.unit, field.digits);
    }
    const uint64_t high = find_first(field.unit, field.digits + 1) - 1;
    CHECK(low <= high);
    nominal = nominal < low ? low : nominal;
    *range = (struct size_range){
        .low = low, .high = high, .nominal = nominal > high ? high : nominal};
    return true;
}

struct size_range printed_size_exact(uint64_t size_bytes)
{
    return (struct size_range){.low = size_bytes, .high = size_bytes, .nominal = size_bytes};
}

bool printed_size_align(struct size_range *range, uint64_t granule_bytes)
{
    const uint64_t mask = granule_bytes - 1;
    const uint64_t low = (range->low + mask) &
                         ~mask; /* low <= 2^63 and small granules: no overflow */
    const uint64_t high = range->high & ~mask;
    if (low > high) {
        return false;
    }
    uint64_t nominal = (range->nominal + granule_bytes / 2) & ~mask;
    nominal = nominal < low ? low : nominal;
    *range = (struct size_range){
        .low = low, .high = high, .nominal = nominal > high ? high : nominal};
    return true;
}
