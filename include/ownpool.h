/*
 * ownpool.h: random bytes from the kernel, or from a private generator of the calling
 * thread that the kernel seeds. See ownpool(3); link with -lownpool.
 *
 * Every function may be called at any time: on any thread, in signal handlers, in forked
 * children, in constructors and before them, and while a thread or the process ends.
 *
 * Made from src/c_api.rs by cbindgen: change the comments there.
 */

#ifndef OWNPOOL_H
#define OWNPOOL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The version of this header; ownpool_version() tells the library's. */
#define OWNPOOL_VERSION "0.1.0"
#define OWNPOOL_VERSION_MAJOR 0
#define OWNPOOL_VERSION_MINOR 1
#define OWNPOOL_VERSION_PATCH 0

/* The compiler warns where the result of such a function is not looked at. */
#if defined(__GNUC__)
#define OWNPOOL_CHECKED __attribute__((__warn_unused_result__))
#else
#define OWNPOOL_CHECKED
#endif

/**
 * Counts of this process since it started, or since it was forked: calls are
 * requests, bytes are bytes handed out. Where the kernel takes a generator's page
 * back under memory pressure, the counts in it are lost with the page.
 *
 * The struct may grow at its end in later versions; ownpool_stats() is told
 * the caller's size and never writes beyond it.
 */
struct ownpool_stats {
    /**
     * Threads that were given a private generator.
     */
    uint64_t threads_moved;
    /**
     * Requests that the kernel answered.
     */
    uint64_t kernel_calls;
    /**
     * Bytes of those requests.
     */
    uint64_t kernel_bytes;
    /**
     * Requests that private generators answered.
     */
    uint64_t private_calls;
    /**
     * Bytes of those requests.
     */
    uint64_t private_bytes;
    /**
     * Mode observe: threads that would have been moved.
     */
    uint64_t would_move_threads;
    /**
     * Mode observe: requests that would have been answered privately.
     */
    uint64_t would_move_calls;
    /**
     * Bytes of those requests.
     */
    uint64_t would_move_bytes;
    /**
     * Refills of private generators' buffers.
     */
    uint64_t refills;
    /**
     * Seeds of 32 bytes that the kernel gave to private generators.
     */
    uint64_t reseeds;
};

#ifdef __cplusplus
extern "C" {
#endif

/**
 * ownpool_fill: fills `dest` with `len` random bytes from this thread's private
 * generator, in every mode. Where there can be none (before the library's
 * constructor, after the thread's destructors, in a signal handler that
 * interrupts another draw, on a kernel that cannot wipe memory on fork) the
 * kernel's bytes are given instead.
 *
 * Returns 0, or -1 with errno set: EFAULT if `dest` or its end is no address of a
 * program, or what getrandom(2) says where there is neither a private generator nor a
 * kernel that gives bytes (ENOSYS, EPERM). After -1 the contents of `dest` are
 * not to be used. `len` may be 0; then `dest` is not looked at. Any other `len`
 * is filled whole; only where the kernel answers may it wait, until the kernel's
 * generator is seeded early at boot. An address that faults, faults.
 *
 * Thread-safe, async-signal-safe, and safe after fork(2): a child never draws
 * its parent's bytes.
 *
 * The caller's part:
 * `dest` is writable for `len`.
 */
OWNPOOL_CHECKED int ownpool_fill(void *dest, size_t len);

/**
 * ownpool_getrandom: getrandom(2) through the policy: as long as this thread
 * asks for little the kernel answers, and when it asks for much, or at a high
 * rate, its private generator does. ownpool_set_mode() changes that.
 *
 * Arguments, result (bytes written, which may be fewer than `len` where the
 * kernel answers) and errno are those of getrandom(2); `flags` are 0 or of
 * GRND_NONBLOCK, GRND_RANDOM (always the kernel) and GRND_INSECURE. As
 * getrandom(2) of glibc before 2.41, it is a cancellation point.
 *
 * Thread-safe, async-signal-safe, and safe after fork(2).
 *
 * The caller's part:
 * `dest` is writable for `len`.
 */
OWNPOOL_CHECKED ssize_t ownpool_getrandom(void *dest, size_t len, unsigned int flags);

/**
 * ownpool_u32: a random number of 32 bits, from this thread's private generator
 * as ownpool_fill().
 *
 * There is no error return: it waits until the kernel's generator is seeded,
 * and ends the process by abort(3)'s signal, SIGABRT, with one line on
 * descriptor 2, if getrandom(2) and /dev/urandom are both refused.
 *
 * Thread-safe, async-signal-safe, and safe after fork(2).
 */
uint32_t ownpool_u32(void);

/**
 * ownpool_u64: a random number of 64 bits; otherwise as ownpool_u32().
 */
uint64_t ownpool_u64(void);

/**
 * ownpool_uniform: a random number below `upper_bound`, each exactly as likely
 * as any other; 0 for bounds of 0 and 1. Otherwise as ownpool_u32(), which it
 * asks less than twice on average.
 */
uint32_t ownpool_uniform(uint32_t upper_bound);

/**
 * ownpool_reseed: makes every thread's generator take 32 fresh kernel bytes
 * into its key, and drop what it has buffered, before its next byte.
 *
 * Call it when the process's memory may exist twice: in each copy, after a
 * virtual machine or a checkpoint was restored and before anything is drawn.
 * fork(2) needs no call. It returns at once and cannot fail.
 *
 * Thread-safe, lock-free and async-signal-safe.
 */
void ownpool_reseed(void);

/**
 * ownpool_stats: writes this process's counts, of all threads, to `out`.
 *
 * `size` is sizeof(struct ownpool_stats) as the caller was compiled with: that
 * many bytes are written, so an older caller gets the fields that it knows, and
 * fields that this library does not know are zeroed. Returns 0, or -1 with errno
 * EINVAL if `out` is null or `size` is less than 8.
 *
 * Thread-safe and async-signal-safe; other threads may be counting meanwhile, so
 * the fields may be a call apart. In a forked child counts start at 0.
 *
 * The caller's part:
 * `out` is null or writable for `size` bytes.
 */
int ownpool_stats(struct ownpool_stats *out, size_t size);

/**
 * ownpool_set_mode: changes who is answered by a private generator, for the
 * whole process: "auto", "always", "vdso", "observe" or "off", as OWNPOOL_MODE
 * (see ownpool(7)).
 *
 * Returns 0, or -1 with errno EINVAL and the mode as it was. Every thread's next
 * request is decided by the new mode, and its generator reseeds first.
 * ownpool_fill() and the integer functions use the private generator in every
 * mode; ownpool_getrandom() and the libc functions that the library answers are
 * what the mode decides. A call before the library's constructor is undone by it.
 *
 * Thread-safe, lock-free and async-signal-safe.
 *
 * The caller's part:
 * `mode` is null or a C string.
 */
int ownpool_set_mode(const char *mode);

/**
 * ownpool_mode: the name of the mode in force, one of those that
 * ownpool_set_mode() takes; "off" until the library's constructor has run.
 *
 * The string is static: it is not freed. Thread-safe and async-signal-safe.
 */
const char *ownpool_mode(void);

/**
 * ownpool_version: the library's version and the ChaCha20 backend in use, a
 * string such as "ownpool 0.1.0 (avx512)"; the others are avx2 and sse2.
 *
 * The string is static: it is not freed. Thread-safe and async-signal-safe.
 */
const char *ownpool_version(void);

#ifdef __cplusplus
}
#endif

#endif  /* OWNPOOL_H */
