#include "diagnosis/cause_remedy.h"

#include <stddef.h>
#include <string.h>

enum { CHOICE_COUNT = 7 };

/* By name, so that a cause may be missing.  refused_though_it_fits and rounded_up have none: it is
 * the allocator that has to change. */
static const struct {
    const char *cause_name;
    const struct remedy *remedies[CHOICE_COUNT];
} rows[] = {
    {"leak", {&remedy_release}},
    {"copies", {&remedy_drop_copy, &remedy_donation}},
    {"queued_frees", {&remedy_mark_step}},
    {"head_of_line", {&remedy_mark_step}},
    {"references", {&remedy_release_references}},
    {"program_reload", {&remedy_unload, &remedy_programs, &remedy_sharding}},
    {"fragmented", {&remedy_defrag, &remedy_pages}},
    {"out_of_place", {&remedy_defrag, &remedy_pages}},
    {"host_skew", {&remedy_even}},
    {"spike", {&remedy_trim, &remedy_batch, &remedy_precision, &remedy_sharding}},
    {"padding", {&remedy_layout, &remedy_no_padding}},
    {"growing_set", {&remedy_bound}},
    {"still_growing", {&remedy_bound}},
    {"exhausted",
     {&remedy_unload, &remedy_accumulation, &remedy_trim, &remedy_batch, &remedy_precision,
      &remedy_sharding}},
};

const struct remedy *const *cause_remedies(const char *cause_name)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].cause_name, cause_name) == 0) {
            return rows[i].remedies;
        }
    }
    return NULL;
}
