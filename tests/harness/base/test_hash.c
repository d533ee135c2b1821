/* The hashes are those that FNV's authors list: seeds and digests that people have kept rest on
 * them. */
#include "harness/base/hash.h"
#include "tests/helpers/suite.h"

#include <check.h>

/* From "FNV test vectors" of Fowler, Noll and Vo (draft-eastlake-fnv, section 6.3). */
static const struct {
    const char *text;
    uint64_t hash;
} vectors[] = {
    {"", UINT64_C(0xcbf29ce484222325)},
    {"a", UINT64_C(0xaf63dc4c8601ec8c)},
    {"foobar", UINT64_C(0x85944171f73967e8)},
};

TEST(a_text_has_the_listed_hash, .to = sizeof vectors / sizeof vectors[0])
{
    ck_assert_uint_eq(hash_string(HASH_START, vectors[_i].text), vectors[_i].hash);
}

TEST(bytes_in_two_parts_hash_as_the_whole)
{
    const uint64_t first = hash_bytes(HASH_START, "foo", 3);
    ck_assert_uint_eq(hash_bytes(first, "bar", 3), hash_string(HASH_START, "foobar"));
}

TEST(high_bits_of_a_word_reach_the_low_bits_of_its_hash)
{
    const uint64_t one = hash_word(HASH_START, UINT64_C(1) << 40);
    ck_assert_uint_ne((uint32_t)one, (uint32_t)hash_word(HASH_START, 0));
}
