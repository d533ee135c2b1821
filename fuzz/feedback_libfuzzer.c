/* The cells as extra counters of libFuzzer, which clears them before each input.  honggfuzz and
 * others do not look. */
#include "fuzz/feedback.h"

#include "harness/base/check.h"

/* libFuzzer reads them eight at a time. */
enum { COUNTER_COUNT = (FEEDBACK_CELL_COUNT + 7) / 8 * 8 };

/* Nobody here reads them, so without `used` a compiler takes them out, without a word. */
__attribute__((section("__libfuzzer_extra_counters"), used,
               aligned(8))) static uint8_t counters[COUNTER_COUNT];

void feedback_forget(void)
{
}

void feedback_note(uint32_t cell)
{
    CHECK(cell < FEEDBACK_CELL_COUNT);
    counters[cell] = 1;
}
