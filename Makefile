# lockstep: one Makefile, not recursive. `make help` lists the targets.
#
# Objects go to $(BUILD), so that gcc, clang and sanitizer builds stand side by side. Each folder of tests/lint/layers.txt is a
# static library of its *.c files (main.c and *_main.c excepted); what it may link is read from the same file.

VERSION := 0.1.0
BUILD ?= build
PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
LIBEXECDIR ?= $(PREFIX)/libexec/lockstep
UNITDIR ?= $(PREFIX)/lib/systemd/system
DESTDIR ?=

ifeq ($(origin CC),default)
CC := gcc
endif
# V=1 shows the commands
say = $(if $(V),,@echo '  $(1)';)
IS_CLANG := $(shell $(CC) --version 2>/dev/null | grep -c clang)

BUILD_ID ?= $(shell git describe --always --dirty --abbrev=10 2>/dev/null || echo $(VERSION))

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
EXT_common/net := -levent_openssl -levent_pthreads -levent -lssl -lcrypto
EXT_common/pki := -lssl -lcrypto
EXT_common/svc := -lsystemd
EXT_proto/model := -lm
EXT_proto/codec := -ljansson -lm
EXT_agent/engine := -luring -laio
EXT_coordinator/daemon/store := -lsqlite3
external = $(foreach f,$(1),$(EXT_$(f)))

PROGRAMS := lockstep lockstepd lockstep-agent lockstep-runner
MAIN_lockstep := coordinator/cli
MAIN_lockstepd := coordinator/daemon
MAIN_lockstep-agent := agent/daemon
MAIN_lockstep-runner := agent/runner

.PHONY: all
all: $(PROGRAMS:%=$(BUILD)/bin/%) schemas

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

$(BUILD)/obj/agent/daemon/config.o $(BUILD)/obj/coordinator/daemon/config.o: private CPPFLAGS += \
	-DLS_SYSCONFDIR='"$(SYSCONFDIR)"' -DLS_LIBEXECDIR='"$(LIBEXECDIR)"'

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
.SECONDARY:

.PHONY: unit
unit: $(UNIT_TESTS)

.PHONY: schemas
schemas:

.PHONY: clean
clean:
	rm -rf $(BUILD)

FORCE:
-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
