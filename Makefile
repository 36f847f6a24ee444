# lockstep: one Makefile, not recursive. `make help` lists the targets.
#
# Objects go to $(BUILD), so that gcc, clang and sanitizer builds stand side by side. Each folder of tests/lint/layers.txt is a
# static library of its *.c files (main.c and *_main.c excepted); what it may link is read from the same file.

VERSION := 0.1.0
BUILD ?= build
PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
LIBEXECDIR ?= $(PREFIX)/libexec/lockstep
BINDIR ?= $(PREFIX)/bin
SBINDIR ?= $(PREFIX)/sbin
DATADIR ?= $(PREFIX)/share
MANDIR ?= $(DATADIR)/man
DOCDIR ?= $(DATADIR)/doc
UNITDIR ?= $(PREFIX)/lib/systemd/system
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
FIREWALLDDIR ?= $(PREFIX)/lib/firewalld/services
BASHDIR ?= $(DATADIR)/bash-completion/completions
ZSHDIR ?= $(DATADIR)/zsh/site-functions
DESTDIR ?=

ifeq ($(origin CC),default)
CC := gcc
endif
# V=1 shows the commands
say = $(if $(V),,@echo '  $(1)';)
IS_CLANG := $(shell $(CC) --version 2>/dev/null | grep -c clang)

# The commit: in a tarball git archive has written it into .commit; there may be somebody else's repository above it.
BUILD_ID ?= $(or $(shell sed -n 's/^\([0-9a-f]\{10\}\).*/\1/p' .commit 2>/dev/null),$(shell \
	git describe --always --dirty --abbrev=10 2>/dev/null || echo $(VERSION)))

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
	-Wpointer-arith -Wcast-qual -Wwrite-strings -Wformat=2 -Wundef -Wvla -Wswitch-enum -Wimplicit-fallthrough \
	-Wconversion -Wsign-conversion -Wdouble-promotion -Wnull-dereference -Wdate-time
ifeq ($(IS_CLANG),0)
WARN += -Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wcast-align=strict -Wformat-signedness -Walloc-zero \
	-Wjump-misses-init
else
WARN += -Wcast-align -Wcomma -Wunreachable-code
endif
WERROR ?= -Werror
OPT ?= -O2 -g
HARDEN ?= -D_FORTIFY_SOURCE=2 -fstack-protector-strong
SANITIZE ?=
ALL_CFLAGS = -std=gnu17 -D_GNU_SOURCE -I. $(OPT) $(WARN) $(WERROR) $(HARDEN) -fPIE -pthread $(SANITIZE) $(CPPFLAGS) $(CFLAGS)
ALL_LDFLAGS = -pie -Wl,-z,relro,-z,now -Wl,--as-needed -pthread $(SANITIZE) $(LDFLAGS)

# --- folders and libraries -------------------------------------------------------------------------------------------

LAYERS := tests/lint/layers.txt
FOLDERS := $(shell sed -n 's/^\([a-z/]*\):.*/\1/p' $(LAYERS))
# allowed FOLDER: the folders whose libraries it may link, in order
allowed = $(shell sed -n 's|^$(1):||p' $(LAYERS))
lib = $(BUILD)/lib/$(subst /,-,$(1)).a
MAINS := $(wildcard */main.c */*/main.c)
sources = $(filter-out $(MAINS),$(wildcard $(1)/*.c))
objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

# external libraries by the folder that is their one door
EXT_common/stat := -lm
EXT_common/conf := -linih
EXT_common/net := -levent_extra -levent_openssl -levent_core -lssl -lcrypto
EXT_common/pki := -lssl -lcrypto
EXT_common/svc := -lsystemd
EXT_proto/model := -lm
EXT_proto/codec := -ljansson -lm
EXT_coordinator/import := -ljansson -lm
# Workbooks need libxlsxwriter, which RHEL does not have: without it the format xlsx says so. XLSXWRITER= builds without.
XLSXWRITER ?= $(if $(wildcard /usr/include/xlsxwriter.h /usr/local/include/xlsxwriter.h),-lxlsxwriter)
EXT_coordinator/report := $(XLSXWRITER)
EXT_agent/engine := -luring -laio
EXT_coordinator/daemon/store := -lsqlite3
external = $(foreach f,$(1),$(EXT_$(f)))

PROGRAMS := lockstep lockstepd lockstep-agent lockstep-runner lockstep-helper
MAIN_lockstep := coordinator/cli
MAIN_lockstepd := coordinator/daemon
MAIN_lockstep-agent := agent/daemon
MAIN_lockstep-runner := agent/runner
MAIN_lockstep-helper := agent/helper

.PHONY: all
all: $(PROGRAMS:%=$(BUILD)/bin/%) schemas completion

define folder_rules
$(call lib,$(1)): $(call objects,$(call sources,$(1)))
	@mkdir -p $$(@D)
	@rm -f $$@
	$$(call say,AR $$@)$$(AR) rcs $$@ $$^
endef
$(foreach f,$(FOLDERS),$(eval $(call folder_rules,$(f))))

define program_rules
$(BUILD)/bin/$(1): $(BUILD)/obj/$(MAIN_$(1))/main.o $(foreach f,$(MAIN_$(1)) $(call allowed,$(MAIN_$(1))),$(call lib,$(f)))
	@mkdir -p $$(@D)
	$$(call say,LD $$@)$$(CC) $$(ALL_LDFLAGS) -o $$@ $$^ $(call external,$(MAIN_$(1)) $(call allowed,$(MAIN_$(1))))
endef
$(foreach p,$(PROGRAMS),$(eval $(call program_rules,$(p))))

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC $<)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# The build identity changes with each commit: only this object depends on it.
$(BUILD)/build-id: FORCE
	@mkdir -p $(@D)
	@echo '$(VERSION) $(BUILD_ID)' | cmp -s - $@ || echo '$(VERSION) $(BUILD_ID)' > $@
$(BUILD)/obj/common/base/version.o: $(BUILD)/build-id
$(BUILD)/obj/common/base/version.o: private CPPFLAGS += -DLOCKSTEP_VERSION='"$(VERSION)"' -DLOCKSTEP_BUILD='"$(BUILD_ID)"'

$(BUILD)/obj/agent/daemon/config.o $(BUILD)/obj/agent/helper/config.o $(BUILD)/obj/agent/daemon/enroll.o $(BUILD)/obj/coordinator/daemon/config.o $(BUILD)/obj/coordinator/cli/client.o \
$(BUILD)/obj/coordinator/cli/local.o: private CPPFLAGS += \
	-DLS_SYSCONFDIR='"$(SYSCONFDIR)"' -DLS_LIBEXECDIR='"$(LIBEXECDIR)"'

$(BUILD)/xlsxwriter: FORCE
	@mkdir -p $(@D)
	@echo '$(XLSXWRITER)' | cmp -s - $@ || echo '$(XLSXWRITER)' > $@
$(BUILD)/obj/coordinator/report/report_xlsx.o: $(BUILD)/xlsxwriter
$(BUILD)/obj/coordinator/report/report_xlsx.o: private CPPFLAGS += $(if $(strip $(XLSXWRITER)),-DLS_HAVE_XLSXWRITER)

# Presets are built in: job files in proto/presets/ become C strings.
PRESETS := $(sort $(wildcard proto/presets/*.json))
$(BUILD)/gen/presets.c: proto/presets/embed.sh $(PRESETS)
	@mkdir -p $(@D)
	$(call say,GEN $@)sh $< $(PRESETS) > $@.tmp && mv $@.tmp $@
$(BUILD)/obj/gen/presets.o: $(BUILD)/gen/presets.c
	@mkdir -p $(@D)
	$(call say,CC $<)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<
$(call lib,proto/codec): $(BUILD)/obj/gen/presets.o

# The page of reports has dygraphs built in where it is there (Debian: libjs-dygraphs); without it the page draws its charts itself.
DYGRAPHS_JS ?= $(firstword $(wildcard /usr/share/javascript/dygraphs/dygraph.min.js /usr/share/nodejs/dygraphs/dist/dygraph.min.js))
PAGE := coordinator/report/page
$(BUILD)/dygraphs-js: FORCE
	@mkdir -p $(@D)
	@echo '$(DYGRAPHS_JS)' | cmp -s - $@ || echo '$(DYGRAPHS_JS)' > $@
$(BUILD)/gen/page.c: $(PAGE)/embed.sh $(PAGE)/page.css $(PAGE)/page.js $(DYGRAPHS_JS) $(BUILD)/dygraphs-js
	@mkdir -p $(@D)
	$(call say,GEN $@)sh $(filter-out $(BUILD)/dygraphs-js,$^) > $@.tmp && mv $@.tmp $@
$(BUILD)/obj/gen/page.o: $(BUILD)/gen/page.c
	@mkdir -p $(@D)
	$(call say,CC $<)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<
$(call lib,coordinator/report): $(BUILD)/obj/gen/page.o

# The web pages of lockstepd, as text within the program.
WEB := coordinator/daemon/web
$(BUILD)/gen/web.c: $(WEB)/embed.sh $(WEB)/index.html $(WEB)/app.css $(WEB)/app.js
	@mkdir -p $(@D)
	$(call say,GEN $@)sh $^ > $@.tmp && mv $@.tmp $@
$(BUILD)/obj/gen/web.o: $(BUILD)/gen/web.c
	@mkdir -p $(@D)
	$(call say,CC $<)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<
$(call lib,coordinator/daemon): $(BUILD)/obj/gen/web.o

# --- unit tests ------------------------------------------------------------------------------------------------------
# tests/unit/<folder>/test_x.c becomes $(BUILD)/tests/<folder>/test_x and links that folder's library and what it may use.

UNIT_SOURCES := $(foreach f,$(FOLDERS),$(wildcard tests/unit/$(f)/test_*.c))
UNIT_TESTS := $(UNIT_SOURCES:tests/unit/%.c=$(BUILD)/tests/%)
define unit_rules
$(BUILD)/tests/$(1)/test_%: $(BUILD)/obj/tests/unit/$(1)/test_%.o $(foreach f,$(1) $(call allowed,$(1)),$(call lib,$(f)))
	@mkdir -p $$(@D)
	$$(call say,LD $$@)$$(CC) $$(ALL_LDFLAGS) -o $$@ $$^ -lcmocka $(call external,$(1) $(call allowed,$(1)))
endef
$(foreach f,$(FOLDERS),$(eval $(call unit_rules,$(f))))
.PRECIOUS: $(BUILD)/obj/%.o

.PHONY: unit
unit: $(UNIT_TESTS)

# The published schemas stand in the tree, generated from the field tables.
.PHONY: schemas
schemas: $(BUILD)/tests/support/schema_dump ## writes proto/schema/*.schema.json
	@for s in job results messages compare trend; do \
		$< $$s > $(BUILD)/$$s.schema.json && \
		{ cmp -s $(BUILD)/$$s.schema.json proto/schema/$$s.schema.json || \
		cp $(BUILD)/$$s.schema.json proto/schema/$$s.schema.json; } || exit 1; done

.PHONY: manuals
manuals: all ## writes the manual pages that come from tables: configuration of both daemons, protocol
	/usr/bin/python3 deploy/man/generate.py $(BUILD)

# Completion in shells: templates, with the tables of the command put in.
COMPLETION_FOLDERS := coordinator/cli $(call allowed,coordinator/cli)
.PHONY: completion
completion: $(BUILD)/completion/lockstep.bash $(BUILD)/completion/lockstep.zsh
$(BUILD)/completion/lockstep.%: deploy/completion/lockstep.%.in $(BUILD)/tests/support/completion_dump
	@mkdir -p $(@D)
	$(call say,GEN $@)$(BUILD)/tests/support/completion_dump $* > $@.table && \
	    sed -e '/^@TABLE@$$/{r $@.table' -e 'd;}' $< > $@.tmp && mv $@.tmp $@
$(BUILD)/tests/support/completion_dump: $(BUILD)/obj/tests/support/completion_dump.o \
    $(foreach f,$(COMPLETION_FOLDERS),$(call lib,$(f)))
	@mkdir -p $(@D)
	$(call say,LD $@)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call external,$(COMPLETION_FOLDERS))

# --- variants --------------------------------------------------------------------------------------------------------

ASAN_FLAGS := SANITIZE="-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer" HARDEN= OPT="-O1 -g"
TSAN_FLAGS := SANITIZE="-fsanitize=thread" HARDEN= OPT="-O1 -g"

.PHONY: asan tsan clang
asan: ## ASan and UBSan build in build-asan
	$(MAKE) BUILD=build-asan $(ASAN_FLAGS) all unit tools fuzz
tsan: ## TSan build in build-tsan
	$(MAKE) BUILD=build-tsan $(TSAN_FLAGS) all unit tools fuzz
clang: ## clang build in build-clang
	$(MAKE) BUILD=build-clang CC=clang all unit tools fuzz

# --- fuzz targets ----------------------------------------------------------------------------------------------------
# With the plain driver (runs files once) by default; FUZZER=1 CC=clang links libFuzzer instead.

FUZZ_TARGETS := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_FOLDERS := coordinator/import agent/helper proto/codec proto/model common/conf common/net common/pki common/stat common/base
FUZZ_DRIVER = $(if $(FUZZER),,$(BUILD)/obj/tests/fuzz/driver.o)
.PHONY: fuzz
fuzz: $(FUZZ_TARGETS) ## fuzz targets in $(BUILD)/fuzz
.PHONY: fuzz-long
fuzz-long: ## libFuzzer (clang) on one target after the other, for long; FUZZ_RUNS, FUZZ_SECONDS
	tests/fuzz/long.sh
$(BUILD)/fuzz/fuzz_%: $(BUILD)/obj/tests/fuzz/fuzz_%.o $(BUILD)/obj/tests/fuzz/driver.o $(foreach f,$(FUZZ_FOLDERS),$(call lib,$(f)))
	@mkdir -p $(@D)
	$(call say,LD $@)$(CC) $(ALL_LDFLAGS) $(if $(FUZZER),-fsanitize=fuzzer) -o $@ $< $(FUZZ_DRIVER) \
	    $(foreach f,$(FUZZ_FOLDERS),$(call lib,$(f))) $(call external,$(FUZZ_FOLDERS))

# --- small programs for tests and benchmarks ---------------------------------------------------------------------------

TOOL_SOURCES := $(filter-out tests/support/preload_%.c tests/support/completion_dump.c,$(wildcard tests/support/*.c tests/bench/*.c))
TOOLS := $(TOOL_SOURCES:%.c=$(BUILD)/%)
TOOL_FOLDERS := coordinator/report agent/engine agent/shm proto/codec proto/model common/net common/pki common/stat common/base
.PHONY: tools
tools: $(TOOLS) $(patsubst %.c,$(BUILD)/%.so,$(wildcard tests/support/preload_*.c))
$(BUILD)/tests/support/%.so: tests/support/%.c
	@mkdir -p $(@D)
	$(call say,LD $@)$(CC) $(ALL_CFLAGS) -fPIC -shared -o $@ $<
$(TOOLS): $(BUILD)/%: $(BUILD)/obj/%.o $(foreach f,$(TOOL_FOLDERS),$(call lib,$(f)))
	@mkdir -p $(@D)
	$(call say,LD $@)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call external,$(TOOL_FOLDERS))

# The volume of the fault tests is built where libfuse 3 is; tests that need it say so where it is not.
FUSE_VOLUME := $(BUILD)/tests/support/fuse/volume
ifneq ($(wildcard /usr/include/fuse3/fuse.h),)
tools: $(FUSE_VOLUME)
endif
$(FUSE_VOLUME): $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard tests/support/fuse/*.c))
	@mkdir -p $(@D)
	$(call say,LD $@)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lfuse3

# --- what the README names -------------------------------------------------------------------------------------------

.PHONY: deps deps-build deps-test demo test test-fast bench
deps: ## install the packages for building and testing (apt, dnf or zypper; root or sudo)
	deploy/install-deps.sh test
deps-build:
	@deploy/install-deps.sh --check build >/dev/null 2>&1 || deploy/install-deps.sh build
deps-test:
	@deploy/install-deps.sh --check test >/dev/null 2>&1 || deploy/install-deps.sh test

DEMO_DIR ?= $(BUILD)/demo
demo: deps-build ## build, then one run with three agents on this machine, and its report
	@$(MAKE) --no-print-directory all
	@mkdir -p $(DEMO_DIR)
	$(BUILD)/bin/lockstep run --local 3 --path $(DEMO_DIR) --json $(BUILD)/demo.json quick

test: deps-test ## everything: lints, unit tests (also under ASan and UBSan), fuzz corpus, whole programs
	@$(MAKE) --no-print-directory all unit tools
	@$(MAKE) --no-print-directory BUILD=build-asan $(ASAN_FLAGS) unit fuzz
	@tests/run.py --build $(BUILD) --sanitized build-asan

.PHONY: test-faults test-faults-random
FAULT_ARGS ?=
test-faults: all tools ## the whole fault matrix: who is hit, by what, in which state of a run (FAULT_ARGS: --only agent:kill:*)
	LOCKSTEP_BUILD=$(BUILD) /usr/bin/python3 tests/support/faultmatrix.py $(FAULT_ARGS)
test-faults-random: all tools ## cells of it at random, until interrupted; prints its seed (FAULT_ARGS: --seed N --cells N)
	LOCKSTEP_BUILD=$(BUILD) /usr/bin/python3 tests/support/faultmatrix.py --random $(FAULT_ARGS)

.PHONY: test-soak
test-soak: all tools ## 2,000 phases in one run: descriptors, threads and memory stay as they are
	LOCKSTEP_BUILD=$(BUILD) SOAK_PHASES=2000 /usr/bin/python3 -m pytest -p no:cacheprovider -q tests/system/test_soak.py -k one_run

bench: all tools ## benchmarks; nothing in the tests depends on time
	tests/bench/run.sh $(BUILD)

.PHONY: format lint memcheck
format: ## clang-format over all C files
	git ls-files -co --exclude-standard '*.c' '*.h' | grep -v 'common/base/field_\(decl\|table\|undef\|none\).h' | xargs clang-format -i

lint: ## layers, headers, format, words, manuals, docs, sizes, cppcheck, clang-tidy, gcc -fanalyzer
	tests/lint/layers.sh
	tests/lint/headers.sh
	tests/lint/format.sh
	tests/lint/words.sh
	tests/lint/manuals.sh
	tests/lint/diagrams.py
	tests/lint/docs.sh
	tests/lint/sizes.sh
	tests/lint/cppcheck.sh
	tests/lint/analyzer.sh
	tests/lint/tidy.sh

memcheck: unit ## valgrind over the unit tests
	tests/lint/memcheck.sh $(BUILD)

# --- install ---------------------------------------------------------------------------------------------------------

.PHONY: install
install: all ## into DESTDIR and PREFIX; SYSCONFDIR, LIBEXECDIR, UNITDIR and others can be set
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(SBINDIR) $(DESTDIR)$(LIBEXECDIR) $(DESTDIR)$(UNITDIR) $(DESTDIR)$(SYSUSERSDIR) \
	    $(DESTDIR)$(FIREWALLDDIR) $(DESTDIR)$(BASHDIR) $(DESTDIR)$(ZSHDIR) $(DESTDIR)$(SYSCONFDIR)/lockstep \
	    $(DESTDIR)$(DATADIR)/lockstep/schema $(DESTDIR)$(DATADIR)/lockstep/presets \
	    $(patsubst %,$(DESTDIR)$(DOCDIR)/%/examples,lockstep lockstepd lockstep-agent)
	install -m 0755 $(BUILD)/bin/lockstep $(DESTDIR)$(BINDIR)/
	install -m 0755 $(BUILD)/bin/lockstepd $(BUILD)/bin/lockstep-agent $(DESTDIR)$(SBINDIR)/
	install -m 0755 $(BUILD)/bin/lockstep-runner $(BUILD)/bin/lockstep-helper $(DESTDIR)$(LIBEXECDIR)/
	install -m 0644 proto/schema/*.json $(DESTDIR)$(DATADIR)/lockstep/schema/
	install -m 0644 proto/presets/*.json $(DESTDIR)$(DATADIR)/lockstep/presets/
	install -m 0644 README.md ARCHITECTURE.md LICENSE deploy/doc/*.md $(DESTDIR)$(DOCDIR)/lockstep/
	install -m 0644 deploy/examples/*.json deploy/examples/*.fio $(DESTDIR)$(DOCDIR)/lockstep/examples/
	for of in lockstepd lockstep-agent; do \
	    install -m 0644 deploy/systemd/drop-in/$$of-*.conf $(DESTDIR)$(DOCDIR)/$$of/examples/; done
	install -m 0644 deploy/systemd/drop-in/lockstep-helper-*.conf $(DESTDIR)$(DOCDIR)/lockstep-agent/examples/
	for unit in deploy/systemd/*.service.in; do \
	    sed -e 's|@SBINDIR@|$(SBINDIR)|g; s|@SYSCONFDIR@|$(SYSCONFDIR)|g; s|@LIBEXECDIR@|$(LIBEXECDIR)|g' $$unit \
	        > $(DESTDIR)$(UNITDIR)/$$(basename $$unit .in); done
	install -m 0644 deploy/systemd/*.socket $(DESTDIR)$(UNITDIR)/
	install -m 0644 deploy/sysusers/*.conf $(DESTDIR)$(SYSUSERSDIR)/
	install -m 0644 deploy/firewalld/lockstep.xml $(DESTDIR)$(FIREWALLDDIR)/
	install -m 0644 $(BUILD)/completion/lockstep.bash $(DESTDIR)$(BASHDIR)/lockstep
	install -m 0644 $(BUILD)/completion/lockstep.zsh $(DESTDIR)$(ZSHDIR)/_lockstep
	for conf in lockstepd.conf agent.conf helper.conf; do \
	    test -e $(DESTDIR)$(SYSCONFDIR)/lockstep/$$conf || \
	    install -m 0644 deploy/examples/$$conf $(DESTDIR)$(SYSCONFDIR)/lockstep/; done
	for page in deploy/man/*.[1578]; do n=$${page##*.}; \
	    install -d $(DESTDIR)$(MANDIR)/man$$n; \
	    install -m 0644 $$page $(DESTDIR)$(MANDIR)/man$$n/; done

# --- packages --------------------------------------------------------------------------------------------------------
# Always from the last commit, never from what lies about in the tree; each in a folder of its own below $(BUILD).

DIST := lockstep-$(VERSION)
.PHONY: dist deb rpm
dist: $(BUILD)/$(DIST).tar.gz ## reproducible tarball of the last commit in $(BUILD)
$(BUILD)/$(DIST).tar.gz: FORCE
	@mkdir -p $(@D)
	$(call say,DIST $@)git archive --format=tar --prefix=$(DIST)/ HEAD | gzip -9n > $@.tmp && mv $@.tmp $@

deb: dist ## Debian packages lockstep, lockstepd, lockstep-agent in $(BUILD)/deb, checked by lintian
	deploy/debian/build.sh $(BUILD)/$(DIST).tar.gz $(VERSION) $(BUILD)/deb

rpm: dist ## the same as RPMs in $(BUILD)/rpm
	deploy/rpm/build.sh $(BUILD)/$(DIST).tar.gz $(VERSION) $(BUILD)/rpm

.PHONY: test-cluster
test-cluster: all deb ## three emulated machines that share a real OCFS2, GFS2 and OCFS2 over iSCSI (needs qemu, and a host that does nothing else)
	/usr/bin/python3 tests/cluster/run.py

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

.PHONY: clean
clean: ## remove $(BUILD) and the variants
	rm -rf $(BUILD) build-asan build-tsan build-clang build-fuzz build-analyzer

.PHONY: FORCE
FORCE:
-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
