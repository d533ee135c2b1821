#include "harness/base/whole_file.h"

#include <errno.h>
#include <unistd.h>

FILE *whole_file_begin(const char *path, char partial[WHOLE_FILE_PATH_BYTES])
{
    if (snprintf(partial, WHOLE_FILE_PATH_BYTES, "%s.partial", path) >= WHOLE_FILE_PATH_BYTES) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    FILE *stream = fopen(partial, "wxe");
    if (stream == NULL && errno == EEXIST && unlink(partial) == 0) {
        stream = fopen(partial, "wxe");
    }
    return stream;
}

/* False: errno says why. */
static bool close_stream(FILE *stream, bool is_forced)
{
    const int error_before = errno; /* of the write that failed, if one did */
    const bool has_failed = ferror(stream) != 0;
    const bool is_good = !has_failed && fflush(stream) == 0 &&
                         (!is_forced || fdatasync(fileno(stream)) == 0);
    const int error = has_failed ? error_before : errno;
    if (is_good) {
        return fclose(stream) == 0;
    }
    (void)fclose(stream);
    errno = error != 0 ? error : EIO;
    return false;
}

bool whole_file_end(FILE *stream, const char *partial, const char *path, bool is_forced)
{
    if (close_stream(stream, is_forced) && rename(partial, path) == 0) {
        return true;
    }
    const int error = errno;
    (void)unlink(partial);
    errno = error;
    return false;
}

bool whole_file_write(const char *path, const void *bytes, size_t length, bool is_forced)
{
    char partial[WHOLE_FILE_PATH_BYTES];
    FILE *stream = whole_file_begin(path, partial);
    if (stream == NULL) {
        return false;
    }
    (void)fwrite(bytes, 1, length, stream); /* a failure stays in the stream */
    return whole_file_end(stream, partial, path, is_forced);
}
