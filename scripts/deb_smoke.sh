#!/usr/bin/env bash
# Installs the packages of scripts/packages.sh on this machine, which should be a bare Debian that holds nothing of rooftile's,
# and tries them: the program, its manual page, a program in C, the Python module. Root; prints "ok NAME" or "not ok NAME".
#
#   scripts/deb_smoke.sh FOLDER
set -u
folder=$(realpath "${1:?name the folder that holds the packages}")
source_folder=$(cd "$(dirname "$0")/.." && pwd)
[ "$(id -u)" = 0 ] || { echo "deb_smoke.sh: installs packages, so it needs root" >&2; exit 2; }
failures=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# tries NAME COMMAND...: what it printed is kept in $work/stdout; `says` looks there.
tries() {
    if "${@:2}" >"$work/printed" 2>"$work/stderr"; then
        echo "ok $1"
        [ "$2" = says ] || mv "$work/printed" "$work/stdout"
    else
        echo "not ok $1"
        tail -n 3 "$work/stderr" | sed 's/^/# /'
        failures=$((failures + 1))
    fi
}
says() { grep -qF -- "$1" "$work/stdout"; }
install() { apt-get install -y -qq --no-install-recommends "$@"; }
export DEBIAN_FRONTEND=noninteractive
cd "$work" || exit 1
tries "apt-get update" apt-get update -qq

# --- the program, without what builds it ---
tries "rooftile installs" install "$folder"/rooftile_*.deb "$folder"/rooftile-data_*.deb
for package in gcc libhdf5-dev libopenblas-dev; do
    if dpkg-query -W "$package" >/dev/null 2>&1; then echo "# $package is installed: this machine is not bare"; fi
done
tries "rooftile --version" rooftile --version
head -n 3 "$work/stdout" | sed 's/^/# /'
tries "a forecast" rooftile predict --gpu B200 --model Qwen/Qwen3.5-27B --mode decode --batch 32 --context 4096
head -n 3 "$work/stdout" | sed 's/^/# /'
tries "the forecast has a total" says "total"
tries "its report as a page" rooftile predict --gpu H200 --model gpt2-large --report forecast.html
tries "the page is there" test -s forecast.html
tries "completion" bash -c '. /usr/share/bash-completion/completions/rooftile && complete -p rooftile'
tries "the manual page is there" test -s /usr/share/man/man1/rooftile-predict.1.gz -o -f /etc/dpkg/dpkg.cfg.d/docker
install man-db >/dev/null 2>&1
tries "man shows it" man -P cat rooftile-predict
tries "with its options" says "--gpu"

# --- the library and its headers ---
tries "librooftile-dev installs" install gcc libc6-dev pkg-config "$folder"/librooftile0_*.deb "$folder"/librooftile-dev_*.deb
# shellcheck disable=SC2046  # a list of words
tries "the example compiles" cc -std=c17 "$source_folder/docs/examples/forecast.c" $(pkg-config --cflags --libs rooftile) -o forecast
tries "and forecasts" ./forecast pretrained gpt3-2.7b A100-PCIE-40GB H100 H200
sed 's/^/# /' "$work/stdout"
if compgen -G "$folder/python3-rooftile_*.deb" >/dev/null; then
    tries "python3-rooftile installs" install "$folder"/python3-rooftile_*.deb
    tries "and forecasts" python3 -c "import rooftile; print(rooftile.forecast('gpt2-large', 'H200'))"
    sed 's/^/# /' "$work/stdout"
fi
mapfile -t names < <(for package in "$folder"/*.deb; do dpkg-deb -f "$package" Package; done)
tries "all of it goes away" apt-get purge -y -qq "${names[@]}"
tries "with its files" test ! -e /usr/bin/rooftile -a ! -e /usr/share/rooftile
[ $failures = 0 ]
