/* What the tests of the two reports share: an import of a text, and of a damaged one. */
#ifndef TESTS_FORMATS_HBM_IMPORT_H
#define TESTS_FORMATS_HBM_IMPORT_H

#include "formats/formats.h"
#include "harness/base/random.h"
#include "tests/formats/import_fixture.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Imports in memory of its own, so that a read beyond the text is seen. */
static enum import_result import_bytes(const char *bytes, size_t length, const char *format)
{
    char *copy = malloc(length + (length == 0 ? 1 : 0));
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, length);
    error = (struct import_error){0};
    const enum import_result result = import_text(copy, length, format, NULL, &import, &error);
    free(copy);
    if (result != IMPORT_OK) {
        ck_assert_uint_eq(import.ops.count, 0);
        ck_assert(error.reason[0] != '\0' && strchr(error.reason, '\n') == NULL);
    }
    return result;
}

/* Any bytes in place of some of a file's: imports, or is refused, and never more. */
static void damage(const char *bytes, size_t length, uint64_t seed, int rounds)
{
    static const char likely[] = "\0\n\r\t ,.:;\"'0129-xBKMGTP()[]{}=%\\\xFF";
    struct random random;
    random_init(&random, seed);
    for (int i = 0; i < rounds; i++) {
        char *copy = malloc(length);
        ck_assert_ptr_nonnull(copy);
        memcpy(copy, bytes, length);
        for (uint64_t count = random_between(&random, 1, 4); count > 0; count--) {
            copy[random_below(&random, length)] = likely[random_below(&random, sizeof likely - 1)];
        }
        (void)import_bytes(copy, length, "auto");
        free(copy);
    }
}

#endif
