// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>

#include "symbolize.h"

#define DEBUG_FILE	"/usr/lib/debug/.build-id/%.2s/%s.debug"

#define NESTED_MAX	64	/* symbols within a function, at most */

/* A function, or another place in the code that has a name */
struct symbol {
	__u64 address;		/* in the ELF file's own address space */
	__u64 size;		/* bytes; 0: unknown */
	const char *name;	/* in the memory of libdwfl */
	char *demangled;	/* NULL: not tried yet */
};

/* An ELF file with its symbols */
struct symbol_file {
	char *path;
	char build_id[TSCT_BUILD_ID_TEXT];
	Dwfl *dwfl;		/* NULL: there is no such file */
	Dwfl_Module *module;
	struct symbol *symbols;	/* by address */
	size_t nr;
};

struct tsct_symbolizer {
	struct symbol_file *files;
	size_t nr, room;
	size_t last;		/* index of the file that was used last */
	char *(*demangle)(const char *name, char *to, size_t *size, int *status);
};

/* ---- build ids --------------------------------------------------------- */

void tsct_build_id_text(const __u8 *build_id, size_t len, char text[TSCT_BUILD_ID_TEXT])
{
	size_t i;

	text[0] = '\0';
	for (i = 0; i < len && i < TSCT_BUILD_ID_MAX; i++)
		sprintf(text + 2 * i, "%02x", build_id[i]);
}

size_t tsct_build_id_bytes(const char *text, __u8 build_id[TSCT_BUILD_ID_MAX])
{
	size_t len = 0;

	while (len < TSCT_BUILD_ID_MAX && sscanf(text + 2 * len, "%2hhx", &build_id[len]) == 1)
		len++;
	return len;
}

static int build_id_of(Elf *elf, __u8 build_id[TSCT_BUILD_ID_MAX])
{
	const void *id;
	ssize_t len = elf ? dwelf_elf_gnu_build_id(elf, &id) : -1;

	if (!elf || elf_kind(elf) != ELF_K_ELF)
		return -ENOEXEC;
	if (len <= 0)
		return 0;
	/* The kernel reads no longer ids than this. */
	if (len > TSCT_BUILD_ID_MAX)
		len = TSCT_BUILD_ID_MAX;
	memcpy(build_id, id, (size_t)len);
	return (int)len;
}

int tsct_build_id_read(int fd, __u8 build_id[TSCT_BUILD_ID_MAX])
{
	Elf *elf;
	int ret;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	ret = build_id_of(elf, build_id);
	elf_end(elf);
	return ret;
}

int tsct_code_file_open(int root, const char *path)
{
	const struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	char name[32];
	struct stat st;
	int place, fd = -1;

	place = root < 0 ? open(path, O_PATH | O_CLOEXEC) :
		(int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	if (place < 0)
		return -1;
	if (!fstat(place, &st) && S_ISREG(st.st_mode)) {
		snprintf(name, sizeof(name), "/proc/self/fd/%d", place);
		fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	}
	close(place);
	return fd;
}

/* Opens a regular file, and checks that it has the build id. Returns a descriptor, or
 * -1. */
static int open_file(const char *path, const char *build_id)
{
	/* Paths that are not absolute come from no recorder. */
	int fd = *path == '/' ? tsct_code_file_open(-1, path) : -1, len;
	char text[TSCT_BUILD_ID_TEXT];
	__u8 id[TSCT_BUILD_ID_MAX];

	if (fd < 0)
		return -1;
	len = tsct_build_id_read(fd, id);
	if (len >= 0) {
		tsct_build_id_text(id, (size_t)len, text);
		if (!strcmp(text, build_id))
			return fd;
	}
	close(fd);
	return -1;
}

/* ---- symbols of a file -------------------------------------------------- */

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *one = a, *two = b;

	if (one->address != two->address)
		return one->address < two->address ? -1 : 1;
	/* Of several names of an address, the longest function, then the shortest name */
	if (one->size != two->size)
		return one->size > two->size ? -1 : 1;
	return strlen(one->name) < strlen(two->name) ? -1 : 1;
}

static bool is_code(const GElf_Sym *symbol)
{
	const int type = GELF_ST_TYPE(symbol->st_info);

	return symbol->st_shndx != SHN_UNDEF &&
		(type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

static void read_symbols(struct symbol_file *f)
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

/* Returns the function that contains an address; NULL: none. */
static struct symbol *find_symbol(const struct symbol_file *f, __u64 address)
{
	size_t low = 0, high = f->nr, middle, at;
	struct symbol *s;

	while (low < high) {
		middle = (low + high) / 2;
		if (f->symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* Functions contain other symbols, such as labels, but not many. */
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

/* ---- files ------------------------------------------------------------- */

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	/* Not the standard one, which may use a network */
	.find_debuginfo = dwfl_build_id_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

static void load_file(struct symbol_file *f)
{
	char debug[sizeof(DEBUG_FILE) + TSCT_BUILD_ID_TEXT];
	int fd = open_file(f->path, f->build_id);

	if (fd < 0 && f->build_id[0]) {
		snprintf(debug, sizeof(debug), DEBUG_FILE, f->build_id, f->build_id + 2);
		fd = open_file(debug, f->build_id);
	}
	f->dwfl = fd >= 0 ? dwfl_begin(&callbacks) : NULL;
	/* On success, libdwfl closes the descriptor. */
	f->module = f->dwfl ? dwfl_report_offline(f->dwfl, "", f->path, fd) : NULL;
	if (fd >= 0 && !f->module)
		close(fd);
	if (!f->module)
		return;
	dwfl_report_end(f->dwfl, NULL, NULL);
	read_symbols(f);
}

static struct symbol_file *get_file(struct tsct_symbolizer *s, const char *path,
				    const char *build_id)
{
	struct symbol_file *f;
	size_t i, at;

	for (i = 0; i < s->nr; i++) {
		at = (s->last + i) % s->nr;
		f = &s->files[at];
		if (!strcmp(f->build_id, build_id) && !strcmp(f->path, path)) {
			s->last = at;
			return f;
		}
	}
	if (s->nr == s->room) {
		f = realloc(s->files, (s->room + 16) * 2 * sizeof(*f));
		if (!f)
			return NULL;
		s->files = f;
		s->room = (s->room + 16) * 2;
	}
	f = &s->files[s->nr];
	memset(f, 0, sizeof(*f));
	f->path = strdup(path);
	if (!f->path)
		return NULL;
	snprintf(f->build_id, sizeof(f->build_id), "%s", build_id);
	load_file(f);
	s->last = s->nr++;
	return f;
}

/* Converts an offset in the file to an address. Returns false: it is not in memory. */
static bool find_address(const struct symbol_file *f, __u64 offset, __u64 *ret_address)
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

/* ---- interface --------------------------------------------------------- */

struct tsct_symbolizer *tsct_symbolizer_new(void)
{
	struct tsct_symbolizer *s = calloc(1, sizeof(*s));
	void *library;

	if (!s)
		return NULL;
	/* Names of C++ and Rust are left mangled where there is no library of C++. */
	library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
	if (library)
		*(void **)&s->demangle = dlsym(library, "__cxa_demangle");
	return s;
}

static void free_file(struct symbol_file *f)
{
	size_t i;

	for (i = 0; i < f->nr; i++)
		if (f->symbols[i].demangled != f->symbols[i].name)
			free(f->symbols[i].demangled);
	free(f->symbols);
	free(f->path);
	dwfl_end(f->dwfl);
}

void tsct_symbolizer_free(struct tsct_symbolizer *s)
{
	size_t i;

	if (!s)
		return;
	for (i = 0; i < s->nr; i++)
		free_file(&s->files[i]);
	free(s->files);
	free(s);
}

const char *tsct_symbolizer_find(struct tsct_symbolizer *s, const char *path,
				 const char *build_id, __u64 offset, __u64 *ret_offset)
{
	struct symbol_file *f = get_file(s, path, build_id);
	struct symbol *symbol;
	__u64 address;
	int status;

	if (!f || !f->module || !find_address(f, offset, &address))
		return NULL;
	symbol = find_symbol(f, address);
	if (!symbol)
		return NULL;
	*ret_offset = address - symbol->address;
	if (!symbol->demangled && s->demangle && !strncmp(symbol->name, "_Z", 2))
		symbol->demangled = s->demangle(symbol->name, NULL, NULL, &status);
	if (!symbol->demangled)
		symbol->demangled = (char *)symbol->name;
	return symbol->demangled;
}
