# scripts/corpora/traces.py: kernels of nsys, Kineto and nvbench become datasets, and so do tables by hand; what is damaged is one sentence.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all traces "no python3"
traces=$ROOFTILE_SOURCE/scripts/corpora/traces.py
cd "$work" || exit 1
cat >make.py <<'P'
import json, sqlite3
json.dump({"deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}], "traceEvents": [
    {"cat": "cpu_op", "name": "aten::addmm", "args": {"External id": 1, "Input Dims": [[1024], [8, 512], [512, 1024]], "Input type": ["c10::BFloat16"] * 3}},
    {"cat": "kernel", "name": "nvjet_hsh", "dur": 7.5, "args": {"External id": 1, "device": 0}},
    {"cat": "kernel", "name": "splitK", "dur": 0.5, "args": {"External id": 1, "device": 0}},
    {"cat": "cpu_op", "name": "aten::add_", "args": {"External id": 2, "Input Dims": [[4, 16, 32], [4, 16, 32], []], "Input type": ["float", "float", "Scalar"]}},
    {"cat": "kernel", "name": "vectorized_elementwise", "dur": 3, "args": {"External id": 2, "device": 0}},
    {"cat": "kernel", "name": "stray", "dur": 3, "args": {"External id": 9, "device": 0}}]}, open("kineto.json", "w"))
axes = [{"name": "M", "value": "128"}, {"name": "N", "value": "256"}, {"name": "K", "value": "64"}, {"name": "T", "input_string": "F16"}]
json.dump({"devices": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}], "benchmarks": [{"name": "gemm", "states": [
    {"device": 0, "axis_values": axes, "summaries": [{"tag": "nv/cold/time/gpu/mean", "data": [{"name": "value", "value": "1.25e-05"}]}]},
    {"device": 0, "axis_values": axes, "is_skipped": True}]}]}, open("nvbench.json", "w"))
base = sqlite3.connect("nsys.sqlite")
base.executescript("""CREATE TABLE TARGET_INFO_GPU(id, name); INSERT INTO TARGET_INFO_GPU VALUES(0, 'NVIDIA L4');
CREATE TABLE StringIds(id, value); INSERT INTO StringIds VALUES(1, 'ampere_bf16_s16816gemm_bf16_128x64');
CREATE TABLE NVTX_EVENTS(globalTid, start, end, text, textId);
INSERT INTO NVTX_EVENTS VALUES(5, 0, 100, 'aten::matmul, op_id = 1, sizes = [[8, 16], [16, 32]]', NULL),
                              (5, 10, 50, 'aten::mm, op_id = 2, sizes = [[8, 16], [16, 32]]', NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(globalTid, start, correlationId); INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(5, 20, 3);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(deviceId, start, end, demangledName, correlationId);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(0, 1000, 6000, 1, 3);""")
base.commit()
P
python3 make.py
# converts FILE WANTED: the rows of its samples, "op,dtype,device,dims...,us".
converts() {
    succeeds "$1" python3 "$traces" "$1" -o "$1.out"
    is "$1: its calls" "$(python3 -c "import csv
print('; '.join(','.join([r['op'], r['dtype'], *(r[f'dim{i}'] for i in range(4) if r[f'dim{i}']), '%g' % float(r['latency_us'])]) for r in csv.DictReader(open('$1.out/samples.csv'))))")" "$2"
    succeeds "$1: imported" "$ROOFTILE" dataset import --format csv "$1.out" -o "$1.h5" --quiet
}
converts kineto.json "add,fp32,64,32,3; linear,bf16,1,8,1024,512,8"
converts nvbench.json "gemm,fp16,128,256,64,12.5"
converts nsys.sqlite "gemm,bf16,8,32,16,5"

# A table by hand; what a newcomer types ends in a command that works.
printf 'op,m,n,k,rows,cols,dtype,device,us\ngemm,128,256,64,,,fp16,L4,10.5\nbmm,8,8,8,,,float16,H100,3\nsoftmax,,,,64,512,bf16,L4,4\n' >table.csv
refuses "evaluate of a table" 1 "\`rooftile dataset import --format table table.csv -o data.h5\` makes a dataset" "$ROOFTILE" evaluate -p pretrained table.csv
succeeds "that command" "$ROOFTILE" dataset import --format table table.csv -o data.h5 --quiet
succeeds "then evaluate" "$ROOFTILE" evaluate -p pretrained data.h5 --split all --quiet --json
json_is "its kernels" "d['data']['evaluated']" 3
printf '%s\n' op,m,n,k,rows,dtype,device,us gemm,128,256,64,,fp16,L4,10 gemm,128,256,,,fp16,L4,10 gemm,1,1,1,7,fp16,L4,10 gone,1,1,1,,fp16,L4,1 \
    gemm,1,1,1,,fp17,L4,1 gemm,1,1,1,,fp16,L5,1 gemm,1,1,1,,fp16,L4,-1 gemm,1.5,1,1,,fp16,L4,1 gemm,0,1,1,,fp16,L4,1 gemm,1 >bad.csv
succeeds "rows that cannot be" "$ROOFTILE" dataset import --format table bad.csv -o bad.h5 --json
json_is "one is kept, all others refused" "d['total']['kept'], d['total']['refused']" "(1, 9)"
refuses "strict" 1 "bad.csv:3: gemm has no k" "$ROOFTILE" dataset import --format table bad.csv -o strict.h5 --strict
printf 'op,dtype,device,us,speed\n' >columns.csv
refuses "a column of nothing" 1 '"speed" is no dim of any op' "$ROOFTILE" dataset import --format table columns.csv -o c.h5
echo op,dtype,device >no_time.csv
printf 'op,m,n,k,dtype,us\ngemm,128,256,512,fp16,10\n' >flat.csv
refuses "no device" 1 'has no column "device"; a table has op, dtype, device (or give --gpu)' "$ROOFTILE" dataset import --format table flat.csv -o c.h5
succeeds "a device for all rows" "$ROOFTILE" dataset import --format table flat.csv --gpu H100 -o flat.h5 --quiet
"$ROOFTILE" dataset info flat.h5 >info 2>/dev/null
holds "it is that one" "NVIDIA H100 80GB HBM3" info
refuses "both" 2 'has a column "device"; leave out --gpu' "$ROOFTILE" dataset import --format table table.csv --gpu H100 -o c.h5
refuses "another format" 2 "--gpu is for --format table" "$ROOFTILE" dataset import --format csv . --gpu H100 -o c.h5
refuses "no time" 1 'has no column "us"' "$ROOFTILE" dataset import --format table no_time.csv -o c.h5

# Cut off anywhere, or with bytes changed: never more than a sentence.
cat >hostile.py <<'P'
import random, subprocess, sys
random.seed(1)
for name in ("kineto.json", "nvbench.json", "nsys.sqlite"):
    whole = open(name, "rb").read()
    cases = [whole[:len(whole) * i // 5] for i in range(5)] + [b"[" * 100000]
    for _ in range(4):
        changed = bytearray(whole)
        for _ in range(3):
            changed[random.randrange(len(changed))] = random.randrange(256)
        cases.append(bytes(changed))
    for i, case in enumerate(cases):
        open("hostile", "wb").write(case)
        done = subprocess.run([sys.executable, sys.argv[1], "hostile", "-o", "hostile.out"], capture_output=True, text=True)
        if done.returncode not in (0, 1) or len(done.stderr.splitlines()) != done.returncode:
            print(f"{name}, case {i}: {done.returncode}, {done.stderr}")
P
python3 hostile.py "$traces" >hostile.log 2>&1
is "hostile files" "$(cat hostile.log)" ""
finish
