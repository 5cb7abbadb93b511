# scripts/corpora: measured kernels of other repositories become datasets. Excerpts here are synthetic (times are made up).
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all corpora_kernels "no python3"
export PYTHONDONTWRITEBYTECODE=1
scripts="$ROOFTILE_SOURCE/scripts/corpora"
shared="$ROOFTILE_SOURCE/../shared/corpora"
cd "$work"


# import_of NAME FOLDER: NAME.csv, what the converter of that name makes of the folder; NAME.txt, what it says.
import_of() {
    succeeds "$1" python3 "$scripts/$1.py" "$2" -o "$1"
    cp "$work/stdout" "$1.txt"
    succeeds "$1_import" "$ROOFTILE" dataset import --format csv "$1" -o "$1.h5" --overwrite
    succeeds "$1_export" "$ROOFTILE" dataset export --format csv "$1.h5" -o "$1.out" --overwrite
}

# ---- AIConfigurator's repository: Parquet becomes CSV ----
mkdir none
echo 'raise ImportError("none here")' >none/pyarrow.py
fails_saying "pip install pyarrow" env PYTHONPATH=none python3 "$scripts/aiconfigurator_clone.py" none -o clone
if python3 -c "import pyarrow" 2>/dev/null; then
    python3 - <<'EOF'
import os
from pyarrow import parquet, table
def write(path, **columns):
    os.makedirs(os.path.dirname(path))
    parquet.write_table(table(columns), path)
shared = {"framework": ["SGLang", "TRTLLM"], "version": ["1", "2"], "device": ["NVIDIA H200", "NVIDIA H200"]}
write("repository/h200/gemm/any/1/gemm_perf.parquet", **shared, op_name=["gemm"] * 2, kernel_source=["a, b", "c"], gemm_dtype=["fp8", "nvfp4"],
      m=[8, 16], n=[64, 64], k=[512, 512], latency=[0.01, 0.02])
write("repository/h200/moe/any/1/moe_perf.parquet", **shared, op_name=["moe"] * 2, kernel_source=["moe_cutlass", "moe_nongated"],
      moe_dtype=["bfloat16"] * 2, num_tokens=[4, 4], hidden_size=[64, 64], inter_size=[128, 256], topk=[2, 2], num_experts=[8, 8],
      moe_tp_size=[1, 1], moe_ep_size=[1, 1], distribution=["balanced"] * 2, latency=[0.01, 0.02])
write("repository/h200/moe/other/1/moe_perf.parquet", **shared, op_name=["moe"] * 2, kernel_source=["moe_triton"] * 2,
      moe_dtype=["bfloat16"] * 2, num_tokens=[8, 8], hidden_size=[64, 64], inter_size=[128, 256], topk=[2, 2], num_experts=[8, 8],
      moe_tp_size=[1, 1], moe_ep_size=[1, 1], distribution=["balanced"] * 2, latency=[0.01, 0.02])
write("repository/h200/mla/any/1/mla_context_module_perf.parquet", **shared, op_name=["mla_context_module"] * 2, latency=[1.0, 2.0])
def four(framework, version, kernel, **columns):
    return dict(framework=framework, version=version, device=["NVIDIA H200"] * 4, kernel_source=kernel, latency=[1.0, 2.0, 3.0, 4.0],
                mla_dtype=["bfloat16"] * 4, num_heads=[16] * 4, batch_size=[2] * 4, **columns)
servers = ["SGLang", "SGLang", "VLLM", "TRTLLM"], ["2", "2", "2", "1.0.0"], ["flash_attention", "trtllm_mla", "any", "default"]
write("repository/h200/mla/other/1/context_mla_perf.parquet", **four(*servers, op_name=["mla_context", "mla_context", "context_mla", "mla_context"],
      kv_cache_dtype=["bfloat16", "fp8", "bfloat16", "fp8"], isl=[512] * 4, step=[0] * 4))
write("repository/h200/mla/other/2/generation_mla_perf.parquet", **four(*servers, op_name=["mla_generation", "mla_generation", "generation_mla",
      "mla_generation"], kv_cache_dtype=["fp8", "fp8", "bfloat16", "bfloat16"],
      isl=[1] * 4, step=[4095] * 4))
topk = four(["SGLang"] * 4, ["2"] * 4, ["topk"] * 4, op_name=["dsv4_csa_topk_calib"] * 4, isl=[4] * 4, step=[8188] * 4, tp_size=[1] * 4,
            compress_ratio=[4] * 4, score_mode=["v1_flat", "v1_top_last", "v2_top_last", "v1_top_last"],
            model=["deepseek-ai/DeepSeek-V4-Pro"] * 3 + ["sgl-project/DeepSeek-V4-Flash-FP8"])
topk["latency"][2] = 0.0
write("repository/h200/sparse_attention/any/1/dsv4_csa_topk_calib_perf.parquet", **topk)
write("repository/h200/none/any/1/no_such_perf.parquet", **shared, op_name=["none"] * 2, latency=[1.0, 2.0])
def rows(folder, name, *cells):
    """A table of rows, one a server and kernel."""
    write(f"repository/h200/{folder}/any/1/{name}_perf.parquet", version=["1"] * len(cells), device=["NVIDIA H200"] * len(cells),
          **{key: [row[key] for row in cells] for key in cells[0]})
heads = dict(num_k_heads=16, head_k_dim=128, num_v_heads=32, head_v_dim=64, d_conv=4, d_model=2048, model_name="m")
def step(framework, kernel, phase, batch, tokens, latency):
    return dict(framework=framework, op_name="gdn", kernel_source=kernel, phase=phase, batch_size=batch, seq_len=tokens,
                num_tokens=batch * tokens, latency=latency, **heads)
rows("gdn", "gdn", step("vLLM", "causal_conv1d_fn", "context", 2, 8, 0.01), step("TRTLLM", "causal_conv1d_fn", "context", 2, 8, 0.02),
     step("vLLM", "chunk_gated_delta_rule_flashinfer", "context", 2, 8, 0.03),
     step("SGLang", "fused_recurrent_gated_delta_rule_packed_decode", "generation", 2, 1, 0.04))
heads.update(num_k_heads=12, num_v_heads=12, head_v_dim=128)
rows("kda", "kda", step("SGLang", "causal_conv1d_fn_qkv3", "context", 4, 8, 0.034), step("VLLM", "causal_conv1d_fn_qkv3", "context", 4, 8, 0.4),
     step("SGLang", "causal_conv1d_update", "verify", 4, 3, 0.05), step("VLLM", "causal_conv1d_update", "verify", 4, 3, 0.06),
     step("VLLM", "fused_recurrent_kda", "verify", 4, 3, 0.07), step("VLLM", "fused_kda_decode", "generation", 4, 1, 0.08))
rows("mamba2", "mamba2", dict(framework="TRTLLM", op_name="mamba2", kernel_source="causal_conv1d_fn", phase="context", batch_size=1, seq_len=16,
     num_tokens=16, d_model=1, d_state=128, d_conv=4, nheads=64, head_dim=64, n_groups=8, chunk_size=128, model_name="m", latency=0.01))
rows("mhc", "mhc_module", *(dict(framework="VLLM", op_name=name, kernel_source="k", architecture="a", num_tokens=32, num_sites=2, hc_mult=4,
     hidden_size=4096, sinkhorn_iters=20, latency=0.01) for name in ("pre", "post")))
rows("quantize", "scale_matrix", *(dict(framework=name, op_name="scale_matrix", kernel_source="k", m=32, k=1024, quant_dtype="fp8",
     latency=0.002) for name in ("SGLang", "VLLM")))
rows("quantize/other", "computescale", dict(framework="VLLM", op_name="compute_scale", kernel_source="a_minus_b", m=32, k=64, quant_dtype="fp8",
     latency=0.0))
rows("moe/wide", "wideep_moe", dict(framework="TRTLLM", op_name="wideep_moe_eplb", kernel_source="wideep_compute_cutlass", moe_dtype="fp8_block",
     moe_kernel="cutlass", num_tokens=96, dp_num_tokens=12, rank0_num_tokens=50, hidden_size=64, inter_size=512, topk=2, num_experts=256,
     num_slots=288, moe_tp_size=1, moe_ep_size=8, distribution="power_law_1.01_eplb", simulation_mode="accurate", latency=0.09))
sent = dict(framework="sglang", op_name="x", kernel_source="deepep", node_num=1, hidden_size=7168, num_token=128, num_topk=8, num_experts=256)
rows("comm", "wideep_deepep_ll", dict(sent, combine_avg_t_us=67.0, combine_bandwidth_gbps=1.0, dispatch_avg_t_us=36.7,
     dispatch_bandwidth_gbps=1.0))
rows("comm/normal", "wideep_deepep_normal", *(dict(sent, dispatch_sms=sms, dispatch_transmit_us=50.0 + sms, dispatch_notify_us=0.0,
     combine_sms=sms, combine_transmit_us=80.0, combine_notify_us=0.0) for sms in (4, 20)))
EOF
    succeeds clone python3 "$scripts/aiconfigurator_clone.py" repository -o clone
    holds clone_no_op "left out: 2 rows of no_such_perf, no op here" stdout
    holds clone_left_out "left out: 2 rows of mla_context_module_perf, a sum of kernels" stdout
    holds clone_launched "left out: 2 rows of latent attention with its products" stdout
    holds clone_8_bits "left out: 1 rows of 8-bit latent caches of TensorRT-LLM 1.0" stdout
    holds clone_converted "left out: 1 rows of conversions" stdout
    holds clone_equal "left out: 1 rows of top-k of equal scores" stdout
    holds clone_all_chosen "left out: 1 rows of top-k that chooses all" stdout
    for why in "1 rows of computescale_perf, a difference" "1 rows of kda_perf that Python launched" "1 rows of kda_perf whose kernel" \
        "1 rows of scale_matrix_perf that are several" "1 rows of wideep_deepep_normal_perf with other"; do
        holds "clone_left_out_${why// /_}" "left out: $why" stdout
    done
    succeeds clone_import "$ROOFTILE" dataset import --format aiconfigurator clone -o clone.h5
    succeeds clone_export "$ROOFTILE" dataset export --format csv clone.h5 -o clone.out
    # holds_row NAME OP DTYPE DIMS US: one row of these dims takes so long.
    holds_row() { is "$1" "$(grep -c "^$2,$3,forward,none,NVIDIA H200,[0-9]*,$4,\+$5[,.]" clone.out/samples.csv)" 1; }
    holds_row clone_gemm gemm fp4 16,64,512 20
    holds clone_kernel ',kernel_source,"a, b"' clone.out/groups.csv
    # Without a gate: by the kernel's name, and others' of the same sizes.
    is clone_ungated "$(grep -c '^moe,bf16,.*,64,256,2,8,1,1,0,1,' clone.out/samples.csv)" 2
    is clone_gated "$(grep -c '^moe,bf16,.*,64,128,2,8,1,1,0,0,' clone.out/samples.csv)" 2
    holds_row clone_slots moe fp8_block 96,64,512,2,288,1,8,0,0 90
    # Key, query and value channels, 2 x 2048 + 2048, or the key's alone; a third of three convolutions of 12 x 128; all three in one step, by
    # SGLang a sequence a token; x, B and C of Mamba-2: 4096 + 2 x 1024.
    for row in 2,8,6144,4:10 2,8,2048,4:20 4,8,1536,4:11 12,1,4608,4:50 4,3,4608,4:60 1,16,6144,4:10; do
        holds_row "clone_conv_$row" causal_conv1d bf16 "${row%:*}" "${row#*:}"
    done
    holds_row clone_chunked delta_rule_context bf16 2,8,16,128,32,64,1 30
    holds_row clone_step delta_rule_generation bf16 2,1,16,128,32,64,1 40
    holds_row clone_drafts delta_rule_generation bf16 4,3,12,128,12,128,128 70
    holds_row clone_pre hyper_connection_pre bf16 32,4096,4,20 5
    holds_row clone_post hyper_connection_post bf16 32,4096,4 5
    holds_row clone_quantise quantise bf16 32,1024,8 2
    # DeepEP: 128 tokens of 7168 to 8 experts each, or to the 5.2946 of 8 GPUs that have them; 8 bits there, 16 back.
    holds_row clone_there_ll all_to_all fp8 8,7340032,0,4 36
    holds_row clone_back_ll all_to_all bf16 8,7340032,0,4 67
    holds_row clone_there all_to_all fp8 8,4857864,0,3 70
    holds_row clone_back all_to_all bf16 8,4857864,0,3 80
    is clone_absorbed "$(grep -c "^sparse_attention,bf16,forward,none,NVIDIA H200,[0-9]*,2,512,0,16,1,576,512,0,1,0,1,0," clone.out/samples.csv)" 1
    is clone_prefill "$(grep -c "^mla_context,bf16,forward,none,NVIDIA H200,[0-9]*,2,512,0,16,192,128,8," clone.out/samples.csv)" 1
    holds clone_decode ",2,1,4095,16,512,64,8," clone.out/samples.csv
    holds clone_decode_16 ",2,1,4095,16,512,64,0," clone.out/samples.csv
    holds clone_top_k_pro ",8,2048,1024," clone.out/samples.csv
    holds clone_top_k ",8,2048,512," clone.out/samples.csv
    is clone_all "$(wc -l <clone.out/samples.csv)" 30
    # Parquet of an export has dims and attributes by their names.
    fails_saying "pip install pyarrow" env PYTHONPATH=none python3 "$ROOFTILE_SOURCE/scripts/dataset_parquet.py" clone.out -o clone.parquet
    succeeds parquet python3 "$ROOFTILE_SOURCE/scripts/dataset_parquet.py" clone.out -o clone.parquet
    python3 - >parquet.txt <<'EOF'
from pyarrow import parquet
rows = parquet.read_table("clone.parquet").to_pylist()
print(len(rows), any(name.startswith("dim") for name in rows[0]))
for row in rows:
    if row["op"] == "gemm" and row["dtype"] == "fp4":
        print(row["m"], row["n"], row["k"], row["tokens"], row["latency_us"], row["device"], row["attribute.kernel_source"])
    if row["op"] == "delta_rule_context":
        print(row["batch"], row["tokens"], row["v_heads"], row["gates"], row["m"])
EOF
    is parquet_rows "$(cat parquet.txt)" "29 False
2 8 32 1 None
16 64 512 None 20.0 NVIDIA H200 c"
    fails_saying "name a folder that" python3 "$ROOFTILE_SOURCE/scripts/dataset_parquet.py" none -o none.parquet
    succeeds clone_back "$ROOFTILE" dataset import --format csv clone.out -o back.h5
    fails_saying "holds no table that is converted" python3 "$scripts/aiconfigurator_clone.py" clone -o again
else
    echo "skipped clone: no python3 with pyarrow"
fi

# ---- vidur: ops of a layer, twice, and an attention ----
python3 - <<'EOF'
import csv, os
names = ["emb", "input_layernorm", "attn_pre_proj", "attn_rope", "attn_post_proj", "post_attention_layernorm", "mlp_up_proj", "mlp_act",
         "mlp_down_proj", "add"]
sizes = {"n_head": 32, "n_kv_head": 8, "n_embd": 4096, "n_expanded_embd": 14336, "vocab_size": 128256, "use_gated_mlp": True,
         "num_tokens": 16, "num_tensor_parallel_workers": 2}
stat = lambda ms: dict(min=ms, max=ms, mean=ms, median=ms, std=0)
def table(path, rows):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", newline="") as file:
        out = csv.DictWriter(file, rows[0])
        out.writeheader()
        out.writerows(rows)
def layer(first, **other):
    times = {f"time_stats.{name}.{s}": v for i, name in enumerate(names) for s, v in stat(first + i / 1000).items()}
    return {**times, **sizes, **other}
rows = [layer(0.003), layer(0.005), layer(0.004, use_gated_mlp=False, num_tensor_parallel_workers=1)]
rows[1]["time_stats.add.mean"] = 0.1  # far from its median
table("synthetic/data/profiling/compute/a40/any/model/mlp.csv", rows)
attention = {"n_embd": 4096, "n_q_head": 32, "n_kv_head": 8, "num_tensor_parallel_workers": 2, "batch_size": 4, "prefill_chunk_size": 0,
             "kv_cache_size": 64, "is_prefill": False}
for kind in "decode", "prefill":
    attention.update({f"time_stats.attn_{kind}.{s}": v if kind == "decode" else "" for s, v in stat(0.02).items()})
prefill = {**attention, "is_prefill": True, "prefill_chunk_size": 32, "batch_size": 1}
for s in stat(0):
    prefill[f"time_stats.attn_decode.{s}"], prefill[f"time_stats.attn_prefill.{s}"] = "", 0.03
table("synthetic/data/profiling/attention_history/a100/attention.csv", [attention, prefill])

layers = [(name, 3, 1000 * i + 5000) for i, name in enumerate(("embedding", "q_proj", "k_proj", "rope", "attn", "down_proj", "lm_head"))]
table("sim/profiler/v0/perf_models/A6000/meta-llama/Llama-3.1-8B/tp2/layers.csv",
      [{"layer_name": n, "input": t, "kv_cache": 0, "tp_size": 2, "latency(ns)": ns} for n, t, ns in layers])
keys = {"n_embd": 4096, "n_q_head": 32, "n_kv_head": 8, "num_tensor_parallel_workers": 2, "batch_size": 1, "prefill_chunk_size": 32,
        "kv_cache_size": 96, "is_prefill": True, "time_stats.attn_prefill.median": 0.01}
table("sim/profiler/v0/perf_models/A6000/meta-llama/Llama-3.1-8B/tp2/attention.csv", [keys, {**keys, "is_prefill": False}])

new = "sim/profiler/perf/RTX4090/meta-llama/Llama-3.1-8B/bf16"
table(new + "/tp2/dense.csv", [{"layer": n, "tokens": 3, "time_us": 5} for n in ("act_fn", "gate_up_proj", "rotary_emb", "layernorm")])
table(new + "/tp2/per_sequence.csv", [{"layer": n, "sequences": 4, "time_us": 6} for n in ("lm_head", "sampler")])
chunk = {"prefill_chunk": 16, "kv_prefill": 32, "n_decode": 0, "kv_decode": 0, "time_us": 7}
table(new + "/tp2/attention.csv", [chunk, {**chunk, "n_decode": 2, "kv_decode": 64},
                                   {**chunk, "prefill_chunk": 0, "kv_prefill": 0, "n_decode": 2, "kv_decode": 64}])
open(new + "/meta.yaml", "w").write("profiler_version: 1.0.0\nvllm_version: 0.19.0\n")

def messages(op, rows):
    return [{**{f"time_stats.{op}.{s}": v for s, v in stat(ms).items()}, "num_workers": p, "size": size, "devices_per_node": node}
            for p, node, size, ms in rows]
# the second message waited for another rank, the fourth went over the network
table("links/data/profiling/network/a100_dgx/all_reduce.csv",
      messages("all_reduce", [(2, 2, 2048, 0.01), (2, 2, 4096, 0.05), (2, 2, 8192, 0.012), (2, 1, 2048, 0.04)]))
for pair in "a100", "h100":  # the same file twice
    table(f"links/data/profiling/network/{pair}_pairwise_nvlink/send_recv.csv", messages("send_recv", [(2, 2, 2048, 0.004)]))
table("links/data/profiling/network/a40_pairwise_nvlink/send_recv.csv", messages("send_recv", [(2, 2, 2048, 0.003)]))

table("links/data/profiling/network/RTX 6000 Ada/all_reduce.csv", messages("all_reduce", [(2, 2, 2048, 0.02)]))
table("links/data/profiling/network/B9000/all_reduce.csv", messages("all_reduce", [(2, 2, 2048, 0.021)]))

run = dict(source="cluster", file="", gpu="NVIDIA H100 80GB HBM3", ranks=8, nodes=1, collective="all_gather_perf", bytes=4096, type="double", us_out=20)
table("nccl/rows.csv", [run, dict(run, us_out=30), dict(run, collective="all_reduce_output.dat", nodes=2, file="x"),
                         dict(run, collective="all_reduce_output.dat.3", nodes=2, type="float", file="alcf/results_polaris/a"), dict(run, collective="sendrecv_perf")])

product = {"M": 4, "N": 576, "K": 256, "avg_duration": 5.5, "hardware": "NVIDIA H200"}
table("fp8/dataset/gemm_fp8_test.csv", [product])
table("fp8/dataset/gemm_fp8_train.csv", [{**product, "M": 8, "hardware": "NVIDIA H800"}, {**product, "hardware": "NVIDIA B9000"}])
EOF
import_of vidur synthetic
samples() { cut -d, -f"$2" "$1.out/samples.csv" | sort; }
is vidur_ops "$(samples vidur 1 | uniq -c | awk '{print $2 $1}' | tr '\n' ' ')" \
    "add2 attention_context1 attention_generation1 embedding1 gelu1 gemm7 layernorm1 op1 rmsnorm1 rotary2 silu_mul1 "
holds vidur_rotary "rotary,fp16,forward,none,NVIDIA A40,0,16,2560," vidur.out/samples.csv
holds vidur_gated "silu_mul,fp16,forward,none,NVIDIA A40,0,16,7168," vidur.out/samples.csv
holds vidur_qkv "gemm,fp16,forward,none,NVIDIA A40,0,16,3072,4096," vidur.out/samples.csv
holds vidur_decode "attention_generation,fp16,forward,none,NVIDIA A100-SXM4-80GB,1,4,1,64,16,4,128,0,0," vidur.out/samples.csv
holds vidur_prefill "attention_context,fp16,forward,none,NVIDIA A100-SXM4-80GB,1,1,32,64,16,4,128,0,0," vidur.out/samples.csv
is vidur_merged "$(grep '^rmsnorm' vidur.out/samples.csv | cut -d, -f21)" 7
is vidur_loads "$(grep -c 'queued scalar_loads' vidur.out/samples.csv)" 4
is vidur_queued "$(grep -c queued vidur.out/samples.csv)" "$(($(wc -l <vidur.out/samples.csv) - 1))"
holds vidur_unstable "kept: 1 times flagged unstable" vidur.txt
holds vidur_left_out "left out: 1 times an addition of three tensors" vidur.txt
holds vidur_corpus "corpus,vidur" vidur.out/groups.csv

import_of collectives links
is links_ops "$(samples collectives 1 | uniq -c | awk '{print $2 $1}' | tr '\n' ' ')" "all_reduce3 op1 send_receive1 "
holds links_dims "all_reduce,fp16,forward,none,NVIDIA A100-SXM4-80GB,2,2,1024,0,0," collectives.out/samples.csv
holds links_fabric "send_receive,fp16,forward,none,NVIDIA A40,3,2,1024,6,0," collectives.out/samples.csv
holds links_by_name "all_reduce,fp16,forward,none,NVIDIA RTX 6000 Ada Generation,1,2,1024,0,0," collectives.out/samples.csv
holds links_unknown "left out: 1 times B9000: no board of the catalogue" collectives.txt
holds links_waited "left out: 1 times waited for another rank" collectives.txt
holds links_network "left out: 1 times over the network" collectives.txt
holds links_twice "left out: 2 times the same file under two GPUs" collectives.txt

import_of nccl_tests nccl
is nccl_mean "$(grep -c '^all_gather,fp64,forward,none,NVIDIA H100 80GB HBM3,0,8,512,0,0,.*,25,' nccl_tests.out/samples.csv)" 1
is nccl_network "$(grep -c '^all_reduce,fp32,forward,none,NVIDIA H100 80GB HBM3,1,8,1024,0,0,4,4,12500,' nccl_tests.out/samples.csv)" 1
holds nccl_servers "left out: 1 times between servers whose network is not known" nccl_tests.txt
holds nccl_ring "left out: 1 times sendrecv_perf" nccl_tests.txt

import_of llmservingsim sim
is sim_ops "$(samples llmservingsim 1 | uniq -c | awk '{print $2 $1}' | tr '\n' ' ')" "attention_context2 attention_generation1 embedding1 gemm6 op1 rotary1 silu_mul1 "
holds sim_vllm "gemm,bf16,forward,none,NVIDIA GeForce RTX 4090,0,3,14336,4096," llmservingsim.out/samples.csv
holds sim_vllm_head "gemm,bf16,forward,none,NVIDIA GeForce RTX 4090,0,4,64128,4096," llmservingsim.out/samples.csv
holds sim_vllm_chunk "attention_context,bf16,forward,none,NVIDIA GeForce RTX 4090,0,1,16,32,16,4,128,0,0," llmservingsim.out/samples.csv
holds sim_vllm_step "attention_generation,bf16,forward,none,NVIDIA GeForce RTX 4090,0,2,1,64,16,4,128,0,0," llmservingsim.out/samples.csv
holds sim_vllm_mixed "left out: 1 times attention of prefill and decoding in one batch" llmservingsim.txt
holds sim_vllm_others "left out: 2 times a norm that adds, or sampling" llmservingsim.txt
holds sim_vllm_version "library,vLLM 0.19.0" llmservingsim.out/groups.csv
holds sim_head "gemm,fp16,forward,none,NVIDIA RTX A6000,1,3,64128,4096," llmservingsim.out/samples.csv
holds sim_attention "attention_context,fp16,forward,none,NVIDIA RTX A6000,2,1,32,64,16,4,128,0,0," llmservingsim.out/samples.csv
holds sim_chains "left out: 1 times a norm, rotary embedding or activation" llmservingsim.txt
holds sim_decode "left out: 1 times decoding whose keys are not split" llmservingsim.txt

import_of pipeweave_gemm fp8
holds fp8_both_files "gemm,fp8_block,forward,none,NVIDIA H800,0,8,576,256," pipeweave_gemm.out/samples.csv
holds fp8_unknown "left out: 1 times NVIDIA B9000: no board of the catalogue" pipeweave_gemm.txt
holds fp8_rows "gemm,fp8_block,forward,none,NVIDIA H200,0,4,576,256," pipeweave_gemm.out/samples.csv

# ---- deepbench: names of sheets and columns, swapped axes, padded channels, int8 ----
mkdir -p bench
head=file,sheet,kind,w,h,c,n,k,s,r,pad_w,pad_h,stride_w,stride_h,fwd_ms,bwd_input_ms,bwd_filter_ms
printf '%s\n' $head >bench/conv.csv
cat >>bench/conv.csv <<'EOF'
DeepBench_NV_P100.xlsx,Results FP32,train,700,161,1,4,32,5,20,0,0,2,2,0.1,0.2,0.3
DeepBench_NV_V100.xlsx,"Results - FP16 ip, Mixed math",train,224,224,3,16,64,7,7,3,3,2,2,0.4,N/A*,0.6
DeepBench_NV_T4.xlsx,Results - Mixed Precision,inference,56,56,64,1,64,3,3,1,1,1,1,0.02,,
DeepBench_NV_M40.xlsx,Results - FP32,train,56,28,64,8,64,3,1,1,0,1,2,0.7,0.8,0.9
DeepBench_AMD_VegaFE.xlsx,Results FP32,train,700,161,1,4,32,20,5,0,0,2,2,0.1,N/A*,0.5
EOF
printf '%s\n' file,sheet,kind,m,n,k,a_t,b_t,ms 'DeepBench_NV_TitanX.xlsx,Results - FP32,train,1760,16,1024,N,N,0.5' >bench/gemm.csv
import_of deepbench bench
is bench_phases "$(samples deepbench 1,2,3 | uniq -c | awk '{print $2 $1}' | tr '\n' ' ')" \
    "conv2d,fp16,accumulate1 conv2d,fp16,forward1 conv2d,fp32,accumulate3 conv2d,fp32,backward2 conv2d,fp32,forward3 gemm,fp32,backward1 op,dtype,phase1 "
holds bench_axes "conv2d,fp32,backward,none,Tesla P100-PCIE-16GB,0,4,1,32,161,700,5,20,2,0,1,1,,,,200" deepbench.out/samples.csv
holds bench_two_axes "conv2d,fp32,forward,none,Tesla M40,0,8,64,64,28,56,1,3,2,0,1,1,1,1,,700" deepbench.out/samples.csv
holds bench_channels "conv2d,fp16,forward,none,Tesla V100-SXM2-16GB,0,16,8,64,224,224,7,7,2,3,1,1,,,,400" deepbench.out/samples.csv
holds bench_product "gemm,fp32,backward,none,NVIDIA GeForce GTX TITAN X,1,16,1760,1024," deepbench.out/samples.csv
holds bench_int8 "left out: 1 times of the inference set, in int8" deepbench.txt
holds bench_vega "conv2d,fp32,accumulate,none,Radeon Vega Frontier Edition,0,4,1,32,161,700,5,20,2,0,1,1,,,,500" deepbench.out/samples.csv
holds bench_not_measured "left out: 2 times conv2d backward: not measured" deepbench.txt
sed 's/Results FP32/Results FP64/' bench/conv.csv >bench/other.csv && mkdir -p other && mv bench/other.csv other/conv.csv && cp bench/gemm.csv other
if python3 "$scripts/deepbench.py" other -o none 2>message; then not_ok bench_unknown_sheet; else ok bench_unknown_sheet; fi
holds bench_names_the_sheet "Results FP64" message

# ---- aiter: searched again, dense sweeps, names of dtypes, times handed on ----
mkdir -p tuned finds
cat >tuned/gemm.csv <<'EOF'
gpu,cu_num,dtype,outdtype,batch,m,n,k,bias,bpreshuffle,us,us_min,date,libtype,file
MI308X,80,bfloat16,bfloat16,1,64,512,1024,,,12,12,2026-01-02,asm,a.csv
MI308X,80,bfloat16,bfloat16,1,64,512,1024,,,10,10,2026-01-03,opus,b.csv
MI308X,80,bfloat16,bfloat16,1,64,512,1024,,,11,11,2025-12-30,,c.csv
MI308X,80,bfloat16,float32,1,128,512,1024,,,15,15,2026-01-03,opus,b.csv
MI300X or MI325X,304,a8w8blockscale,,1,1536,512,1024,,,20,20,2026-01-03,ck,b.csv
MI300X or MI325X,304,a8w8blockscale,,1,1600,512,1024,,,21,21,2026-01-03,ck,b.csv
MI300X or MI325X,304,a8w8,,16,64,512,128,,,9,9,2026-01-03,ck,b.csv
MI308X,80,a8w8:int8,,1,32,512,1024,,,6,6,2026-01-03,ck,b.csv
MI308X,80,a8w8:float8_e4m3fn,,1,32,512,1024,,,inf,inf,2026-01-03,ck,b.csv
MI308X,80,a8w8:float8_e4m3fn,,1,8192,8192,8192,,,5,5,2026-01-03,ck,b.csv
EOF
cat >tuned/fmoe.csv <<'EOF'
gfx,cu_num,token,model_dim,inter_dim,expert,topk,act,dtype,q_a,q_w,q_type,gated,weight_in_stage1,us,us1,us2,date,file
,80,16,4096,384,128,8,Silu,bfloat16,bfloat16,bfloat16,No,1,0,300,200,100,2026-01-03,a.csv
,80,8,4096,384,128,8,Silu,bfloat16,bfloat16,bfloat16,No,1,0,300,200,100,2026-01-03,a.csv
gfx942,304,16,4096,384,128,8,Silu,bfloat16,float8_e4m3fnuz,float8_e4m3fnuz,per_1x128,1,0,150,100,50,2026-01-03,a.csv
,,16,4096,384,128,8,Silu,bfloat16,bfloat16,bfloat16,No,1,0,310,200,110,2026-01-03,a.csv
,80,32,4096,384,128,8,Silu,bfloat16,float8_e4m3fnuz,int4,per_Tensor,1,0,160,100,60,2026-01-03,a.csv
EOF
import_of aiter tuned
is tuned_ops "$(samples aiter 1,2 | uniq -c | awk '{print $2 $1}' | tr '\n' ' ')" \
    "bmm,fp81 gemm,bf161 gemm,fp8_block1 gemm,int81 moe,bf161 moe,fp8_block1 op,dtype1 "
holds tuned_newest "gemm,bf16,forward,none,AMD Instinct MI308X,0,64,512,1024,,,,,,,,,,,,10" aiter.out/samples.csv
holds tuned_batch "bmm,fp8,forward,none,AMD Instinct MI300X,0,16,64,512,128," aiter.out/samples.csv
holds tuned_experts "moe,bf16,forward,none,AMD Instinct MI308X,1,16,4096,384,8,128,1,1,0," aiter.out/samples.csv
for why in "1 times experts with the time of another" "1 times of the dense sweep" "2 times searched again" "1 times gemm at more than its peak" \
    "1 times without a time" "1 times bf16 with a result in fp32" "1 times experts on a GPU" "1 times experts with weights in 4 bits"; do
    holds "tuned_${why#* times }" "left out: $why" aiter.txt
done

# ---- miopen: boards by design and units, passes, both axes, layouts, units for bf16 ----
cat >finds/conv2d.csv <<'EOF'
db,gpu,n,c,h,w,k,r,s,out_h,out_w,pad_h,pad_w,stride_h,stride_w,dil_h,dil_w,groups,layout,dtype,dir,best_ms,best_solver,workspace,solvers,median_ms
gfx90a68,x,8,64,28,56,128,3,1,28,28,1,0,1,2,1,1,2,NHWC,BF16,W,0.5,a,0,2,1
gfx906_60,x,8,64,28,28,128,3,3,28,28,1,1,1,1,1,1,1,NCHW,BF16,F,0.5,a,0,2,1
gfx906_60,x,8,64,28,28,128,3,3,28,28,1,1,1,1,1,1,1,NCHW,FP32,B,0.5,a,0,2,1
gfx90878,x,8,64,2,2,128,3,3,1,1,0,0,1,1,1,1,1,NCHW,FP16,F,0.5,a,0,2,1
gfx90878,x,8,64,28,28,128,3,3,28,28,1,1,1,1,1,1,1,NCHW,FP16,F,0.0001,a,0,2,1
gfx90878,x,8,64,28,28,128,3,3,28,28,1,1,1,1,1,1,1,NCHW,INT8,F,0.5,a,0,2,1
EOF
import_of miopen finds
is finds_kept "$(grep -c '^conv2d,' miopen.out/samples.csv)" 2
holds finds_axes "conv2d,bf16,accumulate,none,AMD Instinct MI210,0,8,64,128,28,56,3,1,1,1,1,2,2,0,1,500" miopen.out/samples.csv
holds finds_backward "conv2d,fp32,backward,none,Radeon Instinct MI50,0,8,64,128,28,28,3,3,1,1,1,1" miopen.out/samples.csv
for why in "bf16 without a unit" "that no image of its size has" "at more than 4 times the peak" int8; do
    holds "finds_${why}" "left out: 1 times $why" miopen.txt
done

# ---- sustained: boards by several names, units that a board lacks, rates that cannot be ----
mkdir -p peaks
cat >peaks/peaks.csv <<'EOF'
device,fp32_tflops,tf32_tflops,fp16_tflops,bf16_tflops
NVIDIA RTX 5090 Laptop 24GB,28.00,,95.00,97.00
NVIDIA GeForce RTX 5090 Laptop GPU,30.00,45.00,60.00,200.00
NVIDIA GeForce RTX 2080 Ti 22GB,13.00,12.90,58.00,7.00
NVIDIA GeForce GTX 1660 Ti,5.20,,0.60,2.80
NVIDIA GeForce RTX 4070 Ti SUPER *OC,33.00,50.00,99.00,99.00
MTT S70,4.00,N/A,0.39,N/A
EOF
import_of sustained peaks
is peaks_kept "$(grep -c '^gemm,' sustained.out/samples.csv)" 7
holds peaks_dims "gemm,fp32,backward,none,NVIDIA GeForce RTX 2080 Ti,1,8192,8192,8192," sustained.out/samples.csv
is peaks_merged "$(grep -c '^gemm,fp32.*Laptop.*,37959.3[0-9]*,,,,2,' sustained.out/samples.csv)" 1
holds peaks_design "design,12.0 Blackwell" sustained.out/groups.csv
holds peaks_units "left out: 2 times bf16 without units for it" sustained.txt
holds peaks_tf32 "left out: 1 times tf32 without units for it" sustained.txt
holds peaks_beyond "200.00 TFLOP/s, more than 1.25 of its peak of 90.7" sustained.txt
holds peaks_behind "60 TFLOP/s, less than 0.75 of another's 95" sustained.txt
holds peaks_fp16 "left out: 1 times fp16 at less than half of fp32" sustained.txt
holds peaks_memory "kept: 1 times of a board with more memory than its vendor gave it" sustained.txt
holds peaks_unknown "left out: 1 times MTT S70: no board of the catalogue" sustained.txt
holds peaks_clocked "left out: 1 times overclocked" sustained.txt

# What lies in ../shared, whatever it holds: all that a converter says it made is in the dataset.
shared_of() { # NAME FOLDER
    import_of "$1" "$2"
    is "$1_all" "$(($(wc -l <"$1.out/samples.csv") - 1))" "$(awk '/^[^:]+: [^:]+: [0-9]+ samples$/ { sum += $(NF - 1) } END { print sum + 0 }' "$1.txt")"
}
for name in aiter deepbench miopen vidur llmservingsim pipeweave_gemm sustained; do
    if python3 "$scripts/$name.py" "$work" -o none 2>message; then not_ok "${name}_wrong_folder"; else ok "${name}_wrong_folder"; fi
    holds "${name}_says_what" "name the corpus' own folder" message
    folder=$shared/${name%_gemm}
    if [ -d "$folder" ]; then shared_of "$name" "$folder"; else echo "skipped $name of $folder: not there"; fi
done
[ ! -d "$shared/aiter" ] || succeeds aiter_possible "$ROOFTILE" dataset validate aiter.h5
[ ! -d "$shared/vidur" ] || succeeds vidur_possible "$ROOFTILE" dataset validate vidur.h5
finish

# ---- OpenXLA's collectives: whole messages, times from rates ----
mkdir xla-folder
cat >xla-folder/collective.csv <<'EOF2'
device,opcode,elements_f32,groups,gpus_per_group,pairs,bytes_per_s
sm_90,all-gather,1048576,1,8,0,4194304000
sm_90,all-reduce,1024,1,8,0,1e9
EOF2
import_of xla xla-folder
holds xla_left "1 times below 1 MiB" xla.txt
holds xla_time ",1000," xla.out/samples.csv
