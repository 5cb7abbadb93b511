# scripts/corpora: measured training on many GPUs becomes runs that `evaluate` forecasts. Excerpts here are synthetic (times are made up).
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all corpora_training "no python3"
export PYTHONDONTWRITEBYTECODE=1
scripts="$ROOFTILE_SOURCE/scripts"
cd "$work"

# runs_of NAME ROWS: NAME.csv and NAME.h5, what the converter of that name makes of the folder NAME, which must be so many rows; NAME.json judges them.
runs_of() {
    succeeds "$1" python3 "$scripts/corpora/$1.py" "$1" -o "$1.csv"
    cp "$work/stdout" "$1.txt"
    is "$1_rows" "$(($(wc -l <"$1.csv") - 1))" "$2"
    succeeds "$1_import" "$ROOFTILE" dataset import --format workloads "$1.csv" -o "$1.h5"
    succeeds "$1_evaluate" "$ROOFTILE" evaluate --workloads -p pretrained "$1.h5" --fallback --json
    cp "$work/stdout" "$1.json"
}

# ---- vTrain ----
mkdir -p vtrain/data
cat >vtrain/data/ground_truth_single.csv <<'EOF'
# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,tensor parallelism,data parallelism,pipeline parallelism,iteration time (ms)
4,16,4,2048,16,24,1024,1,2,2,410.5
8,4,2,1024,16,24,1024,4,1,2,128.2
8,6,4,1024,16,24,1024,4,1,2,128.2
EOF
runs_of vtrain 2
holds vtrain_left_out "left out: 1 rows, GPUs or batch do not divide" vtrain.txt
holds vtrain_model "n_layer=24,n_embd=1024,n_head=16,n_positions=1024,vocab_size=50688\",4,1024,training,fp16,tp4-pp2_2" vtrain.csv

# ---- nanotron: what failed is out of memory, what crawls is named ----
mkdir nanotron
cat >nanotron/runs.csv <<'EOF'
model,nodes,mbs,grad_acc,gbs,dp,pp,tp,zero,mfu_pct,tok_s_gpu,tok_s,mem_gb
1B,1,2,16,256,8,1,1,0,39.2,40000,320000,50.2
1B,1,1,32,256,8,1,1,1,39.2,38000,304000,36.7
1B,1,1,32,256,4,1,2,1,0.1,100,800,36.7
8B,1,64,1,256,4,2,1,0,,,,
EOF
runs_of nanotron 4
holds nanotron_slow "noted: 1 rows, a rate below a tenth of the median" nanotron.txt
succeeds nanotron_read python3 -c '
import csv, json
rows = list(csv.DictReader(open("nanotron.csv")))
assert [row["slow"] for row in rows].count("1") == 1 and [row["out_of_memory"] for row in rows].count("1") == 1, rows
assert [row["shard"] for row in rows].count("optimizer") == 2 and float(rows[0]["end_to_end_us"]) > 0, rows
memory = json.load(open("nanotron.json"))["memory"]["pools"][0]
assert memory["ran"] == 3 and memory["out_of_memory"] == 1, memory'

# ---- llm-foundry ----
mkdir -p llm_foundry/scripts/train/benchmarking
cat >llm_foundry/scripts/train/benchmarking/README.md <<'EOF'
## A100 80GB with 1600 Gbps node-node interconnect (RoCE)

|  Model | SeqLen (T) | # GPUs | GPU | MicroBatchSize | GradAccum | GlobalBatchSize | Throughput (T/s) | Precision | MP Mode | Activation Checkpointing |
|  --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
|  125m | 2048 | 16 | a100_80gb | 32 | 2 | 1024 | 2200000 | amp_bf16 | DEFAULT | True |
EOF
runs_of llm_foundry 1
holds llm_foundry_cluster "parameters,layers,triton,8,25.0,roce,2" llm_foundry.csv

# ---- Megatron-Bridge: a cell with two numbers holds two runs ----
mkdir -p megatron_bridge/docs
cat >megatron_bridge/docs/performance-summary.md <<'EOF'
## 26.04 NeMo Container

### Pre-Training Performance

#### Model: LLAMA3_70B

| System | #-GPUs | Precision | GBS | MBS | Sequence Length | FSDP | TP | PP | CP | VP | EP | Tokens / sec / GPU | Model TFLOP / sec / GPU |
|--------|--------|-----------|-----|-----|-----------------|------|----|----|----|----|----|-----------------------|-------------------------|
| DGX-H100 | 64 | FP8 | 256 | 1 | 8192 | 0 | 4 | 8 | 1 | 5 | n/a | 1664 | 731 |

## 25.11 NeMo Container

#### System: DGX-B200

| Model | #-GPUs | Precision | GBS | MBS | Sequence Length | FSDP | TP | PP | CP | VP | EP | GA | Tokens / sec / GPU | Model TFLOP / sec / GPU |
|-------|--------|-----------|-----|-----|-----------------|------|----|----|----|----|----|----|-----------------------|-------------------------|
| LLAMA3_8B | 8 | FP8-CS (FP8-MX) | 128 | 2 | 8192 | 0 | 1 | 1 | 1 | n/a | 1 | 8 | 30624 (29521) | 1576 (1519) |
| NOBODY'S_8B | 8 | BF16 | 128 | 2 | 8192 | 0 | 1 | 1 | 1 | n/a | 1 | 8 | 30624 | 1576 |
EOF
runs_of megatron_bridge 3
holds megatron_bridge_left_out "left out: 1 rows, NOBODY'S_8B: not known" megatron_bridge.txt
holds megatron_bridge_cut "dp2-tp4-pp8_128" megatron_bridge.csv
holds megatron_bridge_blocks "mxfp8" megatron_bridge.csv

# ---- MLPerf: the script that ran says how it was cut; without one, what others of the benchmark do ----
mkdir -p mlperf_training/conf/v4.1/NVIDIA/benchmarks/llama2_70b_lora/implementations/eos
cat >mlperf_training/conf/v4.1/NVIDIA/benchmarks/llama2_70b_lora/implementations/eos/config_eos.sh <<'EOF'
source $(dirname ${BASH_SOURCE[0]})/config_common.sh
export TP=4
export CP=1
EOF
echo 'export TP_COMM_OVERLAP=${TP_COMM_OVERLAP:=1}' >mlperf_training/conf/v4.1/NVIDIA/benchmarks/llama2_70b_lora/implementations/eos/config_common.sh
cat >mlperf_training/runs.csv <<'EOF'
round,submitter,system,benchmark,accelerator,accel_per_node,nodes,gpus,gbs,grad_acc,seq,run,n_stats,throughput_median,step_time_median,samples_per_s_from_blocks,minutes,config
v4.1,NVIDIA,eos,llama2_70b_lora,NVIDIA H100-SXM5-80GB,8,1,8,8,4,,0,4,2.0,,2.0,28,config_eos.sh
v4.1,NVIDIA,eos,llama2_70b_lora,NVIDIA H100-SXM5-80GB,8,1,8,8,4,,1,4,2.2,,2.0,28,config_eos.sh
v4.1,Other,own,llama2_70b_lora,NVIDIA H100-SXM5-80GB,8,2,16,16,4,,0,4,4.2,,4.2,28,
v4.1,Other,own,bert,NVIDIA H100-SXM5-80GB,8,1,8,768,1,,0,4,7500,,,28,
v4.1,Other,own,retinanet,NVIDIA H100-SXM5-80GB,8,1,8,256,1,,0,5,300.0,,,33,
v4.1,Other,own,stable_diffusion,NVIDIA H100-SXM5-80GB,8,1,8,256,1,,0,5,1000.0,,,33,
v4.1,Other,own,gnn,NVIDIA H100-SXM5-80GB,8,1,8,768,1,,0,4,7500,,,28,
EOF
runs_of mlperf_training 6
holds mlperf_repeats "1 rows, measured again" mlperf_training.txt
holds mlperf_of_one_gpu "retinanet_resnext50_32x4d_fpn,256,,training,fp16,dp8,106666.667" mlperf_training.csv
holds mlperf_of_all "stable-diffusion-2-1,256,,training,fp16,dp8,256000," mlperf_training.csv
holds mlperf_by_others "dp4-tp4-pp1_4" mlperf_training.csv
holds mlperf_time "dp2-tp4-pp1_4,3818181.82" mlperf_training.csv

# ---- Megatron-LM ----
mkdir megatron_lm
cat >megatron_lm/summary.csv <<'EOF'
case,env,platform,n,iter_s_median,iter_s_min,iter_s_max,mem_max_bytes,layers,hidden,ffn,heads,kv,seq,mbs,gbs,tp,pp,vpp,cp,ep,experts,topk,recompute,bf16,fp16,fp8,hybrid,sp,dist_opt,keys
gpt/gpt3_tp2,dev,dgx_h100,50,0.21,0.2,0.3,5368709120.0,12,512,,8,,1024,4,32,2,1,,,,,,,True,,,,True,True,
t5/t5_tp2,dev,dgx_h100,50,0.21,0.2,0.3,5368709120.0,12,512,,8,,1024,4,32,2,1,,,,,,,True,,,,True,True,
EOF
runs_of megatron_lm 1
holds megatron_lm_left_out "left out: 1 rows, t5: no model of it" megatron_lm.txt
holds megatron_lm_memory "5120" megatron_lm.csv

# ---- dgxc: a table of configurations, headings, and what follows from the throughput; a figure repeated counts once ----
mkdir -p dgxc/v1/llama3.1 dgxc/v2/llama3.1
cat >dgxc/v1/llama3.1/README.md <<'EOF'
E.g. 8192 * 252 / 12.84 = 160778

| Size | Precision | GPUs | SeqLen | Layers | TP  | PP  | CP  | EP  | DP  | VP  | MBS | GBS  | GA  |
|------|:---------:|:----:|:------:|:------:|:---:|:---:|:---:|:---:|:---:|:---:|:---:|:----:|:---:|
| 70b  | BF16      | 64   | 8192   | 80     | 4   | 4   | 2   | NA  | 2   | 5   | 1   | 128  | 64 |
| 70b  | FP8       | 64   | 8192   | 80     | 4   | 8   | 1   | NA  | 2   | 5   | 1   | 128  | 64 |

| Llama 3.1 70b FP8 | 64x H100 GPUs |
|---|:---:|
| Training step time (seconds per step) | 10.0 |
| Throughput in tokens per second | 104857 |

| Llama 3.1 8b BF16 (TP=1, PP=1, CP=2, MBS=1, GA=32) | Throughput on 8x H100 GPUs (GBS=128) |
|---|:---:|
| Training step time (seconds per step) | 13.0 |
| Throughput in tokens per second | 80660 |
EOF
cp dgxc/v1/llama3.1/README.md dgxc/v2/llama3.1
runs_of dgxc 2
holds dgxc_once "2 rows, a figure of an earlier release, repeated: once" dgxc.txt
holds dgxc_precision "llama-3.1-70b,128,8192,training,bf16,dp2-tp4-pp8_64,10000000" dgxc.csv

# ---- NeMo: precision and system stand in words above the table ----
mkdir nemo
cat >nemo/performance_summary.md <<'EOF'
- The results in the table below show finetuning performance at FP8 precision.
  - System: DGX-H100

| Model      | Task     | #-GPUs | GBS | MBS | Packed Sequence Length | TP | PP | Tokens / sec / GPU | Model TFLOP / sec / GPU |
| -----      | ----     | ---    | --- | --- | --------------- | -- | -- | ------------------ | ----------------------- |
| LLAMA2-70B | LoRA     | 8      | 32  | 1   | 4096            | 2  | 4  | 2621               | 722                     |
EOF
runs_of nemo 1
holds nemo_lora "tp2-pp4_32" nemo.csv

# ---- the table ----
succeeds training_table python3 "$scripts/training_table.py" "$ROOFTILE" . vtrain nanotron llm_foundry megatron_bridge mlperf_training megatron_lm dgxc nemo
holds table_vtrain "vtrain,all,2,100.0,2," "$work/stdout"
holds table_slow "nanotron,\"all, with slow rows\",4," "$work/stdout"
for name in vtrain nanotron llm_foundry megatron_bridge mlperf_training megatron_lm dgxc nemo; do
    mkdir -p empty
    fails_saying "name the corpus' own folder" python3 "$scripts/corpora/$name.py" empty -o none.csv
done
finish
