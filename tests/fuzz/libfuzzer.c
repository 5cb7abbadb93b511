/* A target, named by the environment variable FUZZ_TARGET, under libFuzzer
 * (https://llvm.org/docs/LibFuzzer.html). */
#include "targets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size, const uint8_t *other, size_t other_size,
                                 uint8_t *out, size_t most, unsigned int seed);

static const struct fuzz_target *target;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const char *name = getenv("FUZZ_TARGET");
    (void)argc, (void)argv;
    target = name != NULL ? fuzz_target_find(name) : NULL;
    if (target == NULL) {
        fprintf(stderr, "FUZZ_TARGET names no target of tests/fuzz/targets.c\n");
        exit(2);
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    target->run(data, size);
    return 0;
}

/* Bytes are changed one time in eight where the format has changes of its own. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed)
{
    size_t changed = 0;
    if (target->change != NULL && seed % 8 != 0)
        changed = target->change(data, size, most, data, 0, seed);
    return changed > 0 ? changed : LLVMFuzzerMutate(data, size, most);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size, const uint8_t *other, size_t other_size,
                                 uint8_t *out, size_t most, unsigned int seed)
{
    if (target->change == NULL || size > most)
        return 0;
    memcpy(out, data, size);
    return target->change(out, size, most, other, other_size, seed);
}
