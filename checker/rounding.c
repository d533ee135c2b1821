#include "checker/private/history.h"

static const uint64_t setting_max = UINT64_C(1) << 50, bytes_max = UINT64_C(1) << 63;
enum { STEPS_MAX = 64 };

static bool read_kind(struct text_word word, struct rounding *rounding)
{
    struct text_word key;
    if (word_is(word, "granule") || word_is(word, "any")) {
        rounding->kind = word_is(word, "any") ? ROUNDING_ANY : ROUNDING_GRANULE;
        return true;
    }
    rounding->kind = ROUNDING_CLASSES;
    return word_cut(&word, '=', &key) && word_is(key, "classes") &&
           word_number(word, STEPS_MAX, &rounding->steps) && rounding->steps > 0 &&
           (rounding->steps & (rounding->steps - 1)) == 0;
}

static bool read_setting(struct text_word word, struct rounding *rounding)
{
    struct text_word key;
    (void)word_cut(&word, '=', &key);
    const bool is_smallest = word_is(key, "smallest") && rounding->kind == ROUNDING_CLASSES;
    uint64_t *setting = is_smallest ? &rounding->smallest : &rounding->overhead;
    return (is_smallest || (word_is(key, "overhead") && rounding->kind != ROUNDING_ANY)) &&
           *setting == 0 && word_size(word, setting) && *setting > 0 && *setting <= setting_max;
}

bool rounding_read(struct text_word text, struct rounding *rounding)
{
    struct text_word word;
    bool has_more = word_cut(&text, ' ', &word);
    *rounding = (struct rounding){0};
    bool is_good = read_kind(word, rounding);
    while (is_good && has_more) {
        has_more = word_cut(&text, ' ', &word);
        is_good = read_setting(word, rounding);
    }
    return is_good;
}

bool rounding_is_exact(const struct rounding *rounding)
{
    return rounding->kind == ROUNDING_ANY ||
           (rounding->kind == ROUNDING_GRANULE && rounding->overhead == 0);
}

static uint64_t round_to(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

/* asked: 2 to 2^63. */
static uint64_t find_class(uint64_t asked, uint64_t steps)
{
    uint64_t low = 1;
    while (low < asked - low) {
        low *= 2;
    }
    return low + round_to(asked - low, low / steps > 1 ? low / steps : 1);
}

uint64_t rounding_most(const struct rounding *rounding, uint64_t granule, uint64_t asked)
{
    uint64_t bytes = asked;
    if (rounding->kind == ROUNDING_ANY) {
        return UINT64_MAX;
    }
    if (asked >= bytes_max) {
        return bytes_max;
    }
    if (rounding->kind == ROUNDING_CLASSES && asked <= rounding->smallest) {
        bytes = rounding->smallest;
    } else if (rounding->kind == ROUNDING_CLASSES && asked > 1) {
        bytes = find_class(asked, rounding->steps);
    }
    return bytes > bytes_max - rounding->overhead ? bytes_max
                                                  : round_to(bytes + rounding->overhead, granule);
}

uint64_t rounding_needed(const struct rounding *rounding, uint64_t granule, uint64_t asked)
{
    return rounding_is_exact(rounding) ? asked : rounding_most(rounding, granule, asked);
}
