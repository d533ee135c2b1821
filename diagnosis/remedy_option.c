#include "diagnosis/private/remedy_option.h"

#include "harness/base/target_option.h"

#include <stdio.h>

static bool refuse_option(const struct remedy_case *given, const char *key,
                          char note[REMEDY_NOTE_BYTES])
{
    if (target_has_option(given->target, key)) {
        return false;
    }
    snprintf(note, REMEDY_NOTE_BYTES, "target %.64s has no option %s", given->target->name, key);
    return true;
}

bool remedy_option_parameter(const struct remedy_case *given, const char *key, size_t count,
                             size_t current, size_t index, uint64_t *parameter,
                             char note[REMEDY_NOTE_BYTES])
{
    if (refuse_option(given, key, note)) {
        return false;
    }
    *parameter = index + (index >= current);
    return *parameter < count;
}

bool remedy_option_apply(const struct remedy_case *given, const char *key, const char *value,
                         struct remedy_result *result)
{
    op_list_copy(&result->ops, given->ops);
    snprintf(result->note, sizeof result->note, "target option %s=%s", key, value);
    if (setup_set_option(&result->setup, key, value)) {
        return true;
    }
    snprintf(result->note, sizeof result->note,
             "the setup already has %d options, the most that it can hold", SETUP_OPTION_COUNT_MAX);
    return false;
}

static const char *const flag_values[] = {"no", "yes"};

bool remedy_flag_parameter(const struct remedy_case *given, const char *key, bool current,
                           size_t index, uint64_t *parameter, char note[REMEDY_NOTE_BYTES])
{
    return remedy_option_parameter(given, key, 2, current, index, parameter, note);
}

void remedy_flag_label(const struct remedy_case *given, uint64_t parameter,
                       char text[REMEDY_LABEL_BYTES])
{
    (void)given;
    snprintf(text, REMEDY_LABEL_BYTES, "%s", flag_values[parameter]);
}

bool remedy_flag_apply(const struct remedy_case *given, const char *key, uint64_t parameter,
                       struct remedy_result *result)
{
    return remedy_option_apply(given, key, flag_values[parameter], result);
}
