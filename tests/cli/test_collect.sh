# rooftile collect: output, refusals, kills and full disks. All but the last part runs on the synthetic backend, whose
# samples depend on the seed alone: a collection that was killed anywhere and resumed ends in the same bytes.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh" || exit 1
cd "$work" || exit 1
export SOURCE_DATE_EPOCH=1700000000
collect() { "$ROOFTILE" collect --backend synthetic -q "$@"; }

same_bytes() {
    if cmp -s "$2" "$3"; then ok "$1"; else not_ok "$1" "$2 and $3 differ: $(cmp "$2" "$3" 2>&1)"; fi
}
# A collection of 3000 shapes that is interrupted once a part is saved; anew where it ended before that. Sets $status.
interrupted() { # OUT.h5
    local process
    while true; do
        "$ROOFTILE" collect --backend synthetic -q --count 3000 -o "$1" >/dev/null 2>stderr &
        process=$! # no shell function: a signal must reach the program itself
        wait_until $process test -e "$1.journal/part-000001.h5"
        kill -INT $process 2>/dev/null
        wait $process
        status=$?
        [ $status = 0 ] || return
        rm "$1"
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
holds list_facts "openblas_core" stdout
holds list_ops "what can be measured" stdout
succeeds list_one "$ROOFTILE" collect --list --backend synthetic --sm-share 50,100
holds list_share "synthetic large (40 of 80 SMs)" stdout
lacks() { if grep -qF -- "$2" "$3"; then not_ok "$1" "$2 is in $3"; else ok "$1"; fi; }
lacks list_one_only "1 thread" stdout
succeeds list_reason "$ROOFTILE" collect --list --backend cpu --gpu 0
holds list_reason_said "is no number of threads" stdout
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
absent whole_parts whole.h5.journal
# lanes run in parallel: results arrive in another order
succeeds again collect --count 3000 -o again.h5 --gpu all
same_bytes again_equals_whole again.h5 whole.h5
succeeds json collect --count 10 --ops bmm -o json.h5 --json
holds json_rows '"op": "bmm"' stdout
holds json_total '"kernels": 20' stdout

# ---- what it refuses ----
# a bad option: exit status 2, nothing on stdout
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
usage bad_budget "--budget soon: must be a time" -o x.h5 --budget soon
usage bad_count "--count 0: must be a whole number" -o x.h5 --count 0
usage bad_rel_error "--rel-error 2: must be a number" -o x.h5 --rel-error 2
usage bad_cache "--cache hot: choose cold, warm or both" -o x.h5 --cache hot
usage bad_word "is not an option (a name with spaces needs quotes)" -o x.h5 stray
usage bad_shard "--shard 3/2: must be I/N with I from 1 to N" -o x.h5 --shard 3/2
usage bad_shard_word "--shard half: must be I/N" -o x.h5 --shard half
usage bad_hang_limit "--hang-limit 0: must be from 0.001 s" -o x.h5 --hang-limit 0
refuses bad_share 2 "--sm-share: \"0\" is no share" collect -o x.h5 --sm-share 50,0
refuses no_shares 2 "--sm-share is for GPUs" "$ROOFTILE" collect -o x.h5 --sm-share 50
refuses bad_backend 1 "is not one of cpu" "$ROOFTILE" collect -o x.h5 --backend abacus
refuses bad_op 1 "neither an op nor a family" collect -o x.h5 --ops teleport
refuses bad_device 2 "is no number of threads" "$ROOFTILE" collect -o x.h5 --device 0
printf 'softmax,rows=4\n' >plan.csv
refuses bad_plan 1 "plan.csv:1: dim \"cols\" of softmax is missing" collect -o x.h5 --plan plan.csv
refuses no_plan 1 "absent.csv" collect -o x.h5 --plan absent.csv
refuses no_folder 1 "absent/x.h5" collect -o absent/x.h5
refuses output_there 2 "is there already" collect --count 3000 -o whole.h5
succeeds overwrite collect --count 10 --ops bmm -o json.h5 --overwrite
absent refusals_leave_nothing x.h5.journal

printf '# my shapes\nbmm,batch=8,m=64,n=64,k=64\nsoftmax,rows=40,cols=100\nsoftmax,cols=100,rows=40\n' >plan.csv
succeeds plan_file collect -o plan.h5 --plan plan.csv
holds plan_file_total "4 of 4 planned kernels" stdout

# ---- kill -9 at random moments, 20 times: the collector, and whatever it started, must be gone ----
faulty=("$ROOFTILE" collect --backend synthetic -q --count 300 --faults slow=2,oom=0.05,crash=0.01,lost=0.01,throttle=0.1)
program=$(readlink -f "$ROOFTILE")
# processes of the program in this folder that are still there after a minute
left_behind() {
    local link
    for _ in $(seq 1200); do
        left=
        for link in $(find /proc/[0-9]*/cwd -maxdepth 0 -lname "$PWD" 2>/dev/null); do # one process looks at all
            link=${link%/cwd}
            [ "$(readlink "$link/exe" 2>/dev/null)" = "$program" ] && ! grep -qs '^State:.*Z' "$link/status" && left="$left ${link#/proc/}"
        done
        [ -z "$left" ] && return 1
        sleep 0.05
    done
}
succeeds faulty_whole "${faulty[@]}" -o faulty.h5
RANDOM=1
rounds=0 kills=0 cut=0 differing=0 orphans=0
while [ $kills -lt 20 ] || [ $cut -lt 10 ]; do # of 600 kernels of 2 ms and more on two devices
    rounds=$((rounds + 1))
    "${faulty[@]}" -o killed.h5 >/dev/null 2>&1 &
    process=$!
    wait_until $process test -e killed.h5.journal/header.h5
    sleep "0.$(printf %03d $((RANDOM % 500 + 10)))"
    kill -9 $process 2>/dev/null && kills=$((kills + 1))
    wait $process 2>/dev/null
    [ -e killed.h5.journal ] && cut=$((cut + 1))
    left_behind && orphans=$((orphans + 1))
    if [ -e killed.h5 ] && [ ! -e killed.h5.journal/header.h5 ]; then # it had finished
        cmp -s killed.h5 faulty.h5 || differing=$((differing + 1))
        rm -rf killed.h5 killed.h5.journal
    fi
done 2>/dev/null
succeeds killed_goes_on "${faulty[@]}" -o killed.h5
same_bytes killed_equals_whole killed.h5 faulty.h5
absent killed_parts killed.h5.journal
[ $differing = 0 ] && ok killed_ends || not_ok killed_ends "$differing finished outputs differ"
echo "# $cut of $kills kills met a collection at work"
[ $orphans = 0 ] && ok killed_workers || not_ok killed_workers "workers outlived $orphans of $kills collectors"

# ---- workers that die: killed from outside, hung, given up ----
# Both of the workers, once; anew where that met none at a kernel, for those are replaced in silence.
hunt() {
    local process worker
    rm -rf hunted hunted.h5
    "$ROOFTILE" collect --backend synthetic -q --count 100 --faults slow=20 -o hunted.h5 >/dev/null 2>stderr &
    process=$!
    wait_until $process test -e hunted.h5.journal/part-000001.h5
    hunted=0
    for worker in $(cat /proc/$process/task/*/children 2>/dev/null); do
        kill -9 "$worker" 2>/dev/null && hunted=$((hunted + 1))
    done
    wait $process
    status=$?
    "$ROOFTILE" dataset export hunted.h5 -o hunted >/dev/null
    [ $status != 0 ] || grep -rqF "crashed: signal 9" hunted
}
if [ -e /proc/$$/task/$$/children ]; then
    for _ in $(seq 50); do hunt && break; done
    [ $status = 0 ] && ok hunted_goes_on || not_ok hunted_goes_on "exit status $status" "$(cat stderr)"
    grep -rqF "crashed: signal 9" hunted && ok hunted_says || not_ok hunted_says "no sample says: crashed: signal 9"
else
    echo "skipped hunted: this kernel does not list the children of a process"
fi
succeeds hung collect --count 100 -o hung.h5 --faults hang=0.015 --hang-limit 10s --json
holds hung_counted '"lost": 1' stdout
"$ROOFTILE" dataset export hung.h5 -o hung >/dev/null
grep -rqF "no answer in 10 s" hung && ok hung_says || not_ok hung_says "no sample says: no answer in 10 s"
refuses given_up 1 "given up after 5 workers in a row died" collect --count 100 -o lost.h5 --faults lost=1
holds given_up_saved "10 of 200 kernels are saved in lost.h5.journal" stderr
left_behind && not_ok given_up_workers "$left are left" || ok given_up_workers

# ---- energy, shares ----
succeeds energy collect --count 20 -o energy.h5 --energy
"$ROOFTILE" dataset info energy.h5 >info.txt
holds energy_attribute "measured" info.txt
printf 'softmax,rows=512,cols=512\n' >one.csv
mkdir -p powercap/intel-rapl:0
ROOFTILE_POWERCAP=powercap "$ROOFTILE" collect --backend cpu --plan one.csv -o quiet.h5 --energy -q >stdout 2>stderr
[ "$(grep -c 'powercap lists no package with a RAPL counter' stderr)" = 1 ] && ok energy_missing_is_said || not_ok energy_missing_is_said "$(cat stderr)"
echo package-0 >powercap/intel-rapl:0/name
echo 1000000000000 >powercap/intel-rapl:0/max_energy_range_uj
count_energy() { # without beginning again: two readings must differ; wraps are tested in tests/collect
    local uj=0
    while [ ! -e counted.h5 ]; do
        uj=$((uj + 300))
        echo $uj >powercap/next && mv powercap/next powercap/intel-rapl:0/energy_uj
    done
}
echo 0 >powercap/intel-rapl:0/energy_uj
count_energy &
ROOFTILE_POWERCAP=powercap succeeds energy_by_rapl "$ROOFTILE" collect --backend cpu --plan one.csv -o counted.h5 --energy
wait $!
lacks energy_by_rapl_is_there "cannot be measured" "$work/stderr"
"$ROOFTILE" dataset export counted.h5 -o counted >/dev/null
[ "$(python3 -c 'import csv; print(all(0 < float(r["energy_mj"]) for r in csv.DictReader(open("counted/samples.csv"))))')" = True ] &&
    ok energy_by_rapl_is_kept || not_ok energy_by_rapl_is_kept "$(cut -c 1-300 counted/samples.csv)"
grep -qF "RAPL, 1 package of the machine" -r counted && ok energy_counter_is_named || not_ok energy_counter_is_named "$(ls counted)"
succeeds shares collect --count 30 -o shares.h5 --sm-share 25,50,100 --device large
holds shares_device "synthetic large (20 of 80 SMs)" stdout
holds shares_total "90 of 90 planned kernels" stdout

# ---- shards ----
sharded=(--count 200 --faults oom=0.1,throttle=0.1,crash=0.01)
succeeds unsharded collect "${sharded[@]}" -o unsharded.h5
"$ROOFTILE" dataset merge --sort unsharded.h5 -o all1.h5 >/dev/null
for n in 2 3; do
    shards=
    for i in $(seq $n); do
        succeeds "shard_${i}_of_$n" collect "${sharded[@]}" -o "shard$i$n.h5" --shard $i/$n
        shards="shard$i$n.h5 $shards"
    done
    # shellcheck disable=SC2086  # a list of files
    succeeds merge_$n "$ROOFTILE" dataset merge --sort $shards -o all$n.h5
    same_bytes shards_${n}_equal_whole all$n.h5 all1.h5
done
succeeds shard_dry_run collect "${sharded[@]}" --shard 1/3 --dry-run
holds shard_dry_run_total "67 shapes, 134 kernels" stdout
# A machine whose peaks are probed anew by every session.
for i in 1 2; do
    succeeds probed_shard_$i "$ROOFTILE" collect --backend cpu -q --count 6 --ops add,mul --rel-error 0.5 -o "probed$i.h5" --shard $i/2
done
succeeds probed_merge "$ROOFTILE" dataset merge --sort probed1.h5 probed2.h5 -o probed12.h5
succeeds probed_merge_back "$ROOFTILE" dataset merge --sort probed2.h5 probed1.h5 -o probed21.h5
same_bytes probed_shards_in_any_order probed12.h5 probed21.h5
refuses other_shard 2 "is there already" collect "${sharded[@]}" -o shard12.h5 --shard 1/2

# ---- Ctrl-C ----
interrupted ctrl.h5
[ $status = 130 ] && ok interrupted_status || not_ok interrupted_status "exit status $status"
holds interrupted_says "run the same command to go on" stderr
absent interrupted_output ctrl.h5
refuses interrupted_other 2 "go on with \`rooftile collect --backend synthetic -q --count 3000 -o ctrl.h5\`" \
    collect --count 3000 -o ctrl.h5 --seed 2
succeeds interrupted_goes_on collect --count 3000 -o ctrl.h5
same_bytes interrupted_equals_whole ctrl.h5 whole.h5

# ---- a second collector ----
mkdir locked.h5.journal
exec 9>locked.h5.journal/lock
if flock -n 9; then
    refuses second_collector 2 "another collector" collect --count 10 -o locked.h5
    exec 9>&-
    succeeds lock_is_free_again collect --count 10 -o locked.h5
fi

# ---- a full disk: no file may grow beyond a limit ----
limited() { (ulimit -f "$1" && shift && "$ROOFTILE" collect --backend synthetic -q --count 3000 -o full.h5 "$@"); }
refuses full_at_once 1 "full.h5.journal/header.h5" limited 1
absent full_at_once_leaves_nothing full.h5.journal
interrupted full.h5
parts=$(ls full.h5.journal | grep -c part)
refuses full_midway 1 "kernels are saved in full.h5.journal: run the same command to go on" limited 30
[ "$(ls full.h5.journal | grep -c part)" = "$parts" ] && ok full_keeps_parts || not_ok full_keeps_parts "$(ls full.h5.journal)"
largest=$(($(stat -c %s whole.h5) / 1024 - 1)) # parts fit, the whole does not
refuses full_at_the_end 1 "the parts in full.h5.journal are complete" limited $largest
absent full_output full.h5
succeeds full_goes_on collect --count 3000 -o full.h5
same_bytes full_equals_whole full.h5 whole.h5
mkdir tiny
if mount -t tmpfs -o size=600k rooftile-test tiny 2>/dev/null; then
    tiny() { "$ROOFTILE" collect --backend synthetic -q --count 3000 --faults slow=1 -o tiny/out.h5 "$@"; }
    refuses tiny_disk 1 "kernels are saved in tiny/out.h5.journal: run the same command to go on" tiny
    holds tiny_says "No space left on device" stderr
    mount -o remount,size=64m tiny
    succeeds tiny_goes_on tiny
    "$ROOFTILE" dataset validate tiny/out.h5 >/dev/null && ok tiny_valid || not_ok tiny_valid
    holds tiny_total "6000 of 6000 planned kernels" stdout
    umount tiny
else
    echo "skipped tiny_disk: no file system may be mounted here"
fi
if [ "$(id -u)" != 0 ]; then
    mkdir readonly && chmod a-w readonly
    refuses read_only 1 "readonly/x.h5" collect --count 10 -o readonly/x.h5
else
    echo "skipped read_only: root may write anywhere"
fi

# ---- this machine, for real ----
succeeds real "$ROOFTILE" collect -o real.h5 --count 10 --max-time 10ms --rel-error 0.5 -q --json
holds real_one '1 thread"' stdout
processors=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)
[ "$processors" = 1 ] || holds real_all "$processors threads\"" stdout
succeeds real_info "$ROOFTILE" dataset info real.h5 --json
holds real_info_device '1 thread"' stdout
holds real_info_op linear stdout
finish
