/* The target threaded and its races under one name, exported from a plug-in: the option race says
 * which of them. */
#include "targets/private/option.h"
#include "targets/targets.h"
#include "targets/threaded/heap.h"

#include <stdio.h>
#include <string.h>

/* More options than this are refused; a target has fewer. */
enum { OPTION_COUNT_MAX = 16 };
#define RACE_PREFIX "race_"

__attribute__((visibility("default"))) struct target hbmstress_target;

/* NULL: there is none of that name. */
static const struct target *find_race(const char *name)
{
    if (strcmp(name, "none") == 0) {
        return &target_threaded;
    }
    for (size_t i = 0; races[i] != NULL; i++) {
        if (strcmp(races[i]->name + strlen(RACE_PREFIX), name) == 0) {
            return races[i];
        }
    }
    return NULL;
}

/* Takes the option race out of the others: *kept (of kept->option_count) is what is left for the
 * variant. */
static const struct target *choose_variant(const struct target_setup *setup,
                                           struct target_option *options,
                                           struct target_setup *remaining,
                                           const struct option_reason *reason)
{
    const struct target *chosen = &target_threaded;
    *remaining = *setup;
    remaining->options = options;
    remaining->option_count = 0;
    for (uint32_t i = 0; i < setup->option_count; i++) {
        if (strcmp(setup->options[i].key, "race") != 0) {
            options[remaining->option_count++] = setup->options[i];
            continue;
        }
        chosen = find_race(setup->options[i].value);
        if (chosen == NULL) {
            (void)snprintf(reason->text, reason->bytes, "option race=%s: no race has that name",
                           setup->options[i].value);
            return NULL;
        }
    }
    return chosen;
}

static enum target_result open_chosen(const struct target_setup *setup,
                                      const struct device_services *device,
                                      struct target_instance **out,
                                      struct target_contract *contract, char *text,
                                      size_t text_bytes)
{
    struct target_option options[OPTION_COUNT_MAX];
    struct target_setup remaining;
    if (setup->option_count > OPTION_COUNT_MAX) {
        (void)snprintf(text, text_bytes, "more than %d options", OPTION_COUNT_MAX);
        return TARGET_INVALID;
    }
    const struct target *chosen = choose_variant(setup, options, &remaining,
                                                 &(struct option_reason){text, text_bytes});
    return chosen == NULL ? TARGET_INVALID
                          : chosen->open(&remaining, device, out, contract, text, text_bytes);
}

static const struct target_option_row option_rows[] = {
    {"race", TARGET_OPTION_TEXT, .values = "none|NAME"},
    THREADED_OPTION_ROWS,
    {.key = NULL},
};

/* C has no way to initialise it from a table of another file. */
__attribute__((constructor)) static void fill_in(void)
{
    hbmstress_target = target_threaded;
    hbmstress_target.name = "threaded_explored";
    hbmstress_target
        .summary = "threaded or one of its races, compiled so that the harness sees its accesses";
    hbmstress_target.options = option_rows;
    hbmstress_target.open = open_chosen;
}
