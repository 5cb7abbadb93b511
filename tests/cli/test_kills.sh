# A few kill -9 of every command that writes (attacks.sh; scripts/campaign.sh runs many). What is checked holds at any
# moment, so it does not matter when a machine comes to it.
. "$(dirname "$0")/lib.sh"
succeeds "nothing is lost, nothing is left" bash "$ROOFTILE_SOURCE/tests/cli/attacks.sh" kills 4
grep '^not ok' "$work/stdout" | sed 's/^not ok/#/'
for command in merge import export calibrate baseline train collect evaluate predict explore plan crossval; do
    holds "$command: 4 kills" "$command: 4 kills" "$work/stdout"
done
finish
