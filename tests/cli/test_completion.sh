# Completion in bash, zsh and fish, where they are there: their scripts, sourced, and what they offer.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work" || exit 1
PATH=$(dirname "$ROOFTILE"):$PATH
touch one.h5 two.csv "with space.h5"
mkdir folder

# --- the program ---
offers() { "$ROOFTILE" completion words -- "${@:2}" | cut -f 1 | grep -qxF -- "$1"; }
succeeds "commands are offered" offers predict ""
succeeds "and subcommands" offers merge dataset m
succeeds "options" offers --gpu predict --gp
succeeds "choices" offers training predict --mode tr
succeeds "GPUs of the catalogue" offers H200 predict --gpu H
succeeds "models of the zoo" offers gpt3-2.7b predict --model gpt3
succeeds "models of images" offers resnet50 graph --model resn
succeeds "files by their ending" offers ":files h5" train -o ""
refuses "another shell" 2 "choose bash, fish or zsh" "$ROOFTILE" completion tcsh
# Every GPU that is offered is one.
"$ROOFTILE" completion words -- devices "" | grep -v '^:' | cut -f 1 >"$work/gpus"
# shellcheck disable=SC2046  # a list of words
succeeds "every GPU that is offered is known" "$ROOFTILE" devices $(cat "$work/gpus")
for command in $("$ROOFTILE" completion words -- "" | cut -f 1); do # every option that is offered stands in --help
    [ "$command" != dataset ] || continue
    "$ROOFTILE" "$command" --help >"$work/help"
    "$ROOFTILE" completion words -- "$command" - | cut -f 1 | while read -r option; do
        grep -qE -- "$option(=|\[|,| |\$)" "$work/help" || echo "$command $option"
    done
done >"$work/unknown"
is "every option that is offered stands in --help" "$(cat "$work/unknown")" ""

# --- bash: as readline calls it ---
"$ROOFTILE" completion bash >rooftile.bash
# bash_offers WORD...: one reply a line, sorted
bash_offers() {
    bash --norc -c '. ./rooftile.bash && COMP_WORDS=(rooftile "$@") COMP_CWORD=$# && _rooftile && printf "%s\n" "${COMPREPLY[@]}"' bash "$@" 2>&1 | sort | paste -sd ' '
}
is "bash: options" "$(bash_offers predict --gp)" "--gpu --gpu-price"
is "bash: choices" "$(bash_offers predict --mode t)" "training"
is "bash: choices behind =" "$(bash_offers predict --mode = t)" "training"
is "bash: all choices behind =" "$(bash_offers predict --mode =)" "decode inference training"
is "bash: files by their ending, and folders" "$(bash_offers train "")" "folder one.h5 with space.h5"
is "bash: folders" "$(bash_offers dataset export -o "")" "folder"

# --- zsh: the functions of its completion stand in, and say what they were given ---
"$ROOFTILE" completion zsh >_rooftile
zsh_offers() {
    # shellcheck disable=SC2016
    zsh -f -c 'compdef() { }; compset() { }; _files() { print -r -- "files $*" }; _describe() { print -rl -- "${(@)${(P)2}%%:*}" }
        PREFIX=$@[-1]; . ./_rooftile; words=(rooftile "$@"); CURRENT=$#words; _rooftile' zsh "$@" 2>&1 | sort | paste -sd ' '
}
if command -v zsh >/dev/null; then
    is "zsh: options" "$(zsh_offers predict --gp)" "--gpu --gpu-price"
    is "zsh: choices" "$(zsh_offers predict --mode t)" "training"
    is "zsh: choices behind =" "$(zsh_offers predict --mode=t)" "--mode=training"
    is "zsh: files by their ending" "$(zsh_offers calibrate -o "")" "files -g *.h5"
    is "zsh: folders" "$(zsh_offers dataset export -o "")" "files -/"
else
    echo "skipped zsh: it is not there"
fi

# --- fish ---
"$ROOFTILE" completion fish >rooftile.fish
# As fish offers it, without what it says of each.
fish_offers() { HOME=$work/.home XDG_CONFIG_HOME=$work/.home XDG_DATA_HOME=$work/.home fish --no-config -c "source rooftile.fish; complete -C '$1'" 2>&1 | cut -f 1 | sort | paste -sd ' '; }
if command -v fish >/dev/null; then
    is "fish: options" "$(fish_offers 'rooftile predict --gp')" "--gpu --gpu-price"
    is "fish: choices" "$(fish_offers 'rooftile predict --mode t')" "training"
    is "fish: choices behind =" "$(fish_offers 'rooftile predict --mode=t')" "--mode=training"
    is "fish: files by their ending, and folders" "$(fish_offers 'rooftile train ')" "folder/ one.h5 with space.h5"
    is "fish: folders" "$(fish_offers 'rooftile dataset export --output=')" "--output=folder/"
else
    echo "skipped fish: it is not there"
fi
finish
