/* .rep traces: ids, reallocations, counts of the header, and every file of the field with its own
 * sums. */
#include "formats/common/import.h"
#include "formats/formats.h"
#include "tests/formats/import_checks.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD HBMSTRESS_SOURCE_DIR "/corpus/field/malloc_lab"
#define DATA HBMSTRESS_FIELD_DATA "/data/host_malloc"

static struct import import;

static void setup_import(void)
{
    import_init(&import);
}

static void teardown_import(void)
{
    import_deinit(&import);
}

EVERY_TEST(.setup = setup_import, .teardown = teardown_import);

TEST(a_reallocation_is_an_allocation_and_then_a_free)
{
    import_checks_file(FIELD "/realloc.rep", "malloc_lab", NULL, &import);
    import_checks_ops(
        &import, "alloc size=512\nalloc size=1536\nalloc size=1K\nfree block=0\nfree block=1\n");
    ck_assert_uint_eq(import.setup.capacity_bytes, 3072);
    ck_assert_ptr_nonnull(strstr(import.notes, "1 reallocations"));
    ck_assert_ptr_nonnull(
        strstr(import.notes, "1 frees of the null pointer, 1 requests for 0 bytes"));
    ck_assert_uint_eq(import_checks_replay(&import), 0);
}

static void import_string(const char *text)
{
    struct import_error error = {0};
    ck_assert_msg(import_text(text, strlen(text), "auto", NULL, &import, &error) == IMPORT_OK, "%s",
                  error.reason);
    ck_assert_str_eq(import.format->name, "malloc_lab");
}

TEST(a_reallocation_of_nothing_allocates_and_one_to_nothing_frees)
{
    import_string("1\n2\n5\n1\nr 0 512\nr 0 0\nr 1 1024\na 0 0\nr 0 2048\n");
    import_checks_ops(&import, "alloc size=512\nfree block=0\nalloc size=1K\nalloc size=2K\n");
}

TEST(both_headers_and_crlf_are_read)
{
    import_checks_file(FIELD "/crlf.rep", "malloc_lab", NULL, &import);
    import_checks_ops(&import, "alloc size=100\nalloc size=28\nfree block=0\nfree block=1\n");
    ck_assert_uint_eq(import.setup.granule_bytes, 4);
    import_string("0\n1\n1\n0\na 0 64\n");
    ck_assert_uint_eq(import.setup.capacity_bytes, 64);
}

TEST(a_last_line_without_its_end_is_read_where_the_calls_are_complete)
{
    static const char note[] =
        "the last line has no line end: if it is cut, its last number is wrong";
    static const struct {
        const char *text, *ops;
        bool may_be_cut;
    } rows[] = {
        {"20000\n2\n4\n1\na 0 512\na 1 1536\nf 1\nf 0",
         "alloc size=512\nalloc size=1536\nfree block=1\nfree block=0\n", true},
        {"1\n1\n1\n1\na 0 8", "alloc size=8\n", true},
        {"1\n1\n3\n1\na 0 8\nf 0\nf -1", "alloc size=8\nfree block=0\n", true},
        {"1\r\n1\r\n1\r\n1\r\na 0 8\r", "alloc size=8\n",
         false}, /* a number that something follows is whole */
        {"1\n1\n1\n1\na 0 8 \t", "alloc size=8\n", false},
        {"1\n1\n1\n1\na 0 8\n ", "alloc size=8\n", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        import_string(rows[i].text);
        import_checks_ops(&import, rows[i].ops);
        ck_assert_int_eq(strstr(import.notes, note) != NULL, rows[i].may_be_cut);
    }
}

TEST(blanks_before_a_line_end_do_not_matter)
{
    import_string("1 \n1\t\n2 \t \n1 \r\na 0 512 \n  \t\r\n\nf 0\t \r\n \n");
    import_checks_ops(&import, "alloc size=512\nfree block=0\n");
    import_string("1\n1\n1\n1  \na 0 512\n");
    import_checks_ops(&import, "alloc size=512\n");
}

TEST(a_granule_that_is_fixed_counts_in_the_capacity)
{
    const struct setup fixed = {.granule_bytes = 1024};
    const struct import_options options = {.fixed = &fixed};
    import_checks_file(FIELD "/realloc.rep", "malloc_lab", &options, &import);
    ck_assert_uint_eq(import.setup.capacity_bytes, 4096);
}

static const struct import_refused refused_texts[] = {
    {"x\n1\n1\n1\na 0 8\n", IMPORT_INVALID, 1, 1, "the first line is not a number"},
    {"1\n1 2\n1\n1\na 0 8\n", IMPORT_INVALID, 2, 2, "the second line"},
    {"1\n1\n-1\n1\na 0 8\n", IMPORT_INVALID, 3, 1, "the third line"},
    {"1\n1\n1\n1", IMPORT_INCOMPLETE, 4, 2, "no line end: the fourth line"},
    {"1\n1\n1\n1\n", IMPORT_INCOMPLETE, 3, 1, "gives 1 operations; the file has room for 0"},
    {"1\n9\n1\n1\na 0 8\n", IMPORT_INVALID, 2, 1, "9 ids, but only 1 operations"},
    {"1\n1\n99999999999\n1\na 0 8\n", IMPORT_INCOMPLETE, 3, 1, "the file has room for 1"},
    {"1\n1\n1\n1\nb 0 8\n", IMPORT_INVALID, 5, 1, "the line is none of"},
    {"1\n1\n1\n1\na x 8\n", IMPORT_INVALID, 5, 3, "the id is not a number"},
    {"1\n1\n1\n1\na -1 8\n", IMPORT_INVALID, 5, 3, "the id is not a number"},
    {"1\n1\n1\n1\na 0\n", IMPORT_INVALID, 5, 4, "the id is not a number"},
    {"1\n1\n1\n1\na 0 x\n", IMPORT_INVALID, 5, 5, "the size"},
    {"1\n1\n1\n1\na 0 8 9\n", IMPORT_INVALID, 5, 6, "something follows the size"},
    {"1\n1\n1\n1\nf 0 9\n", IMPORT_INVALID, 5, 4, "something follows the id"},
    {"1\n1\n1\n1\na 1 8\n", IMPORT_INVALID, 5, 0, "id 1, but the header gives 1 ids"},
    {"1\n1\n1\n1\nf 0\n", IMPORT_INVALID, 5, 0, "a free of an id that is not live: 0"},
    {"1\n1\n2\n1\na 0 8\na 0 8\n", IMPORT_INVALID, 6, 0, "an allocation of an id that is live: 0"},
    {"1\n1\n1\n1\na 0 8\nf 0\n", IMPORT_INVALID, 6, 0, "more operations than the 1"},
    {"1\n1\n1\n1 ", IMPORT_INCOMPLETE, 4, 2, "no line end: the fourth line"},
    {"1\n1\n1\n1\nf 0", IMPORT_INVALID, 5, 0, "a free of an id that is not live: 0"},
    {"1\n1\n1\n1\na 0 ", IMPORT_INCOMPLETE, 5, 5, "no line end: the size"},
    {"1\n1\n2\n1\na 0 8888", IMPORT_INCOMPLETE, 5, 0, "gives 2 operations; the file ends after 1"},
    {"1\n1\n2\n1\na 0 8888\na", IMPORT_INCOMPLETE, 6, 1, "the last line is cut off"},
    {"1\n1\n1\n1\na 0 2000000000000000\n", IMPORT_INVALID, 5, 0, "more than 2^50 bytes are live"},
    {"1\n2\n2\n1\na 0 1125899906842624\na 1 1\n", IMPORT_INVALID, 6, 0,
     "more than 2^50 bytes are live"},
    {"1\n0\n1\n1\nf -1\n", IMPORT_INCOMPLETE, 0, 0, "the file has no allocation"},
};
static const struct import_refused refused_files[] = {
    {"cut.rep", IMPORT_INCOMPLETE, 8, 0, "gives 4 operations; the file ends after 3"},
    {"freed_twice.rep", IMPORT_INVALID, 8, 0, "a free of an id that is not live: 0"},
};

TEST(what_is_wrong_is_said_with_its_place)
{
    for (size_t i = 0; i < sizeof refused_texts / sizeof refused_texts[0]; i++) {
        import_checks_refused(&refused_texts[i], NULL, "malloc_lab", &import);
    }
    for (size_t i = 0; i < sizeof refused_files / sizeof refused_files[0]; i++) {
        import_checks_refused(&refused_files[i], FIELD, "malloc_lab", &import);
    }
}

TEST(any_cut_and_any_damage_is_survived)
{
    static const char *const names[] = {"realloc.rep", "crlf.rep"};
    for (size_t i = 0; i < 2; i++) {
        char path[4096];
        size_t length = 0;
        snprintf(path, sizeof path, FIELD "/%s", names[i]);
        char *text = import_checks_read(path, &length);
        import_checks_prefixes(text, length, "malloc_lab", &import);
        import_checks_damage(text, length, "malloc_lab", 2000, &import);
        free(text);
    }
}

/* --- field data --- */

/* The same trace, played on a plain array of sizes by sscanf(). */
struct counted {
    uint64_t ops, live_bytes, peak_bytes;
};

static struct counted count_lines(char *text)
{
    enum { ID_COUNT = 1 << 16 };
    uint64_t *sizes = calloc(ID_COUNT, sizeof *sizes);
    struct counted counted = {0};
    ck_assert_ptr_nonnull(sizes);
    for (char *line = strtok(text, "\r\n"); line != NULL; line = strtok(NULL, "\r\n")) {
        char kind;
        uint64_t size = 0;
        int id = 0;
        if (sscanf(line, "%c %d %" SCNu64, &kind, &id, &size) < 2 ||
            (kind != 'a' && kind != 'r' && kind != 'f')) {
            continue;
        }
        ck_assert_int_lt(id, ID_COUNT);
        const uint64_t old = sizes[id];
        sizes[id] = kind == 'f' ? 0 : size;
        counted.live_bytes += sizes[id];
        counted.peak_bytes = counted.live_bytes > counted.peak_bytes ? counted.live_bytes
                                                                     : counted.peak_bytes;
        counted.live_bytes -= old;
        counted.ops += kind == 'r' && old != 0 ? 2 : 1;
    }
    free(sizes);
    return counted;
}

static void compare_counts(const char *path)
{
    size_t length = 0;
    char said[256];
    char *text = import_checks_read(path, &length);
    text = realloc(text, length + 1);
    text[length] = '\0';
    const struct counted counted = count_lines(text);
    free(text);
    import_checks_file(path, "malloc_lab", NULL, &import);
    ck_assert_uint_eq(import.ops.count, counted.ops);
    const uint64_t granule_bytes = import.setup.granule_bytes;
    const uint64_t spare_bytes = import.ops.count > CAPACITY_TIGHT_OPS_MAX
                                     ? (counted.peak_bytes / 8 + granule_bytes - 1) /
                                           granule_bytes * granule_bytes
                                     : 0;
    ck_assert_uint_eq(import.setup.capacity_bytes, counted.peak_bytes + spare_bytes);
    snprintf(said, sizeof said, "at most %" PRIu64 " bytes live at a time; %" PRIu64 " at the end",
             counted.peak_bytes, counted.live_bytes);
    ck_assert_msg(strstr(import.notes, said) != NULL, "%s\n%s", said, import.notes);
    printf("%-24s %6zu ops, peak %9" PRIu64 " bytes, %7" PRIu64 " at the end\n",
           strrchr(path, '/') + 1, import.ops.count, counted.peak_bytes, counted.live_bytes);
}

TEST(every_file_of_the_field_imports_with_its_own_sums)
{
    DIR *folder = opendir(DATA);
    if (folder == NULL) {
        printf("skipped: no %s\n", DATA);
        return;
    }
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char path[4096];
        snprintf(path, sizeof path, DATA "/%s", entry->d_name);
        if (strstr(entry->d_name, ".rep") != NULL) {
            compare_counts(path);
        }
    }
    closedir(folder);
}

TEST(traces_of_the_field_replay)
{
    static const char *const names[] = {"short1-bal.rep", "short2-bal.rep", "cp-decl.rep.gz"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[4096];
        snprintf(path, sizeof path, DATA "/%s", names[i]);
        FILE *stream = fopen(path, "rb");
        if (stream == NULL) {
            printf("skipped: no %s\n", path);
            continue;
        }
        fclose(stream);
        import_checks_file(path, "malloc_lab", NULL, &import);
        import.ops.count = import.ops.count > 2000
                               ? 2000
                               : import.ops.count; /* as much as a test has time for */
        ck_assert_uint_eq(import_checks_replay(&import), 0);
    }
}
