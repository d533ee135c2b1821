#include "present/amount.h"

#include "harness/base/check.h"

#include <inttypes.h>
#include <stdio.h>

void amount_print_count(uint64_t count, char text[AMOUNT_TEXT_BYTES])
{
    if (count < 100000) {
        snprintf(text, AMOUNT_TEXT_BYTES, "%" PRIu64, count);
        return;
    }
    const char *unit = "kMGTPE";
    uint64_t tenths = count / 100;
    while (tenths >= 10000) {
        tenths /= 1000;
        unit++;
    }
    snprintf(text, AMOUNT_TEXT_BYTES, "%" PRIu64 ".%" PRIu64 "%c", (tenths / 10), (tenths % 10),
             *unit);
}

static void print_tenths(uint64_t seconds, uint64_t unit_seconds, char unit,
                         char text[AMOUNT_TEXT_BYTES])
{
    const uint64_t tenths = seconds / (unit_seconds / 10);
    snprintf(text, AMOUNT_TEXT_BYTES, "%" PRIu64 ".%" PRIu64 " %c", (tenths / 10), (tenths % 10),
             unit);
}

void amount_print_duration(uint64_t duration_ns, char text[AMOUNT_TEXT_BYTES])
{
    enum { MINUTE = 60, HOUR = 3600, DAY = 86400 };
    const uint64_t seconds = duration_ns / 1000000000;
    if (seconds < 2 * MINUTE) {
        snprintf(text, AMOUNT_TEXT_BYTES, "%" PRIu64 " s", seconds);
    } else if (seconds < 2 * HOUR) {
        snprintf(text, AMOUNT_TEXT_BYTES, "%" PRIu64 " m", (seconds / MINUTE));
    } else if (seconds < 2 * DAY) {
        print_tenths(seconds, HOUR, 'h', text);
    } else {
        print_tenths(seconds, DAY, 'd', text);
    }
}

uint64_t amount_scale(uint64_t value, uint64_t part, uint64_t whole)
{
    CHECK(whole > 0);
    __extension__ typedef unsigned __int128 wide;
    const wide scaled = (wide)value * part / whole;
    return scaled > UINT64_MAX ? UINT64_MAX : (uint64_t)scaled;
}
