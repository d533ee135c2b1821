/* What one allocate or free of libhbm costs, without a harness around it: a device 70 % full of
 * blocks of log-uniform sizes, in which a random block is freed and another allocated, again and
 * again. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/allocator/hbm_device.h"

#define OPS 2000000
#define OCTAVES 12 /* sizes from 512 B to 2 MiB */
#define ROUNDS 5

static uint64_t random_state = 1;

static uint64_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Uniform in the exponent and, within a power of two, in the mantissa. */
static uint64_t size_draw(void)
{
    uint64_t draw = random_next();
    uint64_t octave = (uint64_t)512 << ((draw >> 32) % OCTAVES);
    return octave + (draw & (octave - 1));
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct bench {
    struct hbm *hbm;
    struct hbm_buffer **live;
    size_t live_count;
    uint64_t refused;
};

static void fill_live_buffers(struct bench *bench)
{
    for (size_t i = 0; i < bench->live_count; i++) {
        struct hbm_request request = {.size_bytes = size_draw()};
        if (hbm_allocate(bench->hbm, &request, &bench->live[i]) != HBM_OK) {
            abort();
        }
    }
}

static double time_churn(struct bench *bench, bool call)
{
    uint64_t sink = 0;
    double start = seconds_now();
    for (int i = 0; i < OPS / 2; i++) {
        size_t victim = random_next() % bench->live_count;
        struct hbm_request request = {.size_bytes = size_draw()};
        if (!call) {
            sink += victim + request.size_bytes;
            __asm__ volatile("" : : "r"(sink), "r"(bench->live[victim]));
            continue;
        }
        if (bench->live[victim] != NULL) {
            hbm_free(bench->hbm, bench->live[victim]);
        }
        if (hbm_allocate(bench->hbm, &request, &bench->live[victim]) != HBM_OK) {
            bench->live[victim] = NULL;
            bench->refused++;
        }
    }
    return (seconds_now() - start) * 1e9 / OPS;
}

static void measure_heap(size_t live_count)
{
    static struct hbm_device device;
    struct hbm_options options;
    double mean_bytes = 0, best_ns = 1e9, empty_ns = 1e9;
    for (int i = 0; i < OCTAVES; i++) {
        mean_bytes += 512.0 * (double)(1u << i) * 1.5 / OCTAVES;
    }
    hbm_device_init(&device, 0);
    struct hbm_services services = hbm_device_services(&device);
    hbm_options_init(&options);
    options.defrag = HBM_DEFRAG_NONE;
    options.capacity_bytes = (uint64_t)((double)live_count * (mean_bytes + 256) / 0.7) &
                             ~(uint64_t)511;
    struct bench bench = {.live = calloc(live_count, sizeof *bench.live), .live_count = live_count};
    if (hbm_create(&services, &options, &bench.hbm) != HBM_OK) {
        abort();
    }
    uint64_t host_start = hbm_host_bytes(bench.hbm);
    fill_live_buffers(&bench);
    (void)time_churn(&bench, true);
    for (int round = 0; round < ROUNDS; round++) {
        double empty = time_churn(&bench, false), ns = time_churn(&bench, true);
        empty_ns = empty < empty_ns ? empty : empty_ns;
        best_ns = ns < best_ns ? ns : best_ns;
    }
    struct hbm_stats stats;
    hbm_stats(bench.hbm, &stats);
    printf("%7zu live: %6.1f ns per op, empty loop %4.1f ns, %5.1f B of host memory per live block "
           "(%.1f with the fixed part), %.1f %% full, %.2f %% refused\n",
           live_count, best_ns, empty_ns,
           (double)(hbm_host_bytes(bench.hbm) - host_start) / (double)live_count,
           (double)hbm_host_bytes(bench.hbm) / (double)live_count,
           100.0 * (double)stats.bytes_in_use / (double)stats.bytes_limit,
           100.0 * (double)bench.refused / (OPS / 2.0 * (ROUNDS + 1)));
    hbm_destroy(bench.hbm);
    hbm_device_deinit(&device);
    free(bench.live);
}

int main(void)
{
    measure_heap(1000);
    measure_heap(10000);
    measure_heap(100000);
    return 0;
}
