# SPDX-License-Identifier: MIT
# Without libbabeltrace2, trace-ctl is built without this wing.
ifeq ($(shell pkg-config --exists babeltrace2 && echo yes),yes)
WING_PKGS += babeltrace2
else
SRCS := $(filter-out wings/ctf/%,$(SRCS))
all: no-ctf
no-ctf:
	@echo "  without merging of LTTng's and other CTF traces (no babeltrace2;" \
		"install libbabeltrace2-dev)"
.PHONY: no-ctf
endif
