#include "campaign/base/allowance.h"

#include "harness/base/check.h"
#include "harness/base/size.h"

#include <string.h>

/* 18: the powers of ten in 64 bits. */
enum { WORD_BYTES = 64, DIGITS_MAX = 18 };

static const char wrong[] =
    "is not a list of CLASS:RATE, with the classes plain, aligned and held, each at most once, and "
    "rates such as 1e-8, 0.001 or 1/1000 (at most 1)";

/* Appends the digits at *at to a number of at most DIGITS_MAX digits; returns how many, or
 * DIGITS_MAX + 1 when they are too many. */
static unsigned read_digits(const char **at, uint64_t *number)
{
    unsigned count = 0;
    while (**at >= '0' && **at <= '9' && count <= DIGITS_MAX) {
        if (__builtin_mul_overflow(*number, 10, number)) {
            return DIGITS_MAX + 1;
        }
        *number += (uint64_t)(**at - '0');
        (*at)++;
        count++;
    }
    return count;
}

static bool divide_by_ten(struct rate *rate, uint64_t times)
{
    for (uint64_t i = 0; i < times && rate->part > 0; i++) {
        if (__builtin_mul_overflow(rate->whole, 10, &rate->whole)) {
            return false;
        }
    }
    return true;
}

/* Digits, with a point or not, and an exponent that is not positive. */
static bool parse_decimal(const char *text, struct rate *rate)
{
    uint64_t exponent = 0;
    *rate = (struct rate){.whole = 1};
    const unsigned before = read_digits(&text, &rate->part);
    const bool has_point = before > 0 && *text == '.';
    text += has_point;
    const unsigned after = has_point ? read_digits(&text, &rate->part) : 0;
    if (before == 0 || before + after > DIGITS_MAX || (has_point && after == 0)) {
        return false;
    }
    if (*text == 'e' || *text == 'E') {
        const bool is_small = text[1] == '-';
        text += is_small ? 2 : 1;
        const unsigned count = read_digits(&text, &exponent);
        if (count == 0 || count > DIGITS_MAX || (!is_small && exponent > 0)) {
            return false;
        }
    }
    return *text == '\0' && divide_by_ten(rate, after) && divide_by_ten(rate, exponent);
}

static bool parse_rate(const char *text, struct rate *rate)
{
    const char *slash = strchr(text, '/');
    if (slash == NULL) {
        return parse_decimal(text, rate) && rate->part <= rate->whole;
    }
    return number_parse(text, (size_t)(slash - text), &rate->part) &&
           number_parse(slash + 1, strlen(slash + 1), &rate->whole) && rate->whole > 0 &&
           rate->part <= rate->whole;
}

static bool parse_word(const char *word, struct rate rates[OOM_CLASS_COUNT])
{
    for (unsigned i = 0; i < OOM_CLASS_COUNT; i++) {
        const char *name = oom_class_name((enum oom_class)i);
        const size_t length = strlen(name);
        if (strncmp(word, name, length) == 0 && word[length] == ':') {
            return rates[i].whole == 0 && parse_rate(word + length + 1, &rates[i]);
        }
    }
    return false;
}

const char *allowance_parse_rates(const char *text, struct rate rates[OOM_CLASS_COUNT])
{
    static const char separators[] = ", \t";
    struct rate parsed[OOM_CLASS_COUNT] = {0};
    size_t word_count = 0;
    for (text += strspn(text, separators); *text != '\0'; text += strspn(text, separators)) {
        char word[WORD_BYTES];
        const size_t length = strcspn(text, separators);
        if (length >= sizeof word) {
            return wrong;
        }
        memcpy(word, text, length);
        word[length] = '\0';
        if (!parse_word(word, parsed)) {
            return wrong;
        }
        text += length;
        word_count++;
    }
    if (word_count == 0) {
        return wrong;
    }
    memcpy(rates, parsed, sizeof parsed);
    return NULL;
}

struct report_allowed allowance_of_run(const struct allowance *allowance, uint64_t ooms)
{
    __extension__ typedef unsigned __int128 wide;
    struct report_allowed allowed = {.has_unknown_rate = allowance->has_unknown_rate,
                                     .unrepeated = allowance->unrepeated};
    for (unsigned i = 0; i < OOM_CLASS_COUNT; i++) {
        const struct rate *rate = &allowance->unknown_rates[i];
        CHECK(rate->part <= rate->whole);
        allowed.unknown[i] = rate->whole == 0 ? 0
                                              : (uint64_t)((wide)rate->part * ooms / rate->whole);
    }
    return allowed;
}
