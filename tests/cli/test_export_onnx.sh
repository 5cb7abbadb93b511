# scripts/export_onnx.py with either exporter, scripts/crosscheck_onnx.py, and what they refuse.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work"
needs_pytorch export_onnx 2.5 # older ones have no dynamo=
"$python" -c "import onnx, onnxscript, torchvision" 2>/dev/null || skip_all export_onnx "no onnx, onnxscript and torchvision"
export OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
export="$python $ROOFTILE_SOURCE/scripts/export_onnx.py"

# declines NAME WORDS COMMAND...: exit status 1 and one sentence.
declines() {
    local name=$1 words=$2
    shift 2
    if "$@" >"$work/stdout" 2>"$work/stderr" </dev/null; then not_ok "$name" "exit status 0"; else holds "$name" "$words" "$work/stderr"; fi
    lacks "${name}_no_traceback" Traceback "$work/stderr"
}

for exporter in torchscript dynamo; do
    succeeds "export_$exporter" $export torchvision/squeezenet1_1 --exporter $exporter -o $exporter.onnx
    holds "parameters_$exporter" "1235496 parameters" "$work/stdout"
    if [ "$(wc -c <$exporter.onnx)" -lt 30000 ]; then ok "weightless_$exporter"; else not_ok "weightless_$exporter" "$(wc -c <$exporter.onnx) bytes"; fi
    "$ROOFTILE" graph --shapes --model $exporter.onnx 2>&1 | grep -q "built without ONNX" && continue
    succeeds "read_$exporter" "$ROOFTILE" graph --shapes --model $exporter.onnx --dim batch=8
    holds "elements_$exporter" "parameters        1235496" "$work/stdout"
    holds "all_known_$exporter" "shapes not known  0" "$work/stdout"
    holds "batch_is_a_dim_$exporter" "8x64x111x111" "$work/stdout"
done
declines there_already "torchscript.onnx: is there already" $export torchvision/squeezenet1_1 -o torchscript.onnx
declines no_output "say which file to write" $export torchvision/squeezenet1_1
declines no_library "write LIBRARY/NAME" $export squeezenet1_1 -o x.onnx
declines no_model 'torchvision has no image classifier "squeeze"' $export torchvision/squeeze -o x.onnx

if "$ROOFTILE" graph --shapes --model dynamo.onnx --dim batch=1 >/dev/null 2>&1; then
    check="$python $ROOFTILE_SOURCE/scripts/crosscheck_onnx.py"
    succeeds crosscheck $check "$ROOFTILE" torchvision/squeezenet1_1
    holds crosscheck_row "1,235,496 | 1,235,496 | 0.6983 | 0.6983" "$work/stdout"
    holds crosscheck_same "1 same" "$work/stdout"
    printf '#!/bin/sh\n"%s" "$@" | sed "s/\\"parameters\\": 1235496/\\"parameters\\": 1240000/"\n' "$ROOFTILE" >changed
    chmod +x changed
    if $check "$work/changed" torchvision/squeezenet1_1 >"$work/stdout" 2>"$work/stderr"; then not_ok crosscheck_notices "exit status 0"; else
        holds crosscheck_notices "parameters +0.36%" "$work/stdout"
    fi
fi
finish
