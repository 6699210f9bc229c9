// SPDX-License-Identifier: MIT
/*
 * Coverage of the module by KCOV: the kernel records where in instrumented code, which
 * is only the module's, a task was. Addresses are kept relative to their section, as the
 * module moves when it is loaded again. tsct-cover.ko also records interrupts and the
 * kernel's own threads: work items, callbacks of CPU hotplug.
 */
#include <linux/kcov.h>

#include "fuzz.h"

#define ENTRIES		(1 << 15)
#define SECTION_MAX	(1 << 18)
#define EDGES		(1 << 16)
#define SECTIONS	"/sys/module/tsctrace/sections/"
#define ALL_MAX		(1 << 13)	/* entries of tsct-cover.ko's table */

static const char *const names[FZ_SECTIONS] = {
	".text", ".init.text", ".exit.text", ".noinstr.text", ".text.unlikely",
	".text.hot",
};

static int all = -1;
static uint64_t bases[FZ_SECTIONS];
static struct {
	int fd;
	uint64_t *area;		/* number of entries, entries */
} tasks[FZ_THREADS];

/* Shared with the children, which collect their own coverage */
static struct map {
	uint8_t hit[FZ_SECTIONS][SECTION_MAX];
	uint8_t edge[EDGES];
	uint32_t new;		/* number of new edges */
} *map;

bool fz_cover_setup(void)
{
	map = mmap(NULL, sizeof(*map), RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (unsigned int i = 0; i < FZ_THREADS; i++) {
		tasks[i].fd = open(FAULTS_DEBUG "kcov", O_RDWR | O_CLOEXEC);
		if (tasks[i].fd < 0 || ioctl(tasks[i].fd, KCOV_INIT_TRACE, ENTRIES))
			return false;
		tasks[i].area = mmap(NULL, ENTRIES * 8, RW, MAP_SHARED, tasks[i].fd, 0);
		if (tasks[i].area == MAP_FAILED)
			return false;
	}
	return map != MAP_FAILED;
}

bool fz_cover_all(void)
{
	all = open(FAULTS_DEBUG "tsct_cover", O_RDONLY | O_CLOEXEC);
	return all >= 0;
}

void fz_cover_sections(void)
{
	char path[128];
	FILE *file;

	for (unsigned int i = 0; i < FZ_SECTIONS; i++) {
		snprintf(path, sizeof(path), SECTIONS "%s", names[i]);
		bases[i] = 0;
		file = fopen(path, "r");
		if (file && fscanf(file, "%lx", &bases[i]) != 1)
			bases[i] = 0;
		if (file)
			fclose(file);
	}
}

void fz_cover_begin(unsigned int i)
{
	if (!tasks[i].area)
		return;
	tasks[i].area[0] = 0;
	ioctl(tasks[i].fd, KCOV_ENABLE, KCOV_TRACE_PC);
}

static bool locate(uint64_t pc, unsigned int *ret_section, uint64_t *ret_offset)
{
	uint64_t nearest = SECTION_MAX;

	for (unsigned int i = 0; i < FZ_SECTIONS; i++)
		if (bases[i] && pc - bases[i] < nearest) {
			nearest = pc - bases[i];
			*ret_section = i;
			*ret_offset = nearest;
		}
	return nearest < SECTION_MAX;
}

/* Adds what the thread recorded since the last call. */
void fz_cover_collect(unsigned int i)
{
	uint64_t nr, at, offset, last = 0, edge;
	unsigned int section;

	if (!tasks[i].area)
		return;
	nr = __atomic_exchange_n(&tasks[i].area[0], 0, __ATOMIC_RELAXED);
	for (at = 1; at <= nr && at < ENTRIES; at++) {
		if (!locate(tasks[i].area[at], &section, &offset))
			continue;
		map->hit[section][offset] = 1;
		edge = (last * 0x9e3779b97f4a7c15 + section * SECTION_MAX + offset) *
			0x2545f4914f6cdd1d >> 48;
		last = section * SECTION_MAX + offset;
		if (!map->edge[edge]) {
			map->edge[edge] = 1;
			__atomic_fetch_add(&map->new, 1, __ATOMIC_RELAXED);
		}
	}
}

void fz_cover_collect_all(void)
{
	static uint64_t table[ALL_MAX];
	unsigned int section, i;
	uint64_t offset;

	if (all < 0 || read(all, table, sizeof(table)) != sizeof(table))
		return;
	for (i = 0; i < ALL_MAX; i++)
		if (table[i] && locate(table[i], &section, &offset) &&
		    !map->hit[section][offset]) {
			map->hit[section][offset] = 1;
			map->new++;
		}
}

void fz_cover_end(unsigned int i)
{
	if (tasks[i].area)
		ioctl(tasks[i].fd, KCOV_DISABLE, 0);
	fz_cover_collect(i);
}

unsigned int fz_cover_new(void)
{
	return map ? __atomic_exchange_n(&map->new, 0, __ATOMIC_RELAXED) : 0;
}

void fz_cover_reset(void)
{
	if (map)
		memset(map, 0, sizeof(*map));
}

unsigned int fz_cover_sites(void)
{
	unsigned int section, sites = 0;

	if (!map)
		return 0;
	for (section = 0; section < FZ_SECTIONS; section++)
		for (size_t i = 0; i < SECTION_MAX; i++)
			sites += map->hit[section][i];
	return sites;
}

void fz_cover_write(FILE *file)
{
	for (unsigned int section = 0; section < FZ_SECTIONS; section++)
		for (size_t i = 0; i < SECTION_MAX; i++)
			if (map->hit[section][i])
				fprintf(file, "%s %zx\n", names[section], i);
}
