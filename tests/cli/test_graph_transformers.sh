# Graphs against transformers' own models with eager attention: kernels of each operator, and what training keeps for the
# backward pass (tests/models/networks/pytorch_transformers.py).
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work"
for python in ${ROOFTILE_PYTHON:-} python3 /usr/bin/python3 none; do
    [ "$python" != none ] && "$python" -c "import torch, torchvision, transformers; assert int(transformers.__version__.split('.')[0]) >= 5" 2>/dev/null && break
done
[ "$python" != none ] || skip_all graph_transformers "no python3 with PyTorch, torchvision and transformers 5"
export OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
compare="$python $ROOFTILE_SOURCE/tests/models/networks/pytorch_transformers.py"

eight="gemma2 phi3 qwen3 mixtral gpt_neox roberta vit whisper"
succeeds same $compare "$ROOFTILE" $eight cohere gptj
grep "^not ok\|^#" "$work/stdout"
for model in $eight; do
    holds "same_$model" "ok $model, training, batch 3" "$work/stdout"
done
others="gpt2 bert opt llama t5 bart falcon bloom gpt_oss"
succeeds saved $compare "$ROOFTILE" --saved $eight $others
grep "^not ok" "$work/stdout"
for model in $eight $others; do
    holds "saved_$model" "ok $model: saved" "$work/stdout"
done

# notices NAME SED WORDS TYPE: the comparison reports, in these words, a graph that SED has changed.
notices() {
    printf '#!/bin/sh\n"%s" "$@" | sed %s\n' "$ROOFTILE" "'$2'" >"$work/changed"
    chmod +x "$work/changed"
    if $compare "$work/changed" $4 >"$work/stdout" 2>"$work/stderr" </dev/null; then not_ok "$1" "exit status 0"; else
        holds "$1" "$3" "$work/stdout"
    fi
}
notices dims 's/"k": 96$/"k": 97/' "forward product (1, 11, 37, 96): 4 in PyTorch, 0 in the graph" qwen3
notices phase 's/"backward"/"forward"/' "gpt_neox, training, batch 1: backward fill" gpt_neox
notices saved_bytes 's/"saved": /"saved": 2/' "not ok qwen3: saved" "--saved qwen3"
finish
