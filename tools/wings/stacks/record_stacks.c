// SPDX-License-Identifier: MIT
/*
 * Stacks of kernel events: finds the function of each kernel frame and the file of each user
 * frame while they exist, and writes them into the statedump.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "tools/record/cmd_record.h"
#include "lib/base/array.h"
#include "lib/base/index.h"
#include "lib/client/gettime.h"
#include "code.h"
#include "lib/statedump/statedump.h"
#include "lib/export/symbolize.h"
#include "tools/record/record_statedump.h"
#include "tools/bpf/progs/events.h"
#include "tools/common/error.h"

#define USER_END	0x7fffffffffffULL	/* highest address of a program */
#define KEPT_FILES	256	/* maximum number of files that are kept open */

/* Maximum numbers of stacks, frames, files with code, executed programs, and mappings of a process
 * that are kept: hostile programs can make any number of these. */
#define STACKS_MAX	(1U << 16)
#define FRAMES_MAX	(1U << 17)
#define IMAGES_MAX	1024
#define PROGRAMS_MAX	256
#define MAPPINGS_MAX	2048

/* Time after which mappings of a process are read again, ns. A stack is about 10 ms old when it is
 * processed. A program that compiles code causes thousands of stacks a second. */
#define MAPPINGS_VALID_NS	10000000

/* A function of the kernel */
struct kernel_symbol {
	__u64 address;
	const char *name;
	const char *module;	/* "[MODULE]"; NULL: the kernel itself */
};

/* A file with code */
struct image {
	char build_id[TSCT_BUILD_ID_TEXT];
	char *path;
	__u64 device, inode;
	/* descriptor of a file that readers of the recording cannot open, so that the
	 * recorder must find the functions; -1: readers find the file by path and build id */
	int fd;
};

/* Mapping of code in a process */
struct code_mapping {
	__u64 begin, end, offset;
	long image;		/* index of the mapping's file in `images`; -1: none */
	char name[64];		/* path of the file, or, without a file, "[vdso]", "[anon]" */
};

struct record_stacks {
	char *kallsyms;		/* text of /proc/kallsyms, to which the symbols point */
	struct kernel_symbol *symbols;	/* sorted by address */
	__u32 nr_symbols;
	struct image *images;
	__u32 nr_images;
	unsigned int nr_kept;
	char **programs;	/* paths of executed files that were not opened yet */
	__u32 nr_programs;
	struct code_mapping *mappings;	/* mappings of the process mapped_tgid */
	__u32 nr_mappings;
	__u32 mapped_tgid;
	__u64 mapped_ns;	/* time at which the mappings were read, CLOCK_MONOTONIC, ns */
	bool mapped_now;	/* the mappings were read for the current stack */
	bool mapped;		/* the mappings could be read */
	/* stacks and frames that were written; keys: hashes, which programs cannot guess */
	struct tsct_index stacks, frames;
	__u32 *numbers;		/* number of each frame in `frames`, with the same index */
	__u32 nr_frames;	/* frames that have a number */
	__u64 seed;		/* random seed of the hashes */
	struct tsct_symbolizer *symbolizer;	/* NULL: out of memory */
	struct tsct_perf_maps *perf_maps;
};

/* ---- functions of the kernel ------------------------------------------------ */

static int compare_addresses(const void *a, const void *b)
{
	const struct kernel_symbol *one = a, *two = b;

	return tsct_compare(one->address, two->address);
}

static char *read_all(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t len = 0;

	if (!file)
		return NULL;
	/* getdelim() reads the whole file, as it contains no NUL. */
	if (getdelim(&text, &len, '\0', file) < 0) {
		free(text);
		text = NULL;
	}
	fclose(file);
	return text;
}

/* Reads a line "ADDRESS TYPE NAME[\t[MODULE]]", and writes NULs into the line. */
static void read_symbol(struct record_stacks *st, char *line)
{
	char *name, *module, *end;
	__u64 address = strtoull(line, &end, 16);

	if (!address || end[0] != ' ' || !end[1] || end[2] != ' ' || !strchr("tTwW", end[1]))
		return;
	name = end + 3;
	module = strchr(name, '\t');
	if (module)
		*module++ = '\0';
	tsct_array_add(&st->symbols, &st->nr_symbols, &(struct kernel_symbol) {
		address, name, module }, sizeof(*st->symbols));
}

static void read_kallsyms(struct record_stacks *st)
{
	char *line, *next;

	st->kallsyms = read_all("/proc/kallsyms");
	for (line = st->kallsyms; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		read_symbol(st, line);
	}
	if (st->nr_symbols)
		qsort(st->symbols, st->nr_symbols, sizeof(*st->symbols), compare_addresses);
	else
		ctl_error("--stack: functions of the kernel have no names: /proc/kallsyms "
			     "shows no addresses; run as root, or set "
			     "kernel.kptr_restrict to 0");
}

static const struct kernel_symbol *find_kernel(const struct record_stacks *st,
					       __u64 address)
{
	const size_t low = !st->nr_symbols ? 0 :
		tsct_array_up_to(&st->symbols->address, st->nr_symbols, sizeof(*st->symbols),
				 address);

	return low ? &st->symbols[low - 1] : NULL;
}

/* Returns the number of top frames that belong to the BPF program that took the stack,
 * or to kernel functions that called this program. */
static size_t count_own(const struct record_stacks *st, const __u64 *frames, size_t nr)
{
	static const char *const callers[] = {
		"bpf_", "__bpf_", "__traceiter_", "perf_trace_", "trace_call_bpf",
		"perf_call_bpf_enter", "perf_syscall_",
	};
	const struct kernel_symbol *symbol;
	size_t i, k;

	for (i = 0; i < nr; i++) {
		symbol = find_kernel(st, frames[i]);
		if (!symbol)
			break;
		/* With a kprobe, the top frame is the probed function, which is kept even if
		 * `callers` has it. */
		if (!i && (!symbol->module || strcmp(symbol->module, "[bpf]")) &&
		    strncmp(symbol->name, "perf_trace_", 11) &&
		    strncmp(symbol->name, "perf_syscall_", 13) &&
		    strncmp(symbol->name, "bpf_get_stack", 13))
			break;
		for (k = 0; k < sizeof(callers) / sizeof(*callers); k++)
			if (!strncmp(symbol->name, callers[k], strlen(callers[k])))
				break;
		if (k == sizeof(callers) / sizeof(*callers))
			break;
	}
	return i;
}

/* ---- files with code ----------------------------------------------------------- */

/* Returns true if a reader of the recording on this system finds the same file by its path. */
static bool is_found_by_path(const struct image *image)
{
	char text[TSCT_BUILD_ID_TEXT] = "";
	int fd = image->build_id[0] ? tsct_code_file_open(-1, image->path) : -1;
	bool same;

	if (fd < 0)
		return false;
	same = tsct_build_id_read(fd, text) && !strcmp(text, image->build_id);
	close(fd);
	return same;
}

/* Adds an open file. Closes @fd, unless the file must stay open. Returns the file's index or -1. */
static long add_image(struct record_stacks *st, int fd, const char *path)
{
	struct image *image, new;
	struct stat stat;
	char text[TSCT_BUILD_ID_TEXT];
	__u32 i;

	if (fstat(fd, &stat) || !S_ISREG(stat.st_mode) || !tsct_build_id_read(fd, text)) {
		close(fd);
		return -1;
	}
	new = (struct image) { .device = stat.st_dev, .inode = stat.st_ino };
	for (i = 0; i < st->nr_images; i++) {
		image = &st->images[i];
		if (image->device == stat.st_dev && image->inode == stat.st_ino &&
		    !strcmp(image->build_id, text)) {
			close(fd);
			return (long)i;
		}
	}
	new.path = strdup(path);
	strcpy(new.build_id, text);
	if (!new.path || tsct_array_add(&st->images, &st->nr_images, &new, sizeof(new))) {
		free(new.path);
		close(fd);
		return -1;
	}
	image = &st->images[st->nr_images - 1];
	image->fd = is_found_by_path(image) || st->nr_kept == KEPT_FILES ? -1 : fd;
	if (image->fd < 0)
		close(fd);
	else
		st->nr_kept++;
	return (long)st->nr_images - 1;
}

/* Opens the root directory of a process. Returns a descriptor or -1. */
static int open_root(__u32 tgid)
{
	char name[32];

	snprintf(name, sizeof(name), "/proc/%u/root", tgid);
	return open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Opens the file of a mapping, even if the file was deleted or is below another root directory. */
static int open_mapped(__u32 tgid, __u64 begin, __u64 end, const char *path)
{
	char name[96];
	int fd, root;

	snprintf(name, sizeof(name), "/proc/%u/map_files/%llx-%llx", tgid, begin, end);
	fd = tsct_code_file_open(-1, name);
	root = fd < 0 ? open_root(tgid) : -1;
	if (root >= 0) {
		fd = tsct_code_file_open(root, path);
		close(root);
	}
	return fd;
}

/* Reads a line "BEGIN-END PERMS OFFSET DEVICE INODE  PATH" of /proc/PID/maps. */
static void read_mapping(struct record_stacks *st, __u32 tgid, const char *line)
{
	static const char deleted[] = " (deleted)";
	uint64_t begin, end, offset;
	struct code_mapping *m;
	char perms[5], path[4100] = "";
	size_t len;
	int at = 0, fd;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*u %n", &begin, &end,
		   perms, &offset, &at) < 4 || perms[2] != 'x')
		return;
	m = tsct_array_next(&st->mappings, st->nr_mappings, sizeof(*m));
	if (!m)
		return;
	st->nr_mappings++;
	*m = (struct code_mapping) { begin, end, offset, -1, "" };
	snprintf(path, sizeof(path), "%s", at ? line + at : "");
	if (*path != '/') {
		snprintf(m->name, sizeof(m->name), "%.60s", *path == '[' ? path : "[anon]");
		return;
	}
	len = strlen(path);
	if (len > sizeof(deleted) && !strcmp(path + len - sizeof(deleted) + 1, deleted))
		path[len - sizeof(deleted) + 1] = '\0';
	fd = open_mapped(tgid, begin, end, path);
	m->image = fd >= 0 ? add_image(st, fd, path) : -1;
	snprintf(m->name, sizeof(m->name), "%.60s", path);
}

/* Reads the mappings of a process. There are no mappings if the process has ended, or
 * is not in the recorder's /proc. */
static void read_mappings(struct record_stacks *st, __u32 tgid)
{
	char path[32], *line = NULL;
	size_t room = 0;
	ssize_t len;
	FILE *maps;

	free(st->mappings);
	st->mappings = NULL;
	st->nr_mappings = 0;
	st->mapped_tgid = tgid;
	st->mapped_ns = tsct_monotonic_ns();
	st->mapped_now = true;
	snprintf(path, sizeof(path), "/proc/%u/maps", tgid);
	maps = fopen(path, "re");
	while (maps && st->nr_mappings < MAPPINGS_MAX &&
	       (len = getline(&line, &room, maps)) > 0) {
		if (line[len - 1] == '\n')
			line[len - 1] = '\0';
		read_mapping(st, tgid, line);
	}
	st->mapped = st->nr_mappings > 0;
	free(line);
	if (maps)
		fclose(maps);
}

/* Opens and adds the executed files in `programs`, whose processes may have ended. */
static void open_programs(struct record_stacks *st)
{
	int fd;

	while (st->nr_programs) {
		fd = tsct_code_file_open(-1, st->programs[--st->nr_programs]);
		if (fd >= 0)
			add_image(st, fd, st->programs[st->nr_programs]);
		free(st->programs[st->nr_programs]);
	}
	free(st->programs);
	st->programs = NULL;
}

static long search_image(const struct record_stacks *st, const char *build_id)
{
	size_t i;

	for (i = 0; i < st->nr_images; i++)
		if (!strcmp(st->images[i].build_id, build_id))
			return (long)i;
	return -1;
}

/* Returns the index of the file with a build id, which process @tgid executes, or -1. */
static long find_image(struct record_stacks *st, const char *build_id, __u32 tgid)
{
	long found = search_image(st, build_id);

	if (found < 0 && !(st->mapped_now && st->mapped_tgid == tgid)) {
		read_mappings(st, tgid);
		found = search_image(st, build_id);
	}
	if (found < 0 && st->nr_programs) {
		open_programs(st);
		found = search_image(st, build_id);
	}
	return found;
}

/* ---- frames ------------------------------------------------------------------- */

/* A frame that has no number yet */
struct new_frame {
	__u64 address;
	const char *build_id, *file, *symbol;
};

static bool is_numbered(const struct record_stacks *st, __u64 key, __u32 *ret_number)
{
	const __u32 at = tsct_index_find(&st->frames, key, 0);

	if (at != TSCT_INDEX_NONE)
		*ret_number = st->numbers[at];
	return at != TSCT_INDEX_NONE;
}

/* Returns the number of a frame, and writes the frame if it is not in the recording yet.
 * @key: hash of the frame; 0: do not remember the frame, which may get a name later */
static __u32 number_frame(struct record_session *s, __u64 cycles, __u64 key,
			  const struct new_frame *frame)
{
	struct record_stacks *st = s->stacks;
	char payload[TSCT_STATEDUMP_BYTES_MAX];
	__u32 len = 0, number = st->nr_frames;

	if (key && is_numbered(st, key, &number))
		return number;
	if (key && tsct_array_next(&st->numbers, st->frames.nr, sizeof(number))) {
		st->numbers[st->frames.nr] = number;
		tsct_index_add(&st->frames, key, 0);
	}
	st->nr_frames++;
	tsct_statedump_put(payload, &len, &number, sizeof(number));
	tsct_statedump_put(payload, &len, &frame->address, sizeof(frame->address));
	tsct_statedump_put_text(payload, &len, frame->build_id);
	tsct_statedump_put_text(payload, &len, frame->file);
	tsct_statedump_put_text(payload, &len, frame->symbol);
	record_statedump_add(s, TSCT_STATEDUMP_FRAME, cycles, payload, len);
	return number;
}

static __u32 number_kernel(struct record_session *s, __u64 cycles, __u64 address)
{
	const struct record_stacks *st = s->stacks;
	const struct kernel_symbol *symbol = find_kernel(st, address);
	struct new_frame frame = { address, "", "[kernel]", "" };
	char text[256];

	if (symbol) {
		snprintf(text, sizeof(text), "%s+0x%llx", symbol->name, address - symbol->address);
		frame.symbol = text;
		frame.file = symbol->module ? symbol->module : "[kernel]";
	}
	return number_frame(s, cycles, hash64(st->seed ^ 1, address), &frame);
}

/* Returns the number of a frame at @offset in the file images[@index]. */
static __u32 number_in_image(struct record_session *s, __u64 cycles, long index,
			     __u64 offset)
{
	struct record_stacks *st = s->stacks;
	const struct image *image = &st->images[index];
	struct new_frame frame = { offset, image->build_id, image->path, "" };
	const __u64 key = hash64(hash64(st->seed ^ 2, (__u64)index), offset);
	char text[1024];
	const char *name;
	__u64 from = 0;
	__u32 number;

	if (is_numbered(st, key, &number))
		return number;
	name = image->fd < 0 || !st->symbolizer ? NULL :
		tsct_symbolizer_find(st->symbolizer, image->fd, image->path, image->build_id,
				     offset, &from);
	if (name) {
		snprintf(text, sizeof(text), "%.1000s+0x%llx", name, from);
		frame.symbol = text;
	}
	return number_frame(s, cycles, key, &frame);
}

static const struct code_mapping *search_mapping(const struct record_stacks *st,
						 __u64 address)
{
	const struct code_mapping *m;

	for (m = st->mappings; m < st->mappings + st->nr_mappings; m++)
		if (address >= m->begin && address < m->end)
			return m;
	return NULL;
}

static const struct code_mapping *find_mapping(struct record_stacks *st, __u32 tgid,
					       __u64 address)
{
	const bool known = st->mapped_tgid == tgid, now = known && st->mapped_now;
	const struct code_mapping *m = known &&
		(now || tsct_monotonic_ns() - st->mapped_ns < MAPPINGS_VALID_NS) ?
		search_mapping(st, address) : NULL;

	if (m || now)
		return m;
	read_mappings(st, tgid);
	return search_mapping(st, address);
}

/* Finds the number of a frame without a build id. Returns false if there is no code at the address:
 * the previous frame was the last one. */
static bool number_address(struct record_session *s, __u64 cycles, __u32 tgid,
			   __u64 address, __u32 *ret_number)
{
	struct record_stacks *st = s->stacks;
	__u64 key = hash64(hash64(st->seed ^ 3, tgid), address), from;
	struct new_frame frame = { address, "", "", "" };
	char text[TSCT_PERF_MAP_NAME + 32];
	const struct code_mapping *m;
	const char *name = NULL;

	if (address > USER_END)
		return false;
	if (is_numbered(st, key, ret_number))
		return true;
	m = find_mapping(st, tgid, address);
	if (!m && st->mapped && st->nr_mappings < MAPPINGS_MAX)
		return false;
	if (m && m->image >= 0) {
		*ret_number = number_in_image(s, cycles, m->image,
					      address - m->begin + m->offset);
		return true;
	}
	frame.file = m ? m->name : "";
	if (m && !strncmp(m->name, "[v", 2)) {		/* [vdso], [vsyscall] */
		frame.address = address - m->begin;
	} else {
		/* If the file was read before, this finds the name even after the process's end. */
		name = tsct_perf_maps_find(st->perf_maps, tgid, address, tsct_monotonic_ns(),
					   &from);
		if (m && !name)
			key = 0;
	}
	if (name) {
		snprintf(text, sizeof(text), "%s+0x%llx", name, from);
		frame.symbol = text;
	}
	*ret_number = number_frame(s, cycles, key, &frame);
	return true;
}

/* Finds the number of a user frame. Returns false if the previous frame was the last one.
 * @is_caller: the address is a return address */
static bool number_user(struct record_session *s, __u64 cycles, __u32 tgid,
			const struct bpf_stack_build_id *from, bool is_caller,
			__u32 *ret_number)
{
	struct record_stacks *st = s->stacks;
	const __u64 offset = from->offset - is_caller;
	char build_id[TSCT_BUILD_ID_TEXT];
	struct new_frame frame = { offset, build_id, "", "" };
	__u64 words[2];
	long image;

	if (from->status != BPF_STACK_BUILD_ID_VALID)
		return number_address(s, cycles, tgid, offset, ret_number);
	/* For an address in no mapping, the kernel gives a negative offset in the next mapping. */
	if (offset > INT64_MAX)
		return false;
	tsct_build_id_text(from->build_id, sizeof(from->build_id), build_id);
	image = find_image(st, build_id, tgid);
	memcpy(words, from->build_id, sizeof(words));
	*ret_number = image >= 0 ? number_in_image(s, cycles, image, offset) :
		number_frame(s, cycles, hash64(hash64(hash64(st->seed ^ 4,
			words[0]), words[1]), offset), &frame);
	return true;
}

/* ---- stacks -------------------------------------------------------------------- */

static void free_numbers(struct record_stacks *st)
{
	free(st->numbers);
	tsct_index_free(&st->frames);
	tsct_index_free(&st->stacks);
	st->numbers = NULL;
}

static void free_images(struct record_stacks *st)
{
	for (; st->nr_images; st->nr_images--) {
		if (st->images[st->nr_images - 1].fd >= 0)
			close(st->images[st->nr_images - 1].fd);
		free(st->images[st->nr_images - 1].path);
	}
	free(st->images);
	free(st->mappings);
	tsct_symbolizer_free(st->symbolizer);
	st->images = NULL;
	st->mappings = NULL;
	st->nr_mappings = 0;
	st->mapped_tgid = 0;
	st->nr_kept = 0;
	st->symbolizer = NULL;
}

static void print_warning(void *, const char *sentence)
{
	ctl_error("--stack: %s", sentence);
}

/* Forgets all stacks and frames if there are too many. A stack that is sent again is then written
 * a second time; readers use the first copy. Also forgets all files if there are too many files;
 * not earlier, because a file might not be found again after its process has ended. */
static void limit_numbers(struct record_stacks *st)
{
	const bool many_images = st->nr_images >= IMAGES_MAX;

	if (st->stacks.nr >= STACKS_MAX || st->frames.nr >= FRAMES_MAX || many_images)
		free_numbers(st);
	if (many_images) {
		free_images(st);
		st->symbolizer = tsct_symbolizer_new(print_warning, NULL);
	}
}

/* Returns the number of the frame for a part of a stack that the kernel refused. */
static __u32 number_refused(struct record_session *s, __u64 cycles)
{
	const struct new_frame frame = { 0, "", "[refused]", "" };

	return number_frame(s, cycles, hash64(s->stacks->seed ^ 5, 0), &frame);
}

/* Writes the frames of a stack that are not in the recording yet, then the stack. */
static void write_stack(struct record_session *s, __u64 cycles, const struct stack_head *head)
{
	struct record_stacks *st = s->stacks;
	const __u64 *kernel = (const __u64 *)(head + 1);
	const size_t nr_kernel = head->kernel_bytes / 8;
	const struct bpf_stack_build_id *user = (const void *)(kernel + nr_kernel);
	const size_t nr_user = head->user_bytes / sizeof(*user);
	const size_t own = count_own(st, kernel, nr_kernel);
	const __u8 refused = (__u8)head->refused;
	const __u8 nr = (__u8)(nr_kernel - own + (refused & STACK_KERNEL_REFUSED));
	char out[TSCT_STATEDUMP_BYTES_MAX], text[4096] = "";
	__u32 number, len = 0;
	size_t i, at = 0;

	/* A return address is after the call instruction: subtract 1 to get the caller's code. */
	for (i = own; i < nr_kernel; i++)
		at += (size_t)sprintf(text + at, "%s%u", at ? " " : "",
				      number_kernel(s, cycles, kernel[i] - (i > 0)));
	for (i = STACK_KERNEL_REFUSED; i <= STACK_USER_REFUSED; i++)
		if (refused & i)
			at += (size_t)sprintf(text + at, "%s%u", at ? " " : "",
					      number_refused(s, cycles));
	for (i = 0; i < nr_user && number_user(s, cycles, head->tgid, &user[i], i > 0,
					       &number); i++)
		at += (size_t)sprintf(text + at, "%s%u", at ? " " : "", number);
	tsct_statedump_put(out, &len, &head->stack, sizeof(head->stack));
	tsct_statedump_put(out, &len, &nr, sizeof(nr));
	tsct_statedump_put_text(out, &len, text);
	tsct_statedump_put(out, &len, &refused, sizeof(refused));
	record_statedump_add(s, TSCT_STATEDUMP_STACK, cycles, out, len);
}

void record_stacks_take(struct record_session *s, __u64 cycles, const void *payload,
			size_t size)
{
	struct record_stacks *st = s->stacks;
	const struct stack_head *head = payload;

	if (!st || size < sizeof(*head) ||
	    size < sizeof(*head) + head->kernel_bytes + head->user_bytes)
		return;
	limit_numbers(st);
	if (tsct_index_find(&st->stacks, head->stack, 0) != TSCT_INDEX_NONE)
		return;
	tsct_index_add(&st->stacks, head->stack, 0);
	st->mapped_now = false;	/* the mappings of any process may have changed */
	write_stack(s, cycles, head);
}

void record_stacks_exec(struct record_stacks *st, const char *filename)
{
	/* If the path is relative to another directory, this may find another file, which has
	 * another build id and thus is not used. */
	char *path = st ? realpath(filename, NULL) : NULL;
	bool known = !path;
	size_t i;

	if (st)
		st->mapped_tgid = 0;
	for (i = 0; !known && i < st->nr_programs; i++)
		known = !strcmp(st->programs[i], path);
	for (i = 0; !known && i < st->nr_images; i++)
		known = !strcmp(st->images[i].path, path);
	if (!known && st->nr_programs == PROGRAMS_MAX) {
		open_programs(st);
		limit_numbers(st);
	}
	if (known || tsct_array_add(&st->programs, &st->nr_programs, &path, sizeof(path)))
		free(path);
}

int record_stacks_open(struct record_session *s)
{
	struct record_stacks *st = calloc(1, sizeof(*st));

	if (st)
		st->perf_maps = tsct_perf_maps_new();
	if (!st || !st->perf_maps || getrandom(&st->seed, sizeof(st->seed), 0) < 0) {
		record_stacks_free(st);
		return -ENOMEM;
	}
	st->symbolizer = tsct_symbolizer_new(print_warning, NULL);
	read_kallsyms(st);
	/* Adds the libraries of this process, which many other processes use, too. */
	read_mappings(st, (__u32)getpid());
	s->stacks = st;
	return 0;
}

void record_stacks_free(struct record_stacks *st)
{
	if (!st)
		return;
	free_numbers(st);
	free_images(st);
	while (st->nr_programs)
		free(st->programs[--st->nr_programs]);
	tsct_perf_maps_free(st->perf_maps);
	free(st->programs);
	free(st->symbols);
	free(st->kallsyms);
	free(st);
}
