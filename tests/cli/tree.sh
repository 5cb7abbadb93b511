# A small tree of made-up measurements in NeuSight's layout: tree/devices, tree/train, tree/test.

device() { # NAME MEMORY BANDWIDTH SMS CORES MHZ GFLOPS L2
    printf '{"Device": "%s", "Dev_Mem": %s, "Mem_Bw": %s, "Num_Sm": %s, "Core_Per_SM": %s, "Freq": %s, ' "$1" "$2" "$3" "$4" "$5" "$6"
    printf '"SingleFLOPs": %s, "L2Cache": %s}\n' "$7" "$8"
}

# 40 kernels of softmax or layer norm, at exactly twice the memory roofline.
kernels() { # OP GPU BANDWIDTH FIRST
    awk -v op="$1" -v gpu="$2" -v bandwidth="$3" -v first="$4" 'BEGIN {
        print "OPName,Latency,Device,Kernel Name,Grid x,Grid y,Grid z,Block x,Block y,Block z,B,H"
        for (i = 0; i < 40; i++) {
            rows = 1024 + 64 * i; cols = first + 128 * (i % 7)
            printf "%s,%.17g,%s,%s_kernel,%d,1,1,128,1,1,%d,%d\n", op, 2 * 8 * rows * cols / bandwidth / 1e6, gpu, op, rows, rows, cols
        } }'
}

# The same shapes on every GPU, others in the test part.
kernels_of() { # GPU:BANDWIDTH...
    local op gpu
    for op in softmax ln; do
        for gpu; do
            kernels $op "${gpu%:*}" "${gpu#*:}" 512 >"tree/train/$op-${gpu%:*}.csv"
            kernels $op "${gpu%:*}" "${gpu#*:}" 576 >"tree/test/$op-${gpu%:*}.csv"
        done
    done
}

mkdir -p tree/devices tree/train tree/test
device "Tesla V100-PCIE-32GB" 32 900 80 64 1370 14029 6 >tree/devices/v100.json
device "NVIDIA A100-PCIE-40GB" 40 1555 108 64 1410 19492 40 >tree/devices/a100.json
