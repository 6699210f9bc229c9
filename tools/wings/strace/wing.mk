# SPDX-License-Identifier: MIT
include wings/strace/symbols.mk
WING_OBJS += $(SYMBOL_OBJS)
