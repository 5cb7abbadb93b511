#!/usr/bin/env bash
# What `cmake --install` gives: the program, both libraries, headers and pkg-config, used by a stranger's program.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
build=$(dirname "$ROOFTILE")
plain_only install "a sanitized library does not link into a plain program"
succeeds "cmake --install" cmake --install "$build" --prefix "$work/prefix"
libraries=$(dirname "$(find "$work/prefix" -name librooftile.a)")
share=$work/prefix/share
for file in "$work/prefix/bin/rooftile" "$libraries/librooftile.so.0" "$libraries/librooftile.so" "$libraries/librooftile.a" \
    "$libraries/pkgconfig/rooftile.pc" "$libraries/cmake/rooftile/rooftile-config.cmake" "$work/prefix/include/rooftile/rooftile.h" \
    "$share/rooftile/rooftile.h5" "$share/doc/rooftile/README.md" "$share/doc/rooftile/copyright" "$share/doc/rooftile/changelog.gz" \
    "$share/doc/rooftile/docs/guide/predict.md" "$share/doc/rooftile/docs/examples/forecast.c" \
    "$share/bash-completion/completions/rooftile" "$share/zsh/vendor-completions/_rooftile" \
    "$share/fish/vendor_completions.d/rooftile.fish"; do
    if [ -e "$file" ]; then ok "installs ${file#"$work"/}"; else not_ok "installs ${file#"$work"/}"; fi
done
is_all() { [ "$(find "$work/prefix/include" -name '*.h' | wc -l)" = 1 ]; }
succeeds "installs one header" is_all
# The header, the map and the library name the same functions, and each has the version of its block.
declared() { grep -oE '\brooftile_[a-z0-9_]+\(' "$ROOFTILE_SOURCE/rooftile.h" | tr -d '(' | sort -u; }
mapped() { awk '/^ROOFTILE_[0-9.]+ \{/ { block = $1 } /^ +rooftile_/ { sub(/;/, ""); print $1 "@@" block }' "$ROOFTILE_SOURCE/rooftile.map" | sort; }
shown() { nm -D --defined-only "$(readlink -f "$libraries/librooftile.so")" | awk '$2 != "A" { print $3 }' | sort; }
succeeds "rooftile.map names what rooftile.h declares" diff <(mapped | sed 's/@.*//') <(declared)
if command -v nm >/dev/null; then
    succeeds "the shared library exports what the map names, by version" diff <(shown) <(mapped)
fi
cat >"$work/forecast.c" <<'EOF'
#include <locale.h>
#include <rooftile.h>
#include <stdio.h>

int main(void)
{
    rooftile_predictor *predictor = NULL;
    rooftile_device *device = NULL;
    double time_us, sms;
    setlocale(LC_ALL, "");
    if (rooftile_predictor_open("roofline", &predictor) != 0 || rooftile_device_find("H100,sms=100,l2_mib=49.5", &device) != 0 ||
        rooftile_kernel_us(predictor, device, "gemm,m=8192,n=8192,k=8192,dtype=bf16", &time_us, NULL) != 0 ||
        rooftile_device_number(device, "sms", &sms) != 0) {
        fprintf(stderr, "%s\n", rooftile_error());
        return 1;
    }
    printf("%s, %.0f SMs: %.0f us\n", rooftile_device_name(device), sms, time_us);
    if (rooftile_kernel_us(predictor, device, "gemm,m=8192", &time_us, NULL) == 0)
        return 1;
    printf("%s\n", rooftile_error());
    rooftile_device_free(device);
    rooftile_predictor_free(predictor);
    return 0;
}
EOF
# Of a step its energy, of a report its text: ./step NET.onnx
cat >"$work/step.c" <<'EOF'
#include <rooftile.h>
#include <stdio.h>
#include <string.h>

static int show(const char *name, const rooftile_model *model, const rooftile_predictor *predictor, const rooftile_device *device)
{
    struct rooftile_step step;
    struct rooftile_totals totals;
    rooftile_forecast *forecast;
    double joules, watts, none;
    rooftile_step_init(&step);
    if (rooftile_forecast_step(predictor, device, model, &step, &forecast) != 0)
        return 1;
    rooftile_forecast_totals(forecast, &totals);
    if (rooftile_forecast_number(forecast, "energy_j", &joules) != 0 || rooftile_forecast_number(forecast, "power_w", &watts) != 0 ||
        rooftile_forecast_number(forecast, "colour", &none) == 0 || !(totals.time_ms > 0))
        return 1;
    printf("%s %s\n", name, watts > 0 && joules > 0.999e-3 * totals.time_ms * watts && joules < 1.001e-3 * totals.time_ms * watts ? "adds up" : "does not");
    rooftile_forecast_free(forecast);
    return 0;
}

int main(int argc, char **argv)
{
    const char *dims[] = {"batch=8"}, *words[] = {"devices", "H100"}, *bad[] = {"collect", "-o", "x.h5"};
    rooftile_predictor *predictor;
    rooftile_device *device;
    rooftile_model *model;
    char *text = NULL;
    size_t models = 0;
    int failed;
    while (rooftile_model_catalogue(models) != NULL)
        models++;
    if (argc < 2 || rooftile_predictor_open("roofline", &predictor) != 0 || rooftile_device_find("H100", &device) != 0 ||
        rooftile_model_find(rooftile_model_catalogue(models - 1), &model) != 0)
        return fprintf(stderr, "%s\n", rooftile_error()), 1;
    failed = show("zoo", model, predictor, device);
    rooftile_model_free(model);
    if (rooftile_model_onnx(argv[1], dims, 1, &model) != 0)
        return 1;
    if (show("onnx", model, predictor, device) != 0)
        printf("onnx: %s\n", rooftile_error());
    rooftile_model_free(model);
    failed |= rooftile_report_json(2, words, &text) != 0 || strstr(text, "\"sms\": 132.0") == NULL;
    rooftile_text_free(text);
    failed |= rooftile_report_json(3, bad, &text) == 0;
    printf("%s\n", rooftile_error());
    rooftile_device_free(device);
    rooftile_predictor_free(predictor);
    return failed;
}
EOF
# Links of the installed pages lead to installed pages, or to what only a clone holds.
(cd "$share/doc/rooftile" && find . -name '*.md' | while read -r page; do
    grep -oE '\]\([^)#]+' "$page" | sed 's/^](//' | grep -vE '^(https?|mailto):' | while read -r target; do
        [ -e "$(dirname "$page")/$target" ] || [[ $target != *.md ]] || echo "$page: $target"
    done
done) >"$work/links"
is "links between installed pages hold" "$(cat "$work/links")" ""
if command -v help2man >/dev/null; then
    named() { "$ROOFTILE" completion words -- "" && "$ROOFTILE" completion words -- dataset ""; }
    is "a manual page for the program and each command" "$(find "$share/man/man1" -name '*.gz' | wc -l)" $((1 + $(named | wc -l)))
    gunzip -c "$share/man/man1/rooftile-predict.1.gz" >"$work/predict.1"
    holds "made from --help" '\-\-gpu' "$work/predict.1"
    holds "and named as man calls it" 'rooftile-predict \- ' "$work/predict.1"
else
    echo "skipped manual pages: no help2man"
fi
succeeds "the installed completion is bash's" bash -c ". '$share/bash-completion/completions/rooftile' && complete -p rooftile"
export PKG_CONFIG_PATH=$libraries/pkgconfig LD_LIBRARY_PATH=$libraries
# shellcheck disable=SC2046  # lists of words
succeeds "a program compiles against it" cc -std=c17 -Wall -Werror "$work/forecast.c" -o "$work/forecast" \
    $(pkg-config --cflags --libs rooftile)
succeeds "and runs" "$work/forecast"
holds "and forecasts" "NVIDIA H100 80GB HBM3, 100 SMs: 1467 us" "$work/stdout"
holds "and says what is wrong" "dim \"n\" of gemm is missing" "$work/stdout"
cp "$work/stdout" "$work/plain"
# shellcheck disable=SC2046
succeeds "models, energy and reports compile" cc -std=c17 -Wall -Werror "$work/step.c" -o "$work/step" \
    $(pkg-config --cflags --libs rooftile)
succeeds "and run" "$work/step" "$ROOFTILE_SOURCE/models/networks/zoo/resnet50.onnx"
holds "energy is time x power" "zoo adds up" "$work/stdout"
grep -q "built without ONNX" "$work/stdout" || holds "also of an ONNX model" "onnx adds up" "$work/stdout"
holds "a report that is none is refused" "collect is no report of librooftile" "$work/stdout"
printf '%s\n' 'comment_char %' 'escape_char /' LC_NUMERIC 'decimal_point ","' 'thousands_sep ""' 'grouping -1' \
    'END LC_NUMERIC' >"$work/comma.txt"
localedef -c --no-archive -i "$work/comma.txt" -f ANSI_X3.4-1968 "$work/comma" >/dev/null 2>&1
if [ "$(LOCPATH=$work LC_ALL=comma bash -c 'printf %.1f 1,5' 2>/dev/null)" = 1,5 ]; then
    succeeds "runs in a locale with a decimal comma" env LOCPATH="$work" LC_ALL=comma "$work/forecast"
    cp "$work/stdout" "$work/with_comma"
    succeeds "and forecasts the same" cmp "$work/plain" "$work/with_comma"
else
    echo "skipped runs in a locale with a decimal comma: localedef makes none here"
fi
# shellcheck disable=SC2046
succeeds "the example of docs/ compiles" cc -std=c17 -Wall -Werror "$ROOFTILE_SOURCE/docs/examples/forecast.c" \
    -o "$work/example" $(pkg-config --cflags --libs rooftile)
succeeds "and runs" "$work/example" roofline gpt2-large A100-PCIE-40GB H200
holds "and forecasts a model" "NVIDIA H200 " "$work/stdout"
succeeds "finds the predictor that was installed" "$work/example" pretrained gpt2-large H200
refuses_example() { "$work/example" roofline gpt2-huge H200 2>"$work/stderr"; [ $? = 1 ]; }
succeeds "and says what it does not know" refuses_example
if python3 -c "import sys; sys.exit(sys.version_info < (3, 9))" 2>/dev/null; then
    python=$work/prefix/lib/python3/dist-packages
    succeeds "the Python module finds the library that was installed with it" env -u LD_LIBRARY_PATH -u ROOFTILE_LIBRARY \
        PYTHONPATH="$python" PYTHONDONTWRITEBYTECODE=1 python3 -c \
        "import rooftile; from rooftile import _library; print(_library.candidates()[0]); print(rooftile.forecast('gpt2-large', 'H200'))"
    holds "beside it" "$libraries/librooftile.so.0" "$work/stdout"
    holds "and the predictor" "gpt2-large, inference" "$work/stdout"
fi
# librooftile.a with its dependencies as shared libraries; a wholly static link would need gfortran for OpenBLAS.
# shellcheck disable=SC2046
succeeds "also with the static library" cc -std=c17 "$work/forecast.c" -o "$work/static" \
    $(pkg-config --cflags rooftile) "$libraries/librooftile.a" $(pkg-config --libs $(pkg-config --print-requires-private rooftile)) \
    -lcsv -lz -lpthread -lm
succeeds "and runs without the shared one" env -u LD_LIBRARY_PATH "$work/static"
# find_package(rooftile), shared and static.
mkdir "$work/project"
cat >"$work/project/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.25)
project(forecast C)
find_package(rooftile 0.1 REQUIRED)
add_executable(shared ../forecast.c)
target_link_libraries(shared rooftile::rooftile)
add_executable(static ../forecast.c)
target_link_libraries(static rooftile::static)
EOF
succeeds "find_package finds it" cmake -S "$work/project" -B "$work/project/build" -DCMAKE_PREFIX_PATH="$work/prefix"
succeeds "programs link with rooftile::rooftile and rooftile::static" cmake --build "$work/project/build"
succeeds "the shared one runs" env -u LD_LIBRARY_PATH "$work/project/build/shared"
succeeds "and the static one" env -u LD_LIBRARY_PATH "$work/project/build/static"
sed -i 's/rooftile 0.1/rooftile 0.2/' "$work/project/CMakeLists.txt"
refuses_newer() { ! cmake -S "$work/project" -B "$work/project/newer" -DCMAKE_PREFIX_PATH="$work/prefix"; }
succeeds "a newer version is not found" refuses_newer
finish
