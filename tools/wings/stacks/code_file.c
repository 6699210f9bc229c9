// SPDX-License-Identifier: MIT
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "code.h"

#define HEADERS_MAX	128	/* maximum number of program headers to read */
#define NOTES_BYTES	4096	/* maximum number of bytes to read of a segment of notes */

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

/* Finds the build id among notes. Returns the length of the build id in bytes, or 0. */
static int find_note(const char *notes, size_t size, size_t align,
		     __u8 build_id[TSCT_BUILD_ID_MAX])
{
	size_t at = 0, name, text, end;
	Elf64_Nhdr note;	/* Elf32_Nhdr has the same layout */

	for (; at + sizeof(note) <= size; at = (end + align - 1) & ~(align - 1)) {
		memcpy(&note, notes + at, sizeof(note));
		name = at + sizeof(note);
		text = (name + note.n_namesz + align - 1) & ~(align - 1);
		end = text + note.n_descsz;
		if (note.n_namesz > size || note.n_descsz > size || end > size)
			break;
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof("GNU") ||
		    memcmp(notes + name, "GNU", sizeof("GNU")))
			continue;
		/* Cut an id that is too long. (The kernel ignores such ids.) */
		if (end - text > TSCT_BUILD_ID_MAX)
			end = text + TSCT_BUILD_ID_MAX;
		memcpy(build_id, notes + text, end - text);
		return (int)(end - text);
	}
	return 0;
}

/* Reads the header of an ELF file, and converts a 32-bit header to 64 bits. Returns
 * false if the file is no ELF file of this byte order. */
static bool read_header(int fd, Elf64_Ehdr *h)
{
	Elf32_Ehdr small;

	if (pread(fd, h, sizeof(*h), 0) < (ssize_t)sizeof(small) ||
	    memcmp(h->e_ident, ELFMAG, SELFMAG) ||
	    h->e_ident[EI_DATA] != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ?
				    ELFDATA2LSB : ELFDATA2MSB))
		return false;
	if (h->e_ident[EI_CLASS] == ELFCLASS32) {
		memcpy(&small, h, sizeof(small));
		h->e_phoff = small.e_phoff;
		h->e_phnum = small.e_phnum;
	}
	return true;
}

static bool read_program_header(int fd, const Elf64_Ehdr *h, size_t i, Elf64_Phdr *p)
{
	Elf32_Phdr small;

	if (h->e_ident[EI_CLASS] == ELFCLASS64)
		return pread(fd, p, sizeof(*p), (off_t)(h->e_phoff + i * sizeof(*p))) ==
			sizeof(*p);
	if (pread(fd, &small, sizeof(small), (off_t)(h->e_phoff + i * sizeof(small))) !=
	    sizeof(small))
		return false;
	*p = (Elf64_Phdr) { .p_type = small.p_type, .p_offset = small.p_offset,
			    .p_filesz = small.p_filesz, .p_align = small.p_align };
	return true;
}

bool tsct_build_id_read(int fd, char text[TSCT_BUILD_ID_TEXT])
{
	__u8 build_id[TSCT_BUILD_ID_MAX];
	char notes[NOTES_BYTES];
	Elf64_Ehdr header;
	Elf64_Phdr p;
	ssize_t size;
	size_t i;
	int len = 0;

	if (!read_header(fd, &header))
		return false;
	for (i = 0; i < header.e_phnum && i < HEADERS_MAX && !len; i++) {
		if (!read_program_header(fd, &header, i, &p))
			return false;
		if (p.p_type != PT_NOTE)
			continue;
		size = pread(fd, notes, p.p_filesz < sizeof(notes) ? p.p_filesz :
			     sizeof(notes), (off_t)p.p_offset);
		if (size > 0)
			len = find_note(notes, (size_t)size, p.p_align == 8 ? 8 : 4, build_id);
	}
	tsct_build_id_text(build_id, (size_t)len, text);
	return true;
}
