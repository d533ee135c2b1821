#include "harness/op/chip.h"

#include <stddef.h>
#include <string.h>

#define MEBIBYTES(count) ((uint64_t)(count) << 20)
#define GIBIBYTES(count) ((uint64_t)(count) << 30)

/* A GPU's capacity is the total that its driver reports, as PyTorch prints it in an out-of-memory:
 * two decimals of GiB, rounded down here to a multiple of 16 KiB.  A program has less: its context
 * and its libraries take some.  Nominal: no public output was found. */
#define PRINTED(hundredths) (((uint64_t)(hundredths) << 30) / 100 / 16384 * 16384)
#define CHIP(kind_, name_, bytes, summary_)                                               \
    &(const struct chip)                                                                  \
    {                                                                                     \
        .name = name_, .capacity_bytes = bytes, .summary = summary_, .kind = CHIP_##kind_ \
    }

const struct chip *const chips[] = {
    CHIP(TPU, "v2", GIBIBYTES(8) - MEBIBYTES(530),
         "per core; 8 GiB less the 530 MiB printed as reserved (7.48G)"),
    CHIP(TPU, "v3", GIBIBYTES(16) - MEBIBYTES(530),
         "per core; 16 GiB less the 530 MiB printed as reserved (15.48G)"),
    CHIP(TPU, "v4", UINT64_C(33014413312), "bytes_limit seen in public counters (30.75G)"),
    CHIP(TPU, "v5e", UINT64_C(16909332480), "bytes_limit seen in public counters (15.75G)"),
    /* 95.74 * 2^30 rounded down to a multiple of 16 KiB, the largest granule that is run. */
    CHIP(TPU, "v5p", UINT64_C(102800031744), "printed as 95.74G; exact bytes not public"),
    CHIP(TPU, "v6e", UINT64_C(33550237696), "capacity in a public memory profile (31.25G)"),
    CHIP(TPU, "v7x", MEBIBYTES(97024), "per core; 94.75 GiB"),
    CHIP(GPU, "t4", PRINTED(1475), "printed as 14.75 GiB"),
    CHIP(GPU, "v100-16", GIBIBYTES(16), "nominal 16 GiB; a program has less"),
    CHIP(GPU, "rtx4090", PRINTED(2364), "printed as 23.64 GiB"),
    CHIP(GPU, "rtx3090", PRINTED(2370), "printed as 23.70 GiB"),
    CHIP(GPU, "a10g", GIBIBYTES(24), "nominal 24 GiB; a program has less"),
    CHIP(GPU, "l4", GIBIBYTES(24), "nominal 24 GiB; a program has less"),
    CHIP(GPU, "v100-32", PRINTED(3174), "printed as 31.74 GiB"),
    CHIP(GPU, "a100-40", UINT64_C(42298834944) / 16384 * 16384,
         "42298834944 bytes in a public device query (39.39 GiB)"),
    CHIP(GPU, "l40", PRINTED(4440), "printed as 44.40 GiB"),
    CHIP(GPU, "l40s", GIBIBYTES(48), "nominal 48 GiB; a program has less"),
    CHIP(GPU, "mi250", GIBIBYTES(64), "per die; nominal 64 GiB; a program has less"),
    CHIP(GPU, "a100-80", PRINTED(7915), "printed as 79.15 GiB"),
    CHIP(GPU, "h100-80", GIBIBYTES(80), "nominal 80 GiB; a program has less"),
    CHIP(GPU, "h200", UINT64_C(150111977472) / 16384 * 16384,
         "150111977472 bytes in a public log that does not name the card (139.80 GiB)"),
    CHIP(GPU, "b200", PRINTED(17835), "178.35 GiB in a public device query"),
    CHIP(GPU, "mi300x", GIBIBYTES(192), "nominal 192 GiB; a program has less"), NULL};

const struct chip *chip_find(const char *name)
{
    for (size_t i = 0; chips[i] != NULL; i++) {
        if (strcmp(chips[i]->name, name) == 0) {
            return chips[i];
        }
    }
    return NULL;
}

#define SYSTEM(...)        \
    &(const struct system) \
    {                      \
        __VA_ARGS__        \
    }
const struct system *const systems[] = {
    SYSTEM("xla_tpu", "the TPU runtime", "TPU", true),
    SYSTEM("xla_gpu", "XLA's BFC allocator", "GPU", false),
    SYSTEM("tensorflow", "TensorFlow's BFC allocator", "GPU", false),
    SYSTEM("pytorch", "PyTorch's caching allocator", "GPU", false),
    SYSTEM("rmm", "the RMM memory resource", "GPU", false),
    SYSTEM("onnxruntime", "the arena of ONNX Runtime", "GPU", false),
    SYSTEM("host", "the allocator", "host", false),
    NULL};

const struct system *system_find(const char *name)
{
    for (size_t i = 0; systems[i] != NULL; i++) {
        if (strcmp(systems[i]->name, name) == 0) {
            return systems[i];
        }
    }
    return NULL;
}
