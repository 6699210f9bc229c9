# SPDX-License-Identifier: MIT
include wings/strace/symbols.mk
OBJS += $(SYMBOL_OBJS)
