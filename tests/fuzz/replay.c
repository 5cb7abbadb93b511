/*
 * Runs a target over files and folders of inputs, and over as many random changes of them; any compiler.
 *
 *     fuzz_replay TARGET CHANGES SEED FILE-OR-FOLDER...
 *
 * Prints "ok fuzz_TARGET" where it comes to its end, and how many inputs it ran.
 */
#include "targets.h"
#include "base/file.h"
#include "base/random.h"
#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 18, CHANGES_OF_ONE = 4 };

struct input {
    uint8_t *bytes;
    size_t size;
};

static struct input *inputs;
static size_t input_count;

static void add_inputs(const char *path)
{
    struct rt_paths paths;
    if (rt_file_walk(path, &paths) != RT_OK) {
        fprintf(stderr, "%s\n", rt_error());
        exit(2);
    }
    for (size_t i = 0; i < paths.count; i++) {
        char *text;
        size_t size;
        if (rt_file_read(paths.path[i], MOST, &text, &size) != RT_OK)
            continue;
        inputs = rt_realloc(inputs, input_count + 1, sizeof *inputs);
        inputs[input_count++] = (struct input){(uint8_t *)text, size};
    }
    rt_paths_release(&paths);
}

/* What has broken readers: numbers at the edge of what types hold, and what separates. */
static const char *const words[] = {"1e308",
                                    "1e-300",
                                    "-1",
                                    "0",
                                    "nan",
                                    "inf",
                                    "18446744073709551616",
                                    "9223372036854775807",
                                    "2147483648",
                                    "1.5",
                                    "\"",
                                    ",",
                                    "\n",
                                    "\r\n",
                                    "{",
                                    "}",
                                    "[",
                                    "]",
                                    ":",
                                    "=",
                                    "\x1b[2J",
                                    "\xff",
                                    "\xc2\x9b",
                                    "null",
                                    "()"};

static size_t below(struct rt_random *random, size_t bound)
{
    return bound > 0 ? (size_t)rt_random_below(random, (uint32_t)bound) : 0;
}

/* Puts `length` bytes in the place of `gone` bytes; returns the new size. */
static size_t splice(uint8_t *bytes, size_t size, size_t at, size_t gone, const void *put, size_t length)
{
    if (size - gone + length > MOST)
        return size;
    memmove(bytes + at + length, bytes + at + gone, size - at - gone);
    memcpy(bytes + at, put, length);
    return size - gone + length;
}

static size_t change(struct rt_random *random, uint8_t *bytes, size_t size)
{
    size_t at = below(random, size), run = 1 + below(random, 16);
    run = run > size - at ? size - at : run;
    uint8_t copy[16];
    memcpy(copy, bytes + at, run);
    const char *word = words[below(random, RT_COUNT(words))];
    switch (below(random, 6)) {
    case 0:
        if (size > 0)
            bytes[at] ^= (uint8_t)(1u << below(random, 8));
        return size;
    case 1:
        if (size > 0)
            bytes[at] = (uint8_t)below(random, 256);
        return size;
    case 2:
        return splice(bytes, size, at, run, "", 0);
    case 3:
        return splice(bytes, size, below(random, size), 0, copy, run);
    case 4:
        return splice(bytes, size, at, 0, word, strlen(word));
    default:
        return splice(bytes, size, at, run, word, strlen(word));
    }
}

static void run_changed(const struct fuzz_target *target, struct rt_random *random)
{
    static uint8_t bytes[MOST + 64];
    const struct input *input = &inputs[below(random, input_count)];
    size_t size = input->size, changed = 0;
    memcpy(bytes, input->bytes, size);
    if (target->change != NULL && below(random, 4) > 0) {
        const struct input *other = &inputs[below(random, input_count)];
        changed = target->change(bytes, size, MOST, other->bytes, other->size, rt_random_next(random));
    }
    size = changed > 0 ? changed : size;
    for (size_t i = 1 + below(random, CHANGES_OF_ONE); i > 0 && changed == 0; i--)
        size = change(random, bytes, size);
    uint8_t *exact = rt_malloc(size); /* so that reading beyond it is seen */
    memcpy(exact, bytes, size);
    target->run(exact, size);
    free(exact);
}

int main(int argc, char **argv)
{
    const struct fuzz_target *target = argc > 4 ? fuzz_target_find(argv[1]) : NULL;
    struct rt_random random;
    if (target == NULL) {
        fprintf(stderr, "fuzz_replay TARGET CHANGES SEED FILE-OR-FOLDER...\n");
        return 2;
    }
    if (freopen("/dev/null", "w", stderr) == NULL) /* warnings of every input */
        return 2;
    long changes = strtol(argv[2], NULL, 10);
    rt_random_seed(&random, strtoull(argv[3], NULL, 10), 0);
    for (int i = 4; i < argc; i++)
        add_inputs(argv[i]);
    for (size_t i = 0; i < input_count; i++)
        target->run(inputs[i].bytes, inputs[i].size);
    for (long i = 0; i < changes && input_count > 0; i++)
        run_changed(target, &random);
    printf("# %zu inputs, %ld changes of them\n%s fuzz_%s\n", input_count, changes,
           input_count > 0 ? "ok" : "not ok", target->name);
    for (size_t i = 0; i < input_count; i++)
        free(inputs[i].bytes);
    free(inputs);
    return input_count == 0;
}
