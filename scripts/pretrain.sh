#!/usr/bin/env bash
# Makes models/predictor/pretrained/rooftile.h5 again from the public measurements that it was fitted to:
#
#   scripts/pretrain.sh NEUSIGHT AICONFIGURATOR      two folders, as `rooftile dataset import` reads them
#
# Defaults (seed 1), nothing kept for testing, two threads: the same bytes from the same measurements and OpenBLAS kernels.
set -eu
. "$(dirname "$0")/setup.sh"
if [ $# -lt 2 ]; then
    sed -n '2,7p' "$0" | sed 's/^# \{0,1\}//'
    exit 2
fi
# shellcheck disable=SC2086  # a list of words
setup_packages $build_packages
setup_build "$source_folder/build" -DCMAKE_BUILD_TYPE=Release
rooftile=$source_folder/build/rooftile
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$rooftile" dataset import --format neusight "$1" -o "$work/neusight.h5" --quiet
"$rooftile" dataset import --format aiconfigurator "$2" -o "$work/aiconfigurator.h5" --quiet
"$rooftile" train "$work/neusight.h5" "$work/aiconfigurator.h5" --no-test --threads 2 --overwrite \
    -o "$source_folder/models/predictor/pretrained/rooftile.h5"
