#include "campaign/base/exit_code.h"

enum exit_code totals_exit_code(const struct run_totals *totals)
{
    if (totals->disputed > 0) {
        return EXIT_HARNESS;
    }
    if (totals->premature + totals->broken > 0) {
        return EXIT_BROKEN;
    }
    return totals->unknown + totals->not_modelled > 0 ? EXIT_UNKNOWN : EXIT_KEPT;
}
