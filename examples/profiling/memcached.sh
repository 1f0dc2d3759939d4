#!/bin/sh
# memcached, as Debian has it, under the profiler: which functions make its slowest moments, and the
# locks behind them (the experiment of LDB's Fig. 7, NSDI 2024, on a small machine).
#
# Usage: examples/profiling/memcached.sh [SECONDS]      10 when not given
#
# Fetches the sources by apt (a list and state of its own: the system's stays as it is), builds them
# unmodified with `tailwater profile build`, records the server under a load of SET requests, and
# reports. Needs apt, dpkg-dev, make, python3, libevent-dev, and `tailwater` with its pass (make pass).
# What it fetched and built stays under out/memcached; delete that to begin anew.
set -eu
seconds=${1:-10}
cd "$(dirname "$0")/../.."
mkdir -p out/memcached
cd out/memcached

give_up() {
    echo "memcached.sh: $1" >&2
    exit 1
}
for need in apt-get=apt dpkg-source=dpkg-dev make=make python3=python3; do
    command -v "${need%=*}" >/dev/null || give_up "found no ${need%=*}; type: apt-get install ${need#*=}"
done
echo '#include <event.h>' | cc -E -o /dev/null - 2>/dev/null ||
    give_up "found no event.h; type: apt-get install libevent-dev"
command -v tailwater >/dev/null || give_up "found no tailwater; put target/release on the PATH"

fetch() {
    . /etc/os-release
    mkdir -p lists/partial
    echo "deb-src ${DEBIAN_MIRROR:-http://deb.debian.org/debian} ${VERSION_CODENAME:-stable} main" >sources.list
    set -- -qq -o "Dir::Etc::sourcelist=$PWD/sources.list" -o Dir::Etc::sourceparts=- \
        -o "Dir::State::lists=$PWD/lists" -o APT::Get::List-Cleanup=0 -o APT::Sandbox::User=
    apt-get "$@" update && apt-get "$@" source memcached
}
[ -e fetched ] || { fetch && touch fetched; } ||
    give_up "could not fetch memcached's sources; name a mirror with Debian's sources in DEBIAN_MIRROR"
sources=$(find . -maxdepth 1 -type d -name 'memcached-*' | head -n 1)

build() {
    cd "$sources"
    # Their makefiles would run autotools again, where times of files were not kept.
    touch aclocal.m4 && touch configure config.h.in && find . -name Makefile.in -exec touch {} +
    tailwater profile build -- ./configure --quiet
    tailwater profile build -- make --silent CFLAGS='-O2 -g -pthread -Wno-error' memcached
}
[ -x "$sources/memcached" ] || (build) >build.log 2>&1 ||
    give_up "could not build memcached; $PWD/build.log says why"

# Four workers and little memory: items are evicted all the time.
rm -f socket
tailwater profile record -o memcached.trace -- "$sources/memcached" -u "$(id -un)" -t 4 -m 64 -s socket &
server=$!
trap 'kill "$server" 2>/dev/null || true' EXIT
python3 - "$seconds" <<'CLIENT'
"""Four processes with two connections each, 16 SET requests at a time, for so many seconds."""
import os, random, socket, sys, time

CONNECTIONS, AT_ONCE, KEYS, ANSWER = 2, 16, 200_000, len(b"STORED\r\n")

def connect():
    until = time.monotonic() + 10
    while True:
        try:
            connection = socket.socket(socket.AF_UNIX)
            connection.connect("socket")
            return connection
        except OSError:
            connection.close()
            if time.monotonic() > until:
                sys.exit("memcached.sh: the server does not listen after 10 s")
            time.sleep(0.01)

def batch(chance):
    sizes = [chance.randrange(10, 1000) for _ in range(AT_ONCE)]
    return b"".join(b"set key%d 0 0 %d\r\n%s\r\n" % (chance.randrange(KEYS), n, b"v" * n) for n in sizes)

def load(seed, seconds):
    chance = random.Random(seed)
    connections = [connect() for _ in range(CONNECTIONS)]
    batches, done, until = [batch(chance) for _ in range(2000)], 0, time.monotonic() + seconds
    while time.monotonic() < until:
        for connection in connections:
            connection.sendall(chance.choice(batches))
        for connection in connections:
            answer = connection.recv(AT_ONCE * ANSWER, socket.MSG_WAITALL)
            if answer != b"STORED\r\n" * AT_ONCE:
                sys.exit(f"memcached.sh: the server said {answer!r}")
            done += AT_ONCE
    print(f"client {seed}: {done} SET requests", flush=True)

children = []
for seed in range(4):
    child = os.fork()
    if child == 0:
        load(seed, float(sys.argv[1]))
        sys.exit(0)
    children.append(child)
sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
CLIENT
kill "$server"
trap - EXIT
wait "$server" || true
tailwater profile report --locks --min-count 100 --limit 12 memcached.trace
