/* The cells as guards of edges, as if each were one: AFL++ numbers whatever lies in their section,
 * and counts calls. */
#include "fuzz/feedback.h"

#include "harness/base/check.h"

#include <string.h>

__attribute__((section("__sancov_guards"), used)) static uint32_t guards[FEEDBACK_CELL_COUNT];
static bool is_noted[FEEDBACK_CELL_COUNT];

void __sanitizer_cov_trace_pc_guard(uint32_t *guard);

void feedback_forget(void)
{
    memset(is_noted, 0, sizeof is_noted);
}

void feedback_note(uint32_t cell)
{
    CHECK(cell < FEEDBACK_CELL_COUNT);
    if (!is_noted[cell]) {
        is_noted[cell] = true;
        __sanitizer_cov_trace_pc_guard(&guards[cell]);
    }
}
