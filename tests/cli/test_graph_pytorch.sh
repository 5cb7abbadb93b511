# Graphs against the operators that PyTorch runs for the same models on the CPU: tests/models/networks/pytorch_ops.py.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work"
needs_pytorch graph_pytorch
version=$("$python" -c "import torch; print('.'.join(torch.__version__.split('.')[:2]))")
[ "$version" = 1.13 ] || skip_all graph_pytorch "the expected differences are those of PyTorch 1.13, this is $version"
export OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
compare="$python $ROOFTILE_SOURCE/tests/models/networks/pytorch_ops.py"

succeeds same $compare "$ROOFTILE"
grep "^not ok\|^#" "$work/stdout"
for model in gpt2 bert opt llama "llama, all heads" t5; do
    holds "same_${model//[ ,]/_}" "ok $model, training, batch 3" "$work/stdout"
done

# notices NAME SED WORDS: the comparison reports, in these words, a graph that SED has changed.
notices() {
    printf '#!/bin/sh\n"%s" "$@" | sed %s\n' "$ROOFTILE" "'$2'" >"$work/changed"
    chmod +x "$work/changed"
    if $compare "$work/changed" >"$work/stdout" 2>"$work/stderr" </dev/null; then not_ok "$1" "exit status 0"; else
        holds "$1" "$3" "$work/stdout"
    fi
}
notices transposed_copy 's/"transpose"/"copy"/' "gpt2, inference, batch 3: forward transpose, 2772 elements, 99792 bytes: 3 in PyTorch, 0 in the graph"
notices phase 's/"accumulate"/"backward"/' "bert, training, batch 1: accumulate add, 84 elements"
notices dims 's/"k": 14$/"k": 15/' "forward product (18, 11, 11, 14): 3 in PyTorch, 0 in the graph"
finish
