// SPDX-License-Identifier: MIT
/*
 * The process that reads the symbols of one file. The file is not trusted: elfutils maps
 * it, decompresses parts of it and trusts offsets in it, so the file may crash this
 * process, or take control of it. The process therefore runs as the user nobody, within
 * limits, and cannot open files or communicate with processes other than its parent.
 */
#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>

#include "lib/base/array.h"
#include "symbolize_protocol.h"
#include "code.h"

#define NOBODY		65534
#define NESTED_MAX	64	/* maximum number of symbols to check, before an address */

/* A function, or another named place in the code */
struct symbol {
	__u64 address;		/* address in the ELF file, for the load address 0 */
	__u64 size;		/* bytes; 0: unknown */
	const char *name;	/* libdwfl owns the text */
};

/* An ELF file with its symbols */
struct symbol_table {
	char build_id[TSCT_BUILD_ID_TEXT];
	Dwfl *dwfl;
	Dwfl_Module *module;	/* NULL: no such ELF file */
	struct symbol *symbols;	/* sorted by address */
	size_t nr;
	char *(*demangle)(const char *name, char *to, size_t *size, int *status);
};

/* ---- symbols -------------------------------------------------------------- */

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *one = a, *two = b;
	size_t len = strlen(one->name), other = strlen(two->name);

	/* Symbols at one address: the longest function first, then the shortest name, then the
	 * name that is last in ASCII order, so that lower case comes before an underscore */
	return tsct_compare(one->address, two->address) ?: tsct_compare(two->size, one->size) ?:
		tsct_compare(len, other) ?: strcmp(two->name, one->name);
}

static bool is_code(const GElf_Sym *symbol)
{
	const int type = GELF_ST_TYPE(symbol->st_info);

	return symbol->st_shndx != SHN_UNDEF &&
		(type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

static void read_symbols(struct symbol_table *f)
{
	int nr = dwfl_module_getsymtab(f->module), i;
	GElf_Addr address, bias;
	const char *name;
	GElf_Sym symbol;

	if (!dwfl_module_getelf(f->module, &bias) || nr <= 0)
		return;
	f->symbols = calloc((size_t)nr, sizeof(*f->symbols));
	for (i = 1; f->symbols && i < nr; i++) {
		name = dwfl_module_getsym_info(f->module, i, &symbol, &address, NULL, NULL,
					       NULL);
		if (name && *name && is_code(&symbol))
			f->symbols[f->nr++] = (struct symbol) {
				.address = address - bias, .size = symbol.st_size,
				.name = name,
			};
	}
	if (f->nr)
		qsort(f->symbols, f->nr, sizeof(*f->symbols), compare_symbols);
}

/* Returns the function that contains an address, or NULL. */
static struct symbol *find_symbol(const struct symbol_table *f, __u64 address)
{
	const size_t low = !f->nr ? 0 : tsct_array_up_to(&f->symbols->address, f->nr,
							 sizeof(*f->symbols), address);
	struct symbol *s;
	size_t at;

	/* Functions may contain other symbols, such as labels, but only a few. */
	for (at = low; at && low - at < NESTED_MAX; at--) {
		s = &f->symbols[at - 1];
		if (address - s->address >= s->size)
			continue;
		while (s > f->symbols && s[-1].address == s->address)
			s--;
		return s;
	}
	/* Functions in assembly may have no size. */
	return low && !f->symbols[low - 1].size ? &f->symbols[low - 1] : NULL;
}

/* Converts an offset in the file to an address. Returns false if no loaded segment has it. */
static bool find_address(const struct symbol_table *f, __u64 offset, __u64 *ret_address)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(f->module, &bias);
	GElf_Phdr header;
	size_t nr = 0, i;

	if (!elf || elf_getphdrnum(elf, &nr))
		return false;
	for (i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD ||
		    offset < header.p_offset ||
		    offset - header.p_offset >= header.p_filesz)
			continue;
		*ret_address = offset - header.p_offset + header.p_vaddr;
		return true;
	}
	return false;
}

/* ---- the file ------------------------------------------------------------- */

static bool has_build_id(int fd, const char *build_id)
{
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	const void *id = NULL;
	ssize_t len = elf ? dwelf_elf_gnu_build_id(elf, &id) : -1;
	char text[TSCT_BUILD_ID_TEXT];

	if (len > TSCT_BUILD_ID_MAX)
		len = TSCT_BUILD_ID_MAX;
	tsct_build_id_text(id, len > 0 ? (size_t)len : 0, text);
	elf_end(elf);
	return elf && !strcmp(text, build_id);
}

static struct symbol_table table;

/* Callback of libdwfl: returns the debug file, which is open already, if its build id matches. */
static int find_debug_file(Dwfl_Module *module, void **data, const char *name,
			   Dwarf_Addr base, const char *file, const char *link,
			   GElf_Word checksum, char **ret_name)
{
	(void)module, (void)data, (void)name, (void)base, (void)file, (void)link;
	(void)checksum, (void)ret_name;
	return has_build_id(SYMBOLIZE_DEBUG_FD, table.build_id) ? SYMBOLIZE_DEBUG_FD : -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = find_debug_file,
	.section_address = dwfl_offline_section_address,
};

static void load_file(struct symbol_table *f)
{
	int fd = has_build_id(SYMBOLIZE_FILE_FD, f->build_id) ? SYMBOLIZE_FILE_FD :
		has_build_id(SYMBOLIZE_DEBUG_FD, f->build_id) ? SYMBOLIZE_DEBUG_FD : -1;

	f->dwfl = fd >= 0 ? dwfl_begin(&callbacks) : NULL;
	f->module = f->dwfl ? dwfl_report_offline(f->dwfl, "", "file", fd) : NULL;
	if (!f->module)
		return;
	dwfl_report_end(f->dwfl, NULL, NULL);
	read_symbols(f);
}

/* ---- confinement ---------------------------------------------------------- */

/* Permitted system calls: for memory, for open files and for the socket; all others fail. */
static const unsigned short allowed[] = {
	SYS_read, SYS_write, SYS_pread64, SYS_lseek, SYS_fstat, SYS_newfstatat, SYS_mmap,
	SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_brk, SYS_futex,
	SYS_rt_sigreturn, SYS_exit, SYS_exit_group,
};

#define NR_ALLOWED	(sizeof(allowed) / sizeof(*allowed))

static int filter_calls(void)
{
	struct sock_filter code[NR_ALLOWED + 6] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	const struct sock_fprog program = { .len = NR_ALLOWED + 6, .filter = code };
	size_t i;

	for (i = 0; i < NR_ALLOWED; i++)
		code[4 + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i],
			(__u8)(NR_ALLOWED - i), 0);
	code[4 + i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	code[5 + i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int set_limit(int resource, rlim_t most)
{
	/* The hard limit of CPU time is 1 s higher, so that SIGXCPU ends the process, which shows
	 * the reason, not SIGKILL. */
	const struct rlimit both = { most, most + (resource == RLIMIT_CPU) };

	return setrlimit(resource, &both);
}

/* Limits the address space to a fixed size plus the size of the files, which are mapped as a whole.
 * For a sparse file, counts only the stored bytes, so that holes do not raise the limit. */
static int limit_memory(void)
{
	rlim_t size = SYMBOLIZE_MEMORY_BYTES, stored;
	struct stat st;
	int fd;

	for (fd = SYMBOLIZE_FILE_FD; fd <= SYMBOLIZE_DEBUG_FD; fd++) {
		if (fstat(fd, &st))
			continue;
		stored = 4 * 512 * (rlim_t)st.st_blocks; /* times 4: for compressed files */
		size += (rlim_t)st.st_size < stored ? (rlim_t)st.st_size : stored;
	}
#ifdef __SANITIZE_ADDRESS__
	return 0;		/* AddressSanitizer reserves terabytes */
#endif
	return set_limit(RLIMIT_AS, size);
}

static bool confine_process(void)
{
	/* These calls fail with EINVAL in a user namespace without the user nobody. The
	 * filter of system calls suffices then. */
	if (!geteuid() && (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
			   setresuid(NOBODY, NOBODY, NOBODY)) && errno != EINVAL)
		return false;
	return !set_limit(RLIMIT_CORE, 0) && !set_limit(RLIMIT_FSIZE, 0) &&
		!set_limit(RLIMIT_CPU, SYMBOLIZE_CPU_S) && !limit_memory() &&
		!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
		/* Fails with EINVAL on a kernel without seccomp: the process then
		 * runs without the filter. */
		(!filter_calls() || errno == EINVAL);
}

/* ---- answers -------------------------------------------------------------- */

static void find_name(const struct symbol_table *f, struct symbolize_answer *a)
{
	struct symbol *symbol, *next;
	char *demangled = NULL;
	__u64 address;
	int status;

	if (!f->module || !find_address(f, a->offset, &address))
		return;
	symbol = find_symbol(f, address);
	/* The recorder stores the address 1 byte before a return address. A signal handler
	 * returns to the start of a function; the stored address is then before this function. */
	if (!symbol || !symbol->size) {
		next = find_symbol(f, address + 1);
		symbol = next && next->address == address + 1 ? next : symbol;
	}
	if (!symbol)
		return;
	a->from = address < symbol->address ? 0 : address - symbol->address;
	/* Names of C++ and Rust stay mangled without the library libstdc++. */
	if (f->demangle && !strncmp(symbol->name, "_Z", 2))
		demangled = f->demangle(symbol->name, NULL, NULL, &status);
	snprintf(a->name, sizeof(a->name), "%s", demangled ? demangled : symbol->name);
	free(demangled);
}

void tsct_symbolize_main(const char *build_id)
{
	void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
	struct symbolize_answer answer = { 0 };

	if (library)
		*(void **)&table.demangle = dlsym(library, "__cxa_demangle");
	snprintf(table.build_id, sizeof(table.build_id), "%s", build_id);
	elf_version(EV_CURRENT);
	if (!confine_process())
		_exit(1);
	load_file(&table);
	while (read(SYMBOLIZE_SOCKET, &answer.offset, sizeof(answer.offset)) ==
	       sizeof(answer.offset)) {
		answer.name[0] = '\0';
		find_name(&table, &answer);
		if (write(SYMBOLIZE_SOCKET, &answer, offsetof(struct symbolize_answer, name) +
			  strlen(answer.name)) < 0)
			break;
	}
	_exit(0);
}
