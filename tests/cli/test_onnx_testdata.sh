# Models that others wrote to test readers of ONNX: Debian's libonnx-testdata, over a thousand.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
folder=${ROOFTILE_ONNX_TESTDATA:-/usr/share/libonnx-testdata/data}
[ -d "$folder" ] || skip_all onnx_testdata "no $folder (Debian: libonnx-testdata)"
command -v python3 >/dev/null || skip_all onnx_testdata "no python3"
if "$ROOFTILE" graph --shapes --model "$ROOFTILE_SOURCE/tests/data/onnx/weights.onnx" 2>&1 | grep -q "built without ONNX"; then
    skip_all onnx_testdata "built without ONNX"
fi
export PYTHONDONTWRITEBYTECODE=1
succeeds no_crash_and_nothing_wrong python3 "$ROOFTILE_SOURCE/tests/models/networks/onnx_testdata.py" "$ROOFTILE" "$folder"
sed 's/^/# /' "$work/stdout"
is all_read "$(grep -c '^refused' "$work/stdout")" 0
finish
