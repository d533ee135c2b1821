/* Which hbmstress this is: what --version, JSON lines, summary.json, SARIF and bug reports print.
 * cmake/version.cmake finds it; this file's source is the only one that is compiled with it. */
#ifndef PRESENT_VERSION_H
#define PRESENT_VERSION_H

/* MAJOR.MINOR.PATCH of a release, MAJOR.MINOR.PATCH+N.gHASH of the Nth commit after one. */
const char *version_text(void);

#endif
