#!/bin/sh
# Usage: setup.sh NAME=PACKAGE,PACKAGE…   Installs the apt packages of missing commands and paths, or says what to type.
set -eu
channel=$(sed -n 's/^channel = "\(.*\)"$/\1/p' rust-toolchain.toml) missing=
command -v cargo >/dev/null || { echo "found no cargo, need Rust $channel: install rustup (https://rustup.rs), then type the same again" >&2; exit 1; }
rustc --version >/dev/null 2>&1 || { echo "setup: installing Rust $channel with rustup"; rustup toolchain install "$channel" --profile minimal --component rustfmt --component clippy; }
for pair; do command -v "${pair%%=*}" >/dev/null || [ -e "${pair%%=*}" ] || missing="$missing $(echo "${pair#*=}" | tr , ' ')"; done
[ -n "$missing" ] || exit 0
[ "$(id -u)" = 0 ] || { echo "missing apt packages:$missing; type: sudo apt-get install$missing" >&2; exit 1; }
echo "setup: installing apt packages:$missing"; apt-get update -qq && apt-get install -qy --no-install-recommends $missing
