# Thin front of Meson and ninja. `make help` lists the targets.
BUILD ?= build
ASAN ?= build-asan
DUCKDB_HOME ?= $(CURDIR)/.deps/duckdb
export DUCKDB_HOME

.PHONY: help setup build asan demo quick test test-asan test-spark test-fault test-full fuzz bench docs format clean

help:
	@sed -n 's/^#: //p' Makefile

#: make setup       install what the build needs (apt packages, libduckdb, a Python environment for tests)
setup:
	@tools/setup

$(BUILD)/build.ninja: | setup
	@meson setup $(BUILD) -Dduckdb_home=$(DUCKDB_HOME) >/dev/null

#: make build       build the command: build/sluice
build: setup $(BUILD)/build.ninja
	@ninja -C $(BUILD)

#: make demo        run the main job on generated customers and show the result
demo: build
	@examples/customers/demo

#: make quick       the tests to run all the time: two minutes
quick: build
	@tools/run-tests $(BUILD) quick

#: make test        these, and those of hundreds of processes: three minutes
test: build
	@tools/run-tests $(BUILD) quick,slow

asan: setup
	@test -f $(ASAN)/build.ninja || meson setup $(ASAN) -Dduckdb_home=$(DUCKDB_HOME) -Db_sanitize=address,undefined -Db_lundef=false >/dev/null
	@ninja -C $(ASAN)

#: make test-asan   the same tests under the address and undefined-behaviour sanitizers
test-asan: asan
	@tools/run-tests $(ASAN) quick,slow --timeout-multiplier 8

#: make test-full   the long tests: many random cases
test-full: build
	@tools/run-tests $(BUILD) full

#: make test-fault  every fault at every storage operation
test-fault: build
	@tools/run-tests $(BUILD) fault

#: make test-spark  read every kind of table back with Apache Spark (first tools/setup-spark: 500 MB through pip and Maven)
test-spark: build
	@tools/setup-spark
	@SLUICE_REQUIRE_INTEROP=1 tools/run-tests $(BUILD) spark

#: make fuzz        every decoder of foreign bytes, 60 s each
fuzz: setup
	@tools/fuzz

#: make bench       ratios against peers in one run
bench: build
	@bench/run

#: make docs        generated pages: docs/errors.md, docs/settings.md, docs/reference/errors.md and table-features.md
docs:
	@tools/make-docs

#: make format      clang-format over the sources
format:
	@git ls-files '*.c' '*.h' | xargs clang-format -i

clean:
	rm -rf $(BUILD) $(ASAN) build-fuzz
