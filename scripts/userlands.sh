#!/bin/sh
# Proves the tarball of `make dist` in real userlands of other ages: Debian bullseye
# (glibc 2.31), bookworm (2.36) and trixie (2.41, whose getrandom is the vDSO itself).
#
#     sh scripts/userlands.sh [SUITE...]
#
# Each is a directory made by debootstrap, kept for the next time (about 450 MB each) under
# USERLANDS, by default ${TMPDIR:-/tmp}/ownpool-userlands. MIRROR may name where packages
# come from; debootstrap knows one itself. Needs root, debootstrap and what `make dist`
# needs. In each, scripts/userlands-inside.sh runs as a user who has the tarball and nothing
# else; /usr/local and the working directory are in memory and gone afterwards.
set -eu
cd "$(dirname "$0")/.."
: "${USERLANDS:=${TMPDIR:-/tmp}/ownpool-userlands}"
[ $# -gt 0 ] || set -- bullseye bookworm trixie

tarball=$(make -s dist | tail -n 1)
mkdir -p "$USERLANDS"

for suite; do
    tree=$USERLANDS/$suite
    if [ ! -e "$tree/.complete" ]; then
        rm -rf "$tree"
        debootstrap --variant=minbase --include=gcc,libc6-dev,pkg-config,python3 \
            "$suite" "$tree" ${MIRROR:+"$MIRROR"} >"$USERLANDS/$suite.log" 2>&1 ||
            { tail -n 5 "$USERLANDS/$suite.log" >&2; exit 1; }
        touch "$tree/.complete"
    fi
    # Mounts of this shell alone: they go when it ends, whatever happens. The working
    # directory is a mount over /mnt, which is empty.
    unshare --mount --pid --fork sh -eu -c '
        tree=$1 tarball=$2
        mount --make-rprivate /
        mount -t proc proc "$tree/proc"
        mount --rbind /dev "$tree/dev"
        mount -t tmpfs -o mode=755 tmpfs "$tree/usr/local"
        mount -t tmpfs -o mode=755 tmpfs "$tree/mnt"
        cp "$tarball" "$tree/mnt/ownpool.tar.gz"
        cp scripts/userlands-inside.sh "$tree/mnt/inside.sh"
        exec chroot "$tree" env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin LC_ALL=C.UTF-8 \
            sh -eu /mnt/inside.sh
    ' sh "$tree" "$tarball" </dev/null
done
