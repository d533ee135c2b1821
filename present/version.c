#include "present/version.h"

const char *version_text(void)
{
    return HBMSTRESS_VERSION;
}
