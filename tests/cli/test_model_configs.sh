#!/usr/bin/env bash
# All configs of AIConfigurator's repository, where a clone of it lies beside the source: each becomes a graph of a
# decode step and of a prefill as servers run them on 8 GPUs, and those named below have as many parameters as
# transformers 5.23 counts on PyTorch's meta device (MiniMax-M3 and Step-3.7 as their classes of text).
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
configs=$ROOFTILE_SOURCE/../shared/aiconfigurator-clone/aic-core/src/aiconfigurator_core/model_configs
[ -d "$configs" ] || skip_all model_configs "no configs of AIConfigurator beside the source"
command -v python3 >/dev/null || skip_all model_configs "no python3"

for mode in "decode --batch 8 --context 2048" "inference --batch 1 --seq 1024"; do
    refused=0
    for file in "$configs"/*.json; do
        # shellcheck disable=SC2086
        "$ROOFTILE" graph --model "$file" --runtime serving --tp 8 --mode $mode --json >/dev/null 2>"$work/stderr" ||
            { refused=$((refused + 1)); echo "# $(basename "$file"): $(tail -n 1 "$work/stderr")"; }
    done
    is "all_${mode%% *}" "$refused" 0
done
is configs_there "$(($(ls "$configs" | grep -c 'config.json$') >= 113))" 1

while read -r name parameters; do
    "$ROOFTILE" graph --model "$configs/${name}_config.json" --runtime serving --dtype bf16 --json >"$work/graph.json" 2>"$work/stderr"
    is "parameters_$name" "$(python3 -c 'import json, sys; print(int(json.load(sys.stdin)["totals"]["parameters"]))' <"$work/graph.json")" \
        "$parameters"
done <<'END'
MiniMaxAI--MiniMax-M3 426174565632
Qwen--Qwen3.5-122B-A10B 122111526912
Qwen--Qwen3.5-27B 26895998464
Qwen--Qwen3.5-397B-A17B 396346350336
XiaomiMiMo--MiMo-V2-Flash 308778768832
deepseek-ai--DeepSeek-V3.2 671877929216
deepseek-ai--DeepSeek-V4-Flash 284332230231
deepseek-ai--DeepSeek-V4-Pro 1572997179491
google--gemma-4-26B-A4B 25233141760
nvidia--Gemma-4-31B-IT-NVFP4 30697345280
nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16 31577937344
nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8 120668687360
nvidia--NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16 549308968960
nvidia--Nemotron-H-56B-Base-8K 56324350464
nvidia--Qwen3.6-35B-A3B-NVFP4 34660610688
stepfun-ai--Step-3.7-Flash 195844496640
zai-org--GLM-5 743911199232
zai-org--GLM-5.2 743377000704
END

# What a step keeps: DeepSeek-V4's compressed keys and its window, a state space's states, whatever the context.
cache() { "$ROOFTILE" graph --model "$configs/$1_config.json" --runtime serving --dtype bf16 --mode decode --batch 1 --context "$2" --json 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["memory"]["cache"])'; }
full=$(cache deepseek-ai--DeepSeek-V3 65535) compressed=$(cache deepseek-ai--DeepSeek-V4-Flash 65535)
is compressed_keys_are_few "$(python3 -c "print($compressed < 0.2 * $full)")" True
short=$(cache nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16 1023) long=$(cache nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16 2047)
is states_do_not_grow "$(python3 -c "print($long < 1.5 * $short)")" True
finish
