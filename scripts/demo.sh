#!/usr/bin/env bash
# The main job on this machine's own CPU: sets up, builds, measures real kernels for about a minute, trains a
# predictor on one device and evaluates it on shapes and on a device it never saw. Under 5 minutes on 2 cores.
#
#   scripts/demo.sh [FOLDER]        results go to FOLDER (default demo-out)
#
# ROOFTILE is a program that is there already, in place of a build. ROOFTILE_DEMO="60s 4m 100" says how long to measure, how
# long once more where fewer kernels came of it than that, and that number.
set -eu
. "$(dirname "$0")/setup.sh"
out=${1:-$source_folder/demo-out}
rooftile=${ROOFTILE:-$source_folder/build/rooftile}
read -r first second enough <<<"${ROOFTILE_DEMO:-60s 4m 100}"

if [ -z "${ROOFTILE:-}" ]; then
    # shellcheck disable=SC2086  # a list of words
    setup_packages $build_packages
    setup_build "$source_folder/build" -DCMAKE_BUILD_TYPE=Release -DROOFTILE_TESTS=OFF
fi
mkdir -p "$out"

# One thread and all threads are two devices. With a single processor there is nothing to hold out.
hold_out=(--hold-out-gpu threads)
[ "$(nproc)" -gt 1 ] || hold_out=()

echo
echo "1/3 Measuring this CPU for $first (OpenBLAS products, softmax, layer norm, elementwise ops) ..."
measure() { # BUDGET
    "$rooftile" collect -o "$out/cpu.h5" --plan quick --budget "$1" --rel-error 0.01 --overwrite \
        --ops linear,bmm,softmax,layernorm,add,add_scalar,mul,relu
    kernels=$("$rooftile" dataset info "$out/cpu.h5" --json 2>/dev/null | sed -n 's/^  "samples": \([0-9]*\).*/\1/p')
    kernels=${kernels:-0}
}
measure "$first"
if [ "$kernels" -lt "$enough" ]; then
    echo "Only $kernels kernels in $first, as this machine does other work too: measuring for $second."
    measure "$second"
fi
if [ "$kernels" -lt 20 ]; then
    echo "Only $kernels kernels in $second, too few to train on: run this again when the machine does less."
    exit 1
fi
echo
echo "2/3 Training a predictor on these kernels, the device of all threads held out ..."
"$rooftile" train "$out/cpu.h5" -o "$out/predictor.h5" --overwrite --epochs 500 --patience 150 ${hold_out[@]+"${hold_out[@]}"}
echo
echo "3/3 Evaluating on shapes it never saw, and on the device it never saw ..."
"$rooftile" evaluate --predictor "$out/predictor.h5" "$out/cpu.h5" \
    --report "$out/report.html" --report "$out/report.txt" --report "$out/report.json" --report "$out/report.csv" --overwrite
echo
judged=$(awk '/^all +held out +yes/ { print $5 }' "$out/report.txt")
if [ -n "${hold_out[*]-}" ] && [ "${judged:-0}" -lt "$enough" ]; then
    echo "Only ${judged:-0} kernels of the device held out were judged: too few to say how right the predictor is. A machine that does"
    echo "nothing else measures about 180 in the minute; \"$rooftile\" collect -o \"$out/cpu.h5\" --plan quick --budget 5m --overwrite"
    echo "takes five."
    echo
fi
echo "The report with its pictures is the page $out/report.html: open it in a browser."
echo "The same lies in $out/report.txt (also .json and .csv), the measurements in $out/cpu.h5,"
echo "the predictor in $out/predictor.h5. The bigger run, on public GPU measurements: scripts/reproduce_neusight.sh"
