#include "harness/op/fit.h"

#include "harness/base/check.h"
#include "harness/base/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const names[FIT_KIND_COUNT] = {[FIT_HOLE] = "hole",
                                                  [FIT_FREE] = "free",
                                                  [FIT_HALF] = "half",
                                                  [FIT_BLOCK] = "block",
                                                  [FIT_PAIR] = "pair"};

bool fit_has_index(enum fit_kind kind)
{
    return kind == FIT_BLOCK || kind == FIT_PAIR;
}

uint64_t fit_pack(const struct fit *fit)
{
    CHECK(fit->kind < FIT_KIND_COUNT);
    CHECK(fit->index <= FIT_INDEX_MAX);
    return (uint64_t)(uint32_t)fit->granules << 32 | (uint64_t)fit->index << 8 | fit->kind;
}

struct fit fit_unpack(uint64_t packed)
{
    struct fit fit = {.kind = (uint8_t)((packed & 0xFF) % FIT_KIND_COUNT),
                      .index = (uint32_t)(packed >> 8) & FIT_INDEX_MAX,
                      .granules = (int32_t)(uint32_t)(packed >> 32)};
    fit.index = fit_has_index((enum fit_kind)fit.kind) ? fit.index : 0;
    return fit;
}

/* --- text --- */

void fit_print(const struct fit *fit, char text[FIT_TEXT_BYTES])
{
    CHECK(fit->kind < FIT_KIND_COUNT);
    int used = snprintf(text, FIT_TEXT_BYTES, "%%%s", names[fit->kind]);
    if (fit->index != 0) {
        used += snprintf(text + used, (size_t)(FIT_TEXT_BYTES - used), ":%" PRIu32, fit->index);
    }
    if (fit->granules != 0) {
        (void)snprintf(text + used, (size_t)(FIT_TEXT_BYTES - used), "%+" PRId32, fit->granules);
    }
}

/* The number in [*at, end) up to what is no digit; *at is behind it. */
static bool take_number(const char **at, const char *end, uint64_t *number)
{
    const char *first = *at;
    while (*at < end && **at >= '0' && **at <= '9') {
        ++*at;
    }
    return number_parse(first, (size_t)(*at - first), number);
}

static bool take_kind(const char **at, const char *end, struct fit *fit)
{
    for (uint8_t kind = 0; kind < FIT_KIND_COUNT; kind++) {
        const size_t length = strlen(names[kind]);
        if ((size_t)(end - *at) >= length && memcmp(*at, names[kind], length) == 0) {
            fit->kind = kind;
            *at += length;
            return true;
        }
    }
    return false;
}

bool fit_parse(const char *text, size_t length, struct fit *fit)
{
    const char *at = text;
    const char *end = text + length;
    uint64_t number = 0;
    *fit = (struct fit){0};
    if (at == end || *at++ != '%' || !take_kind(&at, end, fit)) {
        return false;
    }
    if (at < end && *at == ':' && fit_has_index((enum fit_kind)fit->kind)) {
        at++;
        if (!take_number(&at, end, &number) || number > FIT_INDEX_MAX) {
            return false;
        }
        fit->index = (uint32_t)number;
    }
    if (at < end && (*at == '+' || *at == '-')) {
        const bool is_less = *at++ == '-';
        if (!take_number(&at, end, &number) || number > INT32_MAX) {
            return false;
        }
        fit->granules = is_less ? -(int32_t)number : (int32_t)number;
    }
    return at == end;
}
