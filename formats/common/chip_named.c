#include "formats/common/chip_named.h"

#include "formats/common/phrase.h"
#include "harness/base/size.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SLICE_MAX = 65536, NAME_BYTES = 64 };

static const struct naming {
    const char *name; /* '#' at its end: a number of chips or cores, a power of two */
    const char *chip;
} namings[] = {
    {"v2-#", "v2"},
    {"TPU v2", "v2"},
    {"Accelerator type: v2", "v2"},
    {"v3-#", "v3"},
    {"TPU v3", "v3"},
    {"Accelerator type: v3", "v3"},
    {"v4-#", "v4"},
    {"TPU v4", "v4"},
    {"Accelerator type: v4", "v4"},
    {"v5e-#", "v5e"},
    {"TPU v5e", "v5e"},
    {"Accelerator type: v5e", "v5e"},
    {"v5litepod-#", "v5e"},
    {"TPU v5 lite", "v5e"},
    {"TPU v5litepod", "v5e"},
    {"v5p-#", "v5p"},
    {"TPU v5p", "v5p"},
    {"Accelerator type: v5p", "v5p"},
    {"v6e-#", "v6e"},
    {"TPU v6e", "v6e"},
    {"Accelerator type: v6e", "v6e"},
    {"TPU v6 lite", "v6e"},
    {"tpu7x", "v7x"},
    {"TPU7x", "v7x"},
    {"tpu7x-#", "v7x"},
    {"v7x-#", "v7x"},
    {"TPU v7x", "v7x"},
    {"Accelerator type: v7x", "v7x"},
    {"Accelerator type: tpu7x", "v7x"},
};
enum { NAMING_COUNT = sizeof namings / sizeof namings[0] };

/* The chip and the place that the search has found so far. */
struct chip_search {
    const char *text;
    size_t length;
    const struct chip *chip;
    size_t at, named_length;
    bool is_ambiguous;
};

/* Behind a name: a power of two.  Returns the digits; 0: it is none. */
static size_t measure_slice(const char *digits, size_t length)
{
    size_t count = 0;
    uint64_t number = 0;
    while (count < length && count < 5 && digits[count] >= '0' && digits[count] <= '9') {
        number = number * 10 + (uint64_t)(digits[count++] - '0');
    }
    const bool is_slice = number > 0 && number <= SLICE_MAX && (number & (number - 1)) == 0;
    return is_slice ? count : 0;
}

/* The bytes of the name that stands at that place as a word of its own; 0: it does not. */
static size_t measure_name(const struct chip_search *search, size_t at, const char *name)
{
    const size_t name_length = strcspn(name, "#");
    const bool has_slice = name[name_length] == '#';
    size_t end = at + name_length;
    const char before = at > 0 ? search->text[at - 1] : ' ';
    if ((phrase_is_word(before) && before != '_') || before == '-' || before == '.') {
        return 0;
    }
    if (has_slice) {
        const size_t digits = measure_slice(search->text + end, search->length - end);
        end = digits == 0 ? search->length + 1 : end + digits;
    }
    const bool is_word = end <= search->length &&
                         (end == search->length || !phrase_is_word(search->text[end])) &&
                         !(has_slice && end < search->length && search->text[end] == '-');
    return is_word ? end - at : 0;
}

static void find_name(struct chip_search *search, const char *name, const struct chip *chip)
{
    const size_t name_length = strcspn(name, "#");
    const char *end = search->text + search->length;
    const char *here = search->text;
    while ((here = memmem(here, (size_t)(end - here), name, name_length)) != NULL) {
        const size_t at = (size_t)(here - search->text);
        const size_t named_length = measure_name(search, at, name);
        if (named_length > 0) {
            search->is_ambiguous |= search->chip != NULL && search->chip != chip;
            if (search->chip == NULL || at < search->at) {
                search->at = at;
                search->named_length = named_length;
            }
            search->chip = chip;
            return;
        }
        here++;
    }
}

/* Searches for the capacity of the chip, as the compiler and the runtime print it. */
static void find_capacity(struct chip_search *search, const struct chip *chip)
{
    char size[SIZE_TEXT_BYTES];
    char name[NAME_BYTES];
    size_print_field(chip->capacity_bytes, size);
    snprintf(name, sizeof name, "of %s hbm", size);
    find_name(search, name, chip);
    snprintf(name, sizeof name, "available HBM (%s)", size);
    find_name(search, name, chip);
    snprintf(name, sizeof name, "%" PRIu64, chip->capacity_bytes);
    find_name(search, name, chip);
}

const struct chip *chip_named(const char *text, size_t length, size_t *at, size_t *named_length)
{
    struct chip_search search = {.text = text, .length = length};
    for (size_t i = 0; i < NAMING_COUNT; i++) {
        const struct chip *chip = chip_find(namings[i].chip);
        if (chip != NULL) {
            find_name(&search, namings[i].name, chip);
        }
    }
    for (size_t i = 0; chips[i] != NULL; i++) {
        find_capacity(&search, chips[i]);
    }
    if (search.chip == NULL || search.is_ambiguous) {
        return NULL;
    }
    *at = search.at;
    *named_length = search.named_length;
    return search.chip;
}
