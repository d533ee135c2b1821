/* The chip that a log names, and none where it names several or only seems to. */
#include "formats/common/chip_named.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

static const struct {
    const char *text;
    const char *chip; /* NULL: none */
    const char *named;
} texts[] = {
    {"pod v6e-8 is up", "v6e", "v6e-8"},
    {"Accelerator type: v6e", "v6e", "Accelerator type: v6e"},
    {"[TpuDevice(id=0, TPU v5 lite)]", "v5e", "TPU v5 lite"},
    {"type v5litepod-16", "v5e", "v5litepod-16"},
    {"v5p-2048", "v5p", "v5p-2048"},
    {"resnet152_v3-8 run", "v3", "v3-8"},
    {"machine tpu7x, 4 hosts", "v7x", "tpu7x"},
    {"Used 34.90G of 31.25G hbm.", "v6e", "of 31.25G hbm"},
    {"bytes_limit: 16909332480,", "v5e", "16909332480"},
    {"TPU v4 and then TPU v4", "v4", "TPU v4"},
    {"moved from v4-8 to v5p-8", NULL, NULL},
    {"deepseek-v3-2", NULL, NULL},
    {"v4-7 layers", NULL, NULL},
    {"v4-8b", NULL, NULL},
    {"v4-8-large", NULL, NULL},
    {"a31.25Gb", NULL, NULL},
    {"", NULL, NULL},
    {"v6e-", NULL, NULL},
};

TEST(a_log_names_one_chip_or_none, .to = sizeof texts / sizeof texts[0])
{
    size_t at = 0, length = 0;
    const struct chip *chip = chip_named(texts[_i].text, strlen(texts[_i].text), &at, &length);
    if (texts[_i].chip == NULL) {
        ck_assert_msg(chip == NULL, "%s", texts[_i].text);
        return;
    }
    ck_assert_msg(chip != NULL && strcmp(chip->name, texts[_i].chip) == 0, "%s", texts[_i].text);
    ck_assert_uint_eq(length, strlen(texts[_i].named));
    ck_assert(memcmp(texts[_i].text + at, texts[_i].named, length) == 0);
}
