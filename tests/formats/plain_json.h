/* Plain data of formats/torch as JSON, which prints and compares itself. */
#ifndef TESTS_FORMATS_PLAIN_JSON_H
#define TESTS_FORMATS_PLAIN_JSON_H

#include "formats/torch/private/plain.h"

#include <jansson.h>

/* The value and all in it, which the caller gives to json_decref.  What is shared becomes copies.
 */
json_t *plain_json(const struct plain_tree *tree, struct plain_value value);

#endif
