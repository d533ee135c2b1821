#include "harness/op/chip.h"

#include <stddef.h>
#include <string.h>

#define MEBIBYTES(count) ((uint64_t)(count) << 20)
#define GIBIBYTES(count) ((uint64_t)(count) << 30)

static const struct chip v2 = {"v2", GIBIBYTES(8) - MEBIBYTES(530),
                               "per core; 8 GiB less the 530 MiB printed as reserved (7.48G)",
                               CHIP_TPU};
static const struct chip v3 = {"v3", GIBIBYTES(16) - MEBIBYTES(530),
                               "per core; 16 GiB less the 530 MiB printed as reserved (15.48G)",
                               CHIP_TPU};
static const struct chip v4 = {"v4", UINT64_C(33014413312),
                               "bytes_limit seen in public counters (30.75G)", CHIP_TPU};
static const struct chip v5e = {"v5e", UINT64_C(16909332480),
                                "bytes_limit seen in public counters (15.75G)", CHIP_TPU};
/* 95.74 * 2^30 rounded down to a multiple of 16 KiB, the largest granule that is run. */
static const struct chip v5p = {"v5p", UINT64_C(102800031744),
                                "printed as 95.74G; exact bytes not public", CHIP_TPU};
static const struct chip v6e = {"v6e", UINT64_C(33550237696),
                                "capacity in a public memory profile (31.25G)", CHIP_TPU};
static const struct chip v7x = {"v7x", MEBIBYTES(97024), "per core; 94.75 GiB", CHIP_TPU};

/* A GPU's capacity is the total that its driver reports, as PyTorch prints it in an out-of-memory:
 * two decimals of GiB, rounded down here to a multiple of 16 KiB.  A program has less: its context
 * and its libraries take some.  Nominal: no public output was found. */
#define PRINTED(hundredths) (((uint64_t)(hundredths) << 30) / 100 / 16384 * 16384)
#define GPU(variable, name_, bytes, summary_) \
    static const struct chip variable = {     \
        .name = name_, .capacity_bytes = bytes, .summary = summary_, .kind = CHIP_GPU}
GPU(t4, "t4", PRINTED(1475), "printed as 14.75 GiB");
GPU(v100_16, "v100-16", GIBIBYTES(16), "nominal 16 GiB; a program has less");
GPU(rtx4090, "rtx4090", PRINTED(2364), "printed as 23.64 GiB");
GPU(rtx3090, "rtx3090", PRINTED(2370), "printed as 23.70 GiB");
GPU(a10g, "a10g", GIBIBYTES(24), "nominal 24 GiB; a program has less");
GPU(l4, "l4", GIBIBYTES(24), "nominal 24 GiB; a program has less");
GPU(v100_32, "v100-32", PRINTED(3174), "printed as 31.74 GiB");
GPU(a100_40, "a100-40", UINT64_C(42298834944) / 16384 * 16384,
    "42298834944 bytes in a public device query (39.39 GiB)");
GPU(l40, "l40", PRINTED(4440), "printed as 44.40 GiB");
GPU(l40s, "l40s", GIBIBYTES(48), "nominal 48 GiB; a program has less");
GPU(mi250, "mi250", GIBIBYTES(64), "per die; nominal 64 GiB; a program has less");
GPU(a100_80, "a100-80", PRINTED(7915), "printed as 79.15 GiB");
GPU(h100_80, "h100-80", GIBIBYTES(80), "nominal 80 GiB; a program has less");
GPU(h200, "h200", UINT64_C(150111977472) / 16384 * 16384,
    "150111977472 bytes in a public log that does not name the card (139.80 GiB)");
GPU(b200, "b200", PRINTED(17835), "178.35 GiB in a public device query");
GPU(mi300x, "mi300x", GIBIBYTES(192), "nominal 192 GiB; a program has less");

const struct chip *const chips[] = {&v2,      &v3,      &v4,      &v5e,     &v5p,     &v6e,
                                    &v7x,     &t4,      &v100_16, &rtx4090, &rtx3090, &a10g,
                                    &l4,      &v100_32, &a100_40, &l40,     &l40s,    &mi250,
                                    &a100_80, &h100_80, &h200,    &b200,    &mi300x,  NULL};

const struct chip *chip_find(const char *name)
{
    for (size_t i = 0; chips[i] != NULL; i++) {
        if (strcmp(chips[i]->name, name) == 0) {
            return chips[i];
        }
    }
    return NULL;
}

static const struct system xla_tpu = {"xla_tpu", "the TPU runtime", "TPU", true};
static const struct system xla_gpu = {"xla_gpu", "XLA's BFC allocator", "GPU", false};
static const struct system tensorflow = {"tensorflow", "TensorFlow's BFC allocator", "GPU", false};
static const struct system pytorch = {"pytorch", "PyTorch's caching allocator", "GPU", false};
static const struct system rmm = {"rmm", "the RMM memory resource", "GPU", false};
static const struct system onnxruntime = {"onnxruntime", "the arena of ONNX Runtime", "GPU", false};
static const struct system host = {"host", "the allocator", "host", false};

const struct system *const systems[] = {&xla_tpu, &xla_gpu,     &tensorflow, &pytorch,
                                        &rmm,     &onnxruntime, &host,       NULL};

const struct system *system_find(const char *name)
{
    for (size_t i = 0; systems[i] != NULL; i++) {
        if (strcmp(systems[i]->name, name) == 0) {
            return systems[i];
        }
    }
    return NULL;
}
