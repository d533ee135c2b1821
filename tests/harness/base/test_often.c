/* What is zeroed in pieces is zeroed whole, and no further. */
#include "harness/base/often.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdbool.h>

TEST(as_many_bytes_are_zeroed_as_were_asked_for)
{
    enum { BYTES_MAX = 160, UNTOUCHED = 0xA5 };
    for (size_t bytes = 0; bytes <= BYTES_MAX; bytes++) {
        unsigned char memory[BYTES_MAX + 2];
        memset(memory, UNTOUCHED, sizeof memory);
        zero_often(memory + 1, bytes);
        for (size_t i = 0; i < sizeof memory; i++) {
            const bool is_zeroed = i >= 1 && i <= bytes;
            ck_assert_uint_eq(memory[i], is_zeroed ? 0 : UNTOUCHED);
        }
    }
}
