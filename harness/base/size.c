#include "harness/base/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char units[] = "KMGTPE"; /* unit i is 1024^(i + 1) */

bool number_parse(const char *text, size_t length, uint64_t *number)
{
    const bool is_hex = length > 2 && text[0] == '0' && text[1] == 'x';
    const unsigned base = is_hex ? 16 : 10;
    uint64_t value = 0;
    if (length == 0) {
        return false;
    }
    for (size_t i = is_hex ? 2 : 0; i < length; i++) {
        const char c = text[i];
        unsigned digit = 99;
        if (c >= '0' && c <= '9') {
            digit = (unsigned)(c - '0');
        } else if (c >= 'a' && c <= 'f') {
            digit = (unsigned)(c - 'a') + 10;
        }
        if (digit >= base || __builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, digit, &value)) {
            return false;
        }
    }
    *number = value;
    return true;
}

bool size_parse(const char *text, size_t length, uint64_t *size_bytes)
{
    uint64_t scale = 1;
    const char *unit = length > 0 ? memchr(units, text[length - 1], sizeof units - 1) : NULL;
    if (unit != NULL) {
        scale = (uint64_t)1 << (10 * (unit - units + 1));
        length--;
    }
    uint64_t value = 0;
    if (!number_parse(text, length, &value) || __builtin_mul_overflow(value, scale, &value)) {
        return false;
    }
    *size_bytes = value;
    return true;
}

void size_print(uint64_t size_bytes, char text[SIZE_TEXT_BYTES])
{
    int unit = 0;
    while (size_bytes != 0 && size_bytes % 1024 == 0 && units[unit] != '\0') {
        size_bytes /= 1024;
        unit++;
    }
    if (unit == 0) {
        snprintf(text, SIZE_TEXT_BYTES, "%" PRIu64, size_bytes);
        return;
    }
    snprintf(text, SIZE_TEXT_BYTES, "%" PRIu64 "%c", size_bytes, units[unit - 1]);
}

static const struct {
    const char *name;
    uint64_t ns;
} duration_units[] = {
    {"h", UINT64_C(3600000000000)},
    {"m", UINT64_C(60000000000)},
    {"s", UINT64_C(1000000000)},
    {"ms", 1000000},
    {"us", 1000},
    {"ns", 1},
};
enum { DURATION_UNIT_COUNT = sizeof duration_units / sizeof duration_units[0] };

bool duration_parse(const char *text, size_t length, uint64_t *duration_ns)
{
    if (length == 5 && memcmp(text, "never", 5) == 0) {
        *duration_ns = UINT64_MAX;
        return true;
    }
    size_t digits = 0;
    while (digits < length && text[digits] >= '0' && text[digits] <= '9') {
        digits++;
    }
    uint64_t value = 0;
    if (!number_parse(text, digits, &value)) {
        return false;
    }
    for (int i = 0; i < DURATION_UNIT_COUNT; i++) {
        const char *name = duration_units[i].name;
        if (strlen(name) == length - digits && memcmp(name, text + digits, length - digits) == 0) {
            /* UINT64_MAX itself means never. */
            if (__builtin_mul_overflow(value, duration_units[i].ns, &value) ||
                value == UINT64_MAX) {
                return false;
            }
            *duration_ns = value;
            return true;
        }
    }
    return false;
}

void duration_print(uint64_t duration_ns, char text[SIZE_TEXT_BYTES])
{
    if (duration_ns == UINT64_MAX) {
        snprintf(text, SIZE_TEXT_BYTES, "never");
        return;
    }
    if (duration_ns == 0) {
        snprintf(text, SIZE_TEXT_BYTES, "0s");
        return;
    }
    int unit = 0;
    while (duration_ns % duration_units[unit].ns != 0) {
        unit++;
    }
    snprintf(text, SIZE_TEXT_BYTES, "%" PRIu64 "%s", duration_ns / duration_units[unit].ns,
             duration_units[unit].name);
}

/* digits / scale with its decimals, if it has any, and the unit behind it; without printf, because
 * each out-of-memory has several. */
static void print_fixed(uint64_t digits, uint64_t scale, char unit, char text[SIZE_TEXT_BYTES])
{
    char reversed[SIZE_TEXT_BYTES];
    size_t count = 0;
    reversed[count++] = unit;
    for (uint64_t left = scale; left > 1; left /= 10) {
        reversed[count++] = (char)('0' + digits % 10);
        digits /= 10;
    }
    if (scale > 1) {
        reversed[count++] = '.';
    }
    do {
        reversed[count++] = (char)('0' + digits % 10);
        digits /= 10;
    } while (digits > 0);
    for (size_t i = 0; i < count; i++) {
        text[i] = reversed[count - 1 - i];
    }
    text[count] = '\0';
}

/* The algorithm that reproduces every exact-byte sample of public TPU logs: divide by 1024 with
 * truncation while the number is at least 1024 * 1024, then print the last quotient with one
 * decimal for K and two above. */
void size_print_field(uint64_t size_bytes, char text[SIZE_TEXT_BYTES])
{
    if (size_bytes < 1024) {
        print_fixed(size_bytes, 1, 'B', text);
        return;
    }
    int unit = 0;
    while (size_bytes >= 1024 * 1024 && unit < 5) {
        size_bytes /= 1024;
        unit++;
    }
    /* size_bytes / 1024 is a number without error for printf, and so is its rounding here: half
     * goes to even. */
    const uint64_t scale = unit == 0 ? 10 : 100;
    uint64_t digits = size_bytes * scale / 1024;
    const uint64_t rest = size_bytes * scale % 1024;
    digits += rest > 512 || (rest == 512 && digits % 2 == 1);
    print_fixed(digits, scale, units[unit], text);
}

struct size_text size_text_of(uint64_t size_bytes)
{
    struct size_text text;
    size_print_field(size_bytes, text.text);
    return text;
}

uint64_t share_of(uint64_t part, uint64_t whole, uint64_t parts)
{
    return whole == 0 ? 0 : (uint64_t)((__uint128_t)part * parts / whole);
}

struct size_text share_text_of(uint64_t part, uint64_t whole)
{
    const uint64_t share = share_of(part, whole, 10000);
    if (share == 0 && part > 0 && whole > 0) {
        return (struct size_text){"less than 0.01 %"};
    }
    struct size_text text;
    snprintf(text.text, sizeof text.text, "%" PRIu64 ".%02" PRIu64 " %%", share / 100, share % 100);
    return text;
}
