#include "explain/projection.h"

#include "harness/base/json.h"

#include <inttypes.h>

static void append_interval(const struct projection *projection, struct writing *text)
{
    if (projection->from != projection->to) {
        writing_append_format(text, " (between %" PRIu64 " and %" PRIu64 ")", projection->from,
                              projection->to);
    }
}

void projection_append(const struct projection *projection, uint64_t until_step,
                       struct writing *text)
{
    if (until_step > 0 && projection->from > until_step) {
        writing_append_format(text,
                              "it fits to step %" PRIu64 ", the last; full at about step %" PRIu64,
                              until_step, projection->at);
    } else if (until_step >= projection->to) {
        writing_append_format(text,
                              "it does not fit to step %" PRIu64 ": full at about step %" PRIu64,
                              until_step, projection->at);
    } else if (until_step > 0) {
        writing_append_format(text,
                              "it may fit to step %" PRIu64 ", or not: full at about step %" PRIu64,
                              until_step, projection->at);
    } else {
        writing_append_format(text, "full at about step %" PRIu64, projection->at);
    }
    append_interval(projection, text);
}

void projection_add(const struct projection *projection, uint64_t until_step, struct writing *text)
{
    json_add_number(text, "full_step", projection->at);
    json_add_number(text, "full_step_from", projection->from);
    json_add_number(text, "full_step_to", projection->to);
    if (until_step > 0) {
        json_add_number(text, "until_step", until_step);
        json_add_string(text, "fits_to_until",
                        projection->from > until_step  ? "yes"
                        : until_step >= projection->to ? "no"
                                                       : "perhaps");
    }
}
