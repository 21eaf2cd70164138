# The two commands are `make run` and `make test`; each installs and builds what it needs.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help node install build run test test-browser test-cluster test-threads test-nodes test-platform prove chaos fuzz demo cluster sandbox bench bench-compare load admin docs icons screens release lint

# The Node of every command below: the machine's own, or a pinned one in .node where that cannot run the service.
export OWN_PATH := $(PATH)
export PATH := $(CURDIR)/.node/bin:$(PATH)
# By env: the make 3.81 of macOS starts a plain command from the PATH that it was itself started with.
NODE := env node --enable-source-maps
# Not by npx: it can put the folder of another Node first in PATH (npm/cli 8648, and version managers).
BIN := node_modules/.bin
# Everything that is compiled or bundled, and its folders, whose times tell that a file was removed. `test` and `bench`
# alone are commands.
SOURCES := src/. bench/. test/. $(shell find src bench test -mindepth 1 -path bench/results -prune -o -print 2>/dev/null)
# Named by their sources, so that what an earlier build left in dist is not run.
TESTS := $(patsubst %.ts,dist/%.js,$(sort $(filter %.test.ts,$(SOURCES))))
# What needs nats-server.
CLUSTER_TESTS = $(patsubst %,dist/test/cluster/%.test.js,encryption failures floors links local-cluster moves node-limits nodes operations recordings)
# What two threads do as relays of one node, and the faults of one of them, beside the tests of one node that run over two.
THREAD_TESTS = $(patsubst %,dist/test/%.test.js,cluster/thread-floors cluster/thread-limits cluster/thread-moves cluster/threads faults/threads)
# What takes long: the strongest legal and illegal clients, commands and the programs that pages and backups start, and
# faults that are waited for. Not in `make test`, which is to stay below five minutes, but in `make test-platform`.
LONG_TESTS = $(patsubst %,dist/test/%.test.js,client-package db/backup docs/backups docs/getting-started docs/websocket-guide faults/clocks faults/hostile faults/limits-of-the-machine http/certificate-renewal http/cli http/fleet http/import release runtime/run runtime/sandbox)
# What needs a browser. The smoke set is part of `make test`.
SMOKE_TESTS = dist/test/browser/smoke.test.js
BROWSER_TESTS = $(filter-out $(SMOKE_TESTS),$(filter dist/test/browser/%,$(TESTS)))
TESTS_HERE = $(filter-out $(CLUSTER_TESTS) dist/test/browser/%,$(TESTS))
# Runs a program in a JVM, which no other Node can break. The Debian 13 of `.ci/run`, where `make test-platform` runs, has none.
JVM_TESTS = dist/test/docs/kotlin.test.js
# What another Node, another system or another binary of the engine could break, beside the tests of the relay.
PLATFORM_TESTS = $(filter-out $(JVM_TESTS),$(sort $(LONG_TESTS) $(filter $(patsubst %,dist/test/%,db/% docs/% faults/% runtime/% $(patsubst %,http/%.test.js,bad-input health start tls wire)),$(TESTS_HERE))))
HAS_BROWSER = [ -n "$$CHROMIUM" ] || command -v chromium >/dev/null
# One PostgreSQL server for all of them. Printed is what failed and what was skipped, and nothing else, so that the end of
# any log tells it. TIMES=1 shows what each file cost.
RUN_FILES = $(NODE) dist/test/helpers/run.js $(NODE) dist/test/helpers/every-file.js
RUN_TESTS = if $(HAS_BROWSER); then smoke=$(SMOKE_TESTS); elif [ -n "$$NEEDS_PROGRAMS" ]; then echo 'chromium is missing' >&2; exit 1; \
	else echo 'smoke tests of the console left out: no chromium'; fi; \
	TEST_FILES="$$smoke $(filter-out $(THREAD_TESTS) $(LONG_TESTS),$(TESTS_HERE))" $(RUN_FILES)
RUN_PROOFS = TEST_FILES='$(TESTS_HERE)' $(RUN_FILES)
RUN_CLUSTER_TESTS = TEST_FILES='$(CLUSTER_TESTS)' $(RUN_FILES)
RUN_THREAD_TESTS = TEST_FILES='$(THREAD_TESTS)' $(RUN_FILES)

help: ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile

node:
	@PATH="$$OWN_PATH"; command -v node >/dev/null && command -v npm >/dev/null || \
	  { echo 'make: node or npm is missing: install Node 24 with npm, see https://nodejs.org' >&2; exit 1; }; \
	node src/runtime/ready.mjs

install: node_modules/.package-lock.json

node_modules/.package-lock.json: package.json package-lock.json | node
	npm ci --loglevel=error
	@touch $@

build: dist/.built

# The stamp has the time at which the build began, so that a file that changed meanwhile is built the next time.
dist/.built: node_modules/.package-lock.json tsconfig.json $(SOURCES)
	@mkdir -p dist && touch dist/.building
	$(BIN)/tsc
	$(BIN)/tsc -p src/client/sound
	@chmod +x dist/src/cli.js
	npm run --silent bundle
	$(BIN)/tsc -p src/console
	$(NODE) dist/src/console/build.js
	@mv dist/.building $@

run: build ## install, build and start everything with settings from the environment
	@exec $(NODE) dist/src/main.js

test: lint build ## install, build, type-check, lint, run the tests, with Chromium also a smoke set of the console
	@$(RUN_TESTS)

# A part of `make test` again, without units and browser, and what takes long. The relay has two threads where its tests hold for two.
test-platform: build ## run the tests that depend on Node, the system and the engine, of several threads, and those that take long
	@TEST_FILES="$(filter-out $(THREAD_TESTS),$(PLATFORM_TESTS)) $$($(NODE) dist/test/helpers/radios-over-threads.js others)" $(RUN_FILES)
	@$(MAKE) test-threads

# CHROMIUM is the path of the program. Two files at a time: a page with sound needs most of a core.
test-browser: build ## run all other tests of the console in Chromium
	@$(HAS_BROWSER) || { echo 'make: chromium is missing. On Debian: apt-get install chromium' >&2; exit 1; }
	@TEST_JOBS=2 TEST_FILES='$(BROWSER_TESTS)' $(RUN_FILES)

# Each test of these keeps the pictures of what it judges, where SCREENSHOTS says.
SCREENS = desk tiles on-air talk-key map-card look first-run connection phone recordings
screens: build ## write pictures of the console to dist/screens
	@$(HAS_BROWSER) || { echo 'make: chromium is missing. On Debian: apt-get install chromium' >&2; exit 1; }
	@mkdir -p dist/screens && SCREENSHOTS=$(CURDIR)/dist/screens TEST_JOBS=2 TEST_FILES='$(SCREENS:%=dist/test/browser/%.test.js)' $(RUN_FILES)

# Tests of one node, with their radios dealt out over two. Read when they run, after the build.
RUN_OVER_NODES = RADIOS_OVER=nodes TEST_FILES="$$($(NODE) dist/test/helpers/radios-over-nodes.js)" $(RUN_FILES)

# The same over two relay threads of one node, which only Linux has. They need no nats-server.
RUN_OVER_THREADS = RADIOS_OVER=threads TEST_FILES="$$($(NODE) dist/test/helpers/radios-over-threads.js)" $(RUN_FILES)

# Tests of what is heard, in which order and by whom, while the relay holds live audio for as long as it may.
UNDER_LOAD_TESTS = $(patsubst %,dist/test/relay/%.test.js,bursts changes emergency floor floor-storm held resume-floor rights-reserved)
RUN_UNDER_LOAD = UNDER_LOAD=1 TEST_FILES='$(UNDER_LOAD_TESTS)' $(RUN_FILES)
# Of receivers that lag, over one relay, because their links lead to one socket.
RUN_SLOW_UNDER_LOAD = UNDER_LOAD=1 TEST_FILES='dist/test/relay/overrun.test.js dist/test/relay/slow.test.js' $(RUN_FILES)

# Not part of `make test`: this takes as long again. That two threads serve one port
# as one relay is part of it (test/relay/threads).
test-cluster: test-threads test-nodes ## run the tests of several relay threads and, with nats-server, of several nodes

test-threads: build
	@if [ "$$(uname)" = Linux ]; then \
	  $(RUN_THREAD_TESTS) && $(RUN_OVER_THREADS) && RADIOS_OVER=threads $(RUN_UNDER_LOAD); \
	else \
	  echo 'Relay threads share a port on Linux only, so no test ran over two of them'; \
	fi

# With NEEDS_PROGRAMS a missing nats-server fails the tests.
test-nodes: build
	@if [ -n "$$NEEDS_PROGRAMS" ] || command -v nats-server >/dev/null || [ -x /usr/sbin/nats-server ]; then \
	  $(RUN_CLUSTER_TESTS) && $(RUN_OVER_NODES); \
	else \
	  echo 'nats-server is not installed, so no test of several nodes ran. On Debian: apt-get install nats-server'; \
	fi

# The full counts of every promise; `make test` runs a tenth of them or less.
prove: export PROVE_RUNS = 30000
prove: export CLUSTER_HISTORIES = 40000
prove: export SHARED_PRESSES = 2000
prove: export KILL_STORM_S = 60
prove: export CHANGE_TRIALS = 500
prove: export FLOOD_SOCKETS = 32
prove: export CONNECTION_CUTS = 10000
prove: export HELD_TRIALS = 200
prove: export SLOW_LISTENERS = 500
prove: export SNAPSHOT_TALKGROUPS = 1000
prove: export WATCHED_DEVICES = 5000
prove: export KILLS_POSTGRES = 100
prove: export KILLS_NODE = 50
prove: export TWO_LAUNCHERS = 20
prove: export LEDGER_WRITES = 100000
prove: export STOPPED_S = 5
prove: export SFRAME_PAYLOADS = 1000000
prove: export SOUND_TIMES = 50
prove: export SOUND_VOICES_S = 600
prove: export SHIFT_BURSTS = 2000
prove: export SHIFTS = 6
prove: export HOSTILE_S = 600
prove: export KEY_FETCHES = 10000
prove: export TEST_FILE_MS = 1200000
prove: lint build ## run the tests with the full counts of races, cuts and kills (takes long)
	$(RUN_PROOFS)
	RADIOS_OVER=nodes $(RUN_UNDER_LOAD)
	$(RUN_SLOW_UNDER_LOAD)
	@if $(HAS_BROWSER); then TEST_JOBS=2 TEST_FILES='$(SMOKE_TESTS) $(BROWSER_TESTS)' $(RUN_FILES); \
	else echo 'browser tests left out: no chromium'; fi

# Settings as for `make run`. The ports of each further node are 10 higher. NATS_SERVER is the path of the program.
cluster: build ## start three nodes, three nats-servers and a database, to try out failures
	@exec $(NODE) dist/src/local/cluster.js $(if $(NATS_SERVER),--nats-server '$(NATS_SERVER)')

# Ports and CORS_ORIGINS as for `make run`. What decides where the data are, and who reaches them, it sets itself.
sandbox: build ## start a service with 50 radios that talk and move, and an echo, to write an app against
	@exec $(NODE) dist/src/local/sandbox.js

demo: build ## send real speech between two radios, print latency and loss, NODES=2: on two nodes
	$(NODE) dist/bench/demo.js

bench: build ## measure relay latency and CPU per delivered frame, beside other servers
	$(NODE) dist/bench/run.js $(SCENARIO)

bench-compare: build ## compare two results: make bench-compare A=before.json B=bench/results/own
	@$(NODE) dist/bench/report/compare.js '$(A)' '$(B)'

# Each by its name: bash has a SECONDS of its own.
load: build ## measure a service in use: make load URL=wss://... TOKENS=FILE TALKGROUP=ID LISTENERS=200 TALKERS=1 SECONDS=30
	@URL='$(URL)' TOKENS='$(TOKENS)' TALKGROUP='$(TALKGROUP)' LISTENERS='$(LISTENERS)' TALKERS='$(TALKERS)' SECONDS='$(SECONDS)' \
	  OTHERS_HEAR='$(OTHERS_HEAR)' SERVICE_PIDS='$(SERVICE_PIDS)' $(NODE) dist/bench/load.js

admin: build ## add an administrator: make admin NAME=ann (asks for the password)
	@$(NODE) dist/src/cli.js admin add $(if $(PROMOTE),--promote) '$(NAME)'

# Settings come from the command line or the environment; without SEED a random one, which is printed. NODES=3 breaks
# three nodes over NATS, in episodes of 10 s with two faults each, and needs nats-server. OLD_BUILD=folder runs the build
# in that folder on one of them.
chaos: build ## inject faults under load and check every invariant: make chaos NODES=3 SEED=n MINUTES=m
	$(NODE) dist/test/helpers/run.js $(NODE) dist/test/chaos/run.js

# Without N ten thousand inputs, without SEED a random one, which is printed; REPLAY tries one failure alone.
fuzz: build ## send generated bad input to REST and the relay: make fuzz N=1000000 SEED=n
	@N='$(N)' SEED='$(SEED)' REPLAY='$(REPLAY)' $(NODE) dist/test/fuzz/run.js

docs: build ## write the generated pages and parts of pages under docs/
	@$(NODE) dist/bench/report/performance.js
	@$(NODE) dist/src/docs/write.js

icons: build ## write the icons of the console, from the package that src/console/draw-icons.ts names
	@$(NODE) dist/src/console/draw-icons.js && $(BIN)/biome format --write src/console/icons

# Publishes nothing. What it writes and how it is installed: docs/operations.md, Install from an archive.
release: build ## write the archives of a release to dist/release
	@$(NODE) dist/src/release.js

lint: install ## run the formatter and the linter in check mode
	$(BIN)/biome check --error-on-warnings
