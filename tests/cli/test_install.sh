#!/usr/bin/env bash
# What `cmake --install` gives: the program, both libraries, headers and pkg-config, used by a stranger's program.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
build=$(dirname "$ROOFTILE")
if grep -q '^ROOFTILE_SANITIZE:BOOL=ON' "$build/CMakeCache.txt"; then
    skip_all "install" "a sanitized library does not link into a plain program"
fi
succeeds "cmake --install" cmake --install "$build" --prefix "$work/prefix"
libraries=$(dirname "$(find "$work/prefix" -name librooftile.a)")
for file in "$work/prefix/bin/rooftile" "$libraries/librooftile.so" "$libraries/librooftile.a" \
    "$libraries/pkgconfig/rooftile.pc" "$work/prefix/include/rooftile/rooftile.h"; do
    if [ -e "$file" ]; then ok "installs ${file#"$work"/}"; else not_ok "installs ${file#"$work"/}"; fi
done
cat >"$work/forecast.c" <<'EOF'
#include <rooftile.h>
#include <stdio.h>

int main(void)
{
    struct rt_predictor predictor;
    struct rt_device device;
    struct rt_query query = {.call = {.op = RT_OP_GEMM, .dtype = RT_BF16, .dim = {8192, 8192, 8192}}, .tile = {-1, -1}};
    double latency_us;
    if (rt_predictor_open("roofline", &predictor) != RT_OK || rt_device_find("H100,sms=100", &device) != RT_OK) {
        fprintf(stderr, "%s\n", rt_error());
        return 1;
    }
    rt_predictor_forecast(&predictor, &device, &query, 1, NULL, &latency_us, NULL);
    printf("%s: %.0f us\n", device.name, latency_us);
    rt_predictor_release(&predictor);
    return 0;
}
EOF
if command -v mpirun >/dev/null && [ -e "$build/rooftile_mpi.so" ]; then # found where it is installed
    ranks() {
        env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe -np 2 \
            "$work/prefix/bin/rooftile" crossval "$work/nowhere.h5" --leave-out gpu
    }
    ranks >"$work/stdout" 2>"$work/stderr" </dev/null
    holds "the program finds its MPI module" "nowhere.h5: cannot be read" "$work/stderr"
else
    echo "skipped the program finds its MPI module: no mpirun, or built without MPI"
fi
export PKG_CONFIG_PATH=$libraries/pkgconfig LD_LIBRARY_PATH=$libraries
# shellcheck disable=SC2046  # lists of words
succeeds "a program compiles against it" cc -std=c17 -Wall -Werror "$work/forecast.c" -o "$work/forecast" \
    $(pkg-config --cflags --libs rooftile)
succeeds "and runs" "$work/forecast"
holds "and forecasts" "NVIDIA H100 80GB HBM3: 1111 us" "$work/stdout"
# shellcheck disable=SC2046
succeeds "the example of docs/ compiles" cc -std=c17 -Wall -Werror "$ROOFTILE_SOURCE/docs/examples/forecast.c" \
    -o "$work/example" $(pkg-config --cflags --libs rooftile)
succeeds "and runs" "$work/example" roofline gpt2-large A100-PCIE-40GB H200
holds "and forecasts a model" "NVIDIA H200 " "$work/stdout"
refuses_example() { "$work/example" roofline gpt2-huge H200 2>"$work/stderr"; [ $? = 1 ]; }
succeeds "and says what it does not know" refuses_example
# librooftile.a with its dependencies as shared libraries; a wholly static link would need gfortran for OpenBLAS.
# shellcheck disable=SC2046
succeeds "also with the static library" cc -std=c17 "$work/forecast.c" -o "$work/static" \
    $(pkg-config --cflags rooftile) "$libraries/librooftile.a" $(pkg-config --libs hdf5 openblas jansson) \
    -lcsv -lz -lpthread -lm
succeeds "and runs without the shared one" env -u LD_LIBRARY_PATH "$work/static"
finish
