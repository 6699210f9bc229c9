# SPDX-License-Identifier: GPL-2.0-only
# Adds BTF to a module as the kernel's Makefile.modfinal does, with the flags that the
# kernel's scripts choose. build.sh uses this file if Kbuild cannot add BTF, because the
# kernel's build directory lacks vmlinux or resolve_btfids.
#
#   make -f btf.mk KDIR=DIR BASE_BTF=FILE RESOLVE_BTFIDS=FILE KO=FILE
PAHOLE := pahole
OBJCOPY := objcopy
KBUILD_EXTMOD := $(dir $(KO))
objtree := $(KDIR)
export PAHOLE OBJCOPY RESOLVE_BTFIDS objtree

include $(KDIR)/include/config/auto.conf
scripts := $(dir $(firstword $(wildcard $(addsuffix /scripts/Makefile.modfinal, \
	$(KDIR) $(KDIR)/source))))
ifneq ($(wildcard $(scripts)Makefile.btf),)
include $(scripts)Kbuild.include $(scripts)Makefile.btf
else
# kernels up to 6.6
PAHOLE_FLAGS := $(shell PAHOLE=$(PAHOLE) sh $(scripts)pahole-flags.sh)
endif

.DEFAULT_GOAL := btf
btf:
ifneq ($(wildcard $(scripts)gen-btf.sh),)
	sh $(scripts)gen-btf.sh --btf_base $(BASE_BTF) $(KO)
else
	LLVM_OBJCOPY=$(OBJCOPY) $(PAHOLE) -J $(PAHOLE_FLAGS) $(MODULE_PAHOLE_FLAGS) \
		--btf_base $(BASE_BTF) $(KO)
	$(RESOLVE_BTFIDS) -b $(BASE_BTF) $(KO)
endif

.PHONY: btf
