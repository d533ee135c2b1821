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
#define HELD(address, size) BLOCK(output, live, address, size, 1, 0, 1, 0, 0)
#define DYING(address, size, holds, freed_at) \
    BLOCK(buffer, dying, address, size, 1, 0, holds, 0, freed_at)
#define IMAGE(address, size, stack, until) \
    BLOCK(program, live, address, size, 1, stack, 0, until, 0)
#define PROMISE(defrag, drains, evicts, programs)                         \
    "{'defrag': '" #defrag "', 'drains': " #drains ", 'evicts': " #evicts \
    ", 'program_evicts_program': " #programs "}"
#define CONTRACT(defrag) PROMISE(defrag, true, true, false)
#define REFUSED(copy, wait, unload, host_memory) \
    "{'copy': " #copy ", 'wait': " #wait ", 'unload': " #unload ", 'host_memory': " #host_memory "}"
#define REQUEST(class, bytes, align, stack, program)                                     \
    "{'class': '" #class "', 'bytes': " #bytes ", 'align': " #align ", 'stack': " #stack \
                         ", 'program': " #program "}"
#define BUFFER(bytes) REQUEST(buffer, bytes, 1, 0, -1)
#define SPANS "{'kind': 'spans'}"

/* One for each kind of proof. */
enum { DOCUMENT_GOOD_COUNT = 9 };
extern const struct document document_good[DOCUMENT_GOOD_COUNT];

/* What was written last, and the answer to it. */
extern char document_text[DOCUMENT_BYTES], document_reason[CERTIFICATE_REASON_BYTES];

/* " for each '. */
void document_quote(char *letters);
/* A device of 100 bytes in granules of one, a contract with everything, and an empty heap, but for
 * the parts that are there. */
void document_write(struct document document);
/* The reason is one line. */
enum certificate_result document_check(void);
void document_expect_text(enum certificate_result result, const char *part_of_reason);
void document_expect(struct document document, enum certificate_result result,
                     const char *part_of_reason);

#endif
