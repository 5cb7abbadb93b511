# What commands print as JSON is what docs/schema/ says: a case a line of schema_cases.txt. The check can fail.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all schema "no python3"
tests=$ROOFTILE_SOURCE/tests/cli
rooftile() { "$ROOFTILE" "$@"; }
export -f rooftile
export ROOFTILE tree=$ROOFTILE_SOURCE
while IFS='|' read -r name command; do
    case $name in '' | '#'*) continue ;; esac
    lines=$([ "$name" = job ] && echo --lines || true)
    bash -c "$command" >"$name.out" 2>"$name.err"
    # shellcheck disable=SC2086  # no word, or one
    python3 "$tests/schema_check.py" "$ROOFTILE_SOURCE/docs/schema/$name.json" $lines <"$name.out" >"$name.wrong" 2>&1
    is "$name: $command" "$(cat "$name.wrong")" ""
done <"$tests/schema_cases.txt"
for schema in "$ROOFTILE_SOURCE"/docs/schema/*.json; do
    grep -q "^$(basename "$schema" .json)|" "$tests/schema_cases.txt" || not_ok "$schema has a case"
done
sed 's/"schema": 1/"schema": "one"/' predict.out | python3 "$tests/schema_check.py" "$ROOFTILE_SOURCE/docs/schema/predict.json" >wrong 2>&1
is "another kind is noticed" $? 1
echo '{"schema": 1}' | python3 "$tests/schema_check.py" "$ROOFTILE_SOURCE/docs/schema/predict.json" >wrong 2>&1
is "what is missing is noticed" $? 1
finish
