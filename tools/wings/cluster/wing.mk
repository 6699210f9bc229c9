# SPDX-License-Identifier: MIT
# The page of `cluster live`. A shared library serves it; without this library, the command
# prints the name of the library's package.
WING_PKGS += zlib
MICROHTTPD := $(shell pkg-config --exists libmicrohttpd && readelf -d \
	"$$(pkg-config --variable=libdir libmicrohttpd)/libmicrohttpd.so" | \
	sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
LIVE_STYLE := wings/cluster/live/page/live.css
LIVE_SCRIPT := wings/cluster/live/page/live.js
LIVE_HTML := wings/cluster/live/page/live.html
$(GEN)/live_page_made.h: $(LIVE_STYLE) $(LIVE_SCRIPT) $(LIVE_HTML) Makefile
	$(say) GEN $(@F)
	@mkdir -p $(@D)
	$(Q)$(call page_header,live,$(LIVE_STYLE),$(LIVE_SCRIPT),$(LIVE_HTML))
$(O)/tools/wings/cluster/live/http.o: $(GEN)/live_page_made.h
$(O)/tools/wings/cluster/live/http.o: CPPFLAGS += $(if $(MICROHTTPD), \
	-DTSCT_MICROHTTPD='"$(MICROHTTPD)"' $(shell pkg-config --cflags libmicrohttpd))

ifeq ($(MICROHTTPD),)
all: no-page
no-page:
	@echo "  without the page of trace-ctl cluster live (no libmicrohttpd;" \
		"install libmicrohttpd-dev)"
.PHONY: no-page
endif
