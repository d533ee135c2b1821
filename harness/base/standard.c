#include "harness/base/standard.h"

#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

static FILE *kept_output, *kept_error;

FILE *standard_output(void)
{
    return kept_output == NULL ? stdout : kept_output;
}

FILE *standard_error(void)
{
    return kept_error == NULL ? stderr : kept_error;
}

int standard_output_file(void)
{
    return kept_output == NULL ? STDOUT_FILENO : fileno(kept_output);
}

int standard_error_file(void)
{
    return kept_error == NULL ? STDERR_FILENO : fileno(kept_error);
}

/* NULL: there is no such descriptor, or no number is free. */
static FILE *copy_stream(int file, int file_min)
{
    const int copy = fcntl(file, F_DUPFD_CLOEXEC, file_min);
    FILE *stream = copy < 0 ? NULL : fdopen(copy, "w");
    if (stream == NULL && copy >= 0) {
        close(copy);
    }
    return stream;
}

static void drop_stream(FILE **kept)
{
    if (*kept != NULL) {
        (void)fclose(*kept);
        *kept = NULL;
    }
}

void standard_drop(void)
{
    drop_stream(&kept_output);
    drop_stream(&kept_error);
}

void standard_keep(int file_min)
{
    if (kept_output == NULL) {
        kept_output = copy_stream(STDOUT_FILENO, file_min);
    }
    if (kept_error == NULL) {
        kept_error = copy_stream(STDERR_FILENO, file_min);
        if (kept_error != NULL) {
            (void)setvbuf(kept_error, NULL, _IONBF, 0);
        }
    }
}
