#include "tests/formats/bfc_rig.h"

#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>

struct bfc_rig rig;

void rig_setup(void)
{
    import_init(&rig.import);
    rig.error = (struct import_error){0};
}

void rig_teardown(void)
{
    import_deinit(&rig.import);
}

void rig_read(const char *path)
{
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s", path);
    rig.length = fread(rig.text, 1, sizeof rig.text - 1, file);
    rig.text[rig.length] = '\0';
    ck_assert(feof(file));
    fclose(file);
}

enum import_result rig_import_text(const char *text, size_t length)
{
    rig.error = (struct import_error){0};
    return import_text(text, length, "bfc", NULL, &rig.import, &rig.error);
}

enum import_result rig_import_own(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, HBMSTRESS_SOURCE_DIR "/corpus/field/bfc/%s", name);
    rig_read(path);
    rig.error = (struct import_error){0};
    return import_text(rig.text, rig.length, "auto", NULL, &rig.import, &rig.error);
}
