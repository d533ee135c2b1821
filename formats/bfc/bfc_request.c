/* How many bytes were asked for.  Newer dumps print the rounded size; older ones print it as people
 * read it, which many sizes share, and sometimes name the tensor. */
#include "formats/bfc/private/bfc.h"
#include "formats/common/printed_size.h"
#include "harness/base/align.h"

#include <inttypes.h>
#include <string.h>

/* Whether the rounded size agrees with what is printed beside it. */
static bool is_possible_request(const struct bfc_dump *dump, uint64_t rounded_bytes)
{
    struct size_range asked;
    if (dump->bin_for_line != 0 && !bfc_prints_as(rounded_bytes, &dump->bin_for)) {
        return false;
    }
    if (dump->request_line == 0) {
        return true;
    }
    const struct text_part *text = &dump->requested; /* "112.5KiB" */
    char number[SETUP_NAME_BYTES];
    const size_t length = text->length >= 3 && text->at[text->length - 2] == 'i' ? text->length - 2
                                                                                 : text->length;
    if (length >= sizeof number) {
        return false;
    }
    memcpy(number, text->at, length);
    return printed_size_parse(number, length, &asked) && asked.low <= rounded_bytes &&
           asked.high + BFC_GRANULE_BYTES > rounded_bytes;
}

/* What was asked for is a tensor of so many elements: of the sizes of elements, only one agrees
 * with the text. */
static uint64_t find_request_of_shape(const struct bfc_dump *dump)
{
    uint64_t found_bytes = 0;
    for (uint64_t element_bytes = 1; element_bytes <= 16; element_bytes *= 2) {
        if (dump->element_count == 0 || dump->element_count > CAPACITY_BYTES_MAX / element_bytes) {
            continue;
        }
        const uint64_t rounded_bytes = align_up(dump->element_count * element_bytes,
                                                BFC_GRANULE_BYTES);
        if (is_possible_request(dump, rounded_bytes)) {
            if (found_bytes != 0) {
                return 0;
            }
            found_bytes = rounded_bytes;
        }
    }
    return found_bytes;
}

/* Of the sizes that print as the text, the nearest to it that finds no room, if there is one. */
static uint64_t find_request_of_text(const struct bfc_dump *dump)
{
    struct size_range range;
    const struct text_part *text = dump->bin_for_line != 0 ? &dump->bin_for : &dump->requested;
    const bool has_unit = text->length >= 3 && text->at[text->length - 2] == 'i';
    if (!printed_size_parse(text->at, has_unit ? text->length - 2 : text->length, &range) ||
        range.high > CAPACITY_BYTES_MAX || !printed_size_align(&range, BFC_GRANULE_BYTES)) {
        return 0;
    }
    if (range.nominal > dump->largest_free_bytes) {
        return range.nominal;
    }
    const uint64_t above_bytes = align_up(dump->largest_free_bytes + 1, BFC_GRANULE_BYTES);
    return above_bytes <= range.high ? above_bytes : range.nominal;
}

enum import_result bfc_check_request(struct bfc_dump *dump, struct import_error *error)
{
    const size_t line = dump->request_line != 0 ? dump->request_line : dump->bin_for_line;
    dump->request_bytes = dump->rounded_bytes;
    if (dump->request_bytes == 0) {
        dump->request_bytes = find_request_of_shape(dump);
    }
    dump->is_request_exact = dump->request_bytes != 0;
    if (!dump->is_request_exact) {
        dump->request_bytes = find_request_of_text(dump);
    }
    if (dump->request_bytes == 0 || dump->request_bytes > CAPACITY_BYTES_MAX ||
        !is_possible_request(dump, dump->request_bytes)) {
        return import_fail(
            error, IMPORT_INVALID, line, 0,
            "the sizes of the request contradict each other, or are not 1 to 2^50 bytes");
    }
    if (dump->request_bytes <= dump->largest_free_bytes) {
        return import_fail(error, IMPORT_INVALID, line, 0,
                           "the request of %" PRIu64 " bytes would have fitted: a chunk of %" PRIu64
                           " bytes is free",
                           dump->request_bytes, dump->largest_free_bytes);
    }
    return IMPORT_OK;
}
