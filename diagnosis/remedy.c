#include "diagnosis/remedy.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct remedy *const remedies[] = {
#define REMEDY(name) &remedy_##name,
#include "diagnosis/remedies/list.h"
#undef REMEDY
    NULL,
};

const struct remedy *remedy_find(const char *name)
{
    for (size_t i = 0; remedies[i] != NULL; i++) {
        if (strcmp(remedies[i]->name, name) == 0) {
            return remedies[i];
        }
    }
    return NULL;
}

void remedy_case_init(struct remedy_case *given, const struct target *target,
                      const struct target_contract *contract, const struct setup *setup,
                      const struct op_list *ops, const bool *has_failed)
{
    *given = (struct remedy_case){.target = target,
                                  .contract = contract,
                                  .setup = setup,
                                  .ops = ops,
                                  .has_failed = has_failed};
    remedy_lives_init(&given->lives, ops, has_failed, contract->granule_bytes);
    remedy_steps_init(&given->steps, ops, &given->lives);
}

void remedy_case_deinit(struct remedy_case *given)
{
    remedy_lives_deinit(&given->lives);
    remedy_steps_deinit(&given->steps);
}

void remedy_result_init(struct remedy_result *result)
{
    setup_init(&result->setup);
    op_list_init(&result->ops);
    result->note[0] = '\0';
}

void remedy_result_deinit(struct remedy_result *result)
{
    op_list_deinit(&result->ops);
}

bool remedy_note(struct remedy_result *result, uint64_t count, const char *none, const char *format,
                 ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (count > 0) {
        (void)vsnprintf(result->note, sizeof result->note, format, arguments);
    } else {
        snprintf(result->note, sizeof result->note, "%s", none);
    }
    va_end(arguments);
    return count > 0;
}

bool remedy_apply(const struct remedy *remedy, const struct remedy_case *given, uint64_t parameter,
                  struct remedy_result *result)
{
    result->setup = *given->setup;
    op_list_clear(&result->ops);
    result->note[0] = '\0';
    if (!remedy->apply(given, parameter, result)) {
        return false;
    }
    if (result->ops.count > REMEDY_OPS_FACTOR * given->ops->count + REMEDY_OPS_MORE) {
        snprintf(result->note, sizeof result->note, "the list would grow from %zu to %zu ops",
                 given->ops->count, result->ops.count);
        return false;
    }
    return true;
}

void remedy_title(const struct remedy *remedy, const struct remedy_case *given, uint64_t parameter,
                  char text[REMEDY_TITLE_BYTES])
{
    char label[REMEDY_LABEL_BYTES] = "";
    if (remedy->label != NULL) {
        remedy->label(given, parameter, label);
    } else if (remedy->parameter_name != NULL) {
        snprintf(label, sizeof label, "%" PRIu64, parameter);
    }
    snprintf(text, REMEDY_TITLE_BYTES, "%s%s%s", remedy->name, label[0] == '\0' ? "" : "-", label);
}
