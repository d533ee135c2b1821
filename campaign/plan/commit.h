/* The commit that a directory is at, read from git's own files: a campaign without a seed of its
 * own has that of the commit it tests, so that two people who run it at the same commit run the
 * same trials. */
#ifndef CAMPAIGN_PLAN_COMMIT_H
#define CAMPAIGN_PLAN_COMMIT_H

#include <stdbool.h>
#include <stdint.h>

/* A SHA-256 in hexadecimal digits and its NUL; a SHA-1 is shorter. */
enum { COMMIT_BYTES = 65 };

/* Sets hash to the commit that HEAD names, as hexadecimal digits.  Applies to the top directory of
 * a checkout or of a linked worktree, on a branch or detached.  False: it is none of these, or
 * nothing is committed yet; hash is then untouched.  Source: gitrepository-layout(5). */
bool commit_read(const char *directory, char hash[COMMIT_BYTES]);

/* The seed that a commit stands for: 48 bits, so that it is quickly typed. */
uint64_t commit_seed(const char *hash);

#endif
