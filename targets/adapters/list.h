/* Every adapter that is known by name: one line each, in the order in which
 * they are listed. */
/* clang-format off */
ADAPTER(mimalloc)
ADAPTER(jemalloc)
ADAPTER(glibc)
ADAPTER(cuda)
ADAPTER(onnxruntime)
ADAPTER(vulkan)
ADAPTER(pmemobj)
