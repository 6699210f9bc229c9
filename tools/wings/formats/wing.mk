# SPDX-License-Identifier: MIT
include wings/formats/perfetto.mk
WING_OBJS += $(PERFETTO_OBJS)
WING_PKGS += libprotobuf-c
CPPFLAGS += -I$(O)/gen
$(O)/tools/wings/formats/export_perfetto.o: | $(O)/gen/export_perfetto.pb-c.h
