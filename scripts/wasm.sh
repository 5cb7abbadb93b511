#!/usr/bin/env bash
# Makes the form of `rooftile web` as a static page: a folder for any web space, where WebAssembly forecasts in the browser.
#
#   scripts/wasm.sh [FOLDER]      default dist/wasm: index.html, rooftile.js, rooftile.wasm
#
# Needs Debian's emscripten and cmake, and the sources of jansson, libcsv and zlib: by apt from where this machine takes its
# packages, or from $ROOFTILE_SOURCES, its folders jansson, libcsv and zlib.
set -eu
case ${1:-} in
-*)
    sed -n '2,7p' "$0" | sed 's/^# \{0,1\}//'
    exit 2
    ;;
esac
. "$(dirname "$0")/setup.sh"
out=${1:-$source_folder/dist/wasm}
build=${ROOFTILE_BUILD:-$source_folder/build-wasm}
setup_packages emscripten cmake make pkg-config libhdf5-dev
mkdir -p "$build" "$out"
sources=${ROOFTILE_SOURCES:-$build/sources}

# From where this machine takes its packages: its own list, of sources instead.
fetch_sources() {
    local here=$build/sources name options file
    mkdir -p "$here/lists/partial" "$here/list.d"
    for file in /etc/apt/sources.list.d/*.sources; do
        [ ! -e "$file" ] || sed 's/^Types:.*/Types: deb-src/' "$file" >"$here/list.d/${file##*/}"
    done
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | sed -n 's/^deb /deb-src /p' >"$here/list.d/own.list"
    options="-o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts=$here/list.d -o Dir::State::Lists=$here/lists"
    # shellcheck disable=SC2086  # a list of words
    (cd "$here" && { apt-get $options -qq update || true; } && apt-get $options -qq source --download-only jansson libcsv zlib)
    for name in jansson libcsv zlib; do
        mkdir -p "$here/$name"
        tar -xf "$here/$name"_*.orig.tar.* -C "$here/$name" --strip-components=1
    done
}
if [ ! -e "$sources/zlib" ]; then
    echo "Taking the sources of jansson, libcsv and zlib by apt" >&2
    fetch_sources >"$build/sources.log" 2>&1 || { tail -n 5 "$build/sources.log" >&2; exit 1; }
fi
hdf5=$(pkg-config --cflags-only-I hdf5 2>/dev/null || pkg-config --cflags-only-I hdf5-serial) # its header alone
export NODE_PATH=${NODE_PATH:-/usr/share/nodejs} # where Debian keeps the modules that emscripten calls
echo "Building in $build: a few minutes the first time" >&2
{ emcmake cmake -S "$source_folder/packaging/wasm" -B "$build/cmake" -DROOFTILE_SOURCES="$(realpath "$sources")" -DROOFTILE_HDF5_INCLUDE="$(tr -d ' ' <<<"${hdf5#-I}")" \
    && cmake --build "$build/cmake" -j "$(nproc)"; } >"$build/build.log" 2>&1 || { grep -E 'error' "$build/build.log" | head -n 20 >&2; exit 1; }
cp "$build/cmake/rooftile.js" "$build/cmake/rooftile.wasm" "$out"
# The form's own script sends it to a server; here page.js answers.
sed '/^<script>$/,/^<\/script>$/d' "$source_folder/predict/web/form.html" | sed '/<\/body>/i <script src="rooftile.js"></script>\n<script src="page.js"></script>' >"$out/index.html"
cp "$source_folder/packaging/wasm/page.js" "$out"
cat "$out"/* | wc -c | awk -v out="$out" '{ printf "%s: %.2f MB\n", out, $1 / 1e6 }'
