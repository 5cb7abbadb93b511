# scripts/slurm/shards.sbatch with an sbatch that runs its tasks at once: shards of a cross-validation and the table
# behind them are what one machine makes. Nothing of Slurm is needed.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work" || exit 1
. "$ROOFTILE_SOURCE/tests/cli/tree.sh"
kernels_of "Tesla V100-PCIE-32GB:900" "NVIDIA A100-PCIE-40GB:1555"
succeeds "import made-up measurements" "$ROOFTILE" dataset import --format neusight tree -o data.h5
script="$ROOFTILE_SOURCE/scripts/slurm/shards.sbatch"

# Tasks of an array one after the other, each with its log; "--signal" and limits are Slurm's own business.
mkdir bin
cat >bin/sbatch <<'END'
#!/bin/bash
for word in "$@"; do
    case $word in
    --array=*) tasks=${word#--array=} && tasks=${tasks//,/ } ;;
    --output=*) log=${word#--output=} ;;
    --partition=none) echo "sbatch: error: invalid partition" >&2 && exit 1 ;;
    esac
done
echo "$@" >>"$SBATCH_CALLS"
for task in ${tasks:-none}; do
    if [ "$task" = none ]; then unset SLURM_ARRAY_TASK_ID; else export SLURM_ARRAY_TASK_ID=$task SLURM_ARRAY_JOB_ID=7; fi
    SLURM_JOB_ID=7 bash "${@: -1}" >>"${log//%a/$task}" 2>&1
done
echo "7;cluster"
END
chmod +x bin/sbatch
export PATH=$work/bin:$PATH SBATCH_CALLS=$work/calls ROOFTILE SHARDS=2 CPUS=1 OUT=$work/out
export RUN="crossval $work/data.h5 --leave-out gpu --family softmax --epochs 2"
succeeds "one machine" "$ROOFTILE" $RUN -o alone --quiet --report alone.json
succeeds "submit" bash "$script"
holds "says which job makes the folds" "job 7 makes shards 1,2 of 2" stdout
holds "and which the table" "then merges them in $OUT" stdout
holds "the array asks for processors" "--array=1,2 --time=4:00:00 --cpus-per-task=1" calls
holds "the table waits for the array" "--dependency=afterany:7" calls
holds "the first shard leaves a fold to the other" "1 of 2 folds are to be made by other shards" out/logs/shard-1-of-2.log
holds "the second is complete" "shard 2 of 2 on" out/logs/shard-2-of-2.log
succeeds "the table is that of one machine" cmp alone.json out/table.json
holds "in Markdown, too" "| rooftile, calibrated |" out/table.md
stat -c %i out/folds/fold-*/rooftile/* >before
succeeds "again" bash "$script"
stat -c %i out/folds/fold-*/rooftile/* >after
succeeds "makes nothing again" cmp before after

refuse() { # NAME WORDS VARIABLE=VALUE...
    env "${@:3}" bash "$script" >stdout 2>stderr </dev/null
    local status=$?
    if [ $status = 1 ] && grep -qF -- "$2" stderr; then ok "$1"; else not_ok "$1" "exit status $status" "$(cat stderr)"; fi
}
refuse "no program" 'there is no program "/none/rooftile"' ROOFTILE=/none/rooftile
refuse "no shards" 'SHARDS is "many"' SHARDS=many
refuse "no folder" "cannot be made" OUT=/proc/out
refuse "no data" "is no cross-validation" RUN="crossval --leave-out gpu"
refuse "no command" "must begin with collect, crossval" RUN="train data.h5"
refuse "a partition that is none" "sbatch refused the array" OUT="$work/refused" SUBMIT=--partition=none
finish
