#!/usr/bin/env bash
# One test of the Python module: run.sh TEST.py [MODULE]. MODULE is one that the test needs; ROOFTILE_PYTHON names a
# Python that may have it. $ROOFTILE is the program, $ROOFTILE_LIBRARY the library, $ROOFTILE_SOURCE the source.
set -u
too_old=
test=$1 module=${2:-}
name=python.$(basename "${test#*test_}" .py)
skip() { echo "skipped $name: $1"; exit 77; }
if grep -q '^ROOFTILE_SANITIZE:BOOL=ON' "$(dirname "$ROOFTILE")/CMakeCache.txt"; then
    skip "a sanitized library does not load into a plain Python"
fi
# PyTorch before 2.5 exports without dynamo=, which rooftile.torch passes.
old="'torch' in '$module'.split(',') and [int(n) for n in torch.__version__.split('.')[:2]] < [2, 5]"
for python in ${ROOFTILE_PYTHON:-} python3 /usr/bin/python3 none; do
    [ "$python" != none ] || skip "no Python of 3.9 or newer${module:+ with $module}${too_old:+; $too_old}"
    "$python" -c "import sys; sys.exit(sys.version_info < (3, 9))" 2>/dev/null || continue
    [ -z "$module" ] && break
    "$python" -c "import ${module//,/, }" 2>/dev/null || continue
    "$python" -c "import ${module//,/, }, sys; sys.exit($old)" && break
    too_old="PyTorch of $python is older than 2.5"
done
export PYTHONPATH=$ROOFTILE_SOURCE/python PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
exec "$python" "$test"
