# `rooftile graph`: text, --json, --dot, --list, operator graphs, and what it refuses.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
data="$ROOFTILE_SOURCE/tests/data/graphs"
cd "$work"

lacks() { if grep -qF -- "$2" "$3"; then not_ok "$1" "\"$2\" is in $3"; else ok "$1"; fi; }

succeeds text "$ROOFTILE" graph --model gpt2-large --batch 4 --dtype fp32
holds text_says_what "gpt2-large: inference, batch 4, sequence 1024, fp32" "$work/stdout"
holds text_repeats "layer, 36 times" "$work/stdout"
holds text_has_dims "batch=1 m=4096 n=3840 k=1280" "$work/stdout"
holds text_counts_parameters "parameters  774030080" "$work/stdout"
holds text_has_memory "weights 3.10 GB" "$work/stdout"
lacks text_has_no_backward backward "$work/stdout"
if [ -s "$work/stderr" ]; then not_ok text_is_quiet "$(cat "$work/stderr")"; else ok text_is_quiet; fi

# Two FLOPs for each parameter of a product and token, and the attention's.
succeeds json "$ROOFTILE" graph --model gpt2-large --batch 4 --dtype fp32 --json
json_is json_keys "sorted(d)" "['blocks', 'memory', 'model', 'options', 'schema', 'totals']"
json_is json_options "d['options']['batch'], d['options']['sequence'], d['options']['mode']" "(4, 1024, 'inference')"
json_is json_blocks "[(b['name'], b['repeat']) for b in d['blocks']]" "[('embedding', 1), ('layer', 36), ('head', 1)]"
json_is json_node_keys "sorted(d['blocks'][1]['nodes'][0])" "['inputs', 'kernels', 'name', 'outputs', 'parameters']"
json_is json_other_block "d['blocks'][1]['nodes'][0]['inputs']" "['embedding/add_positions']"
json_is json_adds_up "abs(sum(b['repeat'] * k['flops'] for b in d['blocks'] for n in b['nodes'] for k in n['kernels']) / d['totals']['forward']['flops'] - 1) < 1e-9" True
json_is json_counts_kernels "sum(b['repeat'] * len(n['kernels']) for b in d['blocks'] for n in b['nodes']) == d['totals']['kernels']" True
json_is json_no_backward "d['totals']['backward']['flops'], d['memory']['gradients']" "(0.0, 0.0)"
cp "$work/stdout" plain.json

succeeds fused "$ROOFTILE" graph --model gpt2-large --batch 4 --dtype fp32 --fusion --json
json_is fused_same_flops "abs(d['totals']['forward']['flops'] / json.load(open('plain.json'))['totals']['forward']['flops'] - 1) < 1e-9" True
json_is fused_fewer_bytes "d['totals']['forward']['bytes'] < json.load(open('plain.json'))['totals']['forward']['bytes']" True
json_is fused_names_ops "[k['fused'] for n in d['blocks'][1]['nodes'] for k in n['kernels'] if n['name'].startswith('gelu')]" "[['mul_scalar', 'pow_scalar', 'mul_scalar', 'add', 'mul_scalar', 'tanh', 'add_scalar', 'mul']]"

succeeds training "$ROOFTILE" graph -m gpt2 --mode training --seq 128 --optimizer adamw --dtype bf16
holds training_says_what "gpt2: training, batch 1, sequence 128, bf16, by eager, adamw" "$work/stdout"
for words in backward accumulate optimizer.step gradients "weights 0.25 GB"; do
    holds "training_has_$words" "$words" "$work/stdout"
done
succeeds decode "$ROOFTILE" graph -m llama-3-8b --mode decode --context 4096 --tp 8 --json
json_is decode_options "d['options']['context'], d['options']['tensor_parallel'], d['memory']['cache'] > 0" "(4096, 8, True)"
json_is decode_sends "d['totals']['forward']['sent_bytes'] > 0" True

succeeds overlong "$ROOFTILE" graph -m bert-base --seq 600
holds overlong_warns "warning: bert-base has 512 positions" "$work/stderr"
succeeds short_by_itself "$ROOFTILE" graph -m bert-base
holds short_sequence "sequence 512" "$work/stdout"

succeeds dot "$ROOFTILE" graph -m gpt2 --dot
holds dot_cluster 'label="layer x 12"' "$work/stdout"
holds dot_edges " -> n" "$work/stdout"
if command -v dot >/dev/null; then
    succeeds dot_is_drawn dot -Tsvg "$work/stdout" -o graph.svg
else
    echo "skipped dot_is_drawn: no graphviz"
fi

succeeds list "$ROOFTILE" graph --list
holds list_has_gpt3 "gpt3-xl" "$work/stdout"
succeeds list_json "$ROOFTILE" graph --list --json
json_is list_counts "[m['parameters'] for m in d if m['name'] == 'llama-2-7b']" "[6738415616.0]"

succeeds config "$ROOFTILE" graph -m "$ROOFTILE_SOURCE/models/networks/zoo/gpt2.json"
holds config_parameters "parameters  124439808" "$work/stdout"

# Operator graphs.
graph="$data/gpt_mini-train-16-4-dp2.csv"
succeeds opgraph "$ROOFTILE" graph -m "$graph" --layers 5
holds opgraph_says_what "training, batch 2, sequence 16" "$work/stdout"
holds opgraph_repeats "layer, 5 times" "$work/stdout"
succeeds opgraph_alone "$ROOFTILE" graph -m "$graph"
holds opgraph_warns "--layers gives their number" "$work/stderr"
succeeds opgraph_fused "$ROOFTILE" graph -m "$data/mini-inf-8-2-fusion.csv" --json
json_is opgraph_fused_ops "[k['fused'] for n in d['blocks'][0]['nodes'] for k in n['kernels'] if n['name'] == 'pow~tanh']" "[['pow_scalar', 'tanh']]"
refuses opgraph_sizes 2 "an operator graph is of one step and size, so --batch does not apply" "$ROOFTILE" graph -m "$graph" --batch 3
refuses opgraph_missing 1 "nothing.csv" "$ROOFTILE" graph -m nothing.csv
printf 'Name,OpName,FwOps,BwOps,AccOps,Prev,InputShapes,OutputShape\na,x,"[[1","[]",[],[],[],[]\n' >bad.csv
refuses opgraph_broken 1 "bad.csv:2: FwOps: character 4: a ']' is missing" "$ROOFTILE" graph -m bad.csv

refuses no_model 2 "say which model" "$ROOFTILE" graph
refuses unknown_model 1 "gpt2" "$ROOFTILE" graph --model gtp2
refuses free_argument 2 "name the model with --model" "$ROOFTILE" graph gpt2
refuses zero_batch 2 "--batch 0: must be a whole number from 1" "$ROOFTILE" graph -m gpt2 --batch 0
refuses huge_batch 2 "--batch 1099511627776" "$ROOFTILE" graph -m gpt2 --batch 1099511627776
refuses odd_mode 2 "--mode fast: choose inference, decode or training" "$ROOFTILE" graph -m gpt2 --mode fast
refuses odd_optimizer 2 "--optimizer lion: choose none, sgd, adamw, momentum or adamw-cpu" "$ROOFTILE" graph -m gpt2 --optimizer lion
refuses odd_dtype 2 "--dtype fp3" "$ROOFTILE" graph -m gpt2 --dtype fp3
refuses odd_tp 2 "--tp 5" "$ROOFTILE" graph -m gpt2 --tp 5
refuses useless_context 2 "--context is for --mode decode" "$ROOFTILE" graph -m gpt2 --context 5
refuses useless_optimizer 2 "--optimizer is for --mode training" "$ROOFTILE" graph -m gpt2 --optimizer sgd
refuses useless_layers 2 "--layers is for operator graphs" "$ROOFTILE" graph -m gpt2 --layers 5
refuses json_and_dot 2 "exclude each other" "$ROOFTILE" graph -m gpt2 --json --dot
succeeds help "$ROOFTILE" graph --help
holds help_examples "dot -Tsvg" "$work/stdout"

published="${ROOFTILE_NEUSIGHT:-$ROOFTILE_SOURCE/../shared/neusight}/opgraph/gpt2_large-train-1024-4.csv"
if [ -f "$published" ]; then
    succeeds published "$ROOFTILE" graph -m "$published"
    holds published_layers "layer, 36 times" "$work/stdout"
else
    echo "skipped published: no $published"
fi
finish
