# What every command does with words it does not know, and --help.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work"

refuses no_command 2 "say what to do" "$ROOFTILE"
holds no_command_lists "evaluate   report how far" "$work/stderr"
refuses near_command 2 '"trian" is no command of rooftile; did you mean train?' "$ROOFTILE" trian
refuses near_subcommand 2 '"mrege" is no command of rooftile dataset; did you mean merge?' "$ROOFTILE" dataset mrege
refuses far_command 2 '"bake" is no command of rooftile; `rooftile --help` lists them' "$ROOFTILE" bake
refuses near_option 2 "dataset import has no option --fromat; did you mean --format?" "$ROOFTILE" dataset import --fromat csv
refuses ambiguous_option 2 "--s may be --source or --strict" "$ROOFTILE" dataset import --s
refuses no_value 2 "--output needs a value: --output=FILE.h5" "$ROOFTILE" dataset merge --output
for command in collect graph train calibrate predict evaluate crossval devices "dataset info" "dataset import" "dataset export" "dataset merge" "dataset validate"; do
    # shellcheck disable=SC2086
    refuses "hlep_$command" 2 "$command has no option --hlep; did you mean --help?" "$ROOFTILE" $command --hlep
    # shellcheck disable=SC2086
    succeeds "help_$command" "$ROOFTILE" $command --help
    holds "help_names_$command" "Usage: rooftile $command" "$work/stdout"
    awk 'length > 79 { exit 1 }' "$work/stdout" && ok "help_fits_$command" || not_ok "help_fits_$command" "a line of more than 79 letters"
done

# --- --version ---
succeeds version "$ROOFTILE" --version
is version_first_line "$(head -n 1 "$work/stdout")" "rooftile $(sed -n 's/^project(rooftile VERSION \([0-9.]*\).*/\1/p' "$ROOFTILE_SOURCE/CMakeLists.txt")"
for word in compiler HDF5 OpenBLAS jansson libcsv zlib ONNX "CUDA backend" pictures; do
    holds "version_names_$word" "$word  " "$work/stdout"
done
succeeds version_json "$ROOFTILE" --version --json
json_is version_json_libraries "' '.join(sorted(d['libraries']))" "hdf5 jansson libcsv openblas protobuf_c zlib"
refuses version_words 2 "--version --xml: say nothing behind --version, or --json" "$ROOFTILE" --version --xml
mkdir none
succeeds version_without_gnuplot env PATH="$work/none" "$ROOFTILE" --version
holds version_names_its_package "gnuplot was not found; install it (Debian: gnuplot-nox)" "$work/stdout"
finish
