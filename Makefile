# SPDX-License-Identifier: MIT
# The targets for users. Each folder builds itself; objects go to build/.
#
#   make            library, daemon, tools, Python module, examples (user space)
#   make CORE=1     the same without wings (tools/wings/), Python and examples, in build/core;
#                   and the module, if there are headers of the kernel; `make CORE=1 check`
#                   runs the tests that need no wing
#   make deps       packages that the build and the tests need (Debian, Ubuntu)
#   make module     tsctrace.ko for KDIR (default: the running kernel)
#   make check      the tests; installs missing packages (Debian, Ubuntu)
#   make check-all  all tests on all kernels, with the large numbers of repeats
#   make check-fast unit tests, the ring's model, quick native tests; no guest
#   make check-unit, check-model, check-sim, check-guest  one suite of the tests
#
# Apart from `make check`, as they take longer or need more:
#   make check-browser   pages in Chromium
#   make check-faults    merges of recordings with faults, FAULTS=1000
#   make check-guest-debug  the guest suite under KASAN and lockdep
#   make check-mutants   mistakes that tests should find: MUTANTS=200, SEED=n
#   make check-newest    the guest suite on the newest kernel in Debian's archive
#   make check-packages  packages on Debian 12, 13, sid, Ubuntu 24.04, 26.04, and RPM
#   make check-stress    tests again and again on a busy machine that stops them, TEST=t_record
#   make check-programs  redis, nginx, PostgreSQL, Go and musl programs in containers
#   make check-panics    a guest that panics again and again, PANICS=200
#   make check-service   the daemon under systemd, in a container
#   make fuzz       fuzz the readers of packets and recordings, SECONDS=1800
#   make fuzz-kernel  fuzz the module in a debug kernel, MINUTES=30
#   make demo       record three machines and their messages, in guests
#   make bench      costs beside other tracers'; also bench-clock, -codec, -emit, -file,
#                   -kernel, -merge, -merge-ranks, -python, -record, -serve, -sim, -sync
#   make install    PREFIX=/usr/local DESTDIR=; make uninstall with the same variables
#   make dist       the release's tarball, in build/
#   make deb        Debian packages, in build/deb
#   make rpm        RPM packages, in build/rpm
#   make doc        this documentation as HTML, build/doc/html/index.html
#   make sbom       the bill of materials, build/tsctrace.spdx.json
.DEFAULT_GOAL := all
MAKEFLAGS += --no-print-directory

# Paths are relative to this folder, so folders below get them as absolute ones.
# MAKEOVERRIDES, or they would get the caller's text. No $(abspath) for DESTDIR:
# it splits at blanks.
ifneq ($(CORE),)
O ?= build/core
endif
ifneq ($(O),)
override O := $(abspath $(O))
export O
MAKEOVERRIDES += O=$(O)
endif
staged = DESTDIR="$(if $(patsubst /%,,$(firstword $(DESTDIR))),$(CURDIR)/)$(DESTDIR)"

kernel_headers = $(wildcard $(or $(KDIR),/lib/modules/$(shell uname -r)/build)/Makefile)
all: lib daemon tools $(if $(CORE),$(if $(kernel_headers),module),examples python)
lib:
	+$(MAKE) -C lib
daemon tools: lib
	+$(MAKE) -C $@
examples: lib
	+$(MAKE) -C Documentation/examples
python: lib
	+$(if $(wildcard lib/python),$(MAKE) -C lib/python)
module:
	+$(MAKE) -C kmod

# On all CPUs, unless the user gave -j
all_cpus = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))

deps:
	tests/deps.sh

check: deps
	+$(MAKE) $(all_cpus) all
	tests/run.py all
# All tests on all kernels, with all repeats
check-all: deps
	+$(MAKE) $(all_cpus) all
	TSCT_TIER=all tests/run.py all
# Tests again and again on a disturbed machine: TEST=t_record SUITES=native ROUNDS=20
check-stress: deps
	+$(MAKE) $(all_cpus) all
	tests/stress.py $(SUITES)
check-fast: deps
	+$(MAKE) $(all_cpus) all
	tests/run.py fast
check-unit: deps
	+$(MAKE) $(all_cpus) all
	tests/run.py unit
check-guest: deps
	+$(MAKE) $(all_cpus) all
	tests/run.py guest $(KERNEL)
check-sim: deps
	+$(MAKE) all
	SEEDS=$(or $(SEEDS),10000) tests/run.py sim
check-model: deps
	DEPTH=$(or $(DEPTH),1) tests/run.py model
# Merges recordings of machines with faulty clocks
check-faults: deps
	+$(MAKE) all
	+$(MAKE) -C tests native
	FAULTS=$(or $(FAULTS),1000) tests/native/t_merge_faults.sh
check-guest-debug: deps
	tests/deps.sh --debug-kernel
	tests/guest/kernel.sh get $(or $(KERNEL),6.1-debug) >/dev/null
	+$(MAKE) all
	tests/run.py guest $(or $(KERNEL),6.1-debug)
# Mistakes in copies of the tree, and the tests that find them
check-mutants: deps
	tests/mutants/mutants.py --mutants $(or $(MUTANTS),200) $(if $(SEED),--seed $(SEED)) \
		$(if $(SUITES),--suites $(SUITES))
# On the newest kernel that Debian offers, in a root of that Debian
check-newest:
	tests/deps.sh --newest
	tests/guest/newest.sh
# Panics of one guest, each checked by the next boot: PANICS=200, KERNEL=6.12-amd64
check-panics: deps
	+$(MAKE) $(all_cpus) all
	TSCT_PANICS=$(or $(PANICS),200) tests/guest/run.sh --test t_panic \
		$(or $(KERNEL),6.12-amd64)
# Packages of Debian 12, 13 and sid and of Ubuntu 24.04 and 26.04: built twice, checked,
# installed, used, purged.
# SUITES="bookworm trixie"
check-packages: deps
	tests/deps.sh --packages
	+$(MAKE) all
	tests/packages/run.sh $(SUITES)
fuzz:
	tests/deps.sh --fuzz
	+$(MAKE) -C tests/fuzz
fuzz-kernel: deps
	tests/deps.sh --debug-kernel
	+$(MAKE) all
	MINUTES=$(or $(MINUTES),30) tests/guest/fuzz/run.sh
check-browser: deps
	tests/deps.sh --browser
	+$(MAKE) all
	+$(MAKE) -C tests native
	BROWSER=1 tests/native/t_report.sh
	BROWSER=1 tests/native/t_cluster_live.sh
# Programs of others in containers made by hand: PROGRAMS="nginx go"
PROGRAMS ?= static redis nginx postgresql go musl
check-programs: deps
	tests/deps.sh --programs
	+$(MAKE) all
	+$(MAKE) -C tests native
	PROGRAMS="$(PROGRAMS)" tests/native/t_strangers_programs.sh
	PROGRAMS="$(PROGRAMS)" tests/native/t_questions.sh
check-service: deps
	tests/deps.sh --service
	+$(MAKE) all
	tests/run.py service
demo: deps
	+$(MAKE) all
	tests/demo/run.sh
# Without the right to install packages, it measures what is installed.
bench bench-emit bench-clock bench-codec bench-file bench-record bench-merge bench-merge-ranks bench-python:
	tests/deps.sh || echo "continuing with the installed packages" >&2
	+$(MAKE) all
	tests/bench/run.sh $(filter-out bench,$(@:bench-%=%))
bench-sim: all
	tests/netsim/run.sh $(if $(SEED),--seed $(SEED))
bench-sync: deps
	+$(MAKE) all
	tests/bench/sync/run.sh $(if $(ROUNDS),--rounds $(ROUNDS)) \
		$(if $(SECONDS),--seconds $(SECONDS)) $(if $(RATES),--rates "$(RATES)") \
		$(if $(SEED),--seed $(SEED)) $(if $(REQUEST),--request "$(REQUEST)") \
		$(if $(ANSWER),--answer "$(ANSWER)") $(if $(KEEP),--keep "$(KEEP)") $(ROWS)
bench-serve: deps
	+$(MAKE) all
	tests/bench/sync/serve.sh $(ROUNDS) $(SECONDS)
bench-kernel: deps
	+$(MAKE) all
	tests/bench/kernel/run.sh $(KERNEL)

install: all
	+$(MAKE) -C lib install $(staged)
	+$(if $(CORE),,$(if $(wildcard lib/python),$(MAKE) -C lib/python install $(staged)))
	+$(MAKE) -C daemon install $(staged)
	+$(MAKE) -C tools install $(staged)
	+$(MAKE) -C Documentation install $(staged)

# Removes the files that an installation with the same variables has, then the folders
# that are only its own: it makes that installation in build/installed. /etc/tsctrace and
# recordings stay, and the service is not disabled.
installed = $(or $(O),$(CURDIR)/build)/installed
uninstall:
	rm -rf "$(installed)"
	+$(MAKE) install DESTDIR="$(installed)"
	cd "$(installed)" && find . ! -type d -printf '%P\0' | \
		(cd "$(CURDIR)" && cd "$(or $(DESTDIR),/)" && xargs -0 rm -f)
	cd "$(installed)" && find . -depth -type d -name tsctrace -printf '%P\0' | \
		(cd "$(CURDIR)" && cd "$(or $(DESTDIR),/)" && while read -r -d '' dir; do \
			rm -rf "$$dir/__pycache__" && { [ ! -d "$$dir" ] || rmdir "$$dir"; }; done)
	rm -rf "$(installed)"
uninstall: SHELL := bash

dist:
	@tools/packaging/dist.sh $(or $(O),build)
deb:
	tools/packaging/deb.sh $(or $(O),build)/deb
sbom: all
	tools/packaging/sbom.py $(or $(O),build) >$(or $(O),build)/tsctrace.spdx.json
doc:
	Documentation/html.sh $(or $(O),build)/doc
rpm:
	tools/packaging/rpm.sh $(or $(O),build)/rpm

clean:
	rm -rf build

.PHONY: all lib daemon tools examples python module deps fuzz fuzz-kernel check-service check check-all check-fast check-unit check-guest \
	check-browser check-faults check-guest-debug check-model check-mutants check-newest check-packages check-panics check-programs check-stress check-sim demo bench \
	bench-emit bench-clock bench-codec bench-file bench-kernel bench-merge bench-merge-ranks bench-python bench-record bench-sim bench-sync bench-serve install uninstall dist deb doc rpm sbom clean
