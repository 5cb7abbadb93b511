/*
 * Every format that the program reads, fed whatever bytes: a target takes one input, and nothing may crash,
 * hang, take memory without bound or be left behind. What is read must keep its promise (a forecast is a
 * number, a dataset comes back from its CSV as it was); a target that finds otherwise calls abort().
 *
 *   targets.c       a row per format
 *   input_limits.[ch]  time and memory that an input may take, by its size
 *   h5_edits.c      sound HDF5 files changed through HDF5: their checksums hold, so changes reach the reader
 *   onnx_edits.c    ONNX models changed as messages; built where ONNX is
 *   replay.c        runs a corpus and changes it at random; any compiler, a test for each target
 *   libfuzzer.c     the same targets under libFuzzer, where clang builds with -DROOFTILE_FUZZ=ON
 *   corpus/TARGET/  inputs: small ones of each kind, and everything that was ever found, named by what it did
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct fuzz_target {
    const char *name;
    void (*run)(const uint8_t *data, size_t size);
    /* Changes an input by what its format is, with parts of another one; the new size, at most `most`, or 0
     * where it could not. NULL: bytes are changed. */
    size_t (*change)(uint8_t *bytes, size_t size, size_t most, const uint8_t *other, size_t other_size,
                     uint64_t seed);
};
extern const struct fuzz_target fuzz_targets[];
const struct fuzz_target *fuzz_target_find(const char *name); /* NULL: none */

/* Writes to `path`: the bytes where they begin as HDF5 files do, else one of the sound files (below the
 * source tree, 8 at most), changed by HDF5 as the bytes say. */
void fuzz_h5_file(const uint8_t *data, size_t size, const char *const *sound, size_t sound_count,
                  const char *path);

/* `change` of ONNX models. */
size_t fuzz_onnx_change(uint8_t *bytes, size_t size, size_t most, const uint8_t *other, size_t other_size,
                        uint64_t seed);
