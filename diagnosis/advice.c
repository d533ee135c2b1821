#include "diagnosis/advice.h"

#include "harness/base/check.h"
#include "harness/op/chip.h"

#include <stdio.h>
#include <string.h>

/* The readers by the names of struct system, after the unknown one. */
enum advice_reader {
    UNKNOWN = 0,
    XLA_TPU,
    XLA_GPU,
    TENSORFLOW,
    PYTORCH,
    RMM,
    ONNXRUNTIME,
    HOST,
    READER_COUNT
};

struct advice {
    const struct remedy *remedy;
    enum advice_results results;
    const char *words[READER_COUNT]; /* NULL: they cannot do it */
};

#define OPTION_OF_TARGET "set that option of the allocator"
#define JAX_RELEASE                                                                                \
    "release the references to " ADVICE_TAG                                                        \
    " after each step: keep float(x) instead of the array, del the rest; jax.live_arrays() lists " \
    "what is held"
#define JAX_CHECKPOINT                      \
    "wrap the layers that make " ADVICE_TAG \
    " in jax.checkpoint (remat): it is computed again in the backward pass"
#define JAX_ACCUMULATION \
    "split the batch into " ADVICE_VALUE " parts and accumulate gradients, as optax.MultiSteps does"
#define JAX_SHARDING                                          \
    "shard parameters and optimizer state over " ADVICE_VALUE \
    " devices (NamedSharding in jit's in_shardings)"
#define JAX_DONATION \
    "donate the inputs that the step replaces: jax.jit(step, donate_argnums=(0, 1))"
#define JAX_COPY                                 \
    "drop or donate the old copy of " ADVICE_TAG \
    " before the new one is made: donate_argnums, or del old; restore checkpoints sharded"
#define JAX_UNLOAD \
    "drop compiled programs that never run again: jax.clear_caches(), and fewer shapes to compile"
#define SMALLER_BATCH "divide the batch by " ADVICE_VALUE
#define SMALLER_BY "make the batch, or the longest input, " ADVICE_VALUE " % smaller"
#define JAX_PRECISION \
    "compute in bfloat16 where float32 is the largest: x.astype(jnp.bfloat16), or dtype=jnp.bfloat16"
#define LONGER_INPUTS \
    "bound what " ADVICE_TAG " holds: cut or bucket sequences to a fixed length, or limit the cache"
#define RESTART "save a checkpoint every " ADVICE_VALUE " steps and start the process again from it"
#define EVEN "give each host the same share: equal shards, and nothing on host 0 alone"
#define LARGER "use a larger device: " ADVICE_VALUE

static const struct advice table[] = {
    {&remedy_defrag,
     ADVICE_SAME,
     {[UNKNOWN] = "let the allocator move blocks: its option defrag=" ADVICE_VALUE,
      [XLA_TPU] =
          "use a runtime that defragments by itself: jax 0.4.8 or later, torch_xla on PJRT"}},
    {&remedy_pages,
     ADVICE_SAME,
     {[XLA_GPU] = "set XLA_PYTHON_CLIENT_ALLOCATOR=platform (slow), or keep preallocation on "
                  "(XLA_PYTHON_CLIENT_PREALLOCATE unset)",
      [TENSORFLOW] = "set TF_GPU_ALLOCATOR=cuda_malloc_async",
      [PYTORCH] = "set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
      [RMM] = "use rmm.mr.CudaAsyncMemoryResource instead of a pool"}},
    {&remedy_order, ADVICE_SAME, {[UNKNOWN] = OPTION_OF_TARGET, [XLA_TPU] = OPTION_OF_TARGET}},
    {&remedy_drains, ADVICE_SAME, {[UNKNOWN] = OPTION_OF_TARGET, [XLA_TPU] = OPTION_OF_TARGET}},
    {&remedy_evicts, ADVICE_SAME, {[UNKNOWN] = OPTION_OF_TARGET, [XLA_TPU] = OPTION_OF_TARGET}},
    {&remedy_program_evicts,
     ADVICE_SAME,
     {[UNKNOWN] = OPTION_OF_TARGET, [XLA_TPU] = OPTION_OF_TARGET}},
    {&remedy_release,
     ADVICE_SAME,
     {[UNKNOWN] = "free the blocks of " ADVICE_TAG " after each step",
      [XLA_TPU] = JAX_RELEASE,
      [XLA_GPU] = JAX_RELEASE,
      [TENSORFLOW] = "release the references to " ADVICE_TAG
                     " after each step: keep x.numpy() instead of the tensor, and leave no list of "
                     "tensors behind",
      [PYTORCH] =
          "release the references to " ADVICE_TAG
          " after each step: keep loss.item() or x.detach().cpu() instead of the tensor, del "
          "the rest",
      [RMM] = "release " ADVICE_TAG " after each step: del the columns and buffers that hold it",
      [ONNXRUNTIME] = "release the OrtValues that hold " ADVICE_TAG
                      "; memory.enable_memory_arena_shrinkage returns what the arena keeps",
      [HOST] = "free the blocks of " ADVICE_TAG " after each step"}},
    {&remedy_release_references,
     ADVICE_SAME,
     {[UNKNOWN] = "release the references to " ADVICE_TAG " when it is freed",
      [XLA_TPU] = "release the references to " ADVICE_TAG
                  ": del the arrays, NumPy views and exceptions that hold it; x.delete() frees at "
                  "once",
      [XLA_GPU] = "release the references to " ADVICE_TAG
                  ": del the arrays, NumPy views and exceptions that hold it; x.delete() frees at "
                  "once",
      [TENSORFLOW] = "release the references to " ADVICE_TAG
                     ": del the tensors that hold it, also those in lists and exceptions",
      [PYTORCH] = "release the references to " ADVICE_TAG
                  ": del the tensors, views and exceptions that hold it",
      [RMM] = "release the references to " ADVICE_TAG ": del the columns and views that hold it",
      [ONNXRUNTIME] = "release the OrtValues and bindings that hold " ADVICE_TAG,
      [HOST] = "release the references to " ADVICE_TAG " when it is freed"}},
    {&remedy_drop_copy,
     ADVICE_SAME,
     {[UNKNOWN] = "free the old copy of " ADVICE_TAG " before the new one is made",
      [XLA_TPU] = JAX_COPY,
      [XLA_GPU] = JAX_COPY,
      [TENSORFLOW] =
          "drop the old copy of " ADVICE_TAG
          " before the new one is made: assign into variables instead of making new ones",
      [PYTORCH] = "drop the old copy of " ADVICE_TAG
                  " before the new one is made: load with map_location='cpu', "
                  "optimizer.zero_grad(set_to_none=True), in-place updates",
      [RMM] = "del the old copy of " ADVICE_TAG " before the new one is made",
      [ONNXRUNTIME] = "end the old session before the new one of " ADVICE_TAG " is made",
      [HOST] = "free the old copy of " ADVICE_TAG " before the new one is made"}},
    {&remedy_donation,
     ADVICE_SAME,
     {[UNKNOWN] = "let the output take over the memory of an input that ends there",
      [XLA_TPU] = JAX_DONATION,
      [XLA_GPU] = JAX_DONATION,
      [PYTORCH] = "write the result into the input that ends there: in-place operations, out="}},
    {&remedy_unload,
     ADVICE_SAME,
     {[UNKNOWN] = "unload programs that never run again",
      [XLA_TPU] = JAX_UNLOAD,
      [XLA_GPU] = JAX_UNLOAD}},
    {&remedy_programs,
     ADVICE_SAME,
     {[UNKNOWN] = "keep fewer programs loaded",
      [XLA_TPU] = "keep fewer programs loaded: fewer shapes to compile, jax.clear_caches() between "
                  "phases; a lower tpu_shared_memory_percent (LIBTPU_INIT_ARGS) makes them smaller",
      [XLA_GPU] = "keep fewer programs loaded: fewer shapes to compile, jax.clear_caches() between "
                  "phases"}},
    {&remedy_mark_step,
     ADVICE_SAME,
     {[UNKNOWN] = "wait for the device now and then, so that queued frees are done",
      [XLA_TPU] = "wait for the device in each step: jax.block_until_ready(x), or xm.mark_step() "
                  "(torch.xla.mark_step) with xm.wait_device_ops()",
      [XLA_GPU] = "wait for the device in each step: jax.block_until_ready(x)",
      [PYTORCH] =
          "wait for the streams that use the freed memory: torch.cuda.synchronize() in each "
          "step, or fewer record_stream()",
      [RMM] = "synchronise the streams that use the freed memory before the next request"}},
    {&remedy_layout,
     ADVICE_SAME,
     {[UNKNOWN] = "choose shapes that fill their tiles",
      [XLA_TPU] =
          "choose shapes that fill their tiles: a last dimension that is a multiple of 128, "
          "the one before of 8"}},
    {&remedy_no_padding,
     ADVICE_SAME,
     {[UNKNOWN] = "choose shapes without padding",
      [XLA_TPU] = "choose shapes without padding: a last dimension that is a multiple of 128, the "
                  "one before of 8"}},
    {&remedy_bound,
     ADVICE_OTHER,
     {[UNKNOWN] = LONGER_INPUTS,
      [XLA_TPU] = LONGER_INPUTS,
      [XLA_GPU] = LONGER_INPUTS,
      [TENSORFLOW] = LONGER_INPUTS,
      [PYTORCH] = LONGER_INPUTS,
      [RMM] = "bound what " ADVICE_TAG " holds: smaller partitions, or spill the oldest",
      [ONNXRUNTIME] = LONGER_INPUTS,
      [HOST] = "bound what " ADVICE_TAG " holds"}},
    {&remedy_trim,
     ADVICE_OTHER,
     {[UNKNOWN] = SMALLER_BY,
      [XLA_TPU] = SMALLER_BY,
      [XLA_GPU] = SMALLER_BY,
      [TENSORFLOW] = SMALLER_BY,
      [PYTORCH] = SMALLER_BY,
      [RMM] = "make the partitions " ADVICE_VALUE " % smaller",
      [ONNXRUNTIME] = SMALLER_BY}},
    {&remedy_precision,
     ADVICE_OTHER,
     {[UNKNOWN] = "use bfloat16 where float32 is the largest",
      [XLA_TPU] = JAX_PRECISION,
      [XLA_GPU] = JAX_PRECISION,
      [TENSORFLOW] = "compute in bfloat16: "
                     "tf.keras.mixed_precision.set_global_policy('mixed_bfloat16')",
      [PYTORCH] = "compute in bfloat16: torch.autocast('cuda', dtype=torch.bfloat16)",
      [ONNXRUNTIME] = "convert the model to float16"}},
    {&remedy_checkpointing,
     ADVICE_SAME,
     {[UNKNOWN] = "compute " ADVICE_TAG " again instead of keeping it",
      [XLA_TPU] = JAX_CHECKPOINT,
      [XLA_GPU] = JAX_CHECKPOINT,
      [TENSORFLOW] = "wrap the layers that make " ADVICE_TAG " in tf.recompute_grad",
      [PYTORCH] = "wrap the layers that make " ADVICE_TAG " in torch.utils.checkpoint.checkpoint"}},
    {&remedy_accumulation,
     ADVICE_ROUNDING,
     {[UNKNOWN] = "split the batch into " ADVICE_VALUE " parts and accumulate gradients",
      [XLA_TPU] = JAX_ACCUMULATION,
      [XLA_GPU] = JAX_ACCUMULATION,
      [TENSORFLOW] = "split the batch into " ADVICE_VALUE " parts and accumulate gradients "
                     "(gradient_accumulation_steps of a Keras optimizer)",
      [PYTORCH] = "split the batch into " ADVICE_VALUE
                  " parts: loss.backward() for each, scaled, then one "
                  "optimizer.step()"}},
    {&remedy_batch,
     ADVICE_OTHER,
     {[UNKNOWN] = SMALLER_BATCH,
      [XLA_TPU] = SMALLER_BATCH,
      [XLA_GPU] = SMALLER_BATCH,
      [TENSORFLOW] = SMALLER_BATCH,
      [PYTORCH] = SMALLER_BATCH,
      [RMM] = "divide the partitions by " ADVICE_VALUE,
      [ONNXRUNTIME] = SMALLER_BATCH}},
    {&remedy_restart,
     ADVICE_SAME,
     {[UNKNOWN] = RESTART,
      [XLA_TPU] = RESTART,
      [XLA_GPU] = RESTART,
      [TENSORFLOW] = RESTART,
      [PYTORCH] = RESTART,
      [RMM] = "start the process again every " ADVICE_VALUE " steps",
      [ONNXRUNTIME] = "make the session anew every " ADVICE_VALUE " runs",
      [HOST] = "start the process again every " ADVICE_VALUE " steps"}},
    {&remedy_even,
     ADVICE_SAME,
     {[UNKNOWN] = EVEN,
      [XLA_TPU] = EVEN,
      [XLA_GPU] = EVEN,
      [TENSORFLOW] = EVEN,
      [PYTORCH] = EVEN,
      [RMM] = EVEN}},
    {&remedy_sharding,
     ADVICE_ROUNDING,
     {[UNKNOWN] = "divide the buffers among " ADVICE_VALUE " devices",
      [XLA_TPU] = JAX_SHARDING,
      [XLA_GPU] = JAX_SHARDING,
      [TENSORFLOW] = "shard the variables over " ADVICE_VALUE " devices (tf.experimental.dtensor)",
      [PYTORCH] = "shard parameters, gradients and optimizer state over " ADVICE_VALUE
                  " devices: FSDP "
                  "(fully_shard)",
      [RMM] = "divide the data among " ADVICE_VALUE " GPUs (Dask)",
      [ONNXRUNTIME] = "divide the model among " ADVICE_VALUE " devices"}},
    {&remedy_chip,
     ADVICE_SAME,
     {[UNKNOWN] = LARGER,
      [XLA_TPU] = LARGER,
      [XLA_GPU] = LARGER,
      [TENSORFLOW] = LARGER,
      [PYTORCH] = LARGER,
      [RMM] = LARGER,
      [ONNXRUNTIME] = LARGER}},
    {&remedy_capacity,
     ADVICE_SAME,
     {[UNKNOWN] = "use a device of " ADVICE_VALUE,
      [XLA_TPU] = "use a device of " ADVICE_VALUE,
      [XLA_GPU] = "let the allocator take more of the GPU (XLA_CLIENT_MEM_FRACTION, formerly "
                  "XLA_PYTHON_CLIENT_MEM_FRACTION: 0.75 unless set), or a larger GPU",
      [TENSORFLOW] = "use a GPU of " ADVICE_VALUE " that nothing else uses",
      [PYTORCH] = "use a GPU of " ADVICE_VALUE " that nothing else uses",
      [RMM] = "a larger maximum_pool_size, or a larger GPU",
      [ONNXRUNTIME] = "a larger gpu_mem_limit, or a larger GPU",
      [HOST] = "a larger heap"}},
};
enum { ROW_COUNT = sizeof table / sizeof *table };

const char *advice_results_name(enum advice_results results)
{
    static const char *const names[] = {"same", "rounding", "other"};
    return names[results];
}

static const struct advice *find_row(const struct remedy *remedy)
{
    size_t i = 0;
    while (i < ROW_COUNT && table[i].remedy != remedy) {
        i++;
    }
    CHECK(i < ROW_COUNT);
    return &table[i];
}

static enum advice_reader find_reader(const char *name)
{
    for (size_t i = 0; systems[i] != NULL; i++) {
        if (strcmp(systems[i]->name, name) == 0 && i + 1 < READER_COUNT) {
            return (enum advice_reader)(i + 1);
        }
    }
    return UNKNOWN;
}

const char *advice_words(const struct remedy *remedy, const char *system)
{
    return find_row(remedy)->words[find_reader(system)];
}

enum advice_results advice_results(const struct remedy *remedy)
{
    return find_row(remedy)->results;
}

/* Replaces the first `mark` in the text by the value, in quotes if asked. */
static void put_value(char *text, size_t bytes, const char *mark, const char *quote,
                      const char *value)
{
    char before[ADVICE_WORDS_BYTES];
    snprintf(before, sizeof before, "%s", text);
    char *place = strstr(before, mark);
    if (place != NULL) {
        *place = '\0';
        snprintf(text, bytes, "%s%s%s%s%s", before, quote, value, quote, place + strlen(mark));
    }
}

void advice_write(const struct remedy *remedy, const char *system, const char *tag_name,
                  const char *title, char *text, size_t bytes)
{
    const char *words = advice_words(remedy, system);
    const size_t length = strlen(remedy->name);
    const bool has_value = strncmp(title, remedy->name, length) == 0 && title[length] == '-';
    snprintf(text, bytes, "%s", words == NULL ? "" : words);
    put_value(text, bytes, ADVICE_VALUE, "", has_value ? title + length + 1 : "n");
    put_value(text, bytes, ADVICE_TAG, "'", tag_name);
}
