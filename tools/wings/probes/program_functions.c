// SPDX-License-Identifier: MIT
/* Finds functions of a program or library, by name, and their offsets in its ELF file */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gelf.h>

#include "lib/base/array.h"
#include "probe.h"
#include "tools/common/near_name.h"

#define VERSION_HIDDEN	0x8000	/* in .gnu.version: the symbol is not the default version */
#define NAMES_SHOWN	8	/* maximum number of names in a message */

struct program_file {
	const char *path;
	int fd;
	Elf *elf;
	struct program_symbol *symbols;	/* sorted by compare_symbols() */
	size_t nr;
	size_t nr_functions;	/* number of symbols that are functions */
	bool has_symtab;	/* the file also names functions that are not exported */
};

size_t program_path_len(const char *text)
{
	size_t at = 0, found = 0;
	struct stat st;
	char *path;

	for (; text[at]; at++) {
		at += strcspn(text + at, ":");
		path = strndup(text, at);
		if (path && !stat(path, &st) && S_ISREG(st.st_mode))
			found = at;
		free(path);
		if (!text[at])
			break;
	}
	return found;
}

/* ---- symbols ----------------------------------------------------------------- */

static bool is_function(const struct program_symbol *symbol)
{
	return symbol->is_defined && symbol->type != STT_OBJECT;
}

static int compare_symbols(const void *a, const void *b)
{
	const struct program_symbol *x = a, *y = b;
	int order = strcmp(x->name, y->name) ?: is_function(y) - is_function(x) ?:
		x->is_old - y->is_old;

	return order ?: (x->address > y->address) - (x->address < y->address);
}

/* Adds a symbol. A name in .symtab may end with @VERSION, or @@VERSION for the default version. */
static int add_symbol(struct program_file *file, const GElf_Sym *from, const char *name,
		      bool is_old)
{
	const size_t len = strcspn(name, "@");
	struct program_symbol *symbol;

	symbol = tsct_array_next(&file->symbols, file->nr, sizeof(*symbol));
	if (!symbol)
		return -ENOMEM;
	*symbol = (struct program_symbol) {
		.name = strndup(name, len), .address = from->st_value,
		.type = GELF_ST_TYPE(from->st_info), .is_defined = from->st_shndx != SHN_UNDEF,
		.is_old = is_old || (name[len] && name[len + 1] != '@'),
	};
	if (!symbol->name)
		return -ENOMEM;
	file->nr++;
	return 0;
}

static int read_symbols(struct program_file *file, Elf_Data *data, const GElf_Shdr *section,
			Elf_Data *versions)
{
	const size_t nr = section->sh_entsize ? data->d_size / section->sh_entsize : 0;
	GElf_Versym version;
	const char *name;
	GElf_Sym symbol;
	int err = 0, type;
	size_t i;

	for (i = 0; !err && i < nr && gelf_getsym(data, (int)i, &symbol); i++) {
		name = elf_strptr(file->elf, section->sh_link, symbol.st_name);
		type = GELF_ST_TYPE(symbol.st_info);
		if (!name || !*name || *name == '@' ||
		    (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_OBJECT))
			continue;
		err = add_symbol(file, &symbol, name, symbol.st_shndx != SHN_UNDEF && versions &&
				 gelf_getversym(versions, (int)i, &version) &&
				 version & VERSION_HIDDEN);
	}
	return err;
}

/* Returns the data of the first section of a type, or NULL if there is no such section. */
static Elf_Data *find_section(Elf *elf, unsigned int type, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;
	Elf_Data *data;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, header) && header->sh_type == type) {
			data = elf_getdata(section, NULL);
			return data && data->d_buf ? data : NULL;
		}
	return NULL;
}

/* Sorts the symbols. Removes duplicates, such as a symbol that is in both tables. */
static void sort_symbols(struct program_file *file)
{
	struct program_symbol *at, *kept = file->symbols, *const end = kept + file->nr;

	if (file->nr)
		qsort(kept, file->nr, sizeof(*kept), compare_symbols);
	for (at = file->symbols; at < end; at++) {
		if (kept > file->symbols && !strcmp(kept[-1].name, at->name) &&
		    kept[-1].address == at->address && is_function(&kept[-1]) == is_function(at)) {
			free(at->name);
			continue;
		}
		file->nr_functions += is_function(at);
		*kept++ = *at;
	}
	file->nr = (size_t)(kept - file->symbols);
}

int program_open(const char *path, struct program_file **ret)
{
	struct program_file *file = calloc(1, sizeof(*file));
	GElf_Shdr header, versions_header;
	Elf_Data *data, *versions;
	int err = 0;

	*ret = file;
	if (!file)
		return bpf_errors_fail(-ENOMEM, "out of memory");
	elf_version(EV_CURRENT);
	file->path = path;
	file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (file->fd < 0)
		return bpf_errors_fail(-errno, "%s: %s", path, strerror(errno));
	file->elf = elf_begin(file->fd, ELF_C_READ_MMAP, NULL);
	if (!file->elf || elf_kind(file->elf) != ELF_K_ELF)
		return bpf_errors_fail(-ENOEXEC, "%s: not a program or library", path);
	data = find_section(file->elf, SHT_SYMTAB, &header);
	file->has_symtab = data;
	if (data)
		err = read_symbols(file, data, &header, NULL);
	versions = find_section(file->elf, SHT_GNU_versym, &versions_header);
	data = find_section(file->elf, SHT_DYNSYM, &header);
	if (data && !err)
		err = read_symbols(file, data, &header, versions);
	sort_symbols(file);
	return err ? bpf_errors_fail(err, "out of memory") : 0;
}

void program_close(struct program_file *file)
{
	if (!file)
		return;
	while (file->nr)
		free(file->symbols[--file->nr].name);
	free(file->symbols);
	elf_end(file->elf);
	if (file->fd >= 0)
		close(file->fd);
	free(file);
}

Elf *program_elf(struct program_file *file)
{
	return file->elf;
}

/* ---- places ------------------------------------------------------------------ */

/* Converts an address, as nm and objdump print it, to an offset in the file. Returns
 * false if the address is not in code of the file. */
static bool address_to_offset(const struct program_file *file, uint64_t address,
			      uint64_t *ret_offset)
{
	GElf_Phdr segment;
	size_t nr = 0, i;

	elf_getphdrnum(file->elf, &nr);
	for (i = 0; i < nr && gelf_getphdr(file->elf, (int)i, &segment); i++) {
		if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X) ||
		    address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz)
			continue;
		*ret_offset = address - segment.p_vaddr + segment.p_offset;
		return true;
	}
	return false;
}

/*
 * Finds the function that an IFUNC selects on this machine. The IFUNC's resolver runs in each
 * program that loads the file, but is not run here. Its result is known if this process has
 * loaded the file, such as the C library. Returns false if the result is unknown.
 */
static bool find_chosen(const struct program_file *file, const struct program_symbol *symbol,
			uint64_t *ret_address)
{
	struct link_map *map = dlopen(file->path, RTLD_LAZY | RTLD_NOLOAD);
	void *address = map && !symbol->is_old ? dlsym(map, symbol->name) : NULL, *of;
	Dl_info info;
	bool found = address && dladdr1(address, &info, &of, RTLD_DL_LINKMAP) && of == map;

	if (found)
		*ret_address = (uint64_t)address - map->l_addr;
	if (map)
		dlclose(map);
	return found;
}

bool program_place(const struct program_file *file, const struct program_symbol *symbol,
		   uint64_t *ret_offset)
{
	uint64_t address = symbol->address;

	return (symbol->type != STT_GNU_IFUNC || find_chosen(file, symbol, &address)) &&
		address_to_offset(file, address, ret_offset);
}

/* ---- names ------------------------------------------------------------------- */

/* Returns the index of the first symbol whose name does not sort before @name. */
static size_t find_first(const struct program_file *file, const char *name)
{
	size_t low = 0, high = file->nr, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (strcmp(file->symbols[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct program_symbol *program_next(const struct program_file *file, size_t *at,
					  bool *ret_is_only)
{
	const struct program_symbol *symbol, *other;
	size_t i;

	while (*at < file->nr && !is_function(&file->symbols[*at]))
		++*at;
	if (*at == file->nr)
		return NULL;
	symbol = &file->symbols[(*at)++];
	*ret_is_only = true;
	for (i = find_first(file, symbol->name); i < file->nr; i++) {
		other = &file->symbols[i];
		if (strcmp(other->name, symbol->name) || !is_function(other))
			break;
		/* The default version of a name has precedence. */
		if (other != symbol && other->is_old <= symbol->is_old)
			*ret_is_only = false;
	}
	return symbol;
}

/* Reads 0xADDRESS or NAME@0xADDRESS from @name, and cuts @name to NAME. Returns false,
 * without a change of @name, if there is no address. */
static bool split_address(char *name, uint64_t *ret_address)
{
	char *at = strncmp(name, "0x", 2) ? strstr(name, "@0x") : name, *end;
	const char *digits = at == name ? at : at + 1;

	if (!at || !digits[2])
		return false;
	*ret_address = strtoull(digits, &end, 16);
	if (*end || (at > name && !*ret_address))
		return false;
	if (at > name)
		*at = '\0';
	return true;
}

bool program_has(const struct program_file *file, const char *text)
{
	char *name = strdup(text);
	uint64_t address;
	bool has;
	size_t at;

	if (!name)
		return false;
	has = split_address(name, &address) && !strncmp(name, "0x", 2);
	at = find_first(file, name);
	has |= at < file->nr && !strcmp(file->symbols[at].name, name);
	free(name);
	return has;
}

/* Appends a name to a list of at most NAMES_SHOWN names, with its address unless this is 0. */
static void append(char *list, size_t size, unsigned int *nr, const char *name, uint64_t address)
{
	const size_t used = strlen(list);
	char where[32] = "";

	if (++*nr > NAMES_SHOWN + 1)
		return;
	if (address)
		snprintf(where, sizeof(where), "@%#lx", (unsigned long)address);
	snprintf(list + used, size - used, "%s%s%s", used ? ", " : "",
		 *nr > NAMES_SHOWN ? "..." : name, *nr > NAMES_SHOWN ? "" : where);
}

/* Sets the reason why no function is named @name. Returns -ENOENT. */
static int explain_missing(const struct program_file *file, const char *name)
{
	const struct program_symbol *symbol, *near = NULL, *exact = NULL;
	const size_t len = strlen(name);
	char made[512] = "";
	unsigned int nr = 0;

	for (symbol = file->symbols; symbol < file->symbols + file->nr; symbol++) {
		if (!strcmp(symbol->name, name))
			exact = symbol;
		else if (is_function(symbol) && !strncmp(symbol->name, name, len) &&
			 symbol->name[len] == '.')
			append(made, sizeof(made), &nr, symbol->name, 0);
		else if (is_function(symbol) && near_name(name, symbol->name))
			near = symbol;
	}
	if (exact)
		return bpf_errors_fail(-ENOENT, exact->is_defined ?
			    "%s: '%s' is data, not a function" : "%s: '%s' is only called here; "
			    "name the library that defines it", file->path, name);
	if (nr)
		return bpf_errors_fail(-ENOENT, "%s: no function '%s': the compiler made %s of "
			    "it; use that name", file->path, name, made);
	if (near)
		return bpf_errors_fail(-ENOENT, "%s: no function '%s'; did you mean '%s'?",
			    file->path, name, near->name);
	if (!file->has_symtab)
		return bpf_errors_fail(-ENOENT, "%s: no function '%s' can be found: the file is "
			    "stripped, so only its %zu exported functions have names; use a file "
			    "that is not stripped, or uprobe:FILE:0xADDRESS", file->path, name,
			    file->nr_functions);
	return bpf_errors_fail(-ENOENT, "%s: no function '%s'; 'trace-ctl list uprobe:FILE' "
		    "prints all", file->path, name);
}

/* Finds the function with the name @name and, unless @address is 0, the address @address. */
static int find_symbol(const struct program_file *file, const char *name, uint64_t address,
		       const struct program_symbol **ret)
{
	const struct program_symbol *symbol;
	size_t at = find_first(file, name);
	unsigned int nr = 0, listed = 0;
	char list[512] = "";
	bool is_only;

	*ret = NULL;
	while ((symbol = program_next(file, &at, &is_only)) && !strcmp(symbol->name, name)) {
		if (address ? symbol->address != address : nr && symbol->is_old && !(*ret)->is_old)
			continue;
		append(list, sizeof(list), &listed, name, symbol->address);
		if (!nr++)
			*ret = symbol;
	}
	if (nr > 1)
		return bpf_errors_fail(-EINVAL, "%s: %u functions are named '%s'; use one of %s",
			    file->path, nr, name, list);
	if (!nr && address)
		return bpf_errors_fail(-ENOENT, "%s: no function '%s' is at %#lx; 'trace-ctl list "
			    "uprobe:FILE' prints all", file->path, name, (unsigned long)address);
	return nr ? 0 : explain_missing(file, name);
}

int program_find(const struct program_file *file, const char *text, uint64_t *ret_offset)
{
	const struct program_symbol *symbol;
	char *name = strdup(text);
	uint64_t address = 0;
	int err = name ? 0 : -ENOMEM;

	if (name && split_address(name, &address) && !strncmp(name, "0x", 2)) {
		if (!address_to_offset(file, address, ret_offset))
			err = bpf_errors_fail(-EINVAL, "%s: no instruction is at the address %s; "
				   "use one as nm and objdump print it", file->path, name);
	} else if (name) {
		err = find_symbol(file, name, address, &symbol);
		if (!err && !program_place(file, symbol, ret_offset))
			err = bpf_errors_fail(-EOPNOTSUPP, symbol->type == STT_GNU_IFUNC ?
				   "%s: '%s' is an IFUNC: each process that has the file chooses "
				   "one of several functions for it; name that function, or use "
				   "uprobe:FILE:0xADDRESS" : "%s: '%s' has no instructions in the "
				   "file; name a program or library", file->path, name);
	}
	free(name);
	return err;
}

/* ---- Go ---------------------------------------------------------------------- */

static bool is_go_note(Elf_Data *data)
{
	size_t at = 0, name, text;
	GElf_Nhdr note;

	while (data && (at = gelf_getnote(data, at, &note, &name, &text)))
		if (note.n_namesz == sizeof("Go") &&
		    !memcmp((char *)data->d_buf + name, "Go", sizeof("Go")))
			return true;
	return false;
}

bool program_is_go(const struct program_file *file)
{
	size_t names = 0, nr = 0, i;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Phdr segment;
	const char *name;

	elf_getshdrstrndx(file->elf, &names);
	while ((section = elf_nextscn(file->elf, section))) {
		name = gelf_getshdr(section, &header) ?
			elf_strptr(file->elf, names, header.sh_name) : NULL;
		if (name && (strstr(name, ".gopclntab") || !strcmp(name, ".go.buildinfo") ||
			     !strcmp(name, ".note.go.buildid")))
			return true;
	}
	elf_getphdrnum(file->elf, &nr);
	for (i = 0; i < nr && gelf_getphdr(file->elf, (int)i, &segment); i++)
		if (segment.p_type == PT_NOTE &&
		    is_go_note(elf_getdata_rawchunk(file->elf, (int64_t)segment.p_offset,
						    segment.p_filesz, ELF_T_NHDR)))
			return true;
	return false;
}
