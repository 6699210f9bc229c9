# SPDX-License-Identifier: MIT
# What compiles and links with libtsctexport.a: libraries of the formats, the messages of
# one of them, made from their description, and what is made from the system's headers.
include $(TOP)/lib/syscalls/syscalls.mk
EXPORT_PKGS := otf2 libprotobuf-c jansson libdw
EXPORT_CPPFLAGS := -I$(O)/gen $(shell pkg-config --cflags $(EXPORT_PKGS))
EXPORT_LIBS := $(shell pkg-config --libs $(EXPORT_PKGS)) -lm
EXPORT_GEN := $(O)/gen/export_perfetto.pb-c.h $(SYSCALLS_GEN)
EXPORT_GEN_OBJS := $(O)/gen/export_perfetto.pb-c.o

$(O)/gen/%.pb-c.c $(O)/gen/%.pb-c.h &: $(TOP)/lib/export/%.proto
	$(say) PROTO $*
	@mkdir -p $(@D)
	$(Q)protoc-c --proto_path=$(TOP)/lib/export --c_out=$(O)/gen $<

# Not ours to warn about
$(O)/gen/%.pb-c.o: $(O)/gen/%.pb-c.c
	$(say) CC $*.pb-c
	$(Q)$(CC) $(CPPFLAGS) -std=gnu11 -fPIC -fvisibility=hidden $(CFLAGS) \
		$(if $(SANITIZE),-fsanitize=$(SANITIZE)) -c -o $@ $<
