/* Certificates with memory that is kept: what a document may show of it, and how it decides. */
#include "tests/checker/document.h"
#include "tests/helpers/suite.h"

#include <check.h>

#define PLACED(defrag, placement)                                                          \
    "{'defrag': '" #defrag "', 'drains': true, 'evicts': true, 'program_evicts_program': " \
    "false, 'placement': '" #placement "', 'header': 0}"
#define OF(op, kind, state, address, size, align, holds, used_until, freed_at)         \
    "{'op': " #op ", 'kind': '" #kind "', 'state': '" #state "', 'address': " #address \
    ", 'size': " #size ", 'align': " #align ", 'stack': 0, 'holds': " #holds           \
    ", 'used_until': " #used_until ", 'freed_at': " #freed_at "}"
#define KEPT(op, address, size, holds, freed_at) \
    OF(op, buffer, kept, address, size, 1, holds, 0, freed_at)

/* A contract that moves nothing where none is given. */
static void expect(struct document document, enum certificate_result result, const char *part)
{
    document.contract = document.contract == NULL ? PLACED(none, ranges) : document.contract;
    document.request = document.request == NULL ? BUFFER(101) : document.request;
    document.proof = document.proof == NULL ? SPANS : document.proof;
    document_expect(document, result, part);
}

#define holds(...) expect((struct document){__VA_ARGS__}, CERTIFICATE_VALID, "")
#define fails(part, ...) expect((struct document){__VA_ARGS__}, CERTIFICATE_REFUTED, part)

TEST(what_is_kept_goes_with_its_last_event)
{
    holds(.request = BUFFER(50), .blocks = KEPT(3, 10, 60, 0, -1));
    holds(.request = BUFFER(50), .blocks = KEPT(3, 10, 60, 1, 5));
    holds(.request = BUFFER(50), .blocks = KEPT(3, 10, 60, 0, 5), .refused = NO_WAIT);
    fails("the request fits", .request = BUFFER(50), .blocks = KEPT(3, 10, 60, 0, 5));
    holds(.request = BUFFER(50), .blocks = KEPT(3, 10, 60, 0, 5), .claim = "premature",
          .proof = PLAN(5, "", "", 10));
    fails("in the way", .request = BUFFER(50), .blocks = KEPT(3, 10, 60, 0, 5),
          .claim = "premature", .proof = PLAN(4, "", "", 10));
    fails("may not move", .request = BUFFER(50), .blocks = KEPT(3, 10, 60, 0, -1),
          .claim = "premature", .proof = PLAN(0, "", MOVE(0, 10, 0, 60), 60));
}

TEST(what_is_kept_was_left_by_a_buffer_or_output)
{
    const char *reason = "blocks[0]: what is kept is left by a buffer or output";
    holds(.blocks = OF(1, output, kept, 0, 10, 1, 0, 0, 5));
    holds(.blocks = KEPT(1, 0, 10, 1, 0));
    fails(reason, .blocks = OF(1, program, kept, 0, 10, 1, 0, 5, 5));
    fails("blocks[0]: retired memory", .blocks = OF(1, retired, kept, 0, 10, 1, 1, 0, 0));
    fails(reason, .blocks = OF(1, buffer, kept, 0, 10, 2, 0, 0, 5));
    fails(reason, .blocks = KEPT(1, 0, 10, 2, 5));
    fails(reason, .blocks = OF(1, buffer, kept, 0, 10, 1, 0, 4, 5));
    fails("blocks[0]: it waits for nothing", .blocks = KEPT(1, 0, 10, 0, 0));
}

TEST(pieces_of_one_op_are_alike_and_do_not_touch)
{
    const char *reason = "blocks[1]: blocks[0] was made by the same op";
    holds(.blocks = KEPT(1, 0, 10, 0, 5) "," KEPT(1, 11, 10, 0, 5));
    holds(.blocks = KEPT(1, 0, 10, 0, 5) "," KEPT(2, 10, 10, 1, 0) "," KEPT(1, 20, 10, 0, 5));
    holds(.blocks = KEPT(1, 0, 10, 0, -1) "," KEPT(1, 11, 10, 0, -1));
    fails(reason, .blocks = KEPT(1, 0, 10, 0, 5) "," KEPT(1, 10, 10, 0, 5));
    fails(reason, .blocks = KEPT(1, 0, 10, 0, 5) "," KEPT(1, 11, 10, 0, 6));
    fails(reason, .blocks = KEPT(1, 0, 10, 0, 5) "," KEPT(1, 11, 10, 1, 5));
    fails(reason, .blocks = KEPT(1, 0, 10, 0, 5) "," OF(1, buffer, live, 11, 10, 1, 0, 0, 0));
    fails(reason, .blocks = OF(1, buffer, dying, 0, 10, 1, 0, 0, 5) "," KEPT(1, 11, 10, 0, 5));
    fails("blocks[1]: it is not aligned, overlaps",
          .blocks = KEPT(1, 0, 10, 0, 5) "," KEPT(2, 9, 10, 0, 5));
}

TEST(nothing_moves_or_runs_next_to_what_is_kept)
{
    const char *reason = "blocks: moves, regions, programs and bad memory do not go with";
    fails(reason, .contract = PLACED(slide, ranges), .blocks = KEPT(1, 0, 10, 0, 5));
    fails(reason, .contract = PLACED(repack, ranges), .blocks = KEPT(1, 0, 10, 0, 5),
          .refused = NO_COPY);
    fails(reason, .blocks = KEPT(1, 0, 10, 0, 5) "," IMAGE(20, 10, 0, 0));
    fails(reason, .blocks = KEPT(1, 0, 10, 0, 5) "," OF(2, retired, live, 20, 10, 1, 1, 0, 0));
    fails(reason, .request = PROGRAM(101, 0), .blocks = KEPT(1, 0, 10, 0, 5));
    fails(reason,
          .device = "{'capacity': 100, 'granule': 1, 'region_align': 4, 'regions': [[0, 20]]}",
          .contract = "{'defrag': 'none', 'drains': true, 'evicts': false, "
                      "'program_evicts_program': false, 'placement': 'ranges', 'header': 0, "
                      "'grows': true, 'trims': true, 'step': 1}",
          .refused = "{'copy': false, 'wait': false, 'unload': false, 'host_memory': false, "
                     "'region': false}",
          .blocks = KEPT(1, 0, 10, 0, 5));
}

TEST(without_addresses_what_is_kept_proves_nothing)
{
    const char *plan = PLAN(0, "", "", -1);
    fails("blocks: what is kept proves nothing", .contract = PLACED(none, hidden),
          .blocks = KEPT(1, 0, 10, 0, 5), .proof = "{'kind': 'sum', 'need': 111, 'have': 100}");
    holds(.contract = PLACED(none, hidden), .request = BUFFER(20), .claim = "premature",
          .blocks = KEPT(1, 0, 60, 0, -1), .proof = plan);
    fails("it depends on where", .contract = PLACED(none, hidden), .request = BUFFER(21),
          .claim = "premature", .blocks = KEPT(1, 0, 60, 0, -1), .proof = plan);
    holds(.contract = PLACED(none, pages), .request = BUFFER(40), .claim = "premature",
          .blocks = KEPT(1, 0, 60, 0, -1), .proof = plan);
    /* The same bytes may stand there twice. */
    fails("more than is free", .contract = PLACED(none, pages), .request = BUFFER(1),
          .claim = "premature", .blocks = KEPT(1, 0, 60, 0, -1) "," KEPT(2, 0, 60, 0, -1),
          .proof = plan);
    fails("blocks[1]: blocks[0] was made by the same op", .contract = PLACED(none, pages),
          .request = BUFFER(1), .claim = "premature",
          .blocks = KEPT(1, 0, 10, 0, -1) "," KEPT(1, 0, 10, 0, -1), .proof = plan);
}

TEST(a_contract_without_a_placement_is_of_ranges)
{
    expect((struct document){.contract = "{'defrag': 'none', 'drains': true, 'evicts': true, "
                                         "'program_evicts_program': false, 'header': 0}"},
           CERTIFICATE_UNREADABLE, "placement and header belong together");
    holds(.contract = CONTRACT(none), .blocks = KEPT(1, 0, 10, 0, 5));
    fails("overlaps", .contract = CONTRACT(none),
          .blocks = KEPT(1, 0, 10, 0, 5) "," KEPT(2, 9, 10, 0, 5));
}
