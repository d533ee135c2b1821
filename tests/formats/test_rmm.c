/* RMM's CSV: every file of the field imports with its own sums.  What ours become is in
 * tests/snap/formats_rmm.snap. */
#include "tests/formats/import_rig.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DATA HBMSTRESS_FIELD_DATA "/data/rmm"
EVERY_TEST(.setup = setup_import, .teardown = teardown_import);

/* --- field data --- */

/* What the rows say, counted another way: by sscanf() and a list. */
struct counted {
    uint64_t allocs, frees, failures, live_bytes, peak_bytes;
};

static struct counted count_rows(const char *path)
{
    struct counted counted = {0};
    char line[512];
    FILE *stream = fopen(path, "r");
    ck_assert_ptr_nonnull(stream);
    while (fgets(line, sizeof line, stream) != NULL) {
        char action[32];
        uint64_t size = 0;
        if (sscanf(line, "%*u,%*[^,],%31[^,],%*[^,],%" SCNu64, action, &size) != 2) {
            continue;
        }
        counted.allocs += strcmp(action, "allocate") == 0;
        counted.frees += strcmp(action, "free") == 0;
        counted.failures += strcmp(action, "allocate failure") == 0;
        counted.live_bytes += strcmp(action, "allocate") == 0 ? size : 0;
        counted.live_bytes -= strcmp(action, "free") == 0 ? size : 0;
        counted.peak_bytes = counted.live_bytes > counted.peak_bytes ? counted.live_bytes
                                                                     : counted.peak_bytes;
    }
    fclose(stream);
    return counted;
}

static void compare_counts(const char *path)
{
    const struct counted counted = count_rows(path);
    char said[512];
    load_recognised(path, "rmm");
    snprintf(said, sizeof said,
             "%" PRIu64 " allocations, %" PRIu64 " frees, %" PRIu64 " failures; at most %" PRIu64
             " bytes live at a time; %" PRIu64 " bytes in",
             counted.allocs, counted.frees, counted.failures, counted.peak_bytes,
             counted.live_bytes);
    ck_assert_msg(strstr(import.notes, said) != NULL, "%s\n%s", said, import.notes);
    ck_assert_uint_eq(import.setup.capacity_bytes, counted.peak_bytes);
    printf("%-32s %6zu ops, peak %10" PRIu64 " bytes, %" PRIu64 " OOMs\n", strrchr(path, '/') + 1,
           import.ops.count, counted.peak_bytes, replay());
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
        if (strstr(entry->d_name, ".csv") != NULL) {
            compare_counts(path);
        }
    }
    closedir(folder);
}
