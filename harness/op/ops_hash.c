#include "harness/op/ops_hash.h"

#include "harness/base/check.h"
#include "harness/op/ops_file.h"

#include <nettle/base16.h>
#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>

static void add_text(struct sha256_ctx *hashing, const char *text, size_t length)
{
    sha256_update(hashing, length, (const uint8_t *)text);
}

static void add_head(struct sha256_ctx *hashing, const struct setup *setup)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    CHECK(stream != NULL);
    ops_file_print_head(stream, setup);
    CHECK(fclose(stream) == 0);
    add_text(hashing, text, length);
    free(text);
}

static void add_op(struct sha256_ctx *hashing, size_t number, const struct op *op)
{
    char number_text[24], text[OP_TEXT_BYTES];
    const int digits = snprintf(number_text, sizeof number_text, "%zu: ", number);
    add_text(hashing, number_text, (size_t)digits);
    op_print(op, text);
    add_text(hashing, text, strlen(text));
    add_text(hashing, "\n", 1);
}

void ops_hash(const struct setup *setup, const struct op_list *list, size_t op_count,
              char hash[OPS_HASH_BYTES])
{
    CHECK(op_count <= list->count);
    struct sha256_ctx hashing;
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_init(&hashing);
    add_head(&hashing, setup);
    for (size_t i = 0; i < op_count; i++) {
        if (list->ops[i].kind != OP_SWITCH) {
            add_op(&hashing, i, &list->ops[i]);
        }
    }
    sha256_digest(&hashing, sizeof digest, digest);
    static_assert(OPS_HASH_BYTES == BASE16_ENCODE_LENGTH(SHA256_DIGEST_SIZE) + 1, "with its NUL");
    base16_encode_update(hash, sizeof digest, digest);
    hash[OPS_HASH_BYTES - 1] = '\0';
}
