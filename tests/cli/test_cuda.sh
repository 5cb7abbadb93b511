# rooftile collect --backend cuda: without a driver, and over the fake one (tests/collect/fake_cuda), whose samples are
# always synthetic.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work"
fake=$(dirname "$ROOFTILE")/fake_cuda
[ -e "$fake/driver.so" ] || skip_all cuda "built without a CUDA toolkit"
export SOURCE_DATE_EPOCH=1700000000 ROOFTILE_CUDNN=/nonexistent ROOFTILE_CUPTI=/nonexistent
collect() { "$ROOFTILE" collect --backend cuda -q "$@"; }

export ROOFTILE_CUDA_DRIVER=/nonexistent/libcuda.so.1
refuses no_driver 1 "no CUDA device: ROOFTILE_CUDA_DRIVER names /nonexistent/libcuda.so.1" collect --ops relu -o none.h5
succeeds list_without "$ROOFTILE" collect --list --backend cuda
holds list_says_why "no CUDA device" stdout

export ROOFTILE_CUDA_DRIVER=$fake/driver.so ROOFTILE_NVML=$fake/nvml.so ROOFTILE_CUBLASLT=$fake/cublaslt.so
FAKE_CUDA_INIT=100 refuses no_gpu 1 "no CUDA device" collect --ops relu -o none.h5
succeeds list "$ROOFTILE" collect --list --backend cuda
holds list_driver "580.00.00" stdout
holds list_missing "cuDNN is not installed" stdout
refuses no_such_gpu 2 "is no GPU here" collect --gpu 7 --ops relu -o none.h5

succeeds shares collect --gpu 0 --sm-share 50,100 --ops softmax,relu --count 30 --max-time 0.02 -o shares.h5
succeeds info "$ROOFTILE" dataset info shares.h5
holds info_share "synthetic fake GPU (24 of 40 SMs)" stdout
holds info_synthetic synthetic stdout
succeeds valid "$ROOFTILE" dataset validate shares.h5
# A whole model, small enough for 64 MiB; one that is not; one that loses the device.
cat >tiny.json <<END
{"model_type": "gpt2", "n_embd": 64, "n_layer": 3, "n_head": 4, "n_positions": 128, "vocab_size": 512}
END
succeeds model collect --gpu 0 --model tiny.json --batch 2 --seq 64 --mode training --max-time 0.02 -o model.h5
succeeds model_export "$ROOFTILE" dataset export --output model model.h5
is model_workloads "$(grep -c ',kernels,' model/workloads.csv)" 1
is model_in_one_go "$(grep -c 'model_timing,"all launches queued at once' model/groups.csv)" 1
is model_host_time "$(grep -c host_queue_us model/groups.csv)" 1
is model_not_partial "$(grep -c partial model/workloads.csv)" 0
succeeds model_shown "$ROOFTILE" dataset info model.h5
succeeds model_valid "$ROOFTILE" dataset validate model.h5
succeeds large collect --gpu 0 --model gpt2 --batch 1 --seq 64 --max-time 0.02 -o large.h5
succeeds large_export "$ROOFTILE" dataset export --output large large.h5
is large_failed "$(grep -c failed large/workloads.csv)" 1
is large_says_why "$(grep -c 'failure,out of memory' large/groups.csv)" 2 # of a kernel, and of the model
# A power limit is recorded and not flagged; a board that is always hot pauses for 5% of the budget, then is measured
# throttled.
FAKE_NVML_REASONS=0x4 succeeds power_cap collect --gpu 0 --ops relu --count 5 --max-time 0.02 -o cap.h5 --budget 60s
succeeds power_cap_export "$ROOFTILE" dataset export --output cap cap.h5
is power_cap_told "$(grep -c 'throttle,power cap' cap/groups.csv)" 1
is power_cap_flags "$(grep -c throttled cap/samples.csv)" 0
FAKE_NVML_REASONS=0x40 succeeds hot collect --gpu 0 --ops relu --count 5 --max-time 0.02 -o hot.h5 --budget 60s
succeeds hot_export "$ROOFTILE" dataset export --output hot hot.h5
is hot_flags "$(grep -c throttled hot/samples.csv)" "$(grep -vc failed hot/samples.csv | awk '{print $1 - 1}')"
is hot_retries "$(grep -c throttle_retries hot/groups.csv)" 1
# Two boards of one name, killed once a part is saved: each goes on where it was, and none is measured twice.
part_saved() { ls two.h5.journal/*.h5 2>/dev/null | grep -qv header; }
while true; do # anew where it was done before it was killed
    "$ROOFTILE" collect --backend cuda -q --ops relu --count 600 --max-time 0.05 --repeat-every 0s -o two.h5 >stdout 2>&1 &
    collector=$!
    wait_until $collector part_saved
    kill -KILL $collector 2>/dev/null
    { wait $collector; } 2>/dev/null || break
    rm two.h5
done
succeeds two_gpus_go_on collect --ops relu --count 600 --max-time 0.05 --repeat-every 0s -o two.h5
succeeds two_export "$ROOFTILE" dataset export --output two two.h5
is two_samples "$(grep -c ^relu two/samples.csv)" 1200
is two_measured_once "$(awk -F, '/gpu_uuid/ { of[$1] = $3 } FNR < NR && /^relu/ { n[of[$6]]++ } END { for (u in n) print n[u] }' \
    two/groups.csv two/samples.csv | sort -u)" 600
FAKE_CUDA_STICKY_AT=2000 succeeds lost_worker collect --gpu 0 --ops relu --count 30 --max-time 0.02 -o lost.h5
finish
