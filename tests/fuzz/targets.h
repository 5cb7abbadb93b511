/*
 * Every format that the program reads, fed whatever bytes: a target takes one input, and nothing may crash,
 * hang, take memory without bound or be left behind. What is read must keep its promise (a forecast is a
 * number, a dataset comes back from its CSV as it was); a target that finds otherwise calls abort().
 *
 *   targets.c       a row per format
 *   h5_edits.c      sound HDF5 files changed through HDF5: their checksums hold, so changes reach the reader
 *   replay.c        runs a corpus and changes it at random; any compiler, a test for each target
 *   libfuzzer.c     the same targets under libFuzzer, where clang builds with -DROOFTILE_FUZZ=ON
 *   corpus/TARGET/  inputs: small ones of each kind, and everything that was ever found, named by what it did
 */
#ifndef ROOFTILE_TESTS_FUZZ_TARGETS_H
#define ROOFTILE_TESTS_FUZZ_TARGETS_H

#include <stddef.h>
#include <stdint.h>

struct fuzz_target {
    const char *name;
    void (*run)(const uint8_t *data, size_t size);
};
extern const struct fuzz_target fuzz_targets[];
const struct fuzz_target *fuzz_target_find(const char *name); /* NULL: none */

/* Writes to `path`: the bytes where they begin as HDF5 files do, else one of the sound files (below the
 * source tree, 8 at most), changed by HDF5 as the bytes say. */
void fuzz_h5_file(const uint8_t *data, size_t size, const char *const *sound, size_t sound_count,
                  const char *path);

#endif
