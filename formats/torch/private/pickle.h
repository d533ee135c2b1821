/* Reads a Python pickle of plain data without Python: nothing is executed, and nothing but None,
 * bool, int, float, str, list, tuple and dict can come out.  Protocols 2 to 5, as
 * torch.cuda.memory._dump_snapshot writes them.
 *
 * Every opcode that could name, call or build anything else (GLOBAL, REDUCE, BUILD, ...) is refused
 * by its name and its byte offset, as is every opcode that the pickler does not use for these
 * types. */
#ifndef FORMATS_TORCH_PRIVATE_PICKLE_H
#define FORMATS_TORCH_PRIVATE_PICKLE_H

#include "formats/common/import_error.h"
#include "formats/torch/private/plain.h"

enum {
    PICKLE_STACK_MAX =
        1 << 20, /* values that wait to be put into a container; the pickler leaves 1000 a level */
    PICKLE_FIRST_BYTE = 0x80, /* of protocol 2 and later */
    PICKLE_PROTOCOL_MIN = 2,
    PICKLE_PROTOCOL_MAX = 5
};

/* Decodes text[length], one whole pickle, into *tree, which is empty and the caller's to deinit,
 * whatever comes of it; texts stay in `text`.  Tuples become lists, None null, a float that is not
 * finite null.  What the pickle shares is shared, and no value contains itself: who walks the tree
 * must bound how often shared values are visited.
 *
 * IMPORT_INCOMPLETE: the text ends inside.  IMPORT_INVALID: a refused opcode, bytes behind the end,
 * a text that is not UTF-8 or has a NUL in it, an integer beyond 64 bits, a key that is no text or
 * is given twice, a container that is changed after it was put into another or fetched from the
 * memo (so that it could contain itself), more than the bounds above and those of the tree.
 * error->reason has the byte offset, from 0; *root is untouched on failure.
 *
 * O(length) time; host memory is about 2 bytes for each byte of a snapshot, and at worst 100. */
enum import_result pickle_read(const char *text, size_t length, struct plain_tree *tree,
                               struct plain_value *root, struct import_error *error);

/* True if the text begins as such a pickle does.  O(1). */
bool pickle_recognise(const char *text, size_t length);

#endif
