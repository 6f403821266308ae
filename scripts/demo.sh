#!/bin/sh
# Builds ownpool and shows what it does to a real program: the same work with
# and without it, the kernel's calls counted and the time taken.
#
# The program is Python where there is one (os.urandom), else bash ($SRANDOM),
# and dd on /dev/urandom. Calls that reach the kernel are counted by strace where
# it is installed, else by the library's own report.
set -eu
cd "$(dirname "$0")/.."
cargo build --release -p ownpool -p ownpool-cli --lib --bins
ownpool=${CARGO_TARGET_DIR:-target}/release/ownpool
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

now() { date +%s%N; }

# fastest COMMAND...: the fastest of three runs, in thousandths of a second.
fastest() {
    best=
    for _ in 1 2 3; do
        start=$(now)
        "$@" >/dev/null 2>&1
        took=$((($(now) - start) / 1000000))
        if [ -z "$best" ] || [ "$took" -lt "$best" ]; then best=$took; fi
    done
    echo "$best"
}

# kernel_calls COMMAND...: getrandom calls that reached the kernel.
kernel_calls() {
    if command -v strace >/dev/null 2>&1; then
        strace -f -qq -e trace=getrandom -o "$work/trace" "$@" >/dev/null 2>&1
        grep -c 'getrandom(' "$work/trace" || true
    else
        rm -f "$work/report"
        OWNPOOL_STATS=$work/report "$@" >/dev/null 2>&1
        sed -n 's/.*"kernel":{"calls":\([0-9]*\).*/\1/p' "$work/report"
    fi
}

if python3 -c '' 2>/dev/null; then
    python=$(python3 -c 'import sys; print(sys.executable)')
    what='Python: 200,000 x os.urandom(16)'
    set -- "$python" -c 'import os
for _ in range(200_000): os.urandom(16)'
else
    what='bash: 200,000 x $SRANDOM'
    set -- bash -c 'for ((i = 0; i < 200000; i++)); do : "$SRANDOM"; done'
fi
observe=
command -v strace >/dev/null 2>&1 || observe="$ownpool run --mode observe --"
printf '\n%s\n' "$what"
# shellcheck disable=SC2086
printf '  %-10s %8s ms  %8s calls to the kernel\n' without "$(fastest "$@")" "$(kernel_calls $observe "$@")"
printf '  %-10s %8s ms  %8s calls to the kernel\n' ownpool \
    "$(fastest "$ownpool" run -- "$@")" "$(kernel_calls "$ownpool" run -- "$@")"

set -- dd if=/dev/urandom of=/dev/null bs=1M count=512
printf '\n%s\n' "$*"
printf '  %-10s %8s ms\n' without "$(fastest "$@")"
printf '  %-10s %8s ms\n' ownpool "$(fastest "$ownpool" run -- "$@")"

printf '\nWho asked, by the report:\n\n'
rm -f "$work/report"
"$ownpool" run --stats="$work/report" -- "$@" >/dev/null 2>&1
"$ownpool" report "$work/report"
