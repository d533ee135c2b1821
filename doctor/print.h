/* What doctor found, for people and as JSON lines. */
#ifndef DOCTOR_PRINT_H
#define DOCTOR_PRINT_H

#include "doctor/doctor.h"

/* One line, and below it, for people, what it means and what mends it. */
void doctor_print(bool is_json, const char *group, const char *name,
                  const struct doctor_finding *finding, struct writing *text);

/* How many things are in each state; broken names the needed ones that do not work, "" where
 * hbmstress can do its work. */
struct doctor_summary {
    uint64_t counts[DOCTOR_STATE_COUNT];
    struct writing broken;
};
void doctor_print_summary(bool is_json, const struct doctor_summary *summary, int exit_code,
                          struct writing *text);

#endif
