/* A target, named by the environment variable FUZZ_TARGET, under libFuzzer
 * (https://llvm.org/docs/LibFuzzer.html). */
#include "targets.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
