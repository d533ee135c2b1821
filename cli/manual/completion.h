/* Completions of the shells, from the tables of --help. */
#ifndef CLI_MANUAL_COMPLETION_H
#define CLI_MANUAL_COMPLETION_H

#include "harness/base/writing.h"

void completion_bash(struct writing *text);
void completion_zsh(struct writing *text);
void completion_fish(struct writing *text);

#endif
