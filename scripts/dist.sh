#!/bin/sh
# Makes dist/ownpool-VERSION-x86_64-linux.tar.gz, which runs on glibc 2.28 and later
# (the library alone: on 2.17 and later). `make dist` gives it VERSION and CARGO.
#
# The library imports nothing newer than 2.17 by itself. The command uses std, which
# takes the newest symbols of whatever libc it is linked with; zig links it with an
# old one. Needed: cargo-zigbuild and zig (`cargo install cargo-zigbuild`,
# `pip install ziglang`), objdump, strip.
set -eu
: "${CARGO:=cargo}" "${VERSION:?}"
target=x86_64-unknown-linux-gnu
built=${CARGO_TARGET_DIR:-target}
name=ownpool-$VERSION-x86_64-linux

fail() { echo "dist: $1" >&2; exit 1; }

# The newest glibc that FILE needs, such as 2.17.
newest() { objdump -T "$1" | sed -n 's/.*(\{0,1\}GLIBC_\([0-9.]*\))\{0,1\}.*/\1/p' | sort -Vu | tail -n 1; }

# newest_at_most FILE VERSION
newest_at_most() {
    needs=$(newest "$1")
    [ "$(printf '%s\n' "$needs" "$2" | sort -V | tail -n 1)" = "$2" ] ||
        fail "$1 needs glibc $needs, more than $2"
}

command -v cargo-zigbuild >/dev/null || fail "cargo-zigbuild is not installed"
"$CARGO" build --release -p ownpool --lib
"$CARGO" zigbuild --release -p ownpool-cli --bin ownpool --target $target.2.28
newest_at_most "$built/release/libownpool.so" 2.17
newest_at_most "$built/$target/release/ownpool" 2.28

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
mkdir "$stage/in"
cp "$built/release/libownpool.so" "$built/$target/release/ownpool" "$stage/in"
strip --strip-debug "$stage/in/libownpool.so"
strip --strip-all "$stage/in/ownpool"
make -s install DESTDIR="$stage/$name" PREFIX= PCPREFIX='$${pcfiledir}/../..' \
    LIBRARY="$stage/in/libownpool.so" COMMAND="$stage/in/ownpool"

# The licences lie under share/doc, so that the tree can be unpacked over a prefix.
docs=share/doc/ownpool
install -d "$stage/$name/$docs/examples"
found=
for file in LICENSE*; do
    [ -f "$file" ] || continue
    found=1
    install -m 644 "$file" "$stage/$name/$docs/"
done
[ -n "$found" ] || fail "no LICENSE file"
for file in README.md CHANGELOG.md docs/c.md; do
    [ ! -f "$file" ] || install -m 644 "$file" "$stage/$name/$docs/"
done
install -m 644 examples/*.c examples/*.py "$stage/$name/$docs/examples/"
(
    cd "$stage/$name"
    find . -type f ! -path "./$docs/SHA256SUMS" | LC_ALL=C sort | xargs sha256sum >"$stage/sums"
    install -m 644 "$stage/sums" $docs/SHA256SUMS
)

mkdir -p dist
tar -C "$stage" --sort=name --owner=0 --group=0 --numeric-owner \
    --mtime="@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}" \
    -cf - "$name" | gzip -9n >"dist/$name.tar.gz"
(cd dist && sha256sum "$name.tar.gz" >SHA256SUMS)
echo "dist/$name.tar.gz"
