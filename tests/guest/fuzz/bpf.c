// SPDX-License-Identifier: MIT
/* Loads the BPF program that calls the module's kfunc. */
#include <bpf/libbpf.h>

#include "fuzz.h"
#include "fuzz_emit.skel.h"

static struct fuzz_emit *loaded;

/* Messages go to the test's output, which is not stderr. */
static int print_warning(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_WARN ? vprintf(format, args) : 0;
}

/* Returns false if the module has no BTF, or the kernel cannot trace system calls. */
bool fz_bpf_load(void)
{
	libbpf_set_print(print_warning);
	loaded = fuzz_emit__open_and_load();
	if (loaded && fuzz_emit__attach(loaded))
		fz_bpf_unload();
	return loaded;
}

void fz_bpf_unload(void)
{
	fuzz_emit__destroy(loaded);
	loaded = NULL;
}

/* The program that is loaded sees the system call, which then fails. */
int fz_bpf_emit(uint64_t handle, uint32_t event, uint32_t len, uint32_t calls)
{
	if (!loaded)
		return 0;
	loaded->bss->result = 0;
	syscall(FZ_BPF_NR, handle, event, len, calls);
	return loaded->bss->result;
}
