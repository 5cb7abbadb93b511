#!/usr/bin/env bash
# Makes the wheel and the sdist in FOLDER (default dist): see scripts/wheel.py. On a bare Debian 12 it installs what building needs.
#
#   scripts/wheel.sh [FOLDER]
set -eu
case ${1:-} in
-*)
    sed -n '2,4p' "$0" | sed 's/^# \{0,1\}//'
    exit 2
    ;;
esac
. "$(dirname "$0")/setup.sh"
# shellcheck disable=SC2086  # a list of words
setup_packages $build_packages git python3
exec python3 "$source_folder/scripts/wheel.py" "${1:-dist}"
