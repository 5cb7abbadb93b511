# The release script, as far as it is quick: what it refuses, and a tarball that is the same bytes twice.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
command -v git >/dev/null || skip_all release "no git"
[ -d "$ROOFTILE_SOURCE/.git" ] || skip_all release "the source is no clone"
git clone -q "$ROOFTILE_SOURCE" "$work/clone" 2>"$work/stderr" || skip_all release "git does not clone $ROOFTILE_SOURCE"
cp "$ROOFTILE_SOURCE/scripts/release.sh" "$work/clone/scripts/" # as it is here
cd "$work/clone" || exit 1
git add -A
git diff --cached --quiet || git -c user.name=a -c user.email=a@b.invalid commit -qm "as it is here"
release() { scripts/release.sh --tarball-only "$@"; }
# says NAME WORDS COMMAND...: it fails and says so.
says() {
    if "${@:3}" >"$work/stdout" 2>"$work/stderr"; then not_ok "$1" "it succeeded"; else holds "$1" "$2" "$work/stderr"; fi
}
says "a folder is to be named" "name the folder to make" release
says "unknown options" "there is no option --fast" scripts/release.sh --fast ../out
succeeds "makes a tarball" release ../out
version=$(sed -n 's/^project(rooftile VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
succeeds "with its checksum" bash -c 'cd ../out && sha256sum -c SHA256SUMS'
mkdir ../unpacked
succeeds "that unpacks" tar -C ../unpacked -xf "../out/rooftile-$version.tar.gz"
(cd "../unpacked/rooftile-$version" && find . -type f | LC_ALL=C sort) >../tarred
git -c core.quotepath=off ls-files | sed 's,^,./,' | LC_ALL=C sort >../committed
succeeds "and holds what git does" diff ../tarred ../committed
if command -v cmake >/dev/null; then
    cmake -DSOURCE="../unpacked/rooftile-$version" -DOUT="$work/revision.h" -P "../unpacked/rooftile-$version/scripts/revision.cmake"
    is "and knows its revision" "$(cat "$work/revision.h")" "#define RT_REVISION \"$(git rev-parse HEAD | cut -c1-12)\""
fi
succeeds "makes another" release ../again
is "which is the same bytes" "$(cat ../again/SHA256SUMS)" "$(cat ../out/SHA256SUMS)"
says "a folder that is there" "../out is there already" release ../out
echo "# changed" >>README.md
says "changes in no commit" "the working tree has changes" release ../third
git checkout -q README.md
git tag "v$version"
says "a version that is out" "the tag v$version is there already" release ../third
finish
