#include "tests/formats/torch_rig.h"

#include "formats/torch/private/plain.h"
#include "tests/formats/plain_json.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

json_t *decode_pickle(const char *path)
{
    size_t length = 0;
    struct plain_tree tree = {0};
    struct plain_value value = plain_make(PLAIN_NOTHING);
    char *bytes = file_bytes(path, &length);
    ck_assert_msg(pickle_read(bytes, length, &tree, &value, &refusal) == IMPORT_OK, "%s",
                  refusal.reason);
    json_t *root = plain_json(&tree, value);
    plain_deinit(&tree);
    free(bytes);
    return root;
}

uint64_t number_of(const json_t *object, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(object, key));
}

bool has_text(const json_t *object, const char *key, const char *text)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value != NULL && strcmp(value, text) == 0;
}
