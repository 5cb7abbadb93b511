#!/usr/bin/env bash
# Sets up, builds and runs all tests; the last line counts them: N passed, N failed, N skipped.
#
#   scripts/test.sh [CTEST ARGUMENT...]       e.g. scripts/test.sh -R datasets
#
# ROOFTILE_BUILD names the build folder (default build), ROOFTILE_CMAKE further cmake options, ROOFTILE_PACKAGES
# further packages; .ci/run uses them.
set -eu
. "$(dirname "$0")/setup.sh"
build=$source_folder/${ROOFTILE_BUILD:-build}

# shellcheck disable=SC2086  # lists of words
setup_packages $build_packages python3 libonnx-testdata ${ROOFTILE_PACKAGES:-} # python3 reads --json in tests
# shellcheck disable=SC2086
setup_build "$build" -DCMAKE_BUILD_TYPE=Release -DROOFTILE_TESTS=ON ${ROOFTILE_CMAKE:-}

status=0
# One more than there are processors: tests wait for what they kill, and for limits of silence.
ctest --test-dir "$build" --output-on-failure -j "$(($(nproc) + 1))" "$@" || status=$?

# Every test program prints "ok NAME", "not ok NAME" or "skipped NAME: why", a line per test. A program that
# died without saying "not ok" counts as one failure.
log=$build/Testing/Temporary/LastTest.log
passed=$(grep -c '^ok ' "$log" || true)
failed=$(grep -c '^not ok ' "$log" || true)
skipped=$(grep -c '^skipped ' "$log" || true)
grep '^skipped ' "$log" || true
[ "$status" = 0 ] || [ "$failed" != 0 ] || failed=1
[ "$passed" != 0 ] || { echo "no test ran"; status=1; }
echo "$passed passed, $failed failed, $skipped skipped"
exit "$status"
