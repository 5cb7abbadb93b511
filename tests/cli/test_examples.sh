# What README and the guide show is what the program prints; after a change of the predictor, examples.py --write puts it right.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all examples "no python3"
python3 "$ROOFTILE_SOURCE/tests/cli/examples.py" "$ROOFTILE" "$ROOFTILE_SOURCE/README.md" "$ROOFTILE_SOURCE"/docs/guide/*.md
