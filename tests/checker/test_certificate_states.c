/* The independent checker refuses states that cannot be, whatever the proof: each has a neighbour
 * that can be. */
#include "tests/checker/document.h"
#include "tests/helpers/suite.h"

#include <check.h>

#define RETIRED(state, address, holds, used_until, freed_at) \
    BLOCK(retired, state, address, 10, 1, 0, holds, used_until, freed_at)
#define STUCK(kind, size, align, stack, holds, used_until, freed_at) \
    BLOCK(kind, dying, 90, size, align, stack, holds, used_until, freed_at)

/* What no placement takes, so that each state has a proof. */
#define TOO_LARGE(blocks_text) \
    .contract = CONTRACT(none), .request = BUFFER(101), .blocks = blocks_text, .proof = SPANS

TEST(retired_memory_is_live_in_its_place_held_once_and_unused)
{
    const char *reason = "blocks[0]: retired memory";
    accepts(TOO_LARGE(RETIRED(live, 0, 1, 0, 0)));
    refutes(reason, TOO_LARGE(RETIRED(live, 0, 0, 0, 0)));
    refutes(reason, TOO_LARGE(RETIRED(live, 0, 2, 0, 0)));
    refutes(reason, TOO_LARGE(RETIRED(live, 0, 1, 3, 0)));
    refutes(reason, TOO_LARGE(RETIRED(live, 0, 1, -1, 0)));
    refutes(reason, TOO_LARGE(RETIRED(dying, 0, 1, 0, 5)));
    refutes(reason, .request = BUFFER(101), .blocks = RETIRED(live, -1, 1, 0, 0),
            .proof = ROUNDING(1, 111, 100));
    refutes("blocks[1]: retired memory", TOO_LARGE(LIVE(0, 10) "," RETIRED(live, 20, 0, 0, 0)));
}

TEST(what_is_freed_waits_for_something)
{
    accepts(TOO_LARGE(DYING(0, 10, 0, 1)));
    accepts(TOO_LARGE(DYING(0, 10, 1, 0)));
    refutes("blocks[0]: it waits for nothing", TOO_LARGE(DYING(0, 10, 0, 0)));
    refutes("blocks[1]: it waits for nothing", TOO_LARGE(LIVE(0, 10) "," DYING(10, 10, 0, 0)));
    refutes("blocks[0]: it waits for nothing", .request = BUFFER(101),
            .blocks = BLOCK(buffer, dying, -1, 20, 1, 0, 0, 0, 0), .proof = ROUNDING(1, 101, 100));
}

TEST(what_is_freed_waits_for_its_uses)
{
    accepts(TOO_LARGE(STUCK(buffer, 10, 1, 0, 0, 5, 5)));
    accepts(TOO_LARGE(STUCK(buffer, 10, 1, 0, 0, 5, -1)));
    accepts(TOO_LARGE(STUCK(buffer, 10, 1, 0, 0, -1, -1)));
    refutes("blocks[0]: it is used after", TOO_LARGE(STUCK(buffer, 10, 1, 0, 0, 6, 5)));
    refutes("blocks[0]: it is used after", TOO_LARGE(STUCK(buffer, 10, 1, 0, 0, -1, 5)));
    refutes("blocks[0]: it is used after", TOO_LARGE(STUCK(buffer, 10, 1, 0, 1, 5, 0)));
    /* An unloaded program waits for nothing else. */
    accepts(TOO_LARGE(STUCK(program, 10, 1, 0, 0, 5, 5)));
    refutes("blocks[0]: an unloaded program", TOO_LARGE(STUCK(program, 10, 1, 0, 0, 5, 6)));
    refutes("blocks[0]: an unloaded program", TOO_LARGE(STUCK(program, 10, 1, 0, 0, 5, -1)));
    refutes("blocks[0]: an unloaded program", TOO_LARGE(STUCK(program, 10, 1, 0, 0, 0, 5)));
}

TEST(references_are_of_buffers)
{
    accepts(TOO_LARGE(BLOCK(buffer, live, 0, 10, 1, 0, 3, 0, 0)));
    accepts(TOO_LARGE(BLOCK(output, live, 0, 10, 1, 0, 3, 0, 0)));
    refutes("blocks[0]: a program has no holds",
            TOO_LARGE(BLOCK(program, live, 0, 10, 1, 0, 1, 0, 0)));
}

TEST(no_block_begins_in_the_stack_of_a_program_that_is_in_use)
{
    const char *reason = "blocks[0]: it begins in the stack";
    accepts(TOO_LARGE(HELD(10, 10) "," IMAGE(20, 10, 10, -1)));
    accepts(TOO_LARGE(HELD(9, 10) "," IMAGE(20, 10, 10, 0)));
    refutes(reason, TOO_LARGE(HELD(9, 10) "," IMAGE(20, 10, 10, -1)));
    refutes(reason, TOO_LARGE(HELD(9, 10) "," IMAGE(20, 10, 10, 1)));
    refutes(reason, TOO_LARGE(LIVE(9, 10) "," IMAGE(20, 10, 5, 1) "," IMAGE(30, 10, 10, 1)));
    refutes(reason, TOO_LARGE(IMAGE(9, 10, 10, 4)));
    refutes(reason, TOO_LARGE(LIVE(0, 10) "," BLOCK(program, dying, 20, 10, 1, 1, 0, 7, 7)));
    /* What is in host memory lies nowhere. */
    accepts(.request = BUFFER(101), .proof = ROUNDING(1, 121, 80),
            .blocks = IMAGE(20, 10, 10, -1) "," ABSENT(20));
}

TEST(a_request_without_bytes_executes_a_live_program)
{
    const char *program = IMAGE(20, 10, 21, 0), *two = LIVE(10, 10) "," IMAGE(20, 10, 21, 0);
    accepts(.contract = CONTRACT(none), .request = RUN(0, 21), .blocks = program, .proof = STACK);
    refutes("request: the program", .contract = CONTRACT(none), .request = RUN(-1, 21),
            .blocks = program, .proof = STACK);
    refutes("request: the program", .contract = CONTRACT(none), .request = RUN(1, 21),
            .blocks = program, .proof = STACK);
    refutes("request: blocks[0] is no live program", .contract = CONTRACT(none),
            .request = RUN(0, 21), .blocks = two, .proof = STACK);
    refutes("request: blocks[0] is no live program", .contract = CONTRACT(none),
            .request = RUN(0, 22), .blocks = program, .proof = STACK);
    refutes("request: blocks[0] is no live program", .contract = CONTRACT(none),
            .request = RUN(0, 0), .blocks = STUCK(program, 10, 1, 0, 0, 5, 5), .proof = SPANS);
    refutes("request: the program", .contract = CONTRACT(none),
            .request = REQUEST(program, 91, 1, 0, 0), .blocks = program, .proof = SPANS);
    /* Its image may be in host memory, from where it must come back. */
    accepts(.claim = "premature", .request = RUN(0, 5),
            .blocks = BLOCK(program, live, -1, 20, 1, 5, 0, 0, 0),
            .proof = PLAN(0, "", MOVE(0, -1, 5, 20), -1));
}

TEST(programs_are_aligned_to_the_granule_alone)
{
    accepts(TOO_LARGE(BLOCK(buffer, live, 0, 10, 2, 0, 0, 0, 0)));
    refutes("blocks[0]: a program is aligned",
            TOO_LARGE(BLOCK(program, live, 0, 10, 2, 0, 0, 0, 0)));
    accepts(.contract = CONTRACT(none), .request = REQUEST(buffer, 101, 2, 0, -1), .proof = SPANS);
    refutes("request: a program is aligned", .contract = CONTRACT(none),
            .request = REQUEST(program, 101, 2, 0, -1), .proof = SPANS);
}

TEST(each_block_was_made_by_another_op)
{
    document_write((struct document){TOO_LARGE(LIVE(0, 10) "," LIVE(10, 10) "," LIVE(20, 10))});
    document_expect_text(CERTIFICATE_VALID, "");
    document_replace("1002", "1000");
    document_expect_text(CERTIFICATE_REFUTED, "blocks[2]: blocks[0] was made by the same op");
}
