#!/usr/bin/env bash
# `rooftile evaluate --graphs FOLDER`: measured runs of models that are ONNX files, from the table of measurements on. The times are made up:
# twice what the roofline forecasts of the same files.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work" || exit 1
data="$ROOFTILE_SOURCE/tests/data/onnx" zoo="$ROOFTILE_SOURCE/models/networks/zoo"
if "$ROOFTILE" graph --shapes --model "$data/weights.onnx" 2>&1 | grep -q "built without ONNX"; then
    skip_all evaluate_onnx "built without ONNX"
fi

mkdir nets
cp "$data/network.onnx" nets/small.onnx
cp "$zoo/gpt2.onnx" nets/mine.onnx
cp "$zoo/resnet50.onnx" nets/resnet50.onnx
mkdir nets/org
cp "$zoo/resnet50.onnx" nets/org/resnet50.onnx
cp "$zoo/resnet50.onnx" outside.onnx
gpu=NVIDIA\ A100-SXM4-40GB
twice() { # OPTIONS...: us
    "$ROOFTILE" predict -p roofline --gpu "$gpu" "$@" --json 2>/dev/null |
        python3 -c 'import json, sys; print(repr(2000 * json.load(sys.stdin)["forecasts"][0]["total_ms"]))'
}
cat >runs.csv <<END_
device,model,batch,sequence,mode,dtype,option,end_to_end_us,optimizer,runtime,image
$gpu,small,8,,inference,fp32,,$(twice -m nets/small.onnx --batch 8),,,32
$gpu,small.onnx,8,,training,fp32,,$(twice -m nets/small.onnx --batch 8 --mode training --optimizer adamw),adamw,,
$gpu,mine,4,128,inference,fp16,,$(twice -m nets/mine.onnx --batch 4 --seq 128 --dtype fp16),,,
$gpu,mine,4,128,inference,fp16,,$(twice -m nets/mine.onnx --batch 4 --seq 128 --dtype fp16 --runtime compile),,compile,
$gpu,resnet50,64,,training,fp32,dp2,$(twice -m nets/resnet50.onnx --batch 64 --dp 2 --mode training --optimizer none),,,
$gpu,gpt2,4,128,inference,fp32,,$(twice -m gpt2 --batch 4 --seq 128 --dtype fp32 --runtime eager),,eager,
$gpu,mine,4,128,decode,fp16,,100,,,
$gpu,mine,4,128,inference,fp16,tp2,100,,,
$gpu,small,4,128,inference,fp32,,100,,,
$gpu,small,4,,inference,fp32,,100,,,64
$gpu,small,4,,inference,fp32,,100,,serving,
$gpu,elsewhere,4,,inference,fp32,,100,,,
$gpu,org/resnet50,4,,inference,fp32,,$(twice -m nets/org/resnet50.onnx --batch 4),,,
$gpu,../outside,4,,inference,fp32,,100,,,
END_
succeeds import "$ROOFTILE" dataset import --format workloads runs.csv -o runs.h5
succeeds evaluate "$ROOFTILE" evaluate --predictor roofline --workloads runs.h5 --graphs nets --json
json_is errors "[(r['model'], r['mode'], r['graph'], round(r['error_pct'], 3)) for r in d['rows']]" \
    "[('small', 'inference', 'read', -50.0), ('small.onnx', 'training', 'read', -50.0), ('mine', 'inference', 'read', -50.0), ('mine', 'inference', 'read', -50.0), ('resnet50', 'training', 'read', -50.0), ('gpt2', 'inference', 'built', -50.0), ('org/resnet50', 'inference', 'read', -50.0)]"
json_is left_out "len(d['skipped'])" 7
holds said_once "forecast by the bytes that they read and write: own.Odd" "$work/stderr"
if [ "$(grep -c own.Odd "$work/stderr")" -le 2 ]; then ok not_for_every_run; else not_ok not_for_every_run "$(cat "$work/stderr")"; fi
reason() { json_is "reason_$1" "sum('$2' in s['reason'] for s in d['skipped'])" 1; }
reason decode "an ONNX model is of one step"
reason tensor "so --tp does not apply"
reason sequence "--seq 128 is for dims"
reason image "its images have a side of 64"
reason served "LLM servers read checkpoints, not ONNX models"
json_is reason_unknown "sorted(s['model'] for s in d['skipped'] if 'unknown model' in s['reason'])" "['../outside', 'elsewhere']"
succeeds built "$ROOFTILE" evaluate --predictor roofline --workloads runs.h5 --model resnet50 --json
json_is built_by_name "[r['graph'] for r in d['rows']]" "['built']"
refuses no_folder 1 "name one with ONNX models" "$ROOFTILE" evaluate --predictor roofline --workloads runs.h5 --graphs elsewhere
finish
