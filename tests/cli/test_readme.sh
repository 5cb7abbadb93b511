# The README's ten commands run as they stand, in its order, in a folder that has what a fresh clone has; none opens the network.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work" || exit 1
ln -s "$ROOFTILE_SOURCE/datasets" "$ROOFTILE_SOURCE/models" .
mkdir bin && ln -s "$(realpath "$ROOFTILE")" bin/rooftile
export PATH="$work/bin:$PATH"

awk '/^## / { on = /^## Ten commands/ } on && /^```/ { inside = !inside; next } on && inside' "$ROOFTILE_SOURCE/README.md" >commands
is ten_commands "$(grep -c '^rooftile ' commands)" 10
is nothing_else "$(grep -vc '^rooftile ' commands)" 0
while IFS= read -r line; do
    # Data that a command reads lies in the tree, not only on this machine.
    for word in $line; do
        case $word in
        datasets/* | models/*)
            if [ -e "$ROOFTILE_SOURCE/.git" ] && command -v git >/dev/null; then
                succeeds "$word is in the repository" git -C "$ROOFTILE_SOURCE" ls-files --error-unmatch "$word"
            fi
            ;;
        esac
    done
    if [ "$line" != "${line/.onnx/}" ] && rooftile graph --shapes --model models/networks/zoo/vgg16.onnx 2>&1 | grep -q "built without ONNX"; then
        echo "skipped ${line%%   \#*}: built without ONNX"
    else
        succeeds "${line%%   \#*}" bash -c "$line"
    fi
done <commands
for file in a.html mine.p.h5 calibrated.p.h5; do
    if [ -s "$file" ]; then ok "$file is made"; else not_ok "$file is made" "$(ls)"; fi
done

# The sample is what its page says.
make=$(sed -n 's/^    \(rooftile collect .*\)/\1/p' "$ROOFTILE_SOURCE/datasets/sample/README.md")
succeeds sample_is_made_again bash -c "$make"
uuid_of() { rooftile dataset info "$1" --json | sed -n 's/.*"uuid": "\([^"]*\)".*/\1/p' | head -n 1; }
is sample_is_the_same "$(uuid_of synthetic.h5)" "$(uuid_of "$ROOFTILE_SOURCE/datasets/sample/synthetic.h5")"
is sample_is_small "$(($(wc -c <"$ROOFTILE_SOURCE/datasets/sample/synthetic.h5") <= 200000))" 1
is lines_of_120 "$(awk 'length > 120' "$ROOFTILE_SOURCE/README.md" | wc -l)" 0
finish
