# --shard I/N of explore, plan and predict --jobs: parts that machines share make the same bytes as one.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work" || exit 1

explore="explore --gpu H100 --model gpt2 -q --vary sms=60:200,l2_mib=20:200 --sample 1500"
serve="plan --model gpt2-large --gpu H100 --gpus 1,2 --isl 256 --osl 32 --users 1,8,64 -q"
train="plan --train --model llama-3.1-8b --gpu H100 --gpus 8 --batch 64 --seq 4096 -q"
# same NAME WORDS OUTPUT: three shards, the second begun twice, and the whole behind them.
same() {
    local shard name=$1 words=$2 out=$3
    # shellcheck disable=SC2086  # a list of words
    "$ROOFTILE" $words $out one.csv >one.txt
    for shard in 3 2 1 2; do # shellcheck disable=SC2086
        succeeds "$name: shard $shard" "$ROOFTILE" $words $out two.csv --shard $shard/3
        holds "$name: says where shard $shard is" "two.csv.shard-$shard-of-3" stdout
    done
    [ ! -e two.csv ] && ok "$name: no shard writes the whole" || not_ok "$name: no shard writes the whole"
    # What a kill left: a beginning of a chunk.
    truncate -s -5 two.csv.shard-3-of-3
    # shellcheck disable=SC2086
    succeeds "$name: the whole" "$ROOFTILE" $words $out two.csv
    cmp -s one.csv two.csv && ok "$name: the same table" || not_ok "$name: the same table"
    cmp -s one.txt stdout && ok "$name: the same report" || not_ok "$name: the same report" "$(diff one.txt stdout | head -n 4)"
    is "$name: and no journal is left" "$(find . -name 'two.csv.*')" ""
    # shellcheck disable=SC2086
    "$ROOFTILE" $words $out two.csv --shard 1/2 --overwrite >/dev/null
    # shellcheck disable=SC2086
    refuses "$name: of another" 2 "two.csv.shard-1-of-2: is of another" "$ROOFTILE" ${words/H100/H200} $out two.csv --overwrite
    is "$name: and leaves none" "$(find . -name 'two.csv.*')" ./two.csv.shard-1-of-2
    rm two.csv*
    # shellcheck disable=SC2086
    refuses "$name: nowhere" 2 "say where all points go" "$ROOFTILE" $words --shard 1/2
    # shellcheck disable=SC2086
    refuses "$name: no report" 2 "--report is written by the same command without --shard" "$ROOFTILE" $words $out two.csv --shard 1/2 --report r.json
    rm -f one.csv
}
same explore "$explore" --csv
same serving "$serve" --csv
same training "$train" --csv
# The same options in another order, and defaults that are written out, are the same plan, which "same" refuses to another's.
# shellcheck disable=SC2086
"$ROOFTILE" $train --csv two.csv --shard 1/2 >/dev/null
succeeds "training: options in another order" "$ROOFTILE" plan -q --seq 4096 --batch=64 --csv two.csv --gpus 8 --gpu=H100 --model llama-3.1-8b --train \
    --runtime megatron --optimizer adamw --dtype bf16 --schedule 1f1b --node-gpus 8 --network infiniband --oversubscription 1 --tp 1,2,4,8
is "training: no shard is left" "$(find . -name 'two.csv.*')" ""
# shellcheck disable=SC2086
"$ROOFTILE" $train --csv two.csv --shard 1/2 --overwrite >/dev/null
for other in "--schedule gpipe" "--optimizer sgd" "--node-gpus 4" "--network tcp" "--tp 1,2"; do # shellcheck disable=SC2086
    refuses "training: $other is another" 2 "two.csv.shard-1-of-2: is of another" "$ROOFTILE" $train --csv two.csv --overwrite $other
done
rm two.csv*
for i in $(seq 103); do echo "{\"model\": \"gpt2\", \"gpu\": \"H100\", \"batch\": $((1 + i % 7)), \"id\": $i}"; done >jobs.jsonl
"$ROOFTILE" predict --jobs jobs.jsonl >one.jsonl
for shard in 1 2 3 4; do "$ROOFTILE" predict --jobs jobs.jsonl --shard $shard/4; done >two.jsonl
cmp -s one.jsonl two.jsonl && ok "jobs: the same lines" || not_ok "jobs: the same lines" "$(wc -l one.jsonl two.jsonl)"
is "jobs: all" "$(wc -l <one.jsonl)" 103
refuses "jobs: of standard input" 2 "give --jobs a file" "$ROOFTILE" predict --jobs - --shard 1/2
refuses "a part of one step" 2 "parts are of the lines of --jobs" "$ROOFTILE" predict --gpu H100 --model gpt2 --shard 1/2
refuses "what GPUs share out" 2 "--shard optimizer is for plans of training" "$ROOFTILE" $serve --shard optimizer
refuses "no part" 2 "--shard 3/2: must be I/N" "$ROOFTILE" $serve --csv a.csv --shard 3/2
finish
