#include "campaign/base/exit_code.h"

enum exit_code totals_exit_code(const struct run_totals *totals)
{
    return totals_exit_code_within(totals, &(const struct report_allowed){0});
}

enum exit_code totals_exit_code_within(const struct run_totals *totals,
                                       const struct report_allowed *allowed)
{
    if (totals->disputed > 0) {
        return EXIT_HARNESS;
    }
    if (totals->premature + totals->broken > 0) {
        return EXIT_BROKEN;
    }
    return report_allowed_is_exceeded(allowed, totals) || totals->not_modelled > 0 ? EXIT_UNKNOWN
                                                                                   : EXIT_KEPT;
}

enum exit_code exit_code_worse(enum exit_code a, enum exit_code b)
{
    static const int gravity[] = {[EXIT_KEPT] = 0,
                                  [EXIT_UNKNOWN] = 1,
                                  [EXIT_BROKEN] = 2,
                                  [EXIT_USAGE] = 3,
                                  [EXIT_HARNESS] = 4};
    return gravity[a] > gravity[b] ? a : b;
}
