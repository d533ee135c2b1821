#include "recording/picture.h"

#include "campaign/base/partial.h"
#include "campaign/base/place.h"
#include "harness/base/whole_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool write_special(const char *path, const char *bytes, size_t length)
{
    FILE *stream = fopen(path, "we");
    if (stream == NULL) {
        return false;
    }
    const bool is_written = fwrite(bytes, 1, length, stream) == length;
    return fclose(stream) == 0 && is_written;
}

static bool write_whole(const char *path, const char *bytes, size_t length)
{
    char partial[FILE_PATH_BYTES];
    if (!partial_create(path, partial)) {
        return false;
    }
    FILE *stream = fopen(partial, "we");
    bool is_written = false;
    if (stream != NULL) {
        (void)fwrite(bytes, 1, length, stream); /* the stream remembers a failure */
        is_written = whole_file_end(stream, partial, path, true);
    }
    partial_remove(partial);
    return is_written;
}

enum exit_code picture_write(const char *path, const char *bytes, size_t length)
{
    struct place place;
    const enum exit_code code = place_find(path, NULL, &place);
    if (code != EXIT_KEPT) {
        return code;
    }
    const bool is_written = place.is_special ? write_special(path, bytes, length)
                                             : write_whole(place.path, bytes, length);
    return is_written ? EXIT_KEPT : message_fail(EXIT_HARNESS, "%s: %s", path, strerror(errno));
}
