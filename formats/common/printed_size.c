#include "formats/common/printed_size.h"

#include "harness/base/check.h"
#include "harness/base/size.h"

#include <string.h>

#define SIZE_BYTES_MAX ((uint64_t)1 << 63)
#define UNIT_SIZE_BYTES_MAX (UINT64_C(1) << 62)
enum { WHOLE_DIGITS_MAX = 12, FRACTION_DIGITS_MAX = 6 };

static const char units[] = "BKMGTPE"; /* unit i is 1024^i */

/* A text as numbers: "6.43M" is 6.43 of unit 2. */
struct printed_field {
    struct decimal number;
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

/* Takes 1 to count_max digits; returns how many, 0 where there are none or more. */
static size_t take_digits(const char *text, size_t length, size_t count_max, uint64_t *number)
{
    size_t count = 0;
    for (; count < length && text[count] >= '0' && text[count] <= '9'; count++) {
        if (count == count_max) {
            return 0;
        }
        *number = *number * 10 + (uint64_t)(text[count] - '0');
    }
    return count;
}

size_t decimal_parse(const char *text, size_t length, struct decimal *decimal)
{
    *decimal = (struct decimal){0};
    const size_t whole = take_digits(text, length, WHOLE_DIGITS_MAX, &decimal->digits);
    if (whole == 0 || whole == length || text[whole] != '.') {
        return whole;
    }
    const size_t fraction = take_digits(text + whole + 1, length - whole - 1, FRACTION_DIGITS_MAX,
                                        &decimal->digits);
    decimal->fraction_digits = (unsigned)fraction;
    return fraction == 0 ? 0 : whole + 1 + fraction;
}

__extension__ typedef unsigned __int128 wide;

static wide find_divisor(const struct decimal *decimal)
{
    uint64_t divisor = 1;
    for (unsigned i = 0; i < decimal->fraction_digits; i++) {
        divisor *= 10;
    }
    return divisor;
}

/* number of 2^bits / divisor, rounded to the nearest byte; at most most_bytes. */
static uint64_t scale(uint64_t number, unsigned bits, wide divisor, uint64_t most_bytes)
{
    const wide bytes = (((wide)number << bits) + divisor / 2) / divisor;
    return bytes > most_bytes ? most_bytes : (uint64_t)bytes;
}

struct unit_size unit_size_make(const struct decimal *decimal, unsigned bits)
{
    const wide divisor = find_divisor(decimal);
    return (struct unit_size){
        .bytes = scale(decimal->digits, bits, divisor, UNIT_SIZE_BYTES_MAX),
        .step_bytes = bits == 0 ? 0 : scale(1, bits, divisor, UNIT_SIZE_BYTES_MAX)};
}

static bool read_field(const char *text, size_t length, struct printed_field *field)
{
    const size_t digits = decimal_parse(text, length, &field->number);
    const char *unit = digits > 0 && length - digits == 1 && text[digits] != '\0'
                           ? strchr(units, text[digits])
                           : NULL;
    field->unit = unit != NULL ? (unsigned)(unit - units) : 0;
    return unit != NULL;
}

bool printed_size_parse(const char *text, size_t length, struct size_range *range)
{
    struct printed_field field;
    char printed[SIZE_TEXT_BYTES];
    if (!read_field(text, length, &field) || length >= sizeof printed) {
        return false;
    }
    uint64_t nominal = scale(field.number.digits, 10 * field.unit, find_divisor(&field.number),
                             SIZE_BYTES_MAX + 1);
    if (nominal > SIZE_BYTES_MAX) {
        return false;
    }
    uint64_t low = find_first(field.unit, field.number.digits);
    size_print_field(low, printed);
    if (strlen(printed) != length || memcmp(printed, text, length) != 0) {
        size_print_field(nominal, printed);
        CHECK(read_field(printed, strlen(printed), &field));
        low = find_first(field.unit, field.number.digits);
    }
    const uint64_t high = find_first(field.unit, field.number.digits + 1) - 1;
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
