#!/usr/bin/env bash
# Makes the Debian packages in FOLDER (default build-packages/packages): rooftile, rooftile-data, librooftile0, librooftile-dev
# and python3-rooftile. On a bare Debian 12 it installs what building needs (scripts/setup.sh).
#
#   scripts/packages.sh [FOLDER]
#
# Packages made twice from one commit, by the same compiler and libraries, are the same bytes: their times are
# SOURCE_DATE_EPOCH, else the commit's. ROOFTILE_CMAKE: further options of cmake.
set -eu
. "$(dirname "$0")/setup.sh"
out=${1:-$source_folder/build-packages/packages}
build=${ROOFTILE_BUILD:-$source_folder/build-packages}
# shellcheck disable=SC2086  # a list of words
setup_packages $build_packages dpkg-dev file help2man gzip
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$source_folder" log -1 --format=%ct 2>/dev/null || stat -c %Y "$source_folder/CHANGELOG.md")}
export SOURCE_DATE_EPOCH
umask 022
# Nothing of this machine's folders in the files, and no CUDA: its toolkit is not Debian's.
# shellcheck disable=SC2086
setup_build "$build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr -DROOFTILE_TESTS=OFF -DROOFTILE_CUDA=OFF \
    -DCMAKE_C_FLAGS="-ffile-prefix-map=$source_folder=. -ffile-prefix-map=$build=build -D_FORTIFY_SOURCE=2" \
    -DCMAKE_SHARED_LINKER_FLAGS=-Wl,-z,now -DCMAKE_EXE_LINKER_FLAGS=-Wl,-z,now ${ROOFTILE_CMAKE:-}
rm -rf "$build/packages"
if ! (cd "$build" && cpack) >"$build/cpack.log" 2>&1; then
    tail -n 20 "$build/cpack.log" >&2
    echo "cpack failed; the whole log is $build/cpack.log" >&2
    exit 1
fi
rm -rf "$build/packages/_CPack_Packages"
mkdir -p "$out"
[ "$(realpath "$out")" = "$(realpath "$build/packages")" ] || cp -p "$build"/packages/*.deb "$out"
ls "$out"/*.deb
