# scripts/demo.sh by the synthetic backend, whose times are made up, in place of this machine's: enough kernels, a second try, too few.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work" || exit 1
export program=$ROOFTILE

# The program as the demo calls it; $counts has the kernels a device of each collection, $calls what was asked of it.
cat >synthetic <<'END'
#!/usr/bin/env bash
echo "$*" >>calls
[ "$1" != collect ] || { read -r count rest <counts && echo "$rest" >counts; set -- "$@" --backend synthetic --count "$count"; }
exec "$program" "${@//threads/synthetic large}"
END
chmod +x synthetic
demo() { # COUNTS
    echo "$1" >counts
    rm -f calls
    ROOFTILE=$work/synthetic ROOFTILE_DEMO="8s 9s 100" "$ROOFTILE_SOURCE/scripts/demo.sh" out
}
succeeds "enough kernels" demo 600
is "measured once" "$(grep -c '^collect' calls)" 1
lacks "no second try" "measuring for" stdout
lacks "and enough to judge by" "too few" stdout
holds "the page" "out/report.html" stdout
succeeds "a machine that does other work" demo "20 600"
is "measured again" "$(grep -o 'budget [0-9]*s' calls | tr '\n' ' ')" "budget 8s budget 9s "
holds "says why" "Only 40 kernels in 8s" stdout
lacks "with enough then" "too few" stdout
succeeds "few both times" demo "20 30"
holds "prove nothing" "too few to say how right" stdout
fails_demo() { ! demo "2 2" >stdout; }
succeeds "next to none" fails_demo
holds "are not trained on" "too few to train on" stdout
finish
