/* Numbers, sizes, times and roundings as the checker reads them: what the pages show, and the edges
 * of 64 bits. */
#include "checker/private/history.h"
#include "checker/private/text.h"
#include "tests/helpers/suite.h"

#include <inttypes.h>
#include <string.h>

static const struct {
    bool (*read)(struct text_word word, uint64_t *value);
    const char *text;
    bool is_good;
    uint64_t value;
} texts[] = {
    {word_size, "0", true, 0},
    {word_size, "512", true, 512},
    {word_size, "4K", true, 4096},
    {word_size, "8M", true, UINT64_C(8) << 20},
    {word_size, "16G", true, UINT64_C(16) << 30},
    {word_size, "3T", true, UINT64_C(3) << 40},
    {word_size, "1P", true, UINT64_C(1) << 50},
    {word_size, "15E", true, UINT64_C(15) << 60},
    {word_size, "18446744073709551615", true, UINT64_MAX},
    {word_size, "18446744073709551616", false, 0},
    {word_size, "18014398509481983K", true, UINT64_MAX - 1023},
    {word_size, "18014398509481984K", false, 0},
    {word_size, "16E", false, 0},
    {word_size, "", false, 0},
    {word_size, "K", false, 0},
    {word_size, "1KK", false, 0},
    {word_size, "01", false, 0},
    {word_size, "+1", false, 0},
    {word_size, "0x10", false, 0},
    {word_size, "1.5K", false, 0},
    {word_duration, "0s", true, 0},
    {word_duration, "7ns", true, 7},
    {word_duration, "20us", true, 20000},
    {word_duration, "5ms", true, 5000000},
    {word_duration, "30s", true, UINT64_C(30000000000)},
    {word_duration, "10m", true, UINT64_C(600000000000)},
    {word_duration, "8h", true, UINT64_C(28800000000000)},
    {word_duration, "never", true, UINT64_MAX},
    {word_duration, "18446744073709551614ns", true, UINT64_MAX - 1},
    {word_duration, "18446744073709551615ns", false, 0},
    {word_duration, "5124095h", true, UINT64_C(18446742000000000000)},
    {word_duration, "5124096h", false, 0},
    {word_duration, "5", false, 0},
    {word_duration, "ms", false, 0},
    {word_duration, "5msec", false, 0},
    {word_duration, "5h30m", false, 0},
    {word_duration, "5.5s", false, 0},
    {word_duration, "5:s", false, 0},
    {word_duration, "", false, 0},
};

TEST(sizes_and_times_are_read_to_the_last_digit, .to = sizeof texts / sizeof *texts)
{
    uint64_t value = 0;
    const struct text_word word = {texts[_i].text, strlen(texts[_i].text)};
    const bool is_good = texts[_i].read(word, &value);
    ck_assert_msg(is_good == texts[_i].is_good && (!is_good || value == texts[_i].value),
                  "%s: %" PRIu64, texts[_i].text, value);
}

static const struct {
    const char *rounding;
    uint64_t granule, asked, most, needed;
} roundings[] = {
    /* The table of docs/promise.md. */
    {"granule", 512, 513, 1024, 513},
    {"granule overhead=16", 512, 512, 1024, 1024},
    {"classes=1", 512, 1025, 2048, 2048},
    {"classes=1 smallest=64K", 512, 1, 65536, 65536},
    {"classes=4", 16, 129, 160, 160},
    {"classes=8", 1, 118, 120, 120},
    {"classes=8", 512, 9500, 10240, 10240},
    /* The ends of classes. */
    {"any", 512, 7, UINT64_MAX, 7},
    {"classes=4", 1, 1, 1, 1},
    {"classes=4", 1, 2, 2, 2},
    {"classes=4", 1, 3, 3, 3},
    {"classes=4", 1, 16, 16, 16},
    {"classes=4", 1, 17, 20, 20},
    {"classes=4", 1, 32, 32, 32},
    {"classes=64", 1, 65, 65, 65},
    {"classes=64", 1, 129, 130, 130},
    {"classes=1 smallest=8", 1, 8, 8, 8},
    {"classes=1 smallest=8", 1, 9, 16, 16},
    {"classes=1 smallest=8 overhead=1", 4, 9, 20, 20},
    /* Nothing is above 2^63. */
    {"classes=1", 1, (UINT64_C(1) << 62) + 1, UINT64_C(1) << 63, UINT64_C(1) << 63},
    {"granule", 512, UINT64_MAX, UINT64_C(1) << 63, UINT64_MAX},
    {"granule", 512, (UINT64_C(1) << 63) - 1, UINT64_C(1) << 63, (UINT64_C(1) << 63) - 1},
    {"granule overhead=1P", 512, (UINT64_C(1) << 63) - 1, UINT64_C(1) << 63, UINT64_C(1) << 63},
};

TEST(a_block_may_have_what_its_rounding_allows, .to = sizeof roundings / sizeof *roundings)
{
    struct rounding rounding;
    const char *text = roundings[_i].rounding;
    ck_assert(rounding_read((struct text_word){text, strlen(text)}, &rounding));
    ck_assert_uint_eq(rounding_most(&rounding, roundings[_i].granule, roundings[_i].asked),
                      roundings[_i].most);
    ck_assert_uint_eq(rounding_needed(&rounding, roundings[_i].granule, roundings[_i].asked),
                      roundings[_i].needed);
}
