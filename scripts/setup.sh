# Sourced by demo.sh and test.sh: makes sure the packages are there, then builds.
#
#   setup_packages PACKAGE...     installs what is missing with apt, naming it; nothing is touched and no network
#                                 is needed where everything is there
#   setup_build FOLDER OPTION...  configures (cmake options) and builds
#
# Works on Debian 12 and Ubuntu 24.04. Elsewhere it names the packages and goes on.
source_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build_packages="gcc make cmake pkg-config libc6-dev libopenblas-dev libhdf5-dev libcsv-dev libjansson-dev libcunit1-dev"
build_packages+=" libprotobuf-c-dev protobuf-c-compiler libonnx-dev" # ONNX models; without them the rest builds
build_packages+=" libmicrohttpd-dev"                                 # rooftile web; likewise
# Used where it is there: help2man (manual pages).

setup_packages() {
    local missing=() package as_root=()
    if ! command -v dpkg-query >/dev/null; then
        echo "This is not a Debian or Ubuntu machine; these packages are needed: $*" >&2
        return 0
    fi
    for package in "$@"; do
        case "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" in
        installed) ;;
        *) missing+=("$package") ;;
        esac
    done
    [ ${#missing[@]} = 0 ] && return 0
    echo "Installing, which may take a minute: ${missing[*]}" >&2
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "Not root and no sudo: ask an administrator to run: apt-get install ${missing[*]}" >&2
            return 1
        fi
        as_root=(sudo)
    fi
    local quiet
    quiet=$(mktemp)
    if ! { "${as_root[@]}" apt-get update -qq &&
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"; } \
        >"$quiet" 2>&1; then
        tail -n 20 "$quiet" >&2
        echo "The packages could not be installed; see above." >&2
        rm -f "$quiet"
        return 1
    fi
    rm -f "$quiet"
}

# What cmake says goes to LOG; its percents are shown: on a terminal in one line, else by tens.
show_progress() { # LOG
    local line percent shown=-1
    while IFS= read -r line; do
        echo "$line"
        [[ $line =~ ^\[\ *([0-9]+)%\] ]] || continue
        percent=${BASH_REMATCH[1]}
        if [ -t 2 ] && [ "$percent" != "$shown" ]; then
            printf '\r  %3d%%  %d:%02d ' "$percent" $((SECONDS / 60)) $((SECONDS % 60)) >&2
            shown=$percent
        elif [ ! -t 2 ] && [ $((percent / 10)) -gt "$shown" ]; then
            shown=$((percent / 10))
            echo "  $percent% after $SECONDS s" >&2
        fi
    done >"$1"
    [ ! -t 2 ] || printf '\r\033[K' >&2
}

setup_build() {
    local folder=$1 log
    shift
    log=$folder/build.log
    mkdir -p "$folder"
    echo "Building in ${folder#"$source_folder"/}: a few minutes the first time" >&2
    SECONDS=0
    if ! (set -o pipefail; { cmake -S "$source_folder" -B "$folder" "$@" && cmake --build "$folder" -j "$(nproc)"; } 2>&1 | show_progress "$log"); then
        grep -E 'error|Error|CMake' "$log" | head -n 20 >&2
        echo "The build failed; the whole log is $log" >&2
        return 1
    fi
}
