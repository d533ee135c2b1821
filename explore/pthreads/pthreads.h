/* The pthread functions of the whole process: in a lane they are steps of its scheduler; anywhere
 * else they are the real ones, for the price of one load of a thread-local variable.
 *
 * They stand in front of the real functions because the executable defines them as global symbols:
 * the dynamic linker binds the calls of every shared object, dlopened or not, and of everything
 * linked in, to them.
 *
 * What they model: mutexes (normal, recursive, errorcheck; adaptive ones are normal), condition
 * variables, read-write locks, spin locks, semaphores, barriers, pthread_once, threads, keys,
 * clocks, sleeps, sched_yield; and the same under the names of C11 (mtx_, cnd_, thrd_, tss_,
 * call_once).  Time in a lane is virtual, of every clock.  A signal wakes the
 * waiter that has waited longest: which one wakes is not a choice.
 *
 * What they do not:
 *   - robust and process-shared objects, priorities and their protocols: taken for plain ones;
 *   - cancellation and signals to lanes (ENOTSUP); the handlers of pthread_cleanup_push do not run
 *     at pthread_exit;
 *   - an object that a thread outside of the lanes uses at the same time.  A mutex that was locked
 *     before the run is free in it.  Semaphores, and what pthread_once has done, are what their
 *     memory says, in the run and after it;
 *   - keys: a process has PTHREAD_KEYS_MAX of them, and those that a run leaves behind stay taken;
 *   - waiting by futex, poll, select, pipes and the like: explore/pthreads/pthreads_imports.h has a
 *     table of such functions; a wait that no import shows ends the run with
 *     SCHEDULER_NOT_MODELLED. */
#ifndef EXPLORE_PTHREADS_PTHREADS_H
#define EXPLORE_PTHREADS_PTHREADS_H

/* Call it first of all in main(): it brings the functions into the program.  Keys made later, or in
 * a lane, are the lanes' own; those made before belong to the runtime (a sanitizer has some) and to
 * the real thread. */
void pthreads_link(void);

/* Runs the destructors of the calling lane's keys, as the end of a thread does.  A lane that
 * pthread_create() made does it by itself; the body of another lane ends with it.  Does nothing
 * outside of lanes. */
void pthreads_lane_end(void);

#endif
