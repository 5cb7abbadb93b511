# Models by name or config.json beside the ONNX files that PyTorch exported of them: tests/models/networks/onnx_two_roads.py.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work"
zoo="$ROOFTILE_SOURCE/models/networks/zoo" data="$ROOFTILE_SOURCE/tests/data/onnx_torchscript"
if "$ROOFTILE" graph --shapes --model "$zoo/vgg16.onnx" 2>&1 | grep -q "built without ONNX"; then
    skip_all onnx_two_roads "built without ONNX"
fi

# What the zoo is: small, every shape known once batch and sequence are.
for file in "$zoo"/*.onnx; do
    name=$(basename "$file" .onnx)
    case $name in gpt2 | bert-large | llama-2-7b) seq="--dim seq=128" ;; *) seq= ;; esac
    # shellcheck disable=SC2086  # two words or none
    succeeds "read_$name" "$ROOFTILE" graph --shapes --model "$file" --dim batch=8 $seq
    holds "all_known_$name" "shapes not known  0" "$work/stdout"
done
bytes=$(cat "$zoo"/*.onnx | wc -c)
if [ "$bytes" -lt 1000000 ]; then ok zoo_is_small; else not_ok zoo_is_small "$bytes bytes"; fi

command -v python3 >/dev/null || { echo "skipped two_roads: no python3"; finish; }
export PYTHONDONTWRITEBYTECODE=1
compare="python3 $ROOFTILE_SOURCE/tests/models/networks/onnx_two_roads.py"
succeeds same $compare "$ROOFTILE" "$data"
grep "^not ok\|^#" "$work/stdout"
for model in resnet50 vgg16 mobilenet_v2 gpt2 bert-large llama-2-7b; do
    for exporter in dynamo torchscript; do holds "same_${model}_$exporter" "ok $model, $exporter: " "$work/stdout"; done
done
for mode in training fused-training fused compiled; do
    succeeds "same_$mode" $compare "$ROOFTILE" "$data" "$mode"
    grep "^not ok\|^#" "$work/stdout"
    for model in resnet50 vgg16 mobilenet_v2 gpt2 bert-large llama-2-7b; do
        for exporter in dynamo torchscript; do holds "same_${mode}_${model}_$exporter" "ok $model, $exporter: " "$work/stdout"; done
    done
    [ $mode = fused ] || continue
    for model in gpt2 bert-large llama-2-7b; do holds "same_${model}_sdpa" "ok $model, sdpa: " "$work/stdout"; done
done

# notices NAME SED WORDS: the comparison reports, in these words, what SED has changed.
notices() {
    printf '#!/bin/sh\ncase "$*" in *.onnx*) exec "%s" "$@" ;; *) "%s" "$@" | sed %s ;; esac\n' "$ROOFTILE" "$ROOFTILE" "'$2'" >"$work/changed"
    chmod +x "$work/changed"
    if $compare "$work/changed" "$data" >"$work/stdout" 2>"$work/stderr" </dev/null; then not_ok "$1" "exit status 0"; else
        holds "$1" "$3" "$work/stdout"
    fi
}
# Named models have --batch, files --dim: only the former are changed.
notices product 's/"k": 3072/"k": 3073/' "# gpt2, dynamo: linear batch=1 m=32 n=768 k=3072: 0 named, 12 in ONNX"
notices elementwise 's/"op": "silu"/"op": "relu"/' "# llama-2-7b, torchscript: relu rows=32 cols=11008: 2 named, 0 in ONNX"
notices parameters 's/"parameters": 138357544/"parameters": 138357545/' "# vgg16, dynamo: parameters: 138357545 named, 138357544 in ONNX"
notices gone 's/"op": "div",/"op": "mul_scalar",/' "# no difference any more, take it off the list: gpt2, dynamo: div rows=384 cols=16: 12 named, 0 in ONNX"
notices image 's/"stride": 2/"stride": 3/' "# resnet50, torchscript: conv2d"
finish
