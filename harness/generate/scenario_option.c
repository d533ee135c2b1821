#include "harness/generate/scenario_option.h"

#include "harness/base/check.h"
#include "harness/base/nearest.h"
#include "harness/base/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const struct scenario_option *scenario_option_find(const struct scenario *scenario,
                                                   const char *name)
{
    const struct scenario_option *option = scenario->options;
    while (option != NULL && option->name != NULL && strcmp(option->name, name) != 0) {
        option++;
    }
    return option == NULL || option->name == NULL ? NULL : option;
}

bool scenario_option_parse(const struct scenario_option *option, const char *text, uint64_t *value)
{
    uint64_t parsed;
    for (size_t i = 0; option->words != NULL && option->words[i] != NULL; i++) {
        if (strcmp(option->words[i], text) == 0) {
            *value = SCENARIO_WORD(i);
            return true;
        }
    }
    if (option->high == 0 || !number_parse(text, strlen(text), &parsed) || parsed < option->low ||
        parsed > option->high) {
        return false;
    }
    *value = parsed;
    return true;
}

void scenario_option_print_values(const struct scenario_option *option,
                                  char text[SCENARIO_OPTION_HELP_BYTES])
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; option->words != NULL && option->words[i] != NULL; i++) {
        used += (size_t)snprintf(text + used, SCENARIO_OPTION_HELP_BYTES - used, "%s%s",
                                 i == 0 ? "" : "|", option->words[i]);
        CHECK(used < SCENARIO_OPTION_HELP_BYTES);
    }
    if (option->high != 0) {
        (void)snprintf(text + used, SCENARIO_OPTION_HELP_BYTES - used, "%s%" PRIu64 "..%" PRIu64,
                       used == 0 ? "" : "|", option->low, option->high);
    }
}

const char *scenario_option_given(const struct setup *setup, const char *name)
{
    return setup_find_value(setup->scenario_options, setup->scenario_option_count, name);
}

uint64_t scenario_option_value(const struct scenario *scenario, const struct setup *setup,
                               const char *name)
{
    const struct scenario_option *option = scenario_option_find(scenario, name);
    const char *given = scenario_option_given(setup, name);
    CHECK(option != NULL);
    uint64_t value = option->value;
    if (given != NULL) {
        CHECK(scenario_option_parse(option, given, &value));
    }
    return value;
}

bool scenario_option_is_given(const struct setup *setup, const char *name)
{
    return scenario_option_given(setup, name) != NULL;
}

/* Names the option that may have been meant; or, if none is near, all. */
static void advise_name(const struct scenario *scenario, const char *name,
                        char reason[SCENARIO_OPTION_REASON_BYTES])
{
    const char *names[SCENARIO_OPTION_NAME_COUNT_MAX];
    size_t count = 0;
    size_t used = strlen(reason);
    for (const struct scenario_option *option = scenario->options;
         option != NULL && option->name != NULL; option++) {
        CHECK(count < SCENARIO_OPTION_NAME_COUNT_MAX);
        names[count++] = option->name;
    }
    const char *near = nearest_name(name, names, count);
    if (near != NULL) {
        (void)snprintf(reason + used, SCENARIO_OPTION_REASON_BYTES - used, "; did you mean '%s'?",
                       near);
        return;
    }
    for (size_t i = 0; i < count && used < SCENARIO_OPTION_REASON_BYTES; i++) {
        used += (size_t)snprintf(reason + used, SCENARIO_OPTION_REASON_BYTES - used, "%s %s",
                                 i == 0 ? "; it has:" : "", names[i]);
    }
}

static bool check_option(const struct scenario *scenario, const struct setup_option *given,
                         char reason[SCENARIO_OPTION_REASON_BYTES])
{
    char values[SCENARIO_OPTION_HELP_BYTES];
    uint64_t value;
    const struct scenario_option *option = scenario_option_find(scenario, given->key);
    if (option == NULL) {
        (void)snprintf(reason, SCENARIO_OPTION_REASON_BYTES, "scenario '%s' has no option '%s'",
                       scenario->name, given->key);
        advise_name(scenario, given->key, reason);
        return false;
    }
    if (!scenario_option_parse(option, given->value, &value)) {
        scenario_option_print_values(option, values);
        (void)snprintf(reason, SCENARIO_OPTION_REASON_BYTES, "%s=%s: valid values are %s",
                       given->key, given->value, values);
        return false;
    }
    return true;
}

bool scenario_options_check(const struct scenario *scenario, const struct setup *setup,
                            char reason[SCENARIO_OPTION_REASON_BYTES])
{
    if (setup->until_step != 0 && !scenario->counts_steps) {
        (void)snprintf(reason, SCENARIO_OPTION_REASON_BYTES,
                       "scenario '%s' counts no steps, so that --until has no meaning for it",
                       scenario->name);
        return false;
    }
    for (uint32_t i = 0; i < setup->scenario_option_count; i++) {
        if (!check_option(scenario, &setup->scenario_options[i], reason)) {
            return false;
        }
    }
    const char *wrong = scenario->refuses == NULL ? NULL : scenario->refuses(setup);
    if (wrong != NULL) {
        (void)snprintf(reason, SCENARIO_OPTION_REASON_BYTES, "%s", wrong);
    }
    return wrong == NULL;
}
