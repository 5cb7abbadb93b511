#!/usr/bin/env bash
# Sets up and builds: build/rooftile is the program. On a bare Debian 12 or Ubuntu 24.04 it names and installs the packages that
# are missing; where all is there it touches nothing and works offline.
#
#   scripts/build.sh [CMAKE-OPTION...]      such as -DROOFTILE_CUDA=OFF; without the tests, which scripts/test.sh builds
set -eu
. "$(dirname "$0")/setup.sh"
# shellcheck disable=SC2086  # a list of words
setup_packages $build_packages
setup_build "$source_folder/build" -DCMAKE_BUILD_TYPE=Release -DROOFTILE_TESTS=OFF "$@"
echo "Built build/rooftile. Next:"
echo "  export PATH=$source_folder/build:\$PATH"
echo "  rooftile predict --gpu B200 --model Qwen/Qwen3.5-27B --mode decode --batch 32 --context 4096 --report forecast.html"
