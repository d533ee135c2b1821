#include "diagnosis/diagnosis.h"

#include "harness/base/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void diagnosis_init(struct diagnosis *diagnosis, const struct cause *cause)
{
    memset(diagnosis, 0, sizeof *diagnosis);
    diagnosis->cause = cause;
    diagnosis->op = OP_NONE;
}

void diagnosis_describe(struct diagnosis *diagnosis, const char *format, ...)
{
    const size_t length = strlen(diagnosis->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(diagnosis->text + length, sizeof diagnosis->text - length, format, arguments);
    va_end(arguments);
}

void diagnosis_number(struct diagnosis *diagnosis, const char *name, uint64_t value)
{
    CHECK(diagnosis->number_count < DIAGNOSIS_NUMBER_COUNT_MAX);
    diagnosis->numbers[diagnosis->number_count++] = (struct diagnosis_number){name, value};
}
