# scripts/slurm/shards.sbatch under a real Slurm of two nodes on loopback, which this test starts and ends: shards of a
# plan and of an exploration, requeued or with their node killed in the middle, then merged, are what one machine makes.
# Needs root, slurm-wlm and munge.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
PATH=$PATH:/usr/sbin:/sbin
[ "$(id -u)" = 0 ] || skip_all slurm "its daemons are started as root"
for program in slurmctld slurmd munged sbatch scontrol squeue; do
    command -v $program >/dev/null || skip_all slurm "no $program; apt-get install slurm-wlm munge"
done
cd "$work"
script="$ROOFTILE_SOURCE/scripts/slurm/shards.sbatch"

# wait_for SECONDS COMMAND...: until it succeeds.
wait_for() {
    local until=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $until ] || return 1
        sleep 0.2
    done
}

# ---- a cluster of this machine ----
daemons=()
end_cluster() {
    [ ${#daemons[@]} = 0 ] || scancel --user=root 2>/dev/null
    sleep 0.5
    for ((i = ${#daemons[@]} - 1; i >= 0; i--)); do kill "${daemons[i]}" 2>/dev/null; done
    wait 2>/dev/null
}
trap 'end_cluster; chmod -R u+w "$work" 2>/dev/null; rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir munge cluster state spool
chmod 755 munge
export SLURM_CONF=$work/cluster/slurm.conf
host=$(hostname -s)
port=$((20000 + $$ % 20000))
dd if=/dev/urandom of=munge/key bs=1024 count=1 2>/dev/null
chmod 400 munge/key
# Credentials that expire soon: a requeued job starts that much later. Nothing of control groups, accounts or mail.
cat >"$SLURM_CONF" <<END
ClusterName=rooftile
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket,cred_expire=5
SlurmctldPort=$port
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool/%n
SlurmctldPidFile=$work/cluster/slurmctld.pid
SlurmdPidFile=$work/cluster/slurmd-%n.pid
SlurmctldLogFile=$work/cluster/slurmctld.log
SlurmdLogFile=$work/cluster/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
MpiDefault=none
SwitchType=switch/none
MailProg=/bin/true
ReturnToService=2
SchedulerParameters=batch_sched_delay=0,sched_interval=1
KillWait=2
SlurmdTimeout=8
NodeName=one NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=1 State=UNKNOWN
NodeName=two NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=1 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
echo "CgroupPlugin=cgroup/v1" >cluster/cgroup.conf
munged --foreground --force --key-file="$work/munge/key" --socket="$work/munge/socket" --pid-file="$work/munge/pid" \
    --log-file="$work/munge/log" --seed-file="$work/munge/seed" >munge/out 2>&1 &
daemons+=($!)
wait_for 60 test -S munge/socket || skip_all slurm "munged does not start: $(tail -n 1 munge/out)"
slurmctld -D -c >cluster/out 2>&1 &
daemons+=($!)
wait_for 60 sinfo || skip_all slurm "slurmctld does not start: $(tail -n 1 cluster/out)"
mkdir spool/one spool/two
for node in one two; do
    slurmd -D -N $node >cluster/out.$node 2>&1 &
    daemons+=($!)
done
idle() { [ "$(sinfo --noheader --Node --format=%T | sort -u)" = idle ]; }
wait_for 60 idle || skip_all slurm "slurmd does not start: $(tail -n 1 cluster/out.one cluster/out.two)"

# ---- one machine, then three shards that are requeued in the middle ----
export ROOFTILE GRES= TIME=10 SHARDS=3 OUT=$work/out
export RUN="collect --backend synthetic --count 300 --faults slow=60,oom=0.05 --quiet"
succeeds whole "$ROOFTILE" $RUN --faults slow=1,oom=0.05 -o whole.h5
succeeds submit bash "$script"
holds submit_says_shards "makes shards 1,2,3 of 3" "$work/stdout"
holds submit_says_merge "then merges them in $OUT" "$work/stdout"
array=$(sed -n 's/^job \([0-9]*\) makes.*/\1/p' "$work/stdout")
begun() { [ "$(find "$OUT/shard-$1-of-3.h5.journal" -type f 2>/dev/null | wc -l)" -gt 1 ]; }
state() { scontrol show job --oneliner "${array}_$1" | tr ' ' '\n' | grep "^$2="; }
if wait_for 600 begun 1 && sleep 1.5 && [ ! -e "$OUT/shard-1-of-3.h5" ]; then
    ok shard_1_begun
    succeeds requeue scontrol requeue "${array}_1"
else
    not_ok shard_1_begun "$(ls "$OUT" "$OUT/logs"; tail -n 3 "$OUT"/logs/*)"
fi
# What Slurm sends two minutes before the time limit.
if wait_for 600 begun 2 && sleep 1.5 && [ ! -e "$OUT/shard-2-of-3.h5" ]; then
    ok shard_2_begun
    succeeds near_limit scancel --batch --signal=USR1 "${array}_2"
else
    not_ok shard_2_begun "$(ls "$OUT" "$OUT/logs"; tail -n 3 "$OUT"/logs/*)"
fi
empty() { [ -z "$(squeue --noheader)" ]; }
wait_for 800 empty && ok queue_empties || not_ok queue_empties "$(squeue)" "$(tail -n 5 "$OUT"/logs/*)"
is shard_1_restarted "$(grep -c '^shard 1 of 3 on' "$OUT/logs/shard-1-of-3.log")" 2
is shard_2_restarted "$(grep -c '^shard 2 of 3 on' "$OUT/logs/shard-2-of-3.log")" 2
is shard_3_ran_once "$(grep -c '^shard 3 of 3 on' "$OUT/logs/shard-3-of-3.log")" 1
holds shard_2_says_why "the time limit is near; what is done is kept" "$OUT/logs/shard-2-of-3.log"
holds merged "600 samples, 0 workloads, 2 devices; 0 exact duplicates dropped" "$OUT/logs/merge.log"
holds merged_is_validated "no sample is faster than its GPU's peaks allow" "$OUT/logs/merge.log"
# The same, but for the fault that made it slow.
"$ROOFTILE" dataset merge --sort whole.h5 whole.h5 -o sorted.h5 >/dev/null
"$ROOFTILE" dataset export sorted.h5 -o one >/dev/null
"$ROOFTILE" dataset export "$OUT/collection.h5" -o three >/dev/null
cmp -s one/samples.csv three/samples.csv && ok same_as_one_machine || not_ok same_as_one_machine "$(diff one/samples.csv three/samples.csv | head -n 4)"
diff <(grep -v ,faults, one/groups.csv) <(grep -v ,faults, three/groups.csv) >"$work/difference" && ok same_groups ||
    not_ok same_groups "$(head -n 4 "$work/difference")"

# ---- what is missing, and only that, is submitted again ----
cp "$OUT/shard-2-of-3.h5" before.h5
rm "$OUT/shard-3-of-3.h5" "$OUT/collection.h5"
succeeds again bash "$script"
holds again_says "makes shards 3 of 3" "$work/stdout"
wait_for 600 test -e "$OUT/collection.h5" && ok again_merges || not_ok again_merges "$(squeue; tail -n 3 "$OUT"/logs/*)"
cmp -s before.h5 "$OUT/shard-2-of-3.h5" && ok again_keeps || not_ok again_keeps "shard 2 changed"
wait_for 600 empty
"$ROOFTILE" dataset export "$OUT/collection.h5" -o three --overwrite >/dev/null
cmp -s one/samples.csv three/samples.csv && ok again_same || not_ok again_same "the dataset changed"

# As a job itself.
rm "$OUT/collection.h5"
succeeds from_a_job sbatch --wait --output="$work/job.log" "$script"
wait_for 600 test -e "$OUT/collection.h5" && ok from_a_job_merges || not_ok from_a_job_merges "$(cat job.log)"

# ---- what cannot be ----
refuse() {
    local name=$1 words=$2
    shift 2
    env "$@" bash "$script" >"$work/stdout" 2>"$work/stderr"
    local status=$?
    if [ $status = 1 ] && grep -qF -- "$words" "$work/stderr"; then ok "$name"; else not_ok "$name" "exit status $status" "$(cat "$work/stderr")"; fi
}
refuse other_options "was begun with" RUN="collect --backend synthetic --count 30"
refuse no_program 'there is no program "/none/rooftile"' ROOFTILE=/none/rooftile
refuse no_shards 'SHARDS is "many"' SHARDS=many
refuse no_folder "cannot be made" OUT=/proc/out
refuse bad_sbatch "sbatch refused the array" OUT="$work/refused" SUBMIT=--partition=none
succeeds bad_collect env OUT="$work/bad" RUN="collect --backend none" SHARDS=1 bash "$script"
wait_for 600 empty && ok bad_collect_leaves_no_merge || not_ok bad_collect_leaves_no_merge "$(squeue)"
holds bad_collect_says "rooftile: " "$work/bad/logs/shard-1-of-1.log"
[ ! -e "$work/bad/collection.h5" ] && ok bad_collect_makes_nothing || not_ok bad_collect_makes_nothing "there is a collection"
succeeds one_shard env OUT="$work/single" RUN="collect --backend synthetic --count 20 -q" SHARDS=1 bash "$script"
wait_for 600 test -e "$work/single/collection.h5" && ok one_shard_merges || not_ok one_shard_merges "$(tail -n 3 "$work"/single/logs/*)"

# ---- an exploration, and a node that dies with its shard ----
export RUN="explore --gpu H100 --model gpt2-large --model gpt2-medium --vary sms=60:200,l2_mib=20:200 --sample 20000 -t 1" SHARDS=2 OUT=$work/explored
# shellcheck disable=SC2086
succeeds one_exploration "$ROOFTILE" $RUN -q -o one.h5 --csv one.csv
succeeds submit_exploration bash "$script"
size_of() { stat -c %s "$OUT/points.h5.shard-$1-of-2" 2>/dev/null || echo 0; }
halfway() { [ "$(size_of 1)" -gt 20000 ] && [ "$(size_of 2)" -gt 20000 ]; }
of_node_two() { grep -lsz '^SLURMD_NODENAME=two$' /proc/[0-9]*/environ | sed 's,/proc/\([0-9]*\)/.*,\1,'; }
node_two_is_gone() { # also what a process began while it was being killed
    kill -9 $(of_node_two) 2>/dev/null
    [ -z "$(of_node_two)" ]
}
if wait_for 300 halfway && [ ! -e "$OUT/shard-2-of-2.done" ]; then
    ok both_nodes_explore
    kill -9 "${daemons[3]}"
    wait_for 60 node_two_is_gone && ok its_job_is_gone || not_ok its_job_is_gone "$(of_node_two)"
else
    not_ok both_nodes_explore "$(squeue)" "$(ls -l "$OUT")" "$(tail -n 3 "$OUT"/logs/*)"
fi
wait_for 800 empty && ok exploration_ends || not_ok exploration_ends "$(squeue)" "$(sinfo --Node)" "$(tail -n 5 "$OUT"/logs/*)"
# Slurm begins the shard anew on the other node, or gives it up; then the last job makes what is missing of it.
cmp -s one.csv "$OUT/points.csv" && cmp -s one.h5 "$OUT/points.h5" && ok same_exploration || not_ok same_exploration "$(ls -l "$OUT")" "$(cat "$OUT"/logs/merge.log)"
is nothing_beside_it "$(ls "$OUT" | grep -c 'points.h5.shard\|journal')" 0
export RUN="plan --train --model gpt2-large --gpu H100 --gpus 8 --batch 64 --seq 1024" OUT=$work/planned
# shellcheck disable=SC2086
succeeds one_plan "$ROOFTILE" $RUN -q --csv plans.csv
succeeds submit_plan bash "$script"
wait_for 600 test -e "$OUT/plan.json" && cmp -s plans.csv "$OUT/plans.csv" && ok same_plan || not_ok same_plan "$(tail -n 5 "$OUT"/logs/*)"
for i in $(seq 50); do echo "{\"model\": \"gpt2\", \"gpu\": \"H100\", \"batch\": $i}"; done >jobs.jsonl
export RUN="predict --jobs $work/jobs.jsonl" OUT=$work/lines
# shellcheck disable=SC2086
"$ROOFTILE" $RUN >one.jsonl
succeeds submit_lines bash "$script"
wait_for 600 test -e "$OUT/forecasts.jsonl" && cmp -s one.jsonl "$OUT/forecasts.jsonl" && ok same_lines || not_ok same_lines "$(tail -n 5 "$OUT"/logs/*)"
finish
