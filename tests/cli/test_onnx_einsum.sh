# Einsum beside the operators that torch.einsum dispatches: tests/models/networks/pytorch_einsum.py.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work"
if "$ROOFTILE" graph --shapes --model "$ROOFTILE_SOURCE/models/networks/zoo/vgg16.onnx" 2>&1 | grep -q "built without ONNX"; then
    skip_all onnx_einsum "built without ONNX"
fi
needs_pytorch onnx_einsum 2.0 # the einsum of older ones dispatches to other operators
"$python" -c "import onnx" 2>/dev/null || skip_all onnx_einsum "no python3 with PyTorch and onnx"
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
succeeds same "$python" "$ROOFTILE_SOURCE/tests/models/networks/pytorch_einsum.py" "$ROOFTILE" 60
holds same_equations "ok einsum: 60 equations" "$work/stdout"
grep "^#" "$work/stdout"
finish
