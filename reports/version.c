#include "reports/version.h"

const char *version_text(void)
{
    return HBMSTRESS_VERSION;
}
