# `make` lists the verbs. What takes more than a few lines of shell lives in xtask.

.DEFAULT_GOAL := help
.PHONY: help demo test bench peers ci pass docs fmt fuzz miri deny tidy setup setup-pass setup-test setup-ci clean

CARGO := cargo
BINARY := $(or $(CARGO_TARGET_DIR),target)/release/tailwater

# What a verb needs beside Rust, as COMMAND=PACKAGE,PACKAGE: when the command is missing, these apt
# packages are installed. Rust links with cc; libFuzzer is C++.
NEEDS := cc=gcc,libc6-dev
NEEDS_FUZZ := $(NEEDS) c++=g++
# The profiler's plugin, and the tests that compile with it.
NEEDS_PASS := $(NEEDS) clang++-22=clang-22 ld.lld-22=lld-22 llvm-config-22=llvm-22-dev \
  llvm-ar-22=llvm-22 FileCheck-22=llvm-22-tools

# What tests use beside that: the second compiler of C++ that headers are tried with, sanitizers, build systems
# that the profiler works with, Python for a client of the protocol, memcached, Redis, clients and tools that others
# wrote for it, and perf. No data set is among them.
NEEDS_TEST := $(NEEDS_PASS) g++=g++ \
  /usr/lib/llvm-22/lib/clang/22/include/sanitizer/asan_interface.h=libclang-rt-22-dev \
  cmake=cmake ninja=ninja-build python3=python3 memcached=memcached redis-server=redis-server memcslap=libmemcached-tools nutcracker=nutcracker perf=linux-perf \
  /usr/lib/python3/dist-packages/pymemcache=python3-pymemcache

# What CI uses beside that: what a stranger's program is fetched and built from, to be profiled, a library that a
# bench compiles, and the glosses of WordNet, without which three tests are passed over.
NEEDS_CI := $(NEEDS_TEST) /usr/include/event.h=libevent-dev dpkg-source=dpkg-dev \
  /usr/include/nlohmann/json.hpp=nlohmann-json3-dev /usr/share/wordnet/data.noun=wordnet-base

help: ## list the verbs
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-14s %s\n", $$1, $$2 }'

demo: setup ## build tailwater and run the main job: a server at twice its capacity (a minute at most)
	$(CARGO) build --release --locked --package tailwater-cli
	$(BINARY) demo

test: setup-test ## run every test, doc tests and fuzz corpora included; what failed is named at the end
	@$(CARGO) xtask test

bench: setup ## run benches: NAMES="overload transport" (default all), SHORT=1 for a quick pass, LIST=1 for the names
	$(CARGO) xtask bench $(if $(LIST),--list) $(if $(SHORT),--short) $(NAMES)

peers: setup ## lint all benches; check and test those that CI leaves out, since what they compare with takes minutes to build
	@$(CARGO) xtask peers

# Its first steps need no more than a compiler. What the others need, xtask has installed beside them, where that may be.
ci: setup ## run what CI runs: fmt, tidy, clippy, docs, tests, examples, doc commands, short benches
	@[ "$$(id -u)" = 0 ] || sh xtask/setup.sh $(NEEDS_CI)
	@$(CARGO) xtask ci

pass: setup-pass ## build the profiler's compiler plugin and runtime into target/profile
	@$(CARGO) xtask pass

docs: setup ## build the API documentation, warnings denied
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --no-deps --all-features --locked

fmt: setup ## format the code
	@$(CARGO) xtask fmt

tidy: setup ## check the map, the layers and other promises of ARCHITECTURE.md
	@$(CARGO) xtask tidy

fuzz: ## fuzz the parsers: TARGET=name (default all), TIME=60 seconds each; needs nightly and cargo-fuzz
	@sh xtask/setup.sh $(NEEDS_FUZZ)
	@$(CARGO) xtask fuzz $(or $(TIME),60) $(TARGET)

miri: setup ## run the tests of the kernels under Miri (minutes); needs nightly and its component miri
	@$(CARGO) xtask miri

deny: setup ## check licences, advisories and sources of dependencies; needs cargo-deny
	@command -v cargo-deny >/dev/null || { echo "found no cargo-deny; type: cargo install --locked cargo-deny" >&2; exit 1; }
	$(CARGO) deny check

setup: ## install what the other verbs need, or say what to type
	@sh xtask/setup.sh $(NEEDS)

setup-pass:
	@sh xtask/setup.sh $(NEEDS_PASS)

setup-test:
	@sh xtask/setup.sh $(NEEDS_TEST)

setup-ci:
	@sh xtask/setup.sh $(NEEDS_CI)

clean: ## remove what was built and measured
	$(CARGO) clean
	rm -rf out fuzz/target benches/*/target
