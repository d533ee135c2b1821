/* A main for fuzz targets where there is no engine: plays each file, and each file of each folder
 * in the order of their names, once. */
#include "fuzz/engine.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static size_t played_count, skipped_count;

static int print_failure(const char *path)
{
    (void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return 2;
}

static int play_file(const char *path, off_t size)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return print_failure(path);
    }
    /* Exactly as long as the input, so that a sanitizer sees what is read behind it. */
    uint8_t *bytes = malloc(size > 0 ? (size_t)size : 1);
    const bool is_read = bytes != NULL && fread(bytes, 1, (size_t)size, file) == (size_t)size;
    (void)fclose(file);
    if (!is_read) {
        free(bytes);
        return print_failure(path);
    }
    (void)LLVMFuzzerTestOneInput(bytes, (size_t)size);
    free(bytes);
    played_count++;
    return 0;
}

static int play_path(const char *path, bool enters_folders);

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int play_folder(const char *path)
{
    struct dirent **entries = NULL;
    const int count = scandir(path, &entries, is_shown, alphasort);
    int status = count < 0 ? print_failure(path) : 0;
    for (int i = 0; i < count; i++) {
        char *inside = NULL;
        if (status == 0 && asprintf(&inside, "%s/%s", path, entries[i]->d_name) > 0) {
            status = play_path(inside, false);
        }
        free(inside);
        free(entries[i]);
    }
    free(entries);
    return status;
}

static int play_path(const char *path, bool enters_folders)
{
    struct stat stat_of;
    if (stat(path, &stat_of) != 0) {
        return print_failure(path);
    }
    if (!S_ISDIR(stat_of.st_mode)) {
        return play_file(path, stat_of.st_size);
    }
    skipped_count += !enters_folders;
    return enters_folders ? play_folder(path) : 0;
}

int main(int argument_count, char **arguments)
{
    const bool wants_help = argument_count == 2 && strcmp(arguments[1], "--help") == 0;
    if (argument_count < 2 || wants_help) {
        (void)fprintf(
            wants_help ? stdout : stderr,
            "usage: %s FILE|FOLDER ...\n"
            "Plays each input of this fuzz target once. A folder stands for the files in it. A finding aborts.\n",
            arguments[0]);
        return wants_help && fflush(stdout) == 0 ? 0 : 2;
    }
    for (int i = 1; i < argument_count; i++) {
        const int status = play_path(arguments[i], true);
        if (status != 0) {
            return status;
        }
    }
    printf("%s: %zu inputs, no finding", arguments[0], played_count);
    printf(skipped_count == 0 ? "\n" : "; skipped %zu folders inside folders\n", skipped_count);
    return fflush(stdout) == 0 ? 0 : 2;
}
