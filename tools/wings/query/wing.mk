# SPDX-License-Identifier: MIT
# Without SQLite, trace-ctl is built without this wing.
ifeq ($(shell pkg-config --exists sqlite3 && echo yes),yes)
WING_PKGS += sqlite3
else
SRCS := $(filter-out wings/query/%,$(SRCS))
all: no-query
no-query:
	@echo "  without trace-ctl query (no sqlite3; install libsqlite3-dev)"
.PHONY: no-query
endif
