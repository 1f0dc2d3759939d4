#!/bin/sh
# memcached or Redis from Debian's sources, with a patch of ours that has it read its own clock at the entry and the exit of
# the function that handles requests (benches/profile/programs/clocked.h), built by `tailwater profile build`. The last line
# that it prints is the program. For clocked.sh and kept.sh. With a FUNCTION, that one times its own calls, too. With planted, the
# patch is another one, for planted.sh.
#
# Usage: examples/profiling/patched.sh memcached|redis [FUNCTION [planted]]
set -eu
name=${1:?"say memcached or redis"} clock=${2:-} other=${3:+-$3}
cd "$(dirname "$0")/../.."
command -v patch >/dev/null || { echo "patched.sh: found no patch; type: apt-get install patch" >&2; exit 1; }
case $name in
memcached)
    echo '#include <event.h>' | cc -E -o /dev/null - 2>/dev/null ||
        { echo "patched.sh: found no event.h; type: apt-get install libevent-dev" >&2; exit 1; }
    built=memcached target=memcached
    ;;
redis) built=src/redis-server target=redis-server ;;
*) echo "patched.sh: found $name; say memcached or redis" >&2 && exit 2 ;;
esac
sources=$(cargo xtask source "$name" | tail -n 1)
folder=out/patched/${sources##*/}${clock:+-clock}$other patch=examples/profiling/patches/$name$other.patch
# Built for another runtime, it would refuse to start.
applied=$(cat "$patch" crates/profile-rt/include/tailwater/profile_abi.h crates/profile-rt/src/memory/arena.rs | cksum)
if [ "$(cat "$folder/applied" 2>/dev/null)" != "$applied" ]; then
    rm -rf "$folder"
    mkdir -p out/patched
    cp -a "$sources" "$folder"
    # It may have been built by then, for another runtime.
    case $name in
    memcached) rm -f "$folder/Makefile" "$folder/memcached" "$folder"/*.o ;;
    redis) make --silent -C "$folder" distclean >&2 ;;
    esac
    patch --quiet --strip 0 --directory "$folder" <"$patch"
    echo "$applied" >"$folder/applied"
fi
header=$folder/$(dirname "$built")/clocked.h
cmp -s benches/profile/programs/clocked.h "$header" || cp benches/profile/programs/clocked.h "$header"
[ -e "$folder/Makefile" ] || (cd "$folder" && tailwater profile build -- ./configure --quiet) >&2
case $name in
memcached) set -- CFLAGS='-O2 -g -pthread -Wno-error' ;;
redis) set -- MALLOC=libc ;;
esac
tailwater profile build ${clock:+--clock "$clock"} -- make --silent -C "$folder" "$@" "$target" >&2
echo "$folder/$built"
