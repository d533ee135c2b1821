/* What the tests of real memory snapshots share: the file as JSON, which another reader than the
 * importer looks at. */
#ifndef TESTS_FORMATS_TORCH_RIG_H
#define TESTS_FORMATS_TORCH_RIG_H

#include "tests/formats/import_rig.h"

#include <jansson.h>

/* A pickle; the caller gives it to json_decref. */
json_t *decode_pickle(const char *path);

uint64_t number_of(const json_t *object, const char *key);
bool has_text(const json_t *object, const char *key, const char *text);

#endif
