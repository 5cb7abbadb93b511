# Runs of vision models from converter to dataset: excerpts in the layouts of two corpora (times are made up).
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all vision_runs "no python3"
export PYTHONDONTWRITEBYTECODE=1
scripts="$ROOFTILE_SOURCE/scripts/corpora"
shared="$ROOFTILE_SOURCE/../shared"
cd "$work"

# import_of NAME WHERE: NAME.csv of the converter, NAME.h5 of it.
import_of() {
    succeeds "$1" python3 "$scripts/$1.py" "$2" -o "$1.csv"
    cp "$work/stdout" "$1.txt"
    succeeds "$1 is imported" "$ROOFTILE" dataset import -f workloads "$1.csv" -o "$1.h5" --overwrite --strict
    succeeds "$1 is valid" "$ROOFTILE" dataset validate "$1.h5"
}
# ---- pytorch-gpu-benchmark: two sessions of one GPU, one of another ----
results=pytorch/results
mkdir -p "$results/2080TI" "$results/2080ti(2)" "$results/TitanRTX"
printf 'resnet18,vgg16\n4,20\n3,21\n5,22\n' >"$results/2080TI/GeForce RTX 2080 Ti_single_model_inference_benchmark(1).csv"
printf 'resnet18,vgg16\n9,29\n9,29\n80,29\n' >"$results/2080ti(2)/GeForce RTX 2080 Ti_1_gpus__float_model_inference_benchmark.csv"
printf 'CUDA Version : 10.0\nCudnn Version : 7600\n' >"$results/2080ti(2)/system_info.txt"
printf 'vgg16\n40\n' >"$results/TitanRTX/TITAN RTX_1_gpus__half_model_train_benchmark.csv"
printf 'vgg16\n40\n' >"$results/TitanRTX/TITAN RTX_1_gpus__double_model_train_benchmark.csv"
printf ',batchs,gpus,times\nhalf,16,1,15.6\n' >"$results/dgx.csv"
import_of pytorch_gpu_benchmark pytorch
is "medians of a session" "$(cells end_to_end_us pytorch_gpu_benchmark.csv)" "4000|9000|21000|29000|40000"
is "sessions stay apart" "$(cells run pytorch_gpu_benchmark.csv)" "2080TI(1)|2080ti(2)|2080TI(1)|2080ti(2)|TitanRTX"
is "precisions" "$(cells dtype pytorch_gpu_benchmark.csv)" "fp32|fp32|fp32|fp32|fp16"
is "modes" "$(cells mode pytorch_gpu_benchmark.csv)" "inference|inference|inference|inference|training"
is "versions, where they are said" "$(cells software pytorch_gpu_benchmark.csv)" "|cuda 10.0, cudnn 7600||cuda 10.0, cudnn 7600|"
is "what was timed" "$(cells input pytorch_gpu_benchmark.csv | cut -d '|' -f 1)|$(cells image pytorch_gpu_benchmark.csv | cut -d '|' -f 1)" "pageable|224"
holds "what names no model is counted" "left out: 1 rows, dgx.csv" pytorch_gpu_benchmark.txt
holds "so is another precision" "left out: 1 rows, TITAN RTX_1_gpus__double" pytorch_gpu_benchmark.txt
is "servers, where they are known" "$(cells host pytorch_gpu_benchmark.csv)" "pgb-2080ti-1|pgb-2080ti-2|pgb-2080ti-1|pgb-2080ti-2|pgb-titanrtx"
mkdir "$results/other"
cp "$results/TitanRTX/TITAN RTX_1_gpus__half_model_train_benchmark.csv" "$results/other/GeForce GTX 1080 Ti_half_model_train_benchmark.csv"
cp "$results/TitanRTX/TITAN RTX_1_gpus__half_model_train_benchmark.csv" "$results/other/Some GPU_half_model_train_benchmark.csv"
succeeds "other GPUs" python3 "$scripts/pytorch_gpu_benchmark.py" pytorch -o other.csv
holds "the others are left out by name" "left out: 1 rows, Some GPU: no board of the catalogue" stdout
is "in a server unknown" "$(cells host other.csv | cut -d '|' -f 1)" "pytorch-2020"
printf 'scpufreq(current=1110.2, min=800.0, max=2200.0)\n' >"$results/other/system_info.txt"
succeeds "a processor's clock" python3 "$scripts/pytorch_gpu_benchmark.py" pytorch -o other.csv
is "describes a server" "$(grep -c '{""ghz"": 2.2}' other.csv)" 1
succeeds "the catalogue says which there are" "$ROOFTILE" dataset import -f workloads other.csv -o other.h5
holds "by name" "NVIDIA GeForce GTX 1080 Ti" stdout
cp "$results/TitanRTX/TITAN RTX_1_gpus__half_model_train_benchmark.csv" "$results/other/NVIDIA A100_1_gpus__float_model_train_benchmark.csv"
succeeds "a GPU with TF32" python3 "$scripts/pytorch_gpu_benchmark.py" pytorch -o other.csv
is "multiplies in it" "$(grep -c 'A100.*,tf32,' other.csv)" 1

# ---- timm: columns in three orders, tags, an unfinished row ----
mkdir -p timm/results
cat >timm/results/benchmark-infer-amp-nhwc-pt113-cu117-rtx3090.csv <<'END'
model,infer_samples_per_sec,infer_step_time,infer_batch_size,infer_img_size,infer_gmacs,infer_macts,param_count
resnet50.a1_in1k,2000,512,1024,224,4.11,11.11,25.56
END
cat >timm/results/benchmark-infer-amp-nchw-pt240-cu124-rtx4090-dynamo.csv <<'END'
model,infer_img_size,infer_samples_per_sec,infer_step_time,infer_batch_size,param_count,infer_gmacs,infer_macts
resnet50,288,2000,128,256.0,25.56,4.11,11.11
vit_giant,224,,,,1000,1,1
END
cat >timm/results/benchmark-train-amp-nchw-pt112-cu113-rtx3090.csv <<'END'
model,train_samples_per_sec,train_step_time,train_batch_size,train_img_size,param_count
resnet50,500,1024,512,224,25.56
END
cp timm/results/benchmark-infer-amp-nhwc-pt113-cu117-rtx3090.csv timm/results/benchmark-infer-amp_bf16-nchw-pt291-cu130-pro6000maxq.csv
echo ecaresnext50t_32x4d,2000,512,1024,224,2.7,10.09,15.41 >>timm/results/benchmark-infer-amp_bf16-nchw-pt291-cu130-pro6000maxq.csv
succeeds "in bf16, on a board of another name" python3 "$scripts/timm.py" timm -o timm.csv
is "as the catalogue has it" "$(grep -c 'NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition,timm/resnet50,1024,.*,bf16,' timm.csv)" 1
is "what was another network goes by that one's name" "$(grep -c 'timm/ecaresnext26t_32x4d,1024' timm.csv)" 1
rm timm/results/benchmark-infer-amp_bf16-*
printf 'model,pretrain\nresnet50,in1k\n' >timm/results/model_metadata-in1k.csv
import_of timm timm
is "models without tags" "$(cells model timm.csv)" "timm/resnet50|timm/resnet50|timm/resnet50"
is "images" "$(cells batch timm.csv)|$(cells image timm.csv)" "1024|512|256|224|224|288"
is "times in us" "$(cells end_to_end_us timm.csv)" "512000|1024000|128000"
is "who ran it" "$(cells runtime timm.csv)|$(cells layout timm.csv)" "eager-math|eager-math|compile|nhwc|nchw|nchw"
is "in autocast" "$(cells dtype timm.csv)|$(cells autocast timm.csv)" "fp16|fp16|fp16|1|1|1"
is "optimisers" "$(cells optimizer timm.csv)" "none|sgd|none"
is "versions" "$(cells software timm.csv)" "pytorch 1.13, cuda 11.7|pytorch 1.12, cuda 11.3|pytorch 2.4.0, cuda 12.4"
holds "an unfinished row is counted" "left out: 1 rows, without a time" timm.txt
succeeds "a run of each is forecast" "$ROOFTILE" evaluate -p roofline --workloads timm.h5 --by layout,runtime
for kind in "nchw compile" "nchw eager-math" "nhwc eager-math"; do holds "by $kind" "$kind" stdout; done
sed 's/^resnet50/no_such_net/; s/^vit_giant,224,,,,/no_such_net,224,100,10,256,/' \
    timm/results/benchmark-infer-amp-nchw-pt240-cu124-rtx4090-dynamo.csv >unknown.csv
cp unknown.csv timm/results/benchmark-infer-amp-nchw-pt240-cu124-rtx4090-dynamo.csv
import_of timm timm
succeeds "models that are not there" "$ROOFTILE" evaluate -p roofline --workloads timm.h5
holds "are one line each" "        2  timm/no_such_net-inf-" stdout
mkdir empty
fails_saying "no run is left" python3 "$scripts/timm.py" empty -o none.csv
fails_saying "holds no results/*.csv" python3 "$scripts/pytorch_gpu_benchmark.py" empty -o none.csv

# ---- the corpora themselves, where they are, whatever was added to them ----
for line in pytorch_gpu_benchmark:pytorch-gpu-benchmark timm:timm; do
    IFS=: read -r name where <<<"$line"
    [ -e "$shared/corpora/$where" ] || continue
    import_of "$name" "$shared/corpora/$where"
    is "$name has its runs" "$(($(wc -l <"$name.csv") - 1))" "$(said_runs "$name.txt")"
done
finish
