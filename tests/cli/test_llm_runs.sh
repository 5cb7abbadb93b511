# Runs of LLM servers from converter to table: excerpts in the layouts of four corpora (times are made up).
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all llm_runs "no python3"
export PYTHONDONTWRITEBYTECODE=1
scripts="$ROOFTILE_SOURCE/scripts/corpora"
shared="$ROOFTILE_SOURCE/../shared"
cd "$work"

# import_of NAME WHERE [OPTION...]: NAME.csv of the converter, NAME.h5 of it.
import_of() {
    local name=$1
    shift
    succeeds "$name" python3 "$scripts/$name.py" "$1" -o "$name.csv" "${@:2}"
    cp "$work/stdout" "$name.txt"
    succeeds "$name is imported" "$ROOFTILE" dataset import -f workloads "$name.csv" -o "$name.h5" --overwrite --strict
    succeeds "$name is valid" "$ROOFTILE" dataset validate "$name.h5"
}

# ---- PipeWeave: one run of two requests, three tokens, repeated thrice ----
mkdir -p pipeweave/e2e/real pipeweave/workload
python3 - <<'END'
import json
step = lambda phase, q, kv: {"phase": phase, "batch_size": 2, "q_lengths": q, "kv_lengths": kv}
steps = [step("prefill", [100, 300], [100, 300])] + [step("decode", [1, 1], [100 + i, 300 + i]) for i in (1, 2)]
for tp, model in ((1, "Qwen2.5-14B"), (2, "Qwen3-32B")):
    json.dump({"iterations": steps}, open(f"pipeweave/workload/{model}_arxiv_8_fa2_tp{tp}_pp1.json", "w"))
    with open("pipeweave/e2e/real/e2e_" + ("" if tp == 1 else "tp2_") + "A40.jsonl", "w") as file:
        for i, slow in enumerate((9, 1.0, 1.1, 1.2)):
            record = {"run_name": f"{model}-arxiv_8", "batch_size": 2, "output_len": 3, "iteration": i, "prefill_latency": 0.4 * slow,
                      "median_decode_latency": 0.04 * slow, "total_latency": 0.5 * slow}
            file.write(json.dumps(record) + "\n")
for name in ("pipeweave", "neusight", "habitat", "linear", "roofline"):
    with open(f"pipeweave/e2e/{name}_comparison.csv", "w") as file:
        file.write("Hardware,TP,PP,Model,Workload,FA_Version,pred_prefill_ms,pred_decode_ms,pred_total_ms\n")
        file.write(f"A40,1,1,Qwen2.5-14B,arxiv_8,fa2,484,{0 if name == 'roofline' else 22},550\n")
END
import_of pipeweave_runs pipeweave --published published.csv
is "prefill, step and whole run of each" "$(cells mode pipeweave_runs.csv)" "generation|inference|decode|generation|inference|decode"
is "the median without the first" "$(cells end_to_end_us pipeweave_runs.csv)" "550000|440000|44000|550000|440000|44000"
is "lengths of a prefill" "$(cells lengths pipeweave_runs.csv | cut -d '|' -f 1-3)" "100,300|100,300|"
is "contexts of the middle step" "$(cells contexts pipeweave_runs.csv | cut -d '|' -f 1-3)" "||101,301"
is "tokens made" "$(cells output pipeweave_runs.csv | cut -d '|' -f 1-3)" "3||"
is "GPUs" "$(cells option pipeweave_runs.csv)" "|||tp2|tp2|tp2"
cp pipeweave/workload/Qwen2.5-14B_arxiv_8_fa{2,3}_tp1_pp1.json
for gpu in H800 RTX_6000_Ada B9000; do cp pipeweave/e2e/real/e2e_A40.jsonl pipeweave/e2e/real/e2e_$gpu.jsonl; done
succeeds "other GPUs, by the catalogue" python3 "$scripts/pipeweave_runs.py" pipeweave -o more.csv
is "FlashAttention 3 on Hopper, 2 on the others" "$(cells device more.csv | tr '|' '\n' | uniq -c | sed 's/^ *//' | tr '\n' '|')" \
    "6 NVIDIA A40|3 NVIDIA H800|3 NVIDIA RTX 6000 Ada Generation|"
holds "those that it has not are named" "left out: 1 rows, B9000: no board of the catalogue" stdout
rm pipeweave/e2e/real/e2e_{H800,RTX_6000_Ada,B9000}.jsonl
is "a forecast of 0 is none" "$(cells roofline_ms published.csv)" "|550.0|484.0"
succeeds "their forecasts beside" "$ROOFTILE" evaluate -p roofline --workloads pipeweave_runs.h5 --compare published.csv --by backend --by batch --by batch,gpu --json
cp stdout report.json
cat >compared.py <<'END'
import json
r = json.load(open("report.json"))
rows = {(x["model"], x["mode"]): x for x in r["rows"]}
assert len(rows) == 6 and all(x["forecast_ms"] > 0 for x in rows.values())
assert {x["kind"] for x in r["rows"]} == {"prefill", "decode", "generation"}
mine = rows["qwen2.5-14b", "inference"]["compared_errors_pct"]
assert abs(mine["pipeweave_ms"] - 10) < 1e-6 and abs(rows["qwen2.5-14b", "decode"]["compared_errors_pct"]["linear_ms"] + 50) < 1e-6
assert rows["qwen2.5-14b", "decode"]["compared"]["roofline_ms"] is None
assert rows["qwen3-32b", "decode"]["compared"]["pipeweave_ms"] is None and r["compared"]["unknown"] == 0
assert [(x["backend"], x["mode"], x["n"]) for x in r["by"]["backend"]] == [("sglang", m, 2) for m in ("inference", "decode", "generation")]
assert {x["batch"] for x in r["by"]["batch"]} == {"2"}
assert [(x["batch,gpu"], x["mode"], x["n"]) for x in r["by"]["batch,gpu"]] == [("2 NVIDIA A40", m, 2) for m in ("inference", "decode", "generation")]
total, parts = rows["qwen2.5-14b", "generation"], [rows["qwen2.5-14b", m]["forecast_ms"] for m in ("inference", "decode")]
assert abs(total["forecast_ms"] / (parts[0] + 2 * parts[1]) - 1) < 0.001
END
succeeds "errors are those of the made-up forecasts, by backend too" python3 compared.py
refuses "an unknown property" 1 "--by colour: no run has a property or attribute of that name" "$ROOFTILE" evaluate -p roofline --workloads pipeweave_runs.h5 --by colour
refuses "an unknown one of several" 1 "--by colour: no run" "$ROOFTILE" evaluate -p roofline --workloads pipeweave_runs.h5 --by batch,colour
refuses "a property that no kernel has" 1 "--by backend: no kernel has a property, dim or attribute of that name" "$ROOFTILE" evaluate -p roofline pipeweave_runs.h5 --by backend
refuses "too many" 2 "--by is there 5 times; at most 4" "$ROOFTILE" evaluate -p roofline --workloads pipeweave_runs.h5 --by a --by b --by c --by d --by e

# A predictor learns a GPU from one run of another model there, on several GPUs too.
grep -v 'qwen2.5-14b' pipeweave_runs.csv | grep -v generation >other.csv
succeeds "runs of the other model" "$ROOFTILE" dataset import -f workloads other.csv -o other.h5
succeeds "calibrate to them" "$ROOFTILE" calibrate -p pretrained other.h5 --gpu A40 --from models -o calibrated.h5
holds "both are used" "qwen3-32b" stdout
succeeds "judge the first" "$ROOFTILE" evaluate -p calibrated.h5 --workloads pipeweave_runs.h5 --fallback --json
python3 - <<'END' && ok "the runs that it was fitted to are not judged" || not_ok "the runs that it was fitted to are not judged"
import json
r = json.load(open("stdout"))
assert r["data"]["calibrated_to"] == 2, r["data"]
assert sorted((x["model"], x["mode"]) for x in r["rows"]) == [("qwen2.5-14b", "decode"), ("qwen2.5-14b", "generation"),
                                                             ("qwen2.5-14b", "inference"), ("qwen3-32b", "generation")]
END

# Folds over GPUs have rows for what servers run.
succeeds "kernels of two made-up GPUs" "$ROOFTILE" collect --backend synthetic --count 300 -o synthetic.h5 --quiet
succeeds "as CSV" "$ROOFTILE" dataset export synthetic.h5 -o kernels
python3 - <<'END'
import csv, random
rows = list(csv.DictReader(open("kernels/samples.csv")))
plain = {r["device"]: r for r in rows if r["op"] == "softmax"}  # a row of each GPU to fill
random.seed(1)
for device, row in plain.items():
    for i in range(120):
        op, tokens = ("attention_context", 2 ** random.randint(5, 11)) if i % 2 else ("attention_generation", 1)
        batch, cached = 2 ** random.randint(0, 5), 0 if i % 2 else 2 ** random.randint(6, 12)
        dims = [batch, tokens, cached, 40, 8, 128, 0, 0]
        new = {**row, **{f"dim{d}": v for d, v in enumerate(dims)}, "op": op, "dtype": "bf16", "kernel": "", "kernels": "",
               "latency_us": 20 + 1e-5 * batch * (tokens + cached) * (tokens * 40 + 8 * 128 * 2)}
        for key in new:
            if key.startswith(("latency_", "tile", "grid", "block", "energy")) and key != "latency_us":
                new[key] = ""
        rows.append(new)
with open("kernels/samples.csv", "w", newline="") as file:
    out = csv.DictWriter(file, rows[0], lineterminator="\n")
    out.writeheader()
    out.writerows(rows)
END
succeeds "with attention" "$ROOFTILE" dataset import --format csv kernels -o kernels.h5
succeeds "cross-validation" "$ROOFTILE" crossval kernels.h5 pipeweave_runs.h5 --leave-out gpu -p rooftile --calibrate 0 --epochs 1 -o folds --quiet
for kind in prefill decode generation; do holds "a row of $kind" "end to end $kind" stdout; done
rm pipeweave/e2e/real/*
succeeds_not() { if "${@:2}" >stdout 2>stderr; then not_ok "$1" "it succeeded"; else ok "$1"; fi; }
succeeds_not "an empty corpus" python3 "$scripts/pipeweave_runs.py" pipeweave -o none.csv
holds "is one sentence" "holds no e2e/real/e2e_*.jsonl" stderr

# Prefills whose large kernels reach too little of what the board sustains; decode steps, which are of small ones, say nothing.
awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i } NR > 1 { $column["end_to_end_us"] = 1e8 } { print }' <<'END' >hot.csv
device,model,batch,sequence,mode,dtype,end_to_end_us,runtime,backend
RTX 6000 Ada,qwen2.5-14b,8,3000,inference,bf16,1,serving,sglang
RTX 6000 Ada,qwen2.5-14b,8,3000,decode,bf16,1,serving,sglang
END
succeeds "runs of a hot board" "$ROOFTILE" dataset import -f workloads hot.csv -o hot.h5
succeeds "are judged" "$ROOFTILE" evaluate -p roofline --workloads hot.h5
holds "and named" "NOTE: 1 prefills look throttled, by NVIDIA RTX 6000 Ada Generation" stdout
succeeds "to calibrate to them" "$ROOFTILE" calibrate -p pretrained hot.h5 --gpu "RTX 6000 Ada" --from models -o hot_calibrated.h5
holds "is warned of" "1 of the 2 runs that NVIDIA RTX 6000 Ada Generation is calibrated to look throttled" stderr

# ---- Splitwise ----
mkdir -p splitwise/data
cat >splitwise/data/perf_model.csv <<'END'
model,hardware,prompt_size,batch_size,token_size,peak_power,average_power,prompt_time,token_time,e2e_time,tensor_parallel
llama2-70b,a100-80gb,512,1,128,1,0.7,200,60,7168,2
llama2-70b,a100-80gb,512,1,128,1,0.7,220,50,7168,2
llama2-70b,a100-80gb,512,1,128,1,0.7,210,55,7168,2
llama2-70b,a100-80gb,2048,1,128,1,0.2,690,55,7168,2
bloom-176b,h100-80gb,512,2,128,0,0,300,80,7168,8
END
import_of splitwise splitwise
is "prompt and token time, the median" "$(cells end_to_end_us splitwise.csv)" "690000|55000|7168000|210000|55000|300000|80000"
is "a token at the mean context" "$(cells sequence splitwise.csv)" "2048|2111|512|512|575|512|575"
is "the power of one GPU over the request" "$(cells power_w splitwise.csv)" "||280||||"
is "the energy of both" "$(cells energy_mj splitwise.csv)|$(cells output splitwise.csv)" "||4014080|||||||128||||"
holds "power that holds idle time is left out" "noted: 1 rows, mean power of a long prompt's request" splitwise.txt
succeeds "models that are not there" "$ROOFTILE" evaluate -p roofline --workloads splitwise.h5
holds "are named and counted" "left out: 2 of 7 workloads" stdout
holds "by name" '2  bloom-176b-inf-512-2-tp8 on NVIDIA H100 80GB HBM3 and others of the model: unknown model "bloom-176b"' stdout

# ---- LLM-Inference-Bench ----
mkdir bench
cat >bench/All_results.csv <<'END'
Hardware,Num of Hardware,Framework,Model,Input Output Length,Batch Size,Latency,Throughput
Nvidia A100 GPU,1,vLLM,meta-llama/Llama-2-7b-hf,128,16,2,2048
Nvidia H100 GPU,4,llama.cpp,meta-llama/Meta-Llama-3-8B,256,1,4,128
Nvidia H100 GPU,4,llama.cpp,meta-llama/Meta-Llama-3-8B,256,16,4,128
Nvidia H100 GPU,1,TensorRT-LLM,Qwen/Qwen2-7B,2048,1,0.08,51200
AMD MI250 GPU,2,vLLM,meta-llama/Llama-2-7b-hf,128,16,4,1024
END
printf '%s\n' 'Hardware,Num of Hardware,Framework,Model,Input Output Length,Batch Size,Latency,Throughput,avg_power' \
    'Nvidia A100 GPU,1,vLLM,meta-llama/Llama-2-7b-hf,128,16,2,2048,250000' >bench/power_results.csv
import_of llm_inference_bench bench
is "power, where it was measured" "$(cells power_w llm_inference_bench.csv)|$(cells energy_mj llm_inference_bench.csv)" "|250||||500000||"
holds "a throughput of something else" "left out: 1 rows, whose throughput is not that of its latency" llm_inference_bench.txt
is "whole batches" "$(cells mode llm_inference_bench.csv)|$(cells output llm_inference_bench.csv)" "generation|generation|generation|generation|128|128|256|2048"
is "layers of llama.cpp" "$(cells option llm_inference_bench.csv)" "tp4||pp4_1|"
succeeds "a run that is too fast" "$ROOFTILE" evaluate -p roofline --workloads llm_inference_bench.h5
holds "is left out" "qwen2-7b-gen-2048+2048-1 on NVIDIA H100 80GB HBM3: its measured 80 ms are less than half of the" stdout

# ---- AIConfigurator's serving runs ----
cat >silicon_sample.csv <<'END'
silicon_data_source,backend,model_path,system,precision,mode,isl,osl,gemm_quant_mode,batch_size,tp_size,pp_size,attention_dp_size,moe_tp_size,moe_ep_size,silicon_tpot_ms
a; wip=False,trtllm,Qwen/Qwen3-32B,h200_sxm,fp8,agg,1000,200,fp8,8,2,1,,1,1,12
a; wip=True,trtllm,Qwen/Qwen3-32B,h200_sxm,fp8,agg,1000,200,fp8,16,2,1,,1,1,14
a,vllm,Qwen/Qwen3-235B-A22B-FP8,h200_sxm,fp8,agg,1000,200,fp8_block,16,2,1,,4,1,50
a,sglang,Qwen/Qwen3-32B,h100_sxm,,disagg,1000,200,,,,1,,,,12
END
import_of aiconfigurator_serving silicon_sample.csv
holds "unfinished rows are counted" "left out: 1 rows, unfinished" aiconfigurator_serving.txt
holds "so are disaggregated ones" "left out: 1 rows, disaggregated" aiconfigurator_serving.txt
is "a step at the mean context, under load" "$(cells sequence aiconfigurator_serving.csv)|$(cells prompt aiconfigurator_serving.csv)|$(cells output aiconfigurator_serving.csv)" "1100|1100|1000|1000|200|200"
is "how it was split" "$(cells option aiconfigurator_serving.csv)" "tp2-adp2|tp2"
is "quantised" "$(cells quant aiconfigurator_serving.csv)|$(cells kv_cache aiconfigurator_serving.csv)" "fp8_block|fp8||fp8"
succeeds "both are forecast" "$ROOFTILE" evaluate -p roofline --workloads aiconfigurator_serving.h5 --by backend
holds "by backend" "tensorrt-llm" stdout

# The same under load: rounded repeats are dropped. Where TTFT grows with the output by the decode time over the users, one always waits: --places.
cat >served.csv <<'END'
id,silicon_data_source,backend,model_path,system,precision,mode,isl,osl,gemm_quant_mode,batch_size,tp_size,pp_size,attention_dp_size,moe_tp_size,moe_ep_size,silicon_ttft_ms,silicon_tpot_ms
a,one gap-analysis,trtllm,Qwen/Qwen3-32B,h100_sxm,,agg,1000,100,,8,2,1,,1,1,200.5,8
b,one gap-analysis,trtllm,Qwen/Qwen3-32B,h100_sxm,,agg,1000,300,,8,2,1,,1,1,400.5,8
c,two,vllm,Qwen/Qwen3-32B,h100_sxm,,agg,1000,100,,8,2,1,,1,1,200.1234,9.0421
d,two,vllm,Qwen/Qwen3-32B,h100_sxm,,agg,1000,300,,8,2,1,,1,1,210.4321,9.1234
e,two gap-analysis,vllm,Qwen/Qwen3-32B,h100_sxm,,agg,1000,300,,8,2,1,,1,1,210.43,9.12
END
python3 "$ROOFTILE_SOURCE/scripts/corpora/aiconfigurator_serving.py" served.csv --serving -o served_runs.csv 2>served.txt
holds "a rounded repeat" "left out: 1 times" served.txt
is "all rows but that" "$(cells id served_runs.csv)" "a|b|c|d"
is "no setting out of the measured times" "$(cells sequences served_runs.csv)" "|||"
python3 "$ROOFTILE_SOURCE/scripts/corpora/aiconfigurator_serving.py" served.csv --serving --places -o served_runs.csv 2>served.txt
is "a place less than users" "$(cells sequences served_runs.csv)" "7|7||"

# ---- a log of vLLM, request by request: a trace, what was measured, and the command that simulates it ----
mkdir log
cat >log/requests.jsonl <<'END'
{"request_id": "b", "input_toks": 300, "output_toks": 5, "arrival_time": 9, "queued_ts": 101.5, "scheduled_ts": 101.6, "first_token_ts": 102, "last_token_ts": 104}
{"request_id": "a", "input_toks": 200, "output_toks": 1, "arrival_time": 8, "queued_ts": 100, "scheduled_ts": 100, "first_token_ts": 100.3, "last_token_ts": 100.3}
END
cat >log/meta.json <<'END'
{"model": "meta-llama/Llama-3.1-8B", "engine_kwargs": {"tensor_parallel_size": 1, "max_num_seqs": 16, "max_num_batched_tokens": 2048, "dtype": "bfloat16"},
 "kv_cache": {"num_kv_tokens": 40960}, "hardware": {"device_name": "NVIDIA GeForce RTX 4090"}}
END
succeeds "a log" python3 "$scripts/vllm_log.py" log -o trace.csv
is "requests as they came" "$(tail -n +2 trace.csv | tr '\n' '|')" "0.000000,200,1|1.500000,300,5|"
holds "times to the first token" "TTFT: mean 400.0 ms, median 400.0 ms" stdout
holds "times between tokens" "TPOT: mean 500.0 ms" stdout
command=$(grep '^rooftile serve' stdout)
succeeds "the same server, simulated" sh -c "'$ROOFTILE' ${command#rooftile} -p roofline"
succeeds_not "no log" python3 "$scripts/vllm_log.py" splitwise -o trace.csv

# ---- the corpora themselves, where they are, whatever was added to them ----
for line in pipeweave_runs:corpora/pipeweave splitwise:corpora/splitwise llm_inference_bench:corpora/llm-inference-bench \
    aiconfigurator_serving:aiconfigurator/silicon_sample.csv; do
    IFS=: read -r name where <<<"$line"
    [ -e "$shared/$where" ] || continue
    import_of "$name" "$shared/$where"
    is "$name has its runs" "$(($(wc -l <"$name.csv") - 1))" "$(said_runs "$name.txt")"
done
finish
