#include "tests/helpers/draws.h"

#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT_PERIOD = 12 };

uint64_t draws_period(void)
{
    const char *text = getenv("HBMSTRESS_TESTS");
    const bool is_short = text == NULL || *text == '\0';
    ck_assert_msg(is_short || strcmp(text, "full") == 0, "HBMSTRESS_TESTS=%s: is not 'full'", text);
    return is_short ? SHORT_PERIOD : 1;
}

uint64_t draws_count(uint64_t count, uint64_t count_min)
{
    ck_assert(count_min >= 1 && count_min <= count);
    const uint64_t part = count / draws_period();
    return part < count_min ? count_min : part;
}
