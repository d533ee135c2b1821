/* The files that new-target writes: those of kit/skeleton/, which the build puts into the program.
 */
#ifndef CLI_NEW_TARGET_FILES_H
#define CLI_NEW_TARGET_FILES_H

/* The placeholder stands for the target's name in the names and in the texts. */
#define NEW_TARGET_PLACEHOLDER "my_target"

struct new_target_file {
    const char *language; /* "c" or "c++" */
    const char
        *returns; /* "offsets" or "pointers", what its allocate returns; "any": it has none */
    const char *name;
    const char *text;
};
/* Ends with a language that is NULL. */
extern const struct new_target_file new_target_files[];

#endif
