#include "harness/op/system.h"

#include <stddef.h>
#include <string.h>

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
