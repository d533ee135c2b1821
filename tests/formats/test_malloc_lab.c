/* .rep traces: every file of the field has its own sums, and replays.  What ours become is in
 * tests/snap/formats_malloc_lab.snap. */
#include "tests/formats/import_rig.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA HBMSTRESS_FIELD_DATA "/data/host_malloc"

EVERY_TEST(.setup = setup_import, .teardown = teardown_import);

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
    char *text = file_bytes(path, &length);
    const struct counted counted = count_lines(text);
    free(text);
    load_recognised(path, "malloc_lab");
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
        load_recognised(path, "malloc_lab");
        import.ops.count = import.ops.count > 2000
                               ? 2000
                               : import.ops.count; /* as much as a test has time for */
        ck_assert_uint_eq(replay(), 0);
    }
}
