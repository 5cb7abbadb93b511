#!/usr/bin/env bash
# Runs of LLM servers beside their simulation: `rooftile evaluate --serving`.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work" || exit 1

header=id,device,model,backend,quant,tp,decode_tp,decode_replicas,input,output,least,concurrency,ttft_ms,tpot_ms,note
row='NVIDIA H100 80GB HBM3,llama-3.1-8b,vllm'
printf '%s\n' "$header" "a,$row,,1,,,512,64,1,4,40,8," "b,$row,fp8,2,,,512,64,0.8,32,60,9,odd" \
    "c,$row,,1,1,,512,64,1,4,40,8," "d,$row,,1,1,2,512,64,1,4,40,8," "e,NVIDIA H100 80GB HBM3,no-such-model,vllm,,1,,,512,64,1,4,40,8," \
    "f,$row,,1,,,512,64,1,,40,8," >runs.csv
succeeds evaluate_serving "$ROOFTILE" evaluate -p roofline --serving runs.csv --by backend,model --by concurrency --report all.csv
holds counts "runs.csv: 3 of 6 that were asked for" stdout
holds apart "without those apart" stdout
holds disaggregated_without_groups "how many groups prefill and decode is missing" stdout
holds no_users "its concurrency is missing" stdout
holds unknown_model 'unknown model "no-such-model"' stdout
holds a_row_per_run "d,NVIDIA H100 80GB HBM3,vllm,llama-3.1-8b,bf16,1" all.csv
"$ROOFTILE" evaluate -p roofline --serving runs.csv --json >a.json
"$ROOFTILE" evaluate -p roofline --serving runs.csv --json --threads 1 >b.json
if cmp -s a.json b.json; then ok threads_change_nothing; else not_ok threads_change_nothing; fi

# Two users wait no less than one, and a GPU with more bandwidth is no slower.
times() { "$ROOFTILE" evaluate -p roofline --serving "$1" --json | python3 -c 'import json, sys; print(*(r["tpot_forecast_ms"] for r in json.load(sys.stdin)["runs"]))'; }
printf '%s\n' "$header" "a,$row,,1,,,512,64,1,1,40,8," "b,$row,,1,,,512,64,1,16,40,8," "c,NVIDIA H200,llama-3.1-8b,vllm,,1,,,512,64,1,16,40,8," >order.csv
read -r one many fast < <(times order.csv)
if python3 -c "import sys; sys.exit(not $fast <= $many >= $one > 0)"; then ok order; else not_ok order "$one $many $fast"; fi

# With a place less than four users one always waits: a third of the time that a request takes in the server (Little's law).
printf '%s\n' "$header,sequences" "a,$row,,1,,,512,400,1,4,40,8,," "b,$row,,1,,,512,400,1,4,40,8,,3" >places.csv
"$ROOFTILE" evaluate -p roofline --serving places.csv --json >places.json
if python3 - <<'END'
import json
free, full = json.load(open("places.json"))["runs"]
served = free["ttft_forecast_ms"] + full["tpot_forecast_ms"] * (full["output"] - 1)
wait = full["ttft_forecast_ms"] - free["ttft_forecast_ms"]
assert 0.85 < wait / (served / 3) < 1.05, (wait, served)
END
then ok one_waits; else not_ok one_waits; fi

# A prompt that waits 20 steps for others waits so long; a captured step of 1,024 tokens launches no operators, one of 256 is captured as it is.
printf '%s\n' "$header,gather_steps,graph_tokens" "a,$row,,1,,,1024,400,1,1,40,8,,," "b,$row,,1,,,1024,400,0.5,4,40,8,,," "c,$row,,1,,,1024,400,0.5,4,40,8,,20," \
    "d,$row,,1,,,1024,400,1,1,40,8,,,2048" "e,$row,,1,,,256,400,1,1,40,8,,," "f,$row,,1,,,256,400,1,1,40,8,,,2048" >launched.csv
"$ROOFTILE" evaluate -p roofline --serving launched.csv --json >launched.json
if python3 - <<'END'
import json
runs = {run["id"]: run for run in json.load(open("launched.json"))["runs"]}
ttft, tpot = ({name: run[figure + "_forecast_ms"] for name, run in runs.items()} for figure in ("ttft", "tpot"))
assert 15 * tpot["b"] < ttft["c"] - ttft["b"] < 21 * tpot["b"], (ttft, tpot)
assert ttft["d"] < ttft["a"] and ttft["e"] == ttft["f"], ttft
END
then ok as_launched; else not_ok as_launched "$(cat launched.json)"; fi

# One host for all commands: a run's forecast is what serve says of its server and the load of a benchmark, whose users come at once.
"$ROOFTILE" evaluate -p roofline --serving runs.csv --json >runs.json
for server in vllm vllm-2025; do
    "$ROOFTILE" serve -p roofline --gpu H100 -m llama-3.1-8b --dtype bf16 --isl 512 --osl 64 -c 4 --ramp 0s --think 0s --server $server --json >$server.json
    if python3 - $server.json <<'END'
import json, sys
run, served = json.load(open("runs.json"))["runs"][0], json.load(open(sys.argv[1]))
mean = {row["latency"]: row["mean_ms"] for row in served["points"][0]["latencies"]}
assert served["server"] == "vllm-2025" and run["id"] == "a", (served["server"], run)
for name, row in (("ttft", "TTFT"), ("tpot", "TPOT")):
    assert abs(run[name + "_forecast_ms"] - mean[row]) < 1e-9 * mean[row], (run, mean)
END
    then ok as_serve_$server; else not_ok as_serve_$server; fi
done

# Runs of one GPU are anchors of another: what they were slower by is carried, and they are not judged.
printf '%s\n' "$header" "a,$row,,1,,,512,64,1,4,40,8," "b,$row,,1,,,512,64,1,8,40,8.5," "c,$row,,1,,,512,64,1,16,40,9," >anchors.csv
printf '%s\n' "$header" "d,NVIDIA H200,llama-3.1-8b,vllm,,1,,,512,64,1,4,40,8," "e,NVIDIA H200,llama-3.1-8b,sglang,,1,,,512,64,1,4,40,8," >others.csv
succeeds anchored "$ROOFTILE" calibrate -p roofline --from runs anchors.csv -o anchored.h5
holds a_row_per_kind "vllm-2025  llama         bf16   NVIDIA H100 80GB HBM3     3" stdout
for p in roofline anchored.h5; do "$ROOFTILE" evaluate -p $p --serving others.csv --json >$p.json; done
if python3 - <<'END'
import json
(before, other), (after, same) = ([r["tpot_forecast_ms"] for r in json.load(open(n + ".json"))["runs"]] for n in ("roofline", "anchored.h5"))
assert before < after < 8 and other == same, (before, after, other, same)
END
then ok carried; else not_ok carried; fi
"$ROOFTILE" evaluate -p anchored.h5 --serving anchors.csv >fitted.txt 2>&1
holds not_judged "the predictor was calibrated to it" fitted.txt
refuses anchors_take_all 2 "--seed is not for --from runs" "$ROOFTILE" calibrate -p roofline --from runs anchors.csv --seed 3 -o no.h5
succeeds of_one_gpu "$ROOFTILE" evaluate -p roofline --serving runs.csv --gpu H200 --gpu H100 --model llama-3.1-8b
is what_is_not_asked_for "$(grep -c no-such-model stdout)" 0

printf 'device,model\n' >short.csv
refuses no_columns 1 'has no column "backend"' "$ROOFTILE" evaluate -p roofline --serving short.csv
printf '%s\n' "$header" "a,$row,,1,,,0,64,1,4,40,8," >zero.csv
refuses zero_tokens 1 'a whole number from 1' "$ROOFTILE" evaluate -p roofline --serving zero.csv
refuses unknown_by 2 "runs of servers are given by" "$ROOFTILE" evaluate -p roofline --serving runs.csv --by colour
refuses of_kernels 2 "is not for runs of servers" "$ROOFTILE" evaluate -p roofline --serving runs.csv --op linear
refuses no_such_gpu 1 "no run is of a GPU" "$ROOFTILE" evaluate -p roofline --serving runs.csv --gpu T4

finish
