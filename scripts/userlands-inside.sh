# What scripts/userlands.sh runs in each userland, as a user who has the tarball alone:
# unpack it, build the five lines of the manual and the examples by pkg-config, then run
# programs under the library. Each must be moved, and no two draws of it or of its children
# may be equal (by chance: 2^-100).
cd /mnt
. /etc/os-release
printf '\n== %s, %s\n' "$VERSION_CODENAME" "$(ldd --version | head -n 1 | sed 's/^ldd //')"

fail() { echo "$VERSION_CODENAME: $1" >&2; exit 1; }

tar -xzf ownpool.tar.gz -C /usr/local --strip-components=1
(cd /usr/local && sha256sum -c --quiet share/doc/ownpool/SHA256SUMS) || fail checksums
ldconfig
ownpool --version

# The five lines of docs/c.md.
docs=/usr/local/share/doc/ownpool
sed -n '/^```c$/,/^```$/p' $docs/c.md | sed '1d;$d' >x.c
[ "$(wc -l <x.c)" -eq 5 ] || fail 'the document does not show five lines'
cc x.c $(pkg-config --cflags --libs ownpool) && ./a.out

# Unpacked somewhere else, without ldconfig: ownpool.pc goes by its own place.
mkdir elsewhere
tar -xzf ownpool.tar.gz -C elsewhere --strip-components=1
cc x.c $(PKG_CONFIG_PATH=/mnt/elsewhere/lib/pkgconfig pkg-config --cflags --libs ownpool) -o moved
LD_LIBRARY_PATH=/mnt/elsewhere/lib ldd ./moved | grep -q /mnt/elsewhere/lib/ || fail 'not from elsewhere'
LD_LIBRARY_PATH=/mnt/elsewhere/lib ./moved >/dev/null
rm -rf elsewhere moved

flags="-O2 -Wall -Wextra -Werror $(pkg-config --cflags ownpool)"
libs=$(pkg-config --libs ownpool)
for name in session_keys speed; do
    cc $flags $docs/examples/$name.c $libs -o $name
done
cc $flags -pthread $docs/examples/hammer.c -o hammer
cc $flags -shared -fPIC $docs/examples/plugin.c $libs -o plugin.so
cc $flags -pthread $docs/examples/plugin_host.c -ldl -o plugin_host
./session_keys 2
./plugin_host ./plugin.so | head -n 1
python3 $docs/examples/keys.py 2 >/dev/null

# Programs that know nothing of the library. Each prints a line for every draw that must
# not be met again: its own after it was moved, and those of 24 forked children.
cat >fork.py <<'EOF'
import os, sys, uuid
for _ in range(5000):
    uuid.uuid4()
print(os.urandom(16).hex(), flush=True)
for child in range(24):
    if os.fork() == 0:
        # Small and from what is buffered, then a second one.
        print(uuid.uuid4().hex, flush=True)
        print(os.urandom(16).hex(), flush=True)
        os._exit(0)
    os.wait()
    print(os.urandom(16).hex(), flush=True)
EOF
cat >fork.pl <<'EOF'
$| = 1;
open my $random, '<', '/dev/urandom' or die;
sub draw { my $bytes; sysread($random, $bytes, 16) == 16 or die; unpack('H*', $bytes) }
draw() for 1 .. 5000;
print draw(), "\n";
for (1 .. 24) {
    my $child = fork;
    if ($child == 0) { print draw(), "\n" for 1 .. 2; require POSIX; POSIX::_exit(0) }
    waitpid $child, 0;
    print draw(), "\n";
}
EOF
cat >threads.c <<'EOF'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>
static void print_draw(void) {
    unsigned char bytes[16];
    char line[34];
    if (getrandom(bytes, 16, 0) != 16) _exit(1);
    for (int i = 0; i < 16; i++) snprintf(line + 2 * i, 3, "%02x", bytes[i]);
    line[32] = '\n';
    if (write(1, line, 33) != 33) _exit(1);
}
static void *work(void *unused) {
    unsigned char bytes[32];
    for (int i = 0; i < 5000; i++) if (getrandom(bytes, 32, 0) != 32) _exit(1);
    for (int i = 0; i < 6; i++) {
        pid_t child = fork();
        if (child == 0) { print_draw(); print_draw(); _exit(0); }
        print_draw();
        waitpid(child, NULL, 0);
    }
    return unused;
}
int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) if (pthread_create(&threads[i], NULL, work, NULL)) return 1;
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    return 0;
}
EOF
cc -O2 -pthread threads.c -o threads

cat >judge.py <<'EOF'
import json, sys
name, mode, least, text, report = sys.argv[1:6]
draws = open(text).read().split() if text != "-" else []
lines = [json.loads(line) for line in open(report)]
moved = max(line["threads_moved"] for line in lines)
would = max(line["would_move"]["threads"] for line in lines)
total = lambda who, what: sum(line[who][what] for line in lines)
children = f"{len(set(draws))} of {len(draws)} draws differ" if draws else ""
print(f"{name:22} {mode:8} moved {max(moved, would)}  kernel {total('kernel', 'calls'):6} calls  "
      f"private {total('private', 'calls'):7} calls {total('private', 'bytes'):10} bytes  {children}")
ok = len(set(draws)) == len(draws) and "0" * 32 not in draws
if mode == "observe":
    ok = ok and would >= int(least) and total("private", "calls") == 0
elif mode == "vdso":
    ok = ok and (total("private", "calls") > 0 or total("kernel", "calls") > 0)
else:
    ok = ok and moved >= int(least) and total("private", "bytes") > total("kernel", "bytes")
sys.exit(0 if ok else 1)
EOF

# under NAME MODE LEAST DRAWS COMMAND...: at LEAST so many threads moved, DRAWS lines printed.
under() {
    name=$1 mode=$2 least=$3 draws=$4
    shift 4
    rm -f report
    ownpool run --mode "$mode" --stats=/mnt/report -- "$@" >out 2>err || { cat err; fail "$name: status $?"; }
    [ ! -s err ] || { cat err; fail "$name is not silent"; }
    text=-
    [ "$draws" -eq 0 ] || { text=out; [ "$(wc -l <out)" -eq "$draws" ] || fail "$name: not $draws lines"; }
    python3 judge.py "$name" "$mode" "$least" "$text" report || fail "$name in mode $mode"
}

for mode in auto always vdso observe; do
    under python $mode 1 73 python3 fork.py
    under perl $mode 1 73 perl fork.pl
    under threads $mode 4 72 ./threads
done
under session_keys auto 1 0 sh -c './session_keys 100 2>/dev/null'
under hammer auto 2 0 ./hammer 100000 2
under dd auto 1 0 sh -c 'dd if=/dev/urandom of=/mnt/data bs=1M count=20 2>/dev/null'
[ "$(wc -c <data)" -eq 20971520 ] || fail 'dd: wrong length'
# 20 MB that gzip can shorten would not be random.
[ "$(gzip -c data | wc -c)" -gt 20971520 ] || fail 'dd: compressible'
rm -f data
under plugin auto 1 0 ./plugin_host ./plugin.so
ownpool check python3 | head -n 1
ownpool bench --quick >bench 2>&1 || { tail -n 3 bench; fail bench; }
./speed 200000 | tail -n 7 | head -n 3
