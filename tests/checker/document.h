/* Certificates by their parts, for tests of the checker: a text, and what is expected of it. */
#ifndef TESTS_CHECKER_DOCUMENT_H
#define TESTS_CHECKER_DOCUMENT_H

#include "checker/certificate_check.h"

enum { DOCUMENT_BYTES = 1 << 21 };

/* A document by its parts, as JSON with ' for ".  Those that are NULL are as in document_write. */
struct document {
    const char *claim, *device, *contract, *refused, *request, *blocks, *proof, *more;
};

#define BLOCK(kind, state, address, size, align, stack, holds, used_until, freed_at)  \
    "{'op': 1000, 'kind': '" #kind "', 'state': '" #state "', 'address': " #address   \
    ", 'size': " #size ", 'align': " #align ", 'stack': " #stack ", 'holds': " #holds \
    ", 'used_until': " #used_until ", 'freed_at': " #freed_at "}"
#define LIVE(address, size) BLOCK(buffer, live, address, size, 1, 0, 0, 0, 0)
#define LIVE_ALIGNED(address, size, align) BLOCK(buffer, live, address, size, align, 0, 0, 0, 0)
#define HELD(address, size) BLOCK(output, live, address, size, 1, 0, 1, 0, 0)
#define USED(address, size, until) BLOCK(buffer, live, address, size, 1, 0, 0, until, 0)
#define DYING(address, size, holds, freed_at) \
    BLOCK(buffer, dying, address, size, 1, 0, holds, 0, freed_at)
#define ABSENT(size) BLOCK(buffer, live, -1, size, 1, 0, 0, 0, 0)
#define IMAGE(address, size, stack, until) \
    BLOCK(program, live, address, size, 1, stack, 0, until, 0)
#define PROMISE(defrag, drains, evicts, programs)                         \
    "{'defrag': '" #defrag "', 'drains': " #drains ", 'evicts': " #evicts \
    ", 'program_evicts_program': " #programs "}"
#define CONTRACT(defrag) PROMISE(defrag, true, true, false)
#define REFUSED(copy, wait, unload, host_memory) \
    "{'copy': " #copy ", 'wait': " #wait ", 'unload': " #unload ", 'host_memory': " #host_memory "}"
#define NO_COPY REFUSED(true, false, false, false)
#define NO_WAIT REFUSED(false, true, false, false)
#define NO_UNLOAD REFUSED(false, false, true, false)
#define NO_HOST_MEMORY REFUSED(false, false, false, true)
#define REQUEST(class, bytes, align, stack, program)                                     \
    "{'class': '" #class "', 'bytes': " #bytes ", 'align': " #align ", 'stack': " #stack \
                         ", 'program': " #program "}"
#define BUFFER(bytes) REQUEST(buffer, bytes, 1, 0, -1)
#define PROGRAM(bytes, stack) REQUEST(program, bytes, 1, stack, -1)
#define RUN(block, stack) REQUEST(program, 0, 1, stack, block)
#define MOVE(block, from, to, bytes) \
    "{'block': " #block ", 'from': " #from ", 'to': " #to ", 'bytes': " #bytes "}"
#define PLAN(until, evict, moves, address)                                            \
    "{'kind': 'plan', 'until': " #until ", 'address': " #address ", 'evict': [" evict \
    "], 'moves': [" moves "]}"
#define ROUNDING(unit, need, have) \
    "{'kind': 'rounding', 'unit': " #unit ", 'need': " #need ", 'have': " #have "}"
#define BUDGET_OF(class, nodes, need, have)                                           \
    "{'kind': 'budget', 'nodes': " #nodes ", 'need': " #need ", 'have': " #have       \
    ", 'limit': " #nodes ", 'until': 0, 'class': '" #class "', 'tried': {'greedy': 0" \
                                                           ", 'search': " #nodes      \
                                                           ", 'fills': 0, 'table': 0}}"
#define BUDGET(nodes, need, have) BUDGET_OF(held, nodes, need, have)
/* Spans of 10 and 10 for 4, 4, 3, 3, 3 and a request of 3: in pairs of equal sums, which neither
 * best fit nor rounding finds. */
#define OPEN_QUESTION(proof_text)                                                                 \
    .claim = "unknown", .device = "{'capacity': 21, 'granule': 1}", .request = BUFFER(3),         \
    .blocks = LIVE(0, 4) "," LIVE(4, 4) "," HELD(10, 1) "," LIVE(11, 3) "," LIVE(14, 3) "," LIVE( \
        17, 3),                                                                                   \
    .proof = proof_text
#define SEARCH(plain, log) "{'kind': 'search', 'least': 0, 'plain': " #plain ", 'log': '" log "'}"
#define SPANS "{'kind': 'spans'}"
#define STACK "{'kind': 'stack'}"

/* What was written last, and the answer to it. */
extern char document_text[DOCUMENT_BYTES], document_reason[CERTIFICATE_REASON_BYTES];

/* " for each '. */
void document_quote(char *letters);
/* A device of 100 bytes in granules of one, a contract with everything, and an empty heap, but for
 * the parts that are there. */
void document_write(struct document document);
/* The last `old` becomes new, which is no longer. */
void document_replace(const char *old, const char *new);
/* The reason is one line. */
enum certificate_result document_check(void);
void document_expect_text(enum certificate_result result, const char *part_of_reason);
void document_expect(struct document document, enum certificate_result result,
                     const char *part_of_reason);

#define accepts(...) document_expect((struct document){__VA_ARGS__}, CERTIFICATE_VALID, "")
#define refutes(part, ...) \
    document_expect((struct document){__VA_ARGS__}, CERTIFICATE_REFUTED, part)
#define rejects(part, ...) \
    document_expect((struct document){__VA_ARGS__}, CERTIFICATE_UNREADABLE, part)

#endif
