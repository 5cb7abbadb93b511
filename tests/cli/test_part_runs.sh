# Runs on parts of GPUs, and their memory, from converter to dataset: excerpts in the layouts of four corpora (times are made up).
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all part_runs "no python3"
export PYTHONDONTWRITEBYTECODE=1
scripts="$ROOFTILE_SOURCE/scripts/corpora"
shared="$ROOFTILE_SOURCE/../shared"
a100="NVIDIA A100-SXM4-40GB"
cd "$work"

# ---- MIGProfiler: a run in three files, another measurement of it, rows of zeros ----
data=mig/data/A100-40g
mkdir -p $data/infer_bsz/bert-base $data/infer_seq/bert-base $data/finetune_moco
header=model_name,total_params,seq_length,batch_size,latency,latency_std,throughput,start_timestamp,end_timestamp
run=bert-base-multilingual-cased,177853440,64,32,52.0,0.02,604.29,1656801546,1656801666
printf '%s\n' $header $run >$data/infer_bsz/bert-base/bert-base-multilingual-cased_MIG_profile_19.csv
printf '%s\n' ",$header,gract_mean,gract_std,fb_used_mean,fb_used_std" "0,$run,0.666,0.059,2350.5,10.3" \
    >$data/infer_bsz/bert-base/bert_base_infer_05g_bsz.csv
printf '%s\n' "Unnamed: 0,$header,gract_mean,gract_std,fb_used_mean,fb_used_std,instance_memory" "0,$run,0.666,0.059,2350.5,10.3,5" \
    >$data/infer_bsz/bert-base/bert-base_bsz.csv
printf '%s\n' ",$header,gract_mean,gract_std,fb_used_mean,fb_used_std" "0,${run/52.0/54.0},0.5,0.1,2360.5,1.0" | sed s/1656801546/1656775990/ \
    >$data/infer_seq/bert-base/bert-base_infer_05g_seq.csv
header=model_name,batch_size,latency,latency_std,throughput,start_timestamp,end_timestamp,gract_mean,gract_std,fb_used_mean,fb_used_std,mig
cat >$data/finetune_moco/moco_finetune.csv <<END
Unnamed: 0,$header
0,resnet50_moco,16,0.0,0.0,0.0,0,0,0.0,0.0,0.0,0.0,5
1,resnet50_moco,32,0.0,0.0,0.0,0,0,0.0,0.0,0.0,0.0,5
0,resnet50_moco,16,87.18,0.02,183.53,1657287140,1657287261,0.87,0.127,3497.0,157.9,10
1,resnet50_moco,32,159.41,0.03,200.74,1657287368,1657287489,0.871,0.127,4989.0,293.3,10
END
succeeds migprofiler python3 "$scripts/migprofiler.py" mig -o mig.csv
cp stdout mig.txt
is "slices" "$(cells device mig.csv)" "$a100:1g.5gb|$a100:2g.10gb|$a100:2g.10gb|$a100:1g.5gb"
is "models" "$(cells model mig.csv)" "bert-base-multilingual-cased|resnet50|resnet50|resnet50"
is "each run once, the median of its measurements" "$(cells end_to_end_us mig.csv)" "53000|87180|159410|"
is "memory with it" "$(cells memory_used_mib mig.csv)" "2355.5|3497|4989|"
is "a row of zeros that took more elsewhere" "$(cells out_of_memory mig.csv)" "|||1"
is "products in TF32" "$(cells dtype mig.csv | cut -d '|' -f 1)" tf32
is "training with its optimiser" "$(cells mode mig.csv)|$(cells optimizer mig.csv)" "inference|training|training|training||momentum|momentum|momentum"
holds "one that took less is left out" "left out: 1 rows, zeros: resnet50 at batch 16 on 1g.5gb, which would fit" mig.txt
holds "what did not fit is counted" "out of memory: 1 runs" mig.txt
fails_saying "holds no data/A100-40g/**/*.csv" python3 "$scripts/migprofiler.py" mig/data -o none.csv

# ---- optimum-benchmark: three layouts of its files, in MB ----
runs=optimum/examples
mkdir -p $runs/running-llamas/artifacts/Llama-7b $runs/running-vicunas/artifacts/A100-80GB $runs/copy/artifacts
common=backend.name,backend.version,backend.torch_dtype,benchmark.name,benchmark.input_shapes.batch_size,benchmark.input_shapes.sequence_length
common=$common,benchmark.generate_kwargs.max_new_tokens,experiment_name,model,environment.transformers_version,environment.gpus
cat >$runs/running-llamas/artifacts/Llama-7b/full_report.csv <<END
,$common,backend.quantization_scheme,backend.use_flash_attention_2,backend.quantization_config.exllama_config.version,forward.latency(s),forward.max_memory_used(MB),forward.max_memory_allocated(MB),forward.max_memory_reserved(MB),generate.latency(s),generate.max_memory_used(MB),generate.max_memory_allocated(MB),generate.max_memory_reserved(MB)
0,pytorch,2.1.1+cu118,float16,inference,4,256,512,fp16+fa2,NousResearch/Llama-2-7b-hf,4.35.2,['NVIDIA A100-SXM4-80GB'],,True,,0.1,16777.216,10485.76,15728.64,13.5,20971.52,18874.368,20971.52
1,pytorch,2.1.1+cu118,float16,inference,4,256,512,gptq,TheBloke/LLaMa-7B-GPTQ,4.35.2,['NVIDIA A100-SXM4-80GB'],gptq,False,2,0.2,1,1,1,14,2,2,2
END
cat >$runs/running-vicunas/artifacts/A100-80GB/full_report.csv <<END
$common,forward.latency(s),forward.peak_memory(MB),generate.latency(s),generate.peak_memory(MB)
pytorch,2.1.0,float16,inference,2,128,256,awq+gemv-batch_size(2),IlyasMoutawwakil/vicuna-7b-v1.5-awq-gemv,4.35.0,"['NVIDIA A100-SXM4-80GB', 'NVIDIA A100-SXM4-80GB']",0.06,6000,6.8,6000
pytorch,2.1.0,,inference,2,128,,bge,BAAI/bge-base-en-v1.5,4.35.0,['NVIDIA A100-SXM4-80GB'],0.01,2097.152,,
onnxruntime,1.15,,inference,2,128,,bge,BAAI/bge-base-en-v1.5,4.35.0,['NVIDIA A100-SXM4-80GB'],0.01,1000,,
pytorch,2.1.0,float16,training,2,128,,lora,NousResearch/Llama-2-7b-hf,4.35.0,['NVIDIA A100-SXM4-80GB'],,,,
END
cp $runs/running-vicunas/artifacts/A100-80GB/full_report.csv $runs/copy/artifacts
succeeds optimum_benchmark python3 "$scripts/optimum_benchmark.py" optimum -o optimum.csv
cp stdout optimum.txt
is "networks" "$(cells model optimum.csv)" "bge-base-en-v1.5|llama-2-7b|llama-2-7b|llama-2-7b|llama-2-7b|llama-2-7b|llama-2-7b"
is "forward passes and generations" "$(cells mode optimum.csv)|$(cells output optimum.csv)" \
    "inference|generation|inference|generation|generation|inference|inference||256||512|512||"
is "quantised weights" "$(cells quant optimum.csv)" "|int4|int4||int4||int4"
is "who multiplies them" "$(cells backend optimum.csv)" "transformers|awq-gemv|awq-gemv|transformers|gptq-exllama-v2|transformers|gptq-exllama-v2"
is "fused attention" "$(cells runtime optimum.csv)" "eager-math|eager-math|eager-math|eager|eager-math|eager|eager-math"
is "MiB of MB" "$(cells memory_used_mib optimum.csv | cut -d '|' -f 1,4,6)" "2000|20000|16000"
is "what the allocator says" "$(cells memory_reserved_mib optimum.csv | cut -d '|' -f 4,6)|$(cells memory_allocated_mib optimum.csv | cut -d '|' -f 4,6)" \
    "20000|15000|18000|10000"
is "equal peaks are the generation's" "$(cells memory_used_mib optimum.csv | cut -d '|' -f 2,3)" "5722.0459|"
holds "other runtimes are counted" "left out: 1 rows, ONNX Runtime" optimum.txt
holds "so are adapters" "left out: 1 rows, fine-tuning of adapters" optimum.txt
holds "and copies" "left out: 4 rows, the same row in another folder" optimum.txt
succeeds "it is imported" "$ROOFTILE" dataset import -f workloads optimum.csv -o optimum.h5 --strict
fails_saying "holds no examples/*/artifacts/**/full_report.csv" python3 "$scripts/optimum_benchmark.py" mig -o none.csv

# ---- MISO: steps of scripts that graphs have, and of others ----
mkdir miso
cat >miso/steps.csv <<'END'
slice,model,batch,steps,median_s,p10_s,p90_s
2g.10gb,bert,2,520,0.1213,0.12,0.122
7g.40gb,resnet,64,520,0.0283,0.028,0.03
1g.5gb,cyclegan,1,520,0.5975,0.5967,0.5987
END
succeeds miso python3 "$scripts/miso.py" miso -o miso.csv
is "scripts are models" "$(cells model miso.csv)|$(cells sequence miso.csv)|$(cells image miso.csv)" "miso/cyclegan|bert-base-cased|resnet50||512||||32"
is "median steps" "$(cells end_to_end_us miso.csv)|$(cells device miso.csv)" "597500|121300|28300|$a100:1g.5gb|$a100:2g.10gb|$a100:7g.40gb"
succeeds "slices are devices" "$ROOFTILE" dataset import -f workloads miso.csv -o miso.h5 --strict
succeeds "runs on slices" "$ROOFTILE" evaluate -p roofline --workloads miso.h5
holds "of models that are known" "NVIDIA A100-SXM4-40GB:2g.10gb" stdout
holds "and of others, counted" "miso/cyclegan" stdout
fails_saying "holds no steps.csv" python3 "$scripts/miso.py" mig -o none.csv

# ---- MLPerf: a whole GPU, a slice alone, one with its neighbours ----
mkdir mlperf
cat >mlperf/closed_summary.csv <<'END'
round,submitter,system,accelerator,accelerators_per_node,nodes,framework,model,scenario,run,valid,samples_per_second,p50_ns,p90_ns,p99_ns,mean_ns,path
v1.0,NVIDIA,DGX_8_TRT,NVIDIA A100-SXM-80GB,8,1,TensorRT 7,resnet50,Offline,run_1,VALID,8000,1,1,1,1,p
v1.0,NVIDIA,DGX_1_TRT,NVIDIA A100-SXM-80GB,1,1,TensorRT 7,resnet50,SingleStream,run_1,VALID,,1,1,1,500000,p
v1.0,NVIDIA,DGX_8_TRT,NVIDIA A100-SXM-80GB,8,1,TensorRT 7,resnet50,SingleStream,run_1,VALID,,1,1,1,600000,p
v1.0,NVIDIA,MIG_1x1g.10gb_TRT,NVIDIA A100-SXM-80GB (1x1g.10gb MIG),1,1,TensorRT 7,resnet50,Offline,run_1,VALID,125,1,1,1,1,p
v1.0,NVIDIA,MIG_1x1g.10gb_TRT_HeteroMultiUse,NVIDIA A100-SXM-80GB (1x1g.10gb MIG),1,1,TensorRT 7,resnet50,Offline,run_1,VALID,100,1,1,1,1,p
v1.0,NVIDIA,MIG_56x1g.10gb_TRT,NVIDIA A100-SXM-80GB (7x1g.10gb MIG),8,1,TensorRT 7,resnet50,Offline,run_1,VALID,7000,1,1,1,1,p
v1.0,NVIDIA,DGX_8_TRT_MaxQ,NVIDIA A100-SXM-80GB,8,1,TensorRT 7,resnet50,Offline,run_1,VALID,4000,1,1,1,1,p
v1.0,NVIDIA,DGX_8_TRT,NVIDIA A100-SXM-80GB,8,1,TensorRT 7,resnet50,Server,run_1,VALID,4000,1,1,1,1,p
v1.0,NVIDIA,DGX_8_TRT,NVIDIA A100-SXM-80GB CTS,8,1,TensorRT 7,resnet50,Offline,run_1,VALID,4000,1,1,1,1,p
END
succeeds mlperf python3 "$scripts/mlperf.py" mlperf -o mlperf.csv
cp stdout mlperf.txt
is "time of a sample on one device" "$(cells end_to_end_us mlperf.csv)" "1000|500|8000|8000|10000"
is "beside what" "$(cells run mlperf.csv)" "v1.0 NVIDIA|v1.0 NVIDIA|v1.0 NVIDIA|v1.0 NVIDIA, all|v1.0 NVIDIA, neighbours"
holds "a slice alone" "A100-SXM4-80GB:1g.10gb offline, alone: 8.00 times the whole GPU's (8.00 to 8.00, 1 pairs)" mlperf.txt
holds "with its neighbours" "A100-SXM4-80GB:1g.10gb offline, neighbours: 10.00 times" mlperf.txt
for why in "scenario Server" "NVIDIA A100-SXM-80GB CTS: a board of another kind" "at a power limit (MaxQ)" "without a time of a sample on one device"; do
    holds "left out, $why" "left out: 1 rows, $why" mlperf.txt
done
succeeds "ratios are runs, too" "$ROOFTILE" dataset import -f workloads mlperf.csv -o mlperf.h5 --strict
fails_saying "holds no closed_summary.csv" python3 "$scripts/mlperf.py" mig -o none.csv

# ---- memory as attributes of runs ----
cat >memory.csv <<'END'
device,model,batch,sequence,mode,dtype,end_to_end_us,memory_allocated_mib,memory_used_mib,out_of_memory
NVIDIA H200,gpt2-large,4,1024,inference,fp16,100,2000.5,3000,
NVIDIA H200,gpt2-large,4096,1024,inference,fp16,,,,1
NVIDIA H200,gpt2-large,8,1024,inference,fp16,100,much,3000,0
NVIDIA H200,gpt2-large,8,1024,inference,fp16,100,0,3000,
NVIDIA H200,gpt2-large,8,1024,inference,fp16,100,,,1
NVIDIA H200,gpt2-large,8,1024,inference,fp16,100,,,yes
END
succeeds memory_import "$ROOFTILE" dataset import -f workloads memory.csv -o memory.h5
holds memory_words 'memory.csv:4: its attribute memory_allocated_mib is "much"; it must be MiB of memory, more than 0' stdout
holds memory_zero 'memory.csv:5: its attribute memory_allocated_mib is "0"' stdout
holds memory_time 'memory.csv:6: the run failed, but its end_to_end_us is "100"; leave either of the two empty' stdout
holds memory_flag 'memory.csv:7: its attribute out_of_memory is "yes"; it must be 0 or 1' stdout
succeeds memory_valid "$ROOFTILE" dataset validate memory.h5
succeeds memory_export "$ROOFTILE" dataset export memory.h5 -o folder
is "what did not fit has failed" "$(cells flags folder/workloads.csv)" "|failed"

# ---- evaluate: memory beside its forecast, what was said to fit ----
# memory_of: "batch allocated used fits" of each run of stdout
memory_of() { python3 -c "
import json
for r in json.load(open('stdout'))['memory']['rows']:
    print(r['batch'], *[r['forecast_mib'][k] for k in ('allocated', 'used')], r['fits'], r['device_mib'])"; }
evaluate="$ROOFTILE evaluate -p roofline --no-baseline --workloads"
succeeds memory_first $evaluate memory.h5 --json
read -r batch allocated used fits device <<<"$(memory_of | head -n 1)"
is "the run that fits is said to" "$batch $fits" "4 True"
read -r batch _ _ fits _ <<<"$(memory_of | tail -n 1)"
is "the one that does not, too" "$batch $fits" "4096 False"
# twice and half of what is forecast; a run that is said to fit but was out of memory, and the reverse
python3 - "$allocated" "$used" >judged.csv <<'END'
import sys
allocated, used = map(float, sys.argv[1:])
print('device,model,batch,sequence,mode,dtype,end_to_end_us,memory_allocated_mib,memory_reserved_mib,memory_used_mib,out_of_memory,place')
print(f'NVIDIA H200,gpt2-large,4,1024,inference,fp16,100,{allocated / 2!r},,{used!r},,here')
print(f'NVIDIA H200,gpt2-large,4,1024,inference,fp16,101,{allocated * 2!r},,,,here')
print('NVIDIA H200,gpt2-large,4,1024,inference,fp16,,,,,1,there')
print('NVIDIA H200,gpt2-large,4096,1024,inference,fp16,100,,,,,there')
END
succeeds judged_import "$ROOFTILE" dataset import -f workloads judged.csv -o judged.h5 --strict
succeeds judged $evaluate judged.h5 --by place --json
python3 - >judged.txt <<'END'
import json
report = json.load(open('stdout'))
for p in report['memory']['pools']:
    print(p['by'], p['value'], p['mode'], p['n'], *[f"{p[k]['n']}:{p[k]['mape']}:{p[k]['bias']}" for k in ('allocated', 'reserved', 'used')],
          p['ran'], p['said_not_to_fit'], p['out_of_memory'], p['said_to_fit'])
print(len(report['rows']), [s['reason'] for s in report['skipped']])
END
holds judged_all " all all 2 2:75.0:25.0 0:None:None 1:0.0:0.0 3 1 1 1" judged.txt
holds judged_mode " all inference 2 2:75.0:25.0" judged.txt
holds judged_by "place here inference 2 2:75.0:25.0 0:None:None 1:0.0:0.0 2 0 0 0" judged.txt
holds judged_by_other "place there inference 0 0:None:None 0:None:None 0:None:None 1 1 1 1" judged.txt
holds judged_skipped "3 ['it was out of memory, so it has no time']" judged.txt
succeeds judged_text $evaluate judged.h5
holds judged_heading "memory at its peak" stdout
holds judged_miss "gpt2-large-inf-1024-4 on NVIDIA H200: OUT OF MEMORY, SAID TO FIT, forecast" stdout
holds judged_other_miss "gpt2-large-inf-1024-4096 on NVIDIA H200: ran, said not to fit, forecast" stdout
for report in report.md report.json report.csv; do succeeds "$report" $evaluate judged.h5 --report $report; done
holds judged_markdown "out of memory" report.md
sed 's/,[0-9.]*,,[0-9.]*,,here/,,,,,here/; s/,,,,,1,there/,100,,,,,there/' judged.csv >plain.csv
succeeds plain_import "$ROOFTILE" dataset import -f workloads plain.csv -o plain.h5
succeeds plain $evaluate plain.h5 --json
is "nothing where nothing was measured" "$(python3 -c "import json; print(json.load(open('stdout'))['memory'])")" None

# ---- the corpora themselves, where they are, whatever was added to them ----
for line in migprofiler:migprofiler optimum_benchmark:optimum-benchmark miso:miso mlperf:mlperf; do
    IFS=: read -r name where <<<"$line"
    [ -e "$shared/corpora/$where" ] || continue
    succeeds "$name" python3 "$scripts/$name.py" "$shared/corpora/$where" -o "$name.csv"
    is "$name has its runs" "$(($(wc -l <"$name.csv") - 1))" "$(said_runs "$work/stdout")"
done
finish
