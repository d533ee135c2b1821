/* Every target but the planted ones (targets/plants/list.h): one line each, in the order in which
 * they are listed. */
/* clang-format off */
TARGET(hbm)
TARGET(first_fit)
TARGET(null)
TARGET(threaded)
TARGET(paged)
TARGET(segments)
TARGET(buddy)
TARGET(streamed)
TARGET(caching)
