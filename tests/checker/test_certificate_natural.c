/* Certificates of a contract that aligns naturally: what may stand in such a document, and which
 * proofs hold there. */
#include "tests/checker/document.h"
#include "tests/helpers/suite.h"

#include <check.h>

#define CONTRACT_WITH(defrag, header, value)                                                       \
    "{'defrag': '" #defrag "', 'drains': true, 'evicts': false, 'program_evicts_program': false, " \
    "'placement': 'ranges', 'header': " #header ", 'aligns_naturally': " #value "}"
#define NATURAL CONTRACT_WITH(none, 0, true)
#define ALIGNED(bytes, align) REQUEST(buffer, bytes, align, 0, -1)
#define FIT_AT(address) .claim = "premature", .proof = PLAN(0, "", "", address)
/* 2^50; half of it is 562949953421312. */
#define LARGE_DEVICE "{'capacity': 1125899906842624, 'granule': 1}"
#define HALF_REQUEST                                                           \
    "{'class': 'buffer', 'bytes': 562949953421312, 'align': 562949953421312, " \
    "'stack': 0, 'program': -1}"

/* What is not there is that of a device of 12 bytes. */
static void expect(struct document document, enum certificate_result result, const char *part)
{
    document.device = document.device == NULL ? "{'capacity': 12, 'granule': 1}" : document.device;
    document.contract = document.contract == NULL ? NATURAL : document.contract;
    document.proof = document.proof == NULL ? SPANS : document.proof;
    document_expect(document, result, part);
}

#define holds(...) expect((struct document){__VA_ARGS__}, CERTIFICATE_VALID, "")
#define fails(part, ...) expect((struct document){__VA_ARGS__}, CERTIFICATE_REFUTED, part)

TEST(a_request_lies_at_a_multiple_of_its_bytes)
{
    holds(.request = ALIGNED(4, 4), .blocks = LIVE(0, 1) "," LIVE(7, 2));
    fails("the request fits", .request = ALIGNED(4, 4), .blocks = LIVE(0, 1) "," LIVE(7, 1));
    holds(.request = ALIGNED(4, 4), .blocks = LIVE(0, 1) "," LIVE(7, 1), FIT_AT(8));
    fails("not aligned", .request = ALIGNED(4, 4), .blocks = LIVE(0, 1) "," LIVE(7, 1), FIT_AT(2));
    fails("less than its bytes", .request = ALIGNED(4, 2), .blocks = LIVE(0, 1) "," LIVE(7, 2));
    fails("no size class", .request = ALIGNED(6, 8), .blocks = LIVE(0, 1) "," LIVE(7, 2));
    holds(.request = ALIGNED(2, 8), .blocks = LIVE(0, 1) "," LIVE(8, 1));
    /* What is larger than the device keeps what it asks for. */
    holds(.request = ALIGNED(16, 1));
}

TEST(an_alignment_may_be_as_large_as_a_device)
{
    holds(.device = LARGE_DEVICE, .request = HALF_REQUEST, .blocks = LIVE(0, 1),
          FIT_AT(562949953421312));
    holds(.device = LARGE_DEVICE, .request = HALF_REQUEST,
          .blocks = LIVE(0, 1) "," LIVE_ALIGNED(562949953421312, 1, 562949953421312));
    holds(.device = LARGE_DEVICE, .request = ALIGNED(1, 1125899906842624), .blocks = LIVE(0, 1));
    fails("out of range", .device = LARGE_DEVICE, .request = ALIGNED(1, 2251799813685248));
    fails("out of range", .device = LARGE_DEVICE, .contract = CONTRACT(none),
          .request = ALIGNED(1, 2147483648));
}

TEST(what_does_not_go_with_it_is_refused)
{
    const char *part = "it aligns naturally";
    fails("does not move", .contract = CONTRACT_WITH(slide, 1, true), .request = ALIGNED(16, 16));
    fails(part, .contract = CONTRACT_WITH(slide, 0, true), .request = ALIGNED(16, 16));
    fails(part, .contract = CONTRACT_WITH(none, 1, true), .request = ALIGNED(16, 16));
    fails(part, .request = REQUEST(program, 16, 1, 0, -1));
    fails(part, .request = REQUEST(program, 0, 1, 0, 0), .blocks = IMAGE(0, 1, 0, 0));
    fails(part, .request = ALIGNED(16, 16), .blocks = IMAGE(0, 1, 0, 0));
    fails("true or not there", .contract = CONTRACT_WITH(none, 0, false),
          .request = ALIGNED(16, 16));
}
