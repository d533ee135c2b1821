/* Remedies that give an option of the target another value, and leave the list as it is. */
#ifndef DIAGNOSIS_PRIVATE_REMEDY_OPTION_H
#define DIAGNOSIS_PRIVATE_REMEDY_OPTION_H

#include "diagnosis/remedy.h"

/* The parameter is a number below `count`, one for each value of the option; `current` is that of
 * the contract, and not worth a try.  False, as struct remedy has it, where the target has no such
 * option, too. */
bool remedy_option_parameter(const struct remedy_case *given, const char *key, size_t count,
                             size_t current, size_t index, uint64_t *parameter,
                             char note[REMEDY_NOTE_BYTES]);

/* Copies the list and sets the option.  False: the setup has no room for it. */
bool remedy_option_apply(const struct remedy_case *given, const char *key, const char *value,
                         struct remedy_result *result);

/* These do the same for options that are no or yes, the parameter 0 or 1. */
bool remedy_flag_parameter(const struct remedy_case *given, const char *key, bool current,
                           size_t index, uint64_t *parameter, char note[REMEDY_NOTE_BYTES]);
void remedy_flag_label(const struct remedy_case *given, uint64_t parameter,
                       char text[REMEDY_LABEL_BYTES]);
bool remedy_flag_apply(const struct remedy_case *given, const char *key, uint64_t parameter,
                       struct remedy_result *result);

#endif
