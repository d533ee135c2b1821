/* What the programs of a training job print, line by line: those of JAX and of PyTorch/XLA, and
 * their launchers.  Fixed texts are the ones that users report; names of files and functions are
 * those of the job that scenarios/training.c runs. */
#ifndef PRESENT_JOB_WORDS_H
#define PRESENT_JOB_WORDS_H

#include "harness/base/writing.h"

#include <stdbool.h>
#include <stdint.h>

enum job_framework { JOB_JAX = 0, JOB_TORCH_XLA };
enum job_launcher { JOB_SRUN = 0, JOB_MPIRUN };

/* Who prints: a host, whose clock shows clock_ns since the job began. */
struct job_writer {
    struct writing *text;
    enum job_framework framework;
    enum job_launcher launcher;
    uint32_t host;
    uint64_t clock_ns;
};

/* The first line: as many processes as there are hosts, which one this is, and the kind of its
 * device, as the framework names that of chip ("" = not said). */
void job_words_begin(const struct job_writer *writer, uint32_t host_count, const char *chip);
void job_words_step(const struct job_writer *writer, uint64_t step, uint64_t step_count,
                    double seconds, double loss);
/* A line of the job's own, which that file and line of its program print; at most 159 bytes. */
void job_words_line(const struct job_writer *writer, const char *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The traceback that ends a process, from where a user's program requests memory for that tag, with
 * the message of the allocator in one or more lines. */
void job_words_out_of_memory(const struct job_writer *writer, const char *tag, const char *message);
/* Who waits in the collective of that name until the time-out, for those hosts (a bit each). */
void job_words_timed_out(const struct job_writer *writer, const char *collective, uint64_t missing);
/* The report on its child of the launcher that runs on each host, if the framework has one; signal
 * 0 = it exited with code 1. */
void job_words_child_failed(const struct job_writer *writer, int signal);

/* What the launcher of all hosts says of one that was killed: by the memory of its machine, or by
 * SIGKILL; and of one that failed. */
void job_words_killed(const struct job_writer *writer, bool by_memory);
void job_words_exited(const struct job_writer *writer);

#endif
