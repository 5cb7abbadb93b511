# `rooftile predict --max-batch`, and what to change where a step does not fit.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all fit "no python3"
cd "$work"
predict() { "$ROOFTILE" predict -p roofline "$@"; }
# value PATH: of the JSON in stdout, "a.b.0.c"
value() { python3 -c "
import json, sys
at = json.load(open('stdout'))['forecasts'][0]
for part in sys.argv[1].split('.'):
    at = at[int(part)] if part.isdigit() else at[part]
print(at)" "$1"; }

# ---- the largest batch fits, the next does not ----
step="--gpu A100-40:2g.10gb -m gpt2 --seq 512 --mode training --optimizer adamw"
succeeds "it is found" predict $step --max-batch --json
batch=$(value max_batch.batch) limit=$(value max_batch.limit)
is "it is forecast" "$(value batch)" "$batch"
is "and fits" "$(value memory.fits)" True
is "what grows with it" "$limit" activations
succeeds "asked for by number it is the same" predict $step --batch "$batch" --json
is "and fits as well" "$(value memory.fits)" True
succeeds "the next" predict $step --batch $((batch + 1)) --json
is "does not" "$(value memory.fits)" False
is "what fits is the batch before" "$(value memory.changes.0.change)|$(value memory.changes.0.fits)" "--batch $batch|True"
predict $step --batch $((batch + 1)) >stdout 2>stderr
holds "changes are a table" "what would take less memory" stdout
holds "the first that fits is named" "; --batch $batch takes" stderr
succeeds "as text" predict $step --max-batch
holds "with what the next takes" "largest batch  $batch: " stdout

# ---- what the runtime loads into the context counts ----
succeeds "another runtime" predict $step --max-batch --runtime eager-1.13 --json
is "is what is asked" "$(value max_batch.used_gib)" "$(value memory.used_gib)"
fewer=$(value max_batch.batch)
if [ "$fewer" -lt "$batch" ]; then ok "leaves room for fewer"; else not_ok "leaves room for fewer" "$fewer, not below $batch"; fi

# ---- over several GPUs a multiple; per GPU and length a line ----
succeeds "of parts" predict $step --dp 2 --microbatches 2 --max-batch --json
is "a multiple of 4" $(($(value max_batch.batch) % 4)) 0
succeeds "a sweep" predict --gpu A100-40:1g.5gb --gpu A100-40:3g.20gb -m gpt2 --mode training --seq 256,512 --max-batch --json
batches=$(python3 -c "import json; print(*[r['max_batch']['batch'] for r in json.load(open('stdout'))['forecasts']])")
if python3 -c "
a, b, c, d = map(int, '$batches'.split())
assert a > b > 0 and c > d and c > a and d > b"; then ok "longer sequences hold fewer, larger slices more"; else not_ok "longer sequences hold fewer, larger slices more" "$batches"; fi

# ---- decoding: the cache; nothing fits ----
succeeds "decoding" predict --gpu H100 -m llama-3-8b --mode decode --seq 4096 --max-batch --json
is "is limited by the cache" "$(value max_batch.limit)" cache
succeeds "a model that is too large" predict --gpu A100-40:1g.5gb -m llama-2-70b --mode decode --max-batch --json
is "has no batch" "$(value max_batch.batch)" 0
succeeds "says so" predict --gpu A100-40 -m llama-2-70b --mode decode --dtype bf16 --max-batch
holds "in words" "largest batch  none: the least takes" stdout
holds "and what would do" "--quant int4" stdout
holds "with several GPUs" "--tp 4" stdout

# ---- several together where none is enough ----
succeeds "a large model" predict --gpu H200 -m gpt3-13b --mode training --optimizer adamw --dtype bf16 --batch 512 --dp 8 --json
is "takes all of them" "$(value memory.changes.2.fits)" True
case $(value memory.changes.2.change) in
"--recompute layers --shard "*) ok "by name" ;;
*) not_ok "by name" "$(value memory.changes.2.change)" ;;
esac

# ---- bad input ----
refuses "--batch beside it" 2 "--max-batch finds the batch: leave out --batch" predict $step --max-batch --batch 4
refuses "lists of sequences beside it" 2 "--max-batch finds the batch: leave out --contexts" predict --gpu H100 -m llama-3-8b --max-batch --contexts 17,20
refuses "parts that do not divide" 2 "give a multiple of 2" predict $step --dp 2 --batch 3
finish
