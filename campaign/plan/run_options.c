#include "campaign/plan/run_options.h"

#include "harness/base/size.h"
#include "harness/op/rounding.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SHARD_COUNT_MAX = 1000000 };

/* Adds KEY=VALUE to *count options, of at most count_max. */
static const char *add_option(struct setup_option *options, uint32_t *count, uint32_t count_max,
                              const char *value)
{
    static char many[48];
    const char *equals = strchr(value, '=');
    if (equals == NULL || equals == value) {
        return "is not KEY=VALUE";
    }
    const size_t length = (size_t)(equals - value);
    if (length >= SETUP_NAME_BYTES || strlen(equals + 1) >= SETUP_NAME_BYTES) {
        return "has a key or a value of more than 63 bytes";
    }
    struct setup_option option = {0};
    memcpy(option.key, value, length);
    strcpy(option.value, equals + 1);
    for (uint32_t i = 0; i < *count; i++) {
        if (strcmp(options[i].key, option.key) == 0) {
            return "sets a key that was set before";
        }
    }
    if (*count == count_max) {
        (void)snprintf(many, sizeof many, "is one option too many (%" PRIu32 " at most)",
                       count_max);
        return many;
    }
    options[(*count)++] = option;
    return NULL;
}

static const char *set_target_option(void *base, const char *value)
{
    struct run_options *options = base;
    return add_option(options->options, &options->option_count, SETUP_OPTION_COUNT_MAX, value);
}

static const char *set_scenario_option(void *base, const char *value)
{
    struct run_options *options = base;
    return add_option(options->scenario_options, &options->scenario_option_count,
                      SETUP_SCENARIO_OPTION_COUNT_MAX, value);
}

static const char *set_rounding(void *base, const char *value)
{
    static char wrong[ROUNDING_REASON_BYTES + 16];
    struct run_options *options = base;
    struct rounding_error error;
    if (rounding_parse(value, strlen(value), &options->rounding, &error)) {
        return NULL;
    }
    (void)snprintf(wrong, sizeof wrong, "is wrong: %s", error.reason);
    return wrong;
}

static const char *set_unknown_rate(void *base, const char *value)
{
    struct run_options *options = base;
    return allowance_parse_rates(value, options->unknown_rates);
}

static const char *set_faults(void *base, const char *value)
{
    struct run_options *options = base;
    return op_options_parse_faults(value, &options->faults);
}

static const char *set_weights(void *base, const char *value)
{
    struct run_options *options = base;
    return op_options_parse_weights(value, options->weights);
}

static const char *set_vary(void *base, const char *value)
{
    struct run_options *options = base;
    return trace_vary_parse(value, &options->vary);
}

static const char *set_lanes(void *base, const char *value)
{
    struct run_options *options = base;
    return lane_options_set_lanes(&options->lanes, value);
}

static const char *set_strategy(void *base, const char *value)
{
    struct run_options *options = base;
    return lane_options_set_strategy(&options->lanes, value);
}

static const char *set_free_running(void *base, const char *value)
{
    struct run_options *options = base;
    (void)value;
    options->lanes.backend = LANE_BACKEND_FREE;
    options->lanes.has_backend = true;
    return NULL;
}

static const char *set_shard(void *base, const char *value)
{
    static const char wrong[] = "is not I/N with I from 1 to N, such as 2/8, nor auto";
    struct run_options *options = base;
    options->has_auto_shard = strcmp(value, "auto") == 0;
    if (options->has_auto_shard) {
        return NULL;
    }
    const char *slash = strchr(value, '/');
    uint64_t number, count;
    if (slash == NULL || !number_parse(value, (size_t)(slash - value), &number) ||
        !number_parse(slash + 1, strlen(slash + 1), &count) || number < 1 || number > count ||
        count > SHARD_COUNT_MAX) {
        return wrong;
    }
    options->shard_index = number - 1;
    options->shard_count = count;
    return NULL;
}

#define FIELD(member) OPTION_AT(struct run_options, member)
#define FLAG(member) .flag_offset = offsetof(struct run_options, member)
#define OPTION(kind_, member, name_, ...) \
    {.name = (name_), .kind = OPTION_##kind_, FIELD(member), __VA_ARGS__},
#define OPTION_ROW(name_, ...) {.name = (name_), __VA_ARGS__},
const struct option_row run_option_rows[] = {
#include "campaign/plan/run_option_list.h"
};
const size_t run_option_row_count = sizeof run_option_rows / sizeof run_option_rows[0];

void run_options_init(struct run_options *options)
{
    *options = (struct run_options){0};
    option_set_usual(run_option_rows, run_option_row_count, options);
}

const struct option_row *run_option_named(const char *name)
{
    return option_find(run_option_rows, run_option_row_count, name);
}

const struct option_row *run_option_keyed(const char *key)
{
    for (size_t i = 0; i < run_option_row_count; i++) {
        if (run_option_rows[i].key != NULL && strcmp(run_option_rows[i].key, key) == 0) {
            return &run_option_rows[i];
        }
    }
    return NULL;
}

/* Puts over_count options over *count of at most count_max, key by key.  False: too many. */
static bool merge_options(struct setup_option *options, uint32_t *count, uint32_t count_max,
                          const struct setup_option *over, uint32_t over_count)
{
    bool fits = true;
    for (uint32_t i = 0; i < over_count; i++) {
        uint32_t at = 0;
        while (at < *count && strcmp(options[at].key, over[i].key) != 0) {
            at++;
        }
        fits = fits && at < count_max;
        if (at < count_max) {
            options[at] = over[i];
            *count += at == *count;
        }
    }
    return fits;
}

bool run_options_merge(struct run_options *base, const struct run_options *over)
{
    if (over->chip != NULL || over->capacity_bytes != 0) {
        base->chip = NULL;
        base->capacity_bytes = 0;
    }
    for (size_t i = 0; i < run_option_row_count; i++) {
        const struct option_row *row = &run_option_rows[i];
        if (row->key != NULL && option_is_given(row, over)) {
            option_copy(row, base, over);
        }
    }
    if (over->lanes.strategy != NULL) {
        base->lanes.argument = over->lanes.argument;
    }
    const bool fits = merge_options(base->options, &base->option_count, SETUP_OPTION_COUNT_MAX,
                                    over->options, over->option_count);
    return merge_options(base->scenario_options, &base->scenario_option_count,
                         SETUP_SCENARIO_OPTION_COUNT_MAX, over->scenario_options,
                         over->scenario_option_count) &&
           fits;
}
