/* hbm-certificate-check FILE: says whether the proof in a certificate holds. */
#include "checker/certificate_check.h"

#include <stdio.h>
#include <string.h>

int main(int argument_count, char **arguments)
{
    static char text[1 << 30], reason[CERTIFICATE_REASON_BYTES];
    const char *name = argument_count == 2 ? arguments[1] : "--help";
    if (strcmp(name, "--help") == 0) {
        fputs("usage: hbm-certificate-check FILE   (- reads standard input; at most 1 GiB)\n"
              "Checks the proof in a certificate of hbmstress, without code of hbmstress.\n"
              "Exit codes: 0 the proof holds, 1 it does not, 2 bad usage or not a certificate\n",
              argument_count == 2 ? stdout : stderr);
        return argument_count == 2 ? CERTIFICATE_VALID : CERTIFICATE_UNREADABLE;
    }
    FILE *file = strcmp(name, "-") == 0 ? stdin : fopen(name, "re");
    const size_t length = file == NULL ? 0 : fread(text, 1, sizeof text, file);
    if (file == NULL || ferror(file) || length == sizeof text) {
        fprintf(stderr, "%s: cannot be read, or is larger than 1 GiB\n", name);
        return CERTIFICATE_UNREADABLE;
    }
    static const char *const words[] = {"valid", "refuted", "unreadable"};
    const enum certificate_result result = certificate_check(text, length, reason);
    const int printed = fprintf(result == CERTIFICATE_UNREADABLE ? stderr : stdout, "%s: %s\n",
                                words[result], reason);
    return printed < 0 || fflush(stdout) != 0 ? CERTIFICATE_UNREADABLE : (int)result;
}
