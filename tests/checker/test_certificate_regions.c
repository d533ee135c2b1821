/* Certificates of a contract that grows: what regions a document may have, and which proofs hold
 * with them. */
#include "tests/checker/document.h"
#include "tests/helpers/suite.h"

#include <check.h>

/* Regions begin at multiples of 4. */
#define DEVICE(capacity, regions) \
    "{'capacity': " #capacity ", 'granule': 1, 'region_align': 4, 'regions': [" regions "]}"
#define GROWS(trims, step)                                                                  \
    "{'defrag': 'none', 'drains': true, 'evicts': false, 'program_evicts_program': false, " \
    "'placement': 'ranges', 'header': 0, 'grows': true, 'trims': " #trims ", 'step': " #step "}"
#define REFUSED_WITH(host_memory, region)                                          \
    "{'copy': false, 'wait': false, 'unload': false, 'host_memory': " #host_memory \
    ", 'region': " #region "}"
#define FIT_AT(address) .claim = "premature", .proof = PLAN(0, "", "", address)
#define FIT_AFTER(until, address) .claim = "premature", .proof = PLAN(until, "", "", address)

/* What is not there is that of a contract that trims, and of a device of two empty regions. */
static void expect(struct document document, enum certificate_result result, const char *part)
{
    document.device = document.device == NULL ? DEVICE(8, "[0, 4], [4, 8]") : document.device;
    document.contract = document.contract == NULL ? GROWS(true, 1) : document.contract;
    document.refused = document.refused == NULL ? REFUSED_WITH(false, false) : document.refused;
    document.proof = document.proof == NULL ? SPANS : document.proof;
    document_expect(document, result, part);
}

#define holds(...) expect((struct document){__VA_ARGS__}, CERTIFICATE_VALID, "")
#define fails(part, ...) expect((struct document){__VA_ARGS__}, CERTIFICATE_REFUTED, part)
#define is_unread(part, ...) expect((struct document){__VA_ARGS__}, CERTIFICATE_UNREADABLE, part)

TEST(a_request_fits_into_one_region_that_is_held)
{
    holds(.request = BUFFER(3), .blocks = LIVE(0, 1) "," LIVE(6, 2), FIT_AT(1));
    fails("no region", .request = BUFFER(3), .blocks = LIVE(0, 1) "," LIVE(6, 2), FIT_AT(2));
    holds(.request = BUFFER(4), .blocks = LIVE(0, 1) "," LIVE(6, 2));
    fails("the request fits at 1", .request = BUFFER(3), .blocks = LIVE(0, 1) "," LIVE(6, 2));
    fails("in the way", .request = BUFFER(3), .blocks = LIVE(0, 1) "," LIVE(6, 2), FIT_AT(0));
    holds(.request = BUFFER(2), .blocks = LIVE(0, 1) "," LIVE(4, 1), FIT_AT(5));
    fails("the request fits at 5", .request = BUFFER(2), .blocks = LIVE(0, 3) "," LIVE(4, 1));
}

TEST(a_new_region_takes_what_the_contract_says)
{
    holds(.device = DEVICE(12, "[0, 3]"), .request = BUFFER(8), .blocks = LIVE(0, 3), FIT_AT(4));
    fails("no region", .device = DEVICE(12, "[0, 3]"), .request = BUFFER(8), .blocks = LIVE(0, 3),
          .claim = "premature", .proof = PLAN(0, "", "", 3));
    holds(.device = DEVICE(12, "[0, 3]"), .request = BUFFER(9), .blocks = LIVE(0, 3));
    holds(.device = DEVICE(12, "[0, 3]"), .contract = GROWS(true, 5), .request = BUFFER(6),
          .blocks = LIVE(0, 3));
    fails("the request fits at 4", .device = DEVICE(14, "[0, 3]"), .contract = GROWS(true, 5),
          .request = BUFFER(6), .blocks = LIVE(0, 3));
    fails("no region", .device = DEVICE(12, "[0, 3]"), .contract = GROWS(true, 5),
          .request = BUFFER(6), .blocks = LIVE(0, 3), FIT_AT(4));
}

TEST(empty_regions_give_way_if_they_are_given_back)
{
    holds(.request = BUFFER(8), FIT_AT(0));
    fails("no region", .contract = GROWS(false, 1), .request = BUFFER(8), FIT_AT(0));
    holds(.contract = GROWS(false, 1), .request = BUFFER(8));
    fails("the request fits at 0", .request = BUFFER(8));
    holds(.request = BUFFER(8), .blocks = LIVE(7, 1));
    fails("no region", .request = BUFFER(7), .blocks = LIVE(7, 1), FIT_AT(0));
    holds(.request = BUFFER(7), .blocks = DYING(7, 1, 0, 5), FIT_AFTER(5, 0));
    fails("no region", .request = BUFFER(7), .blocks = DYING(7, 1, 0, 5), FIT_AFTER(4, 0));
    holds(.request = BUFFER(7), .blocks = DYING(7, 1, 1, 5));
}

TEST(a_refused_region_excuses_a_new_one_alone)
{
    holds(.refused = REFUSED_WITH(false, true), .request = BUFFER(8));
    holds(.refused = REFUSED_WITH(true, false), .request = BUFFER(8));
    fails("no region", .refused = REFUSED_WITH(false, true), .request = BUFFER(8), FIT_AT(0));
    fails("the request fits at 4", .refused = REFUSED_WITH(false, true), .request = BUFFER(4),
          .blocks = LIVE(0, 1));
}

TEST(regions_that_cannot_be_are_refused)
{
    fails("regions[1]", .device = DEVICE(8, "[4, 8], [0, 4]"), .request = BUFFER(9));
    fails("regions[1]", .device = DEVICE(8, "[0, 5], [4, 8]"), .request = BUFFER(9));
    fails("regions[0]", .device = DEVICE(8, "[2, 8]"), .request = BUFFER(9));
    fails("regions[0]", .device = DEVICE(8, "[0, 9]"), .request = BUFFER(9));
    fails("regions[0]", .device = DEVICE(8, "[4, 4]"), .request = BUFFER(9));
    fails("regions[0]", .device = DEVICE(8, "[-4, 4]"), .request = BUFFER(9));
    is_unread("regions", .device = DEVICE(8, "[0]"), .request = BUFFER(9));
    is_unread("regions", .device = DEVICE(8, "[0, 4, 8]"), .request = BUFFER(9));
    fails("blocks[0]: it lies in no region", .blocks = LIVE(3, 2), .request = BUFFER(9));
    fails("blocks[1]: it lies in no region", .device = DEVICE(9, "[0, 4]"), .request = BUFFER(10),
          .blocks = LIVE(3, 1) "," LIVE(4, 1));
    fails("programs and retired", .blocks = IMAGE(0, 1, 0, 0), .request = BUFFER(9));
    fails("step is out of range", .contract = GROWS(true, 0), .request = BUFFER(9));
    fails("region_align", .request = REQUEST(buffer, 9, 8, 0, -1));
    fails("do not go with regions", .request = PROGRAM(9, 0));
}

/* Everything else stands; one member does not. */
static void drop_member(const char *text)
{
    const struct document document = {.device = DEVICE(8, "[0, 4]"),
                                      .contract = GROWS(true, 1),
                                      .refused = REFUSED_WITH(false, false),
                                      .request = BUFFER(9),
                                      .proof = SPANS};
    document_write(document);
    document_replace(text, "");
    document_expect_text(CERTIFICATE_UNREADABLE, "some members of regions are missing");
}

TEST(all_members_of_regions_are_there_or_none)
{
    holds(.device = DEVICE(8, "[0, 4]"), .request = BUFFER(9));
    drop_member(", \"region_align\": 4");
    drop_member(", \"regions\": [[0, 4]]");
    drop_member(", \"grows\": true");
    drop_member(", \"trims\": true");
    drop_member(", \"step\": 1");
    drop_member(", \"region\": false");
}
