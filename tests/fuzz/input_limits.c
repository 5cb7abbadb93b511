/* Time and memory of an input. See input_limits.h. */
#include "input_limits.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Of the sanitizers' run-time library (sanitizer/allocator_interface.h); NULL without it. */
int __sanitizer_install_malloc_and_free_hooks(void (*made)(const volatile void *, size_t),
                                              void (*gone)(const volatile void *)) __attribute__((weak));
size_t __sanitizer_get_allocated_size(const volatile void *block) __attribute__((weak));

static atomic_llong held, most;
static double begun;

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void made(const volatile void *block, size_t size)
{
    (void)block;
    long long now = atomic_fetch_add(&held, (long long)size) + (long long)size, before = atomic_load(&most);
    while (now > before && !atomic_compare_exchange_weak(&most, &before, now))
        continue;
}

static void gone(const volatile void *block)
{
    if (block != NULL)
        atomic_fetch_sub(&held, (long long)__sanitizer_get_allocated_size(block));
}

void fuzz_limits_begin(void)
{
    static bool hooked;
    if (!hooked && __sanitizer_install_malloc_and_free_hooks != NULL)
        __sanitizer_install_malloc_and_free_hooks(made, gone);
    hooked = true;
    atomic_store(&held, 0);
    atomic_store(&most, 0);
    begun = cpu_seconds();
}

void fuzz_limits_end(const struct fuzz_limits *limits, size_t input_bytes)
{
    double seconds = cpu_seconds() - begun;
    long long bytes = atomic_load(&most);
    if (seconds > limits->seconds + limits->seconds_a_byte * (double)input_bytes ||
        bytes > (long long)(limits->bytes + limits->bytes_a_byte * input_bytes)) {
        fprintf(stderr, "%zu bytes took %.3f s and held %lld bytes\n", input_bytes, seconds, bytes);
        abort();
    }
}
