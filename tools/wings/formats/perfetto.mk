# SPDX-License-Identifier: MIT
# The messages of Perfetto's format, made from their description
PERFETTO_OBJS := $(O)/gen/export_perfetto.pb-c.o

$(O)/gen/%.pb-c.c $(O)/gen/%.pb-c.h &: $(TOP)/tools/wings/formats/%.proto
	$(say) PROTO $*
	@mkdir -p $(@D)
	$(Q)protoc-c --proto_path=$(<D) --c_out=$(O)/gen $<

# Not ours to warn about
$(O)/gen/%.pb-c.o: $(O)/gen/%.pb-c.c
	$(say) CC $*.pb-c
	$(Q)$(CC) $(CPPFLAGS) -std=gnu11 -fPIC -fvisibility=hidden $(CFLAGS) \
		$(if $(SANITIZE),-fsanitize=$(SANITIZE)) -c -o $@ $<
