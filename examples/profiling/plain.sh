#!/bin/sh
# memcached or Redis from Debian's sources as they are, compiled by the compiler that `tailwater profile build` stands on, and without
# it: what a recorded server is held against. The last line that it prints is the program. For clocked.sh.
#
# Usage: examples/profiling/plain.sh memcached|redis
#
# What it built stays in out/plain; delete that to begin anew.
set -eu
name=${1:?"say memcached or redis"} compiler=clang-22
cd "$(dirname "$0")/../.."
command -v "$compiler" >/dev/null || { echo "plain.sh: found no $compiler; type: make pass" >&2; exit 1; }
case $name in
memcached)
    echo '#include <event.h>' | cc -E -o /dev/null - 2>/dev/null ||
        { echo "plain.sh: found no event.h; type: apt-get install libevent-dev" >&2; exit 1; }
    built=memcached
    ;;
redis) built=src/redis-server ;;
*) echo "plain.sh: found $name; say memcached or redis" >&2 && exit 2 ;;
esac
sources=$(cargo xtask source "$name" | tail -n 1)
folder=out/plain/${sources##*/}
if ! [ -e "$folder/plain" ]; then
    rm -rf "$folder"
    mkdir -p out/plain
    cp -a "$sources" "$folder"
    # The sources may have been built by then, by `tailwater profile build`. Flags are those of patched.sh.
    case $name in
    memcached)
        rm -f "$folder/Makefile" "$folder/memcached" "$folder"/*.o
        (cd "$folder" && CC=$compiler ./configure --quiet) >&2
        make --silent -C "$folder" CFLAGS='-O2 -g -pthread -Wno-error' memcached >&2
        ;;
    redis)
        make --silent -C "$folder" distclean >&2
        make --silent -C "$folder" CC="$compiler" MALLOC=libc redis-server >&2
        ;;
    esac
    touch "$folder/plain"
fi
echo "$folder/$built"
