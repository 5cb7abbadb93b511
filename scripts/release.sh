#!/usr/bin/env bash
# Makes a release in FOLDER, which must be new: from a clean clone of HEAD it runs both test suites (gcc, and clang with
# sanitizers: .ci/run), then makes the tarball and the Debian packages twice each, which must be the same bytes, and their
# checksums. Refuses where the working tree has changes, or the tag of the version is there already.
#
#   scripts/release.sh [--skip-tests] [--tarball-only] FOLDER
#
# --skip-tests leaves out the suites (and says so), --tarball-only the packages and the suites.
set -eu
source_folder=$(cd "$(dirname "$0")/.." && pwd)
tests=1 packages=1
while [ $# -gt 0 ]; do
    case $1 in
    --skip-tests) tests=0 ;;
    --tarball-only) tests=0 packages=0 ;;
    -*) echo "release.sh: there is no option $1; see the first lines of scripts/release.sh" >&2; exit 2 ;;
    *) break ;;
    esac
    shift
done
[ $# = 1 ] || { echo "release.sh: name the folder to make: scripts/release.sh [--skip-tests] FOLDER" >&2; exit 2; }
fail() { echo "release.sh: $*" >&2; exit 1; }
cd "$source_folder"
version=$(sed -n 's/^project(rooftile VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
[ -n "$version" ] || fail "CMakeLists.txt: project(rooftile VERSION ...) is not there"
[ -z "$(git status --porcelain)" ] || fail "the working tree has changes that are in no commit; commit or remove them"
! git rev-parse -q --verify "refs/tags/v$version" >/dev/null || fail "the tag v$version is there already; raise the version in CMakeLists.txt"
[ ! -e "$1" ] || fail "$1 is there already; name a new folder"
mkdir -p "$1"
out=$(realpath "$1")
name=rooftile-$version
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Two clones: nothing that lies around here gets into a release.
for i in 1 2; do git clone -q "$source_folder" "$work/$i"; done
same() { cmp -s "$1" "$2" || fail "$(basename "$1") made twice is not the same bytes"; }

if [ $tests = 1 ]; then
    echo "Tests, with gcc and then with clang's sanitizers ..."
    (cd "$work/1" && .ci/run) >"$out/tests.log" 2>&1 || { tail -n 20 "$out/tests.log" >&2; fail "the tests failed; their log is $out/tests.log"; }
    grep -E '^[0-9]+ passed' "$out/tests.log"
fi

echo "The tarball, twice ..."
for i in 1 2; do
    git -C "$work/$i" archive --prefix="$name/" HEAD | gzip -9n >"$work/$i.tar.gz"
done
same "$work/1.tar.gz" "$work/2.tar.gz"
cp "$work/1.tar.gz" "$out/$name.tar.gz"

if [ $packages = 1 ]; then
    echo "The Debian packages, twice, from the tarball ..."
    for i in 1 2; do
        mkdir "$work/from$i"
        tar -C "$work/from$i" -xf "$out/$name.tar.gz"
        "$work/from$i/$name/scripts/packages.sh" "$work/packages$i" >/dev/null
    done
    for package in "$work"/packages1/*.deb; do same "$package" "$work/packages2/$(basename "$package")"; done
    cp "$work"/packages1/*.deb "$out"
fi

(cd "$out" && find . -name '*.tar.gz' -o -name '*.deb' | sed 's,^\./,,' | LC_ALL=C sort | xargs sha256sum -- >SHA256SUMS)
echo "$out holds:"
cat "$out/SHA256SUMS"
[ $tests = 1 ] || echo "The tests were not run."
# The lines of CHANGELOG.md's section that begin with ">".
awk -v "version=$version" '/^## /{ on = $2 == version } on && /^>/ { sub(/^> ?/, ""); print }' CHANGELOG.md >"$out/tag.txt"
[ -s "$out/tag.txt" ] || fail "CHANGELOG.md has no text of the tag: lines of \">\" under \"## $version\""
echo "Tag it: git tag -a v$version -F $out/tag.txt"
