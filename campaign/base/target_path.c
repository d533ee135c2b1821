#include "campaign/base/target_path.h"

#include "targets/plugin.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Comments stand before the first op: nobody looks further. */
enum { HEAD_BYTES = 65536 };
static const char comment_name[] = "made in: ";

/* The folder to which relative paths of targets refer; "" = the working directory. */
static char base[FILE_PATH_BYTES];

static bool is_relative_file(const char *target)
{
    return plugin_is_named(target) && target[0] != '/';
}

static void split_folder(const char *path, char folder[FILE_PATH_BYTES])
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        strcpy(folder, ".");
    } else {
        const int length = slash == path ? 1 : (int)(slash - path);
        (void)snprintf(folder, FILE_PATH_BYTES, "%.*s", length, path);
    }
}

/* False: it is too long. */
static bool join_path(const char *folder, const char *name, char joined[FILE_PATH_BYTES])
{
    return snprintf(joined, FILE_PATH_BYTES, "%s/%s", folder, name) < FILE_PATH_BYTES;
}

/* --- reading --- */

/* The first bytes of a regular file: one that can be read a second time. */
static bool read_head(const char *path, char head[HEAD_BYTES])
{
    struct stat status;
    const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    const bool is_file = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    const ssize_t length = is_file ? read(file, head, HEAD_BYTES - 1) : -1;
    (void)close(file);
    head[length < 0 ? 0 : length] = '\0';
    return length > 0;
}

/* The folder that the comment of the list names; false: it has none. */
static bool read_comment(const char *list, char folder[FILE_PATH_BYTES])
{
    char head[HEAD_BYTES];
    bool is_found = false;
    if (!read_head(list, head)) {
        return false;
    }
    char *rest = head;
    for (char *line; !is_found && (line = strsep(&rest, "\n")) != NULL;) {
        if (strncmp(line, "# ", 2) == 0 &&
            strncmp(line + 2, comment_name, strlen(comment_name)) == 0) {
            is_found = snprintf(folder, FILE_PATH_BYTES, "%s", line + 2 + strlen(comment_name)) <
                       FILE_PATH_BYTES;
        }
    }
    return is_found;
}

/* Returns true if the target exists, seen from folder; then found is its path. */
static bool is_there(const char *folder, const char *target, char found[FILE_PATH_BYTES])
{
    char path[FILE_PATH_BYTES];
    if (!join_path(folder, target, path) || access(path, F_OK) != 0) {
        return false;
    }
    strcpy(found, path);
    strcpy(base, folder);
    return true;
}

void target_path_find(const char *list, const char *target, char found[FILE_PATH_BYTES])
{
    char folder[FILE_PATH_BYTES], made_in[FILE_PATH_BYTES], joined[FILE_PATH_BYTES];
    base[0] = '\0';
    (void)snprintf(found, FILE_PATH_BYTES, "%s", target);
    if (list == NULL || strcmp(list, "-") == 0 || !is_relative_file(target)) {
        return;
    }
    split_folder(list, folder);
    if (is_there(folder, target, found) || !read_comment(list, made_in)) {
        return;
    }
    if (made_in[0] == '/') {
        (void)is_there(made_in, target, found);
    } else if (join_path(folder, made_in, joined)) {
        (void)is_there(joined, target, found);
    }
}

/* --- writing --- */

/* Returns how many leading bytes name folders that both have: "/a/b" and "/a/bc" share "/a". */
static size_t count_shared(const char *from, const char *to)
{
    size_t shared = 0, i = 0;
    for (; from[i] != '\0' && from[i] == to[i]; i++) {
        shared = from[i] == '/' ? i : shared;
    }
    const bool is_whole = (from[i] == '\0' || from[i] == '/') && (to[i] == '\0' || to[i] == '/');
    return is_whole ? i : shared;
}

/* Appends the path of `to` relative to `from`; both are absolute, without links. */
static void append_relative(struct writing *text, const char *from, const char *to)
{
    const size_t shared = count_shared(from, to);
    const char *rest = to + shared + (to[shared] == '/');
    const char *between = "";
    for (const char *at = from + shared; *at != '\0'; at++) {
        if (at[0] == '/' && at[1] != '\0') {
            writing_append(text, between);
            writing_append(text, "..");
            between = "/";
        }
    }
    if (rest[0] != '\0') {
        writing_append(text, between);
        writing_append_visible(text, rest);
    } else if (between[0] == '\0') {
        writing_append(text, ".");
    }
}

/* Appends the folder as it is seen from a list at path.  False: one of them is not there. */
static bool append_seen(struct writing *text, const char *path, const char *seen)
{
    char folder[FILE_PATH_BYTES], from[PATH_MAX], to[PATH_MAX];
    split_folder(path, folder);
    if (realpath(folder, from) == NULL || realpath(seen, to) == NULL) {
        return false;
    }
    /* "/" alone would count as a folder without a name. */
    append_relative(text, strcmp(from, "/") == 0 ? "" : from, strcmp(to, "/") == 0 ? "" : to);
    return true;
}

void target_path_append_comment(struct writing *comments, const char *target, const char *path)
{
    struct writing seen;
    if (path == NULL || !is_relative_file(target)) {
        return;
    }
    writing_init(&seen);
    if (append_seen(&seen, path, base[0] == '\0' ? "." : base)) {
        writing_append_format(comments, "%s%s\n", comment_name, writing_string(&seen));
    }
    writing_deinit(&seen);
}

/* The folder that the comment of a text names, length bytes long; NULL: it has none. */
static const char *find_comment(const struct writing *text, size_t *length)
{
    char line[sizeof comment_name + 4];
    (void)snprintf(line, sizeof line, "\n# %s", comment_name);
    const char *found = text->length == 0 ? NULL : strstr(writing_string(text), line);
    if (found == NULL) {
        return NULL;
    }
    found += strlen(line);
    *length = strcspn(found, "\n");
    return found;
}

void target_path_move_comment(struct writing *text, const char *from, const char *to)
{
    char folder[FILE_PATH_BYTES], seen[FILE_PATH_BYTES];
    struct writing moved;
    size_t length = 0;
    const char *comment = find_comment(text, &length);
    split_folder(from, folder);
    if (comment == NULL || comment[0] == '/' ||
        snprintf(seen, sizeof seen, "%s/%.*s", folder, (int)length, comment) >= FILE_PATH_BYTES) {
        return;
    }
    writing_init(&moved);
    writing_append_bytes(&moved, text->bytes, (size_t)(comment - text->bytes));
    if (!append_seen(&moved, to, seen)) {
        writing_deinit(&moved);
        return;
    }
    writing_append_bytes(&moved, comment + length,
                         text->length - (size_t)(comment + length - text->bytes));
    writing_deinit(text);
    *text = moved;
}
