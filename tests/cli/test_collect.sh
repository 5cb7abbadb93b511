# rooftile collect: what it prints, refuses and survives. Everything but the last part runs on the synthetic backend,
# whose samples depend on the seed alone: a collection that was cut off anywhere ends in the same bytes.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work"
export SOURCE_DATE_EPOCH=1700000000
collect() { "$ROOFTILE" collect --backend synthetic -q "$@"; }

same_bytes() {
    if cmp -s "$2" "$3"; then ok "$1"; else not_ok "$1" "$2 and $3 differ: $(cmp "$2" "$3" 2>&1)"; fi
}
# until the collection has saved something
wait_for_part() {
    for _ in $(seq 1000); do
        [ -e "$1.parts/part-000001.h5" ] || [ -e "$1" ] && break
        sleep 0.005
    done
}
absent() {
    if [ ! -e "$2" ]; then ok "$1"; else not_ok "$1" "$2 is there"; fi
}

# ---- what it prints ----
succeeds help "$ROOFTILE" collect --help
holds help_example "rooftile collect -o cpu.h5 --budget 60s" stdout
succeeds list "$ROOFTILE" collect --list
holds list_cpu "1 thread" stdout
holds list_synthetic "synthetic large" stdout
succeeds list_json "$ROOFTILE" collect --list --json
holds list_json_keys '"backend": "cpu"' stdout
succeeds dry_run collect --dry-run --count 50
holds dry_run_total "50 shapes, 100 kernels" stdout
succeeds dry_run_json collect --dry-run --count 50 --json
holds dry_run_json_total '"kernels": 100' stdout
absent dry_run_leaves_nothing synthetic.h5

succeeds calibrate_plan collect --plan calibrate --dry-run
holds calibrate_plan_total "80 shapes, 160 kernels" stdout
succeeds calibrate_plan_prefix collect --plan calibrate --count 25 --dry-run
holds calibrate_plan_prefix_total "25 shapes, 50 kernels" stdout
refuses calibrate_plan_ops 2 "--plan calibrate has no shapes for these --ops" collect --plan calibrate --ops gemm --dry-run

succeeds whole collect --count 3000 -o whole.h5
holds whole_total "6000 of 6000 planned kernels are in whole.h5" stdout
absent whole_parts whole.h5.parts
succeeds json collect --count 10 --ops bmm -o json.h5 --json
holds json_rows '"op": "bmm"' stdout
holds json_total '"kernels": 20' stdout

# ---- what it refuses ----
# argp's own words for a bad option: exit status 2, nothing on stdout
usage() {
    local name=$1 words=$2
    shift 2
    "$ROOFTILE" collect "$@" >stdout 2>stderr </dev/null
    local status=$?
    if [ $status = 2 ] && grep -qF -- "$words" stderr && [ ! -s stdout ]; then
        ok "$name"
    else
        not_ok "$name" "exit status $status; wanted: $words" "$(head -n 3 stderr)"
    fi
}
usage no_output "-o OUT.h5"
usage bad_budget "--budget must be a time" -o x.h5 --budget soon
usage bad_count "--count 0: must be a whole number" -o x.h5 --count 0
usage bad_rel_error "--rel-error 2: must be a number" -o x.h5 --rel-error 2
usage bad_cache "--cache must be cold or warm" -o x.h5 --cache hot
usage bad_word "is not an option" -o x.h5 stray
refuses bad_backend 1 "is not one of cpu, synthetic" "$ROOFTILE" collect -o x.h5 --backend abacus
refuses bad_op 1 "neither an op nor a family" collect -o x.h5 --ops teleport
refuses bad_device 2 "is no number of threads" "$ROOFTILE" collect -o x.h5 --device 0
printf 'softmax,rows=4\n' >plan.csv
refuses bad_plan 1 "plan.csv:1: dim \"cols\" of softmax is missing" collect -o x.h5 --plan plan.csv
refuses no_plan 1 "absent.csv" collect -o x.h5 --plan absent.csv
refuses no_folder 1 "absent/x.h5" collect -o absent/x.h5
refuses output_there 2 "is there already" collect --count 3000 -o whole.h5
succeeds overwrite collect --count 10 --ops bmm -o json.h5 --overwrite
absent refusals_leave_nothing x.h5.parts

printf '# my shapes\nbmm,batch=8,m=64,n=64,k=64\nsoftmax,rows=40,cols=100\nsoftmax,cols=100,rows=40\n' >plan.csv
succeeds plan_file collect -o plan.h5 --plan plan.csv
holds plan_file_total "4 of 4 planned kernels" stdout

# ---- kill -9 at random moments, 20 times ----
begun=("$ROOFTILE" collect --backend synthetic -q --count 3000) # no function: a signal must reach the program itself
RANDOM=1
rounds=0 kills=0 cut=0 differing=0
while [ $kills -lt 20 ] && [ $rounds -lt 100 ]; do
    rounds=$((rounds + 1))
    "${begun[@]}" -o killed.h5 >/dev/null 2>&1 &
    process=$!
    sleep "0.0$((RANDOM % 80 + 10))"
    kill -9 $process 2>/dev/null && kills=$((kills + 1))
    wait $process 2>/dev/null
    [ -e killed.h5.parts ] && cut=$((cut + 1))
    if [ -e killed.h5 ] && [ ! -e killed.h5.parts/header.h5 ]; then # it had come to its end
        cmp -s killed.h5 whole.h5 || differing=$((differing + 1))
        rm -rf killed.h5 killed.h5.parts
    fi
done 2>/dev/null
succeeds killed_goes_on collect --count 3000 -o killed.h5
same_bytes killed_equals_whole killed.h5 whole.h5
absent killed_parts killed.h5.parts
[ $differing = 0 ] && ok killed_ends || not_ok killed_ends "$differing finished outputs differ"
[ $kills -ge 20 ] && [ $cut -ge 10 ] && ok killed_midway || not_ok killed_midway "only $cut of $kills kills met a collection at work"

# ---- Ctrl-C ----
"${begun[@]}" -o ctrl.h5 >/dev/null 2>stderr &
process=$!
wait_for_part ctrl.h5
kill -INT $process
wait $process
status=$?
[ $status = 1 ] && ok interrupted_status || not_ok interrupted_status "exit status $status"
holds interrupted_says "run the same command to go on" stderr
absent interrupted_output ctrl.h5
refuses interrupted_other 2 "go on with \`rooftile collect --backend synthetic -q --count 3000 -o ctrl.h5\`" \
    collect --count 3000 -o ctrl.h5 --seed 2
succeeds interrupted_goes_on collect --count 3000 -o ctrl.h5
same_bytes interrupted_equals_whole ctrl.h5 whole.h5

# ---- a second collector ----
mkdir locked.h5.parts
exec 9>locked.h5.parts/lock
if flock -n 9; then
    refuses second_collector 2 "another collector" collect --count 10 -o locked.h5
    exec 9>&-
    succeeds lock_is_free_again collect --count 10 -o locked.h5
fi

# ---- a full disk: no file may grow beyond a limit ----
limited() { (ulimit -f "$1" && shift && "$ROOFTILE" collect --backend synthetic -q --count 3000 -o full.h5 "$@"); }
refuses full_at_once 1 "full.h5.parts/header.h5" limited 1
absent full_at_once_leaves_nothing full.h5.parts
"${begun[@]}" -o full.h5 >/dev/null 2>&1 &
process=$!
wait_for_part full.h5
kill -INT $process
wait $process
parts=$(ls full.h5.parts | grep -c part)
refuses full_midway 1 "kernels are saved in full.h5.parts: run the same command to go on" limited 30
[ "$(ls full.h5.parts | grep -c part)" = "$parts" ] && ok full_keeps_parts || not_ok full_keeps_parts "$(ls full.h5.parts)"
largest=$(($(stat -c %s whole.h5) / 1024 - 1)) # parts fit, the whole does not
refuses full_at_the_end 1 "the parts in full.h5.parts are whole" limited $largest
absent full_output full.h5
succeeds full_goes_on collect --count 3000 -o full.h5
same_bytes full_equals_whole full.h5 whole.h5
if [ "$(id -u)" != 0 ]; then
    mkdir readonly && chmod a-w readonly
    refuses read_only 1 "readonly/x.h5" collect --count 10 -o readonly/x.h5
else
    echo "skipped read_only: root may write anywhere"
fi

# ---- this machine, for real ----
succeeds real "$ROOFTILE" collect -o real.h5 --budget 3s -q --json
holds real_one '1 thread"' stdout
[ "$(nproc)" = 1 ] || holds real_all "$(nproc) threads\"" stdout
succeeds real_info "$ROOFTILE" dataset info real.h5 --json
holds real_info_device '1 thread"' stdout
holds real_info_op linear stdout
finish
