# SPDX-License-Identifier: MIT
# Without SQLite, or with an older one, trace-ctl is built without this wing.
ifeq ($(shell pkg-config --atleast-version=3.38 sqlite3 && echo yes),yes)
WING_PKGS += sqlite3
else
SRCS := $(filter-out wings/query/%,$(SRCS))
all: no-query
no-query:
	@echo "  without trace-ctl query (needs sqlite3 3.38 or later; install libsqlite3-dev)"
.PHONY: no-query
endif
