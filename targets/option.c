#include "targets/private/option.h"

#include "harness/base/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What the allocators of this folder can do; real ones use 512 or 1024. */
#define GRANULE_BYTES_MAX UINT64_C(65536)

bool option_is(const struct target_option *option, const char *key)
{
    return strcmp(option->key, key) == 0;
}

static bool refuse_value(const struct target_option *option, const char *valid,
                         const struct option_reason *reason)
{
    (void)snprintf(reason->text, reason->bytes, "option %s=%s: valid values are %s", option->key,
                   option->value, valid);
    return false;
}

bool option_read_word(const struct target_option *option, const char *valid, unsigned *index,
                      const struct option_reason *reason)
{
    const size_t length = strlen(option->value);
    unsigned i = 0;
    for (const char *word = valid; word != NULL; i++) {
        const char *end = strchr(word, ',');
        const size_t word_length = end == NULL ? strlen(word) : (size_t)(end - word);
        if (word_length == length && strncmp(word, option->value, length) == 0) {
            *index = i;
            return true;
        }
        word = end == NULL ? NULL : end + 2;
    }
    return refuse_value(option, valid, reason);
}

bool option_read_flag(const struct target_option *option, bool *value,
                      const struct option_reason *reason)
{
    const bool is_yes = strcmp(option->value, "yes") == 0;
    if (!is_yes && strcmp(option->value, "no") != 0) {
        return refuse_value(option, "yes, no", reason);
    }
    *value = is_yes;
    return true;
}

bool option_read_defrag(const struct target_option *option, enum defrag_contract *value,
                        const struct option_reason *reason)
{
    unsigned index = 0;
    const bool is_good = option_read_word(option, "none, slide, repack", &index, reason);
    *value = is_good ? (enum defrag_contract)index : *value;
    return is_good;
}

bool option_read_placement(const struct target_option *option, enum placement *value,
                           const struct option_reason *reason)
{
    unsigned index = 0;
    const bool is_good = option_read_word(option, "ranges, hidden, pages", &index, reason);
    *value = is_good ? (enum placement)index : *value;
    return is_good;
}

bool option_read_rounding(const struct target_option *option, struct target_rounding *value,
                          const struct option_reason *reason)
{
    static const struct {
        const char *name;
        struct target_rounding rounding;
    } choices[] = {{"granule", {.kind = ROUNDING_GRANULE}},
                   {"pow2", {.kind = ROUNDING_CLASSES, .steps = 1}},
                   {"classes8", {.kind = ROUNDING_CLASSES, .steps = 8}}};
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++) {
        if (strcmp(option->value, choices[i].name) == 0) {
            *value = choices[i].rounding;
            return true;
        }
    }
    return refuse_value(option, "granule, pow2, classes8", reason);
}

bool option_read_growth(const struct target_option *option, enum target_growth *value,
                        const struct option_reason *reason)
{
    unsigned index = 0;
    const bool is_good = option_read_word(option, "undeclared, constant, logarithmic, linear",
                                          &index, reason);
    *value = is_good ? (enum target_growth)index : *value;
    return is_good;
}

bool option_read_sleep(const struct target_option *option, enum sleep_contract *value,
                       const struct option_reason *reason)
{
    static const char *const names[] = {
        [SLEEP_NONE] = "none", [SLEEP_KEEPS] = "keeps", [SLEEP_DISCARDS] = "discards"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(option->value, names[i]) == 0) {
            *value = (enum sleep_contract)i;
            return true;
        }
    }
    return refuse_value(option, "none, keeps, discards", reason);
}

static bool is_valid_granule(uint64_t granule_bytes)
{
    return granule_bytes > 0 && granule_bytes <= GRANULE_BYTES_MAX &&
           (granule_bytes & (granule_bytes - 1)) == 0;
}

bool option_read_granule(const struct target_option *option, uint64_t *value,
                         const struct option_reason *reason)
{
    uint64_t granule = 0;
    if (!size_parse(option->value, strlen(option->value), &granule) || !is_valid_granule(granule)) {
        return refuse_value(option, "the powers of two from 1 to 64K", reason);
    }
    *value = granule;
    return true;
}

bool option_read_size(const struct target_option *option, uint64_t *value,
                      const struct option_reason *reason)
{
    uint64_t size = 0;
    if (!size_parse(option->value, strlen(option->value), &size) || size == 0) {
        return refuse_value(option, "sizes from 1, such as 512 or 1M", reason);
    }
    *value = size;
    return true;
}

/* The mitigation that text begins with; *length is that of its name. */
static enum mitigation find_mitigation(const char *text, size_t *length)
{
    static const char *const names[] = {[MITIGATION_DRAIN] = "drain",
                                        [MITIGATION_DEFRAGMENT] = "defragment",
                                        [MITIGATION_EVICT] = "evict"};
    *length = strcspn(text, ",");
    for (unsigned i = MITIGATION_DRAIN; i <= MITIGATION_EVICT; i++) {
        if (strlen(names[i]) == *length && strncmp(text, names[i], *length) == 0) {
            return (enum mitigation)i;
        }
    }
    return MITIGATION_NONE;
}

bool option_read_order(const struct target_option *option,
                       enum mitigation value[MITIGATION_ORDER_COUNT],
                       const struct option_reason *reason)
{
    static const char valid[] = "the permutations of drain,defragment,evict";
    enum mitigation order[MITIGATION_ORDER_COUNT];
    unsigned seen = 0;
    const char *text = option->value;
    for (unsigned i = 0; i < MITIGATION_ORDER_COUNT; i++) {
        size_t length = 0;
        order[i] = find_mitigation(text, &length);
        const char expected = i + 1 < MITIGATION_ORDER_COUNT ? ',' : '\0';
        if (order[i] == MITIGATION_NONE || (seen & (1u << order[i])) != 0 ||
            text[length] != expected) {
            return refuse_value(option, valid, reason);
        }
        seen |= 1u << order[i];
        text += length + 1;
    }
    memcpy(value, order, sizeof order);
    return true;
}

bool option_refuse_key(const struct target_option *option, const char *help,
                       const struct option_reason *reason)
{
    int used = snprintf(reason->text, reason->bytes, "there is no option %s; valid are",
                        option->key);
    for (const char *line = help; line != NULL && *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        if (used > 0 && (size_t)used < reason->bytes) {
            used += snprintf(reason->text + used, reason->bytes - (size_t)used, "%s %.*s",
                             line == help ? "" : ",", (int)strcspn(line, "="), line);
        }
        line += length + (line[length] == '\n');
    }
    return false;
}

bool option_check_device(uint64_t capacity_bytes, uint64_t granule_bytes,
                         const struct option_reason *reason)
{
    if (!is_valid_granule(granule_bytes)) {
        (void)snprintf(reason->text, reason->bytes,
                       "granule %" PRIu64 ": valid values are the powers of two from 1 to 64K",
                       granule_bytes);
        return false;
    }
    if (capacity_bytes == 0 || capacity_bytes % granule_bytes != 0) {
        (void)snprintf(reason->text, reason->bytes,
                       "capacity %" PRIu64 " is not a positive multiple of the granule, %" PRIu64,
                       capacity_bytes, granule_bytes);
        return false;
    }
    return true;
}
