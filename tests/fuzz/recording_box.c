// SPDX-License-Identifier: MIT
/* Creates the recordings that an input describes (recording_box.h) in a tmpfs. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/ctf/recording.h"
#include "recording_box.h"

#define TEXT_ROOM	65536
#define FILE_ROOM	65536
#define FILES_MAX	16

/* A stream file of a recording, with the contents generated for it */
struct box_file {
	__u8 class, location;
	size_t len;
	__u64 seq, last;
	__u8 bytes[FILE_ROOM];
};

struct box {
	char dir[64];
	int dirfd;
	bool known;			/* true if the metadata can be parsed */
	struct tsct_recording rec;
	unsigned int nr_files;
	__u64 bytes;			/* bytes in all stream files of the recording */
};

static struct box boxes[BOXES_MAX + 1];
static struct box_file box_files[FILES_MAX];
static char box_text[TEXT_ROOM];

static void empty_dir(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;

	if (!folder)
		abort();
	while ((entry = readdir(folder)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			unlinkat(dirfd(folder), entry->d_name, 0);
	closedir(folder);
}

static void remove_boxes(void)
{
	for (unsigned int i = 0; i <= BOXES_MAX; i++) {
		empty_dir(boxes[i].dir);
		rmdir(boxes[i].dir);
	}
}

/* Creates the directories of the recordings once per process. Only the files in them
 * are removed after each input. */
static void make_dirs(void)
{
	const char *tmp = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";

	if (boxes[0].dir[0])
		return;
	for (unsigned int i = 0; i <= BOXES_MAX; i++) {
		snprintf(boxes[i].dir, sizeof(boxes[i].dir), "%s/tsct-XXXXXX",
			 tmp);
		if (!mkdtemp(boxes[i].dir))
			abort();
		boxes[i].dirfd = open(boxes[i].dir, O_DIRECTORY | O_CLOEXEC);
		if (boxes[i].dirfd < 0)
			abort();
	}
	atexit(remove_boxes);
}

/* Returns an empty directory for the output of a merge. */
static const char *out_dir(void)
{
	return boxes[BOXES_MAX].dir;
}

static void store(const struct box *box, const char *name, const void *from,
		  size_t len)
{
	int fd = openat(box->dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			0600);

	if (fd < 0 || write(fd, from, len) != (ssize_t)len)
		abort();
	close(fd);
}

/* ---- metadata ------------------------------------------------------------ */

static size_t put_text(size_t at, const void *from, size_t len)
{
	if (len > TEXT_ROOM - 1 - at)
		len = TEXT_ROOM - 1 - at;
	memcpy(box_text + at, from, len);
	return at + len;
}

static size_t put_line(size_t at, const char *line)
{
	return put_text(at, line, strlen(line));
}

static void make_text(struct box *box, const struct section *s, unsigned int nr,
		      unsigned int wrong)
{
	size_t len = 0;
	char why[512];

	if (!(wrong & BARE_TEXT))
		len = put_line(put_line(len, TSCT_META_BEGIN), "\nenv {\n");
	for (unsigned int i = 0; i < nr; i++)
		if (s[i].kind == SECTION_TEXT)
			len = put_text(len, s[i].at, s[i].len);
	if (!(wrong & BARE_TEXT))
		len = put_line(put_line(len, "};\n"), TSCT_META_END);
	box_text[len] = '\0';
	if (!(wrong & NO_TEXT))
		store(box, "metadata", box_text, len);
	box->known = !tsct_meta_parse(box_text, len, &box->rec, why, sizeof(why));
}

/* ---- stream files -------------------------------------------------------- */

static struct box_file *file_of(struct box *box, __u8 class, __u8 location)
{
	struct box_file *f;
	unsigned int i;

	for (i = 0; i < box->nr_files; i++)
		if (box_files[i].class == class &&
		    box_files[i].location == location)
			return &box_files[i];
	if (class >= tsct_recording_classes(&box->rec) || i == FILES_MAX ||
	    location >= box->rec.nr_locations)
		return NULL;
	f = &box_files[box->nr_files++];
	f->class = class;
	f->location = location;
	f->len = 0;
	f->seq = f->last = 0;
	return f;
}

static void put_bytes(struct box_file *f, const void *from, size_t len)
{
	if (len > FILE_ROOM - f->len)
		len = FILE_ROOM - f->len;
	if (len)
		memcpy(f->bytes + f->len, from, len);
	f->len += len;
}

static __u64 number_at(const __u8 *at)
{
	__u64 n;

	memcpy(&n, at, sizeof(n));
	return n;
}

static void corrupt(struct tsct_packet *head, unsigned int wrong)
{
	if (wrong & WRONG_MAGIC)
		head->magic++;
	if (wrong & WRONG_UUID)
		head->uuid[3] ^= 1;
	if (wrong & WRONG_STREAM)
		head->stream_id ^= 1;
	if (wrong & SKIPS)
		head->seq += 2;
	if (wrong & CUT)
		head->content_bits = head->packet_bits += 64;
	if (wrong & PADDED)
		head->packet_bits += 128;
	if (wrong & ODD_SIZE)
		head->content_bits -= 3;
}

static void put_packet(struct box *box, struct box_file *f,
		       const struct section *s)
{
	const unsigned int wrong = s->at[2];
	const size_t len = s->len - PACKET_FIXED;
	const struct tsct_location *l = &box->rec.locations[f->location];
	struct tsct_packet head = {
		.magic = TSCT_CTF_MAGIC, .stream_id = f->class,
		.content_bits = (sizeof(head) + len) * 8,
		.packet_bits = (sizeof(head) + len) * 8,
		.seq = f->seq, .cpu = l->cpu, .node = l->node,
		.discarded = s->at[19] | s->at[20] << 8,
	};

	head.begin = number_at(s->at + 3) + (wrong & BEGINS_AT ? 0 : f->last);
	head.end = head.begin + number_at(s->at + 11);
	memcpy(head.uuid, box->rec.uuid, sizeof(head.uuid));
	f->last = head.end;
	corrupt(&head, wrong);
	f->seq = head.seq + 1;
	put_bytes(f, &head, sizeof(head));
	put_bytes(f, s->at + PACKET_FIXED, len);
	put_bytes(f, "pad of 16 bytes.", wrong & PADDED ? 16 : 0);
}

static void put_section(struct box *box, const struct section *s)
{
	struct box_file *f;

	if ((s->kind != SECTION_PACKET || s->len < PACKET_FIXED) &&
	    (s->kind != SECTION_BYTES || s->len < 2))
		return;
	f = file_of(box, s->at[0], s->at[1]);
	if (!f)
		return;
	if (s->kind == SECTION_PACKET)
		put_packet(box, f, s);
	else
		put_bytes(f, s->at + 2, s->len - 2U);
}

static void make_files(struct box *box, const struct section *s, unsigned int nr)
{
	char name[TSCT_FILE_NAME_MAX];

	box->nr_files = 0;
	box->bytes = 0;
	for (unsigned int i = 0; i < nr && box->known; i++)
		put_section(box, &s[i]);
	for (unsigned int i = 0; i < box->nr_files; i++) {
		tsct_recording_file(&box->rec, box_files[i].class,
				    box_files[i].location, name);
		store(box, name, box_files[i].bytes, box_files[i].len);
		box->bytes += box_files[i].len;
	}
}

/* ---- all recordings of an input ------------------------------------------ */

/* Creates all recordings. Returns how many; *ret_options: options for merging them,
 * stated in the first recording */
static unsigned int make_boxes(const __u8 *in, size_t size,
			       unsigned int *ret_options)
{
	struct section s[SECTIONS_MAX];
	unsigned int all = read_sections(in, size, s), nr = 0, at = 0, end, how;

	make_dirs();
	*ret_options = 0;
	for (; at < all && nr < BOXES_MAX; at = end) {
		how = s[at].kind == SECTION_NEXT && s[at].len ? s[at].at[0] : 0;
		for (end = at + 1; end < all && s[end].kind != SECTION_NEXT; end++)
			;
		if (!nr)
			*ret_options = how;
		make_text(&boxes[nr], s + at, end - at, how);
		make_files(&boxes[nr++], s + at, end - at);
	}
	return nr;
}

static void drop_boxes(unsigned int nr)
{
	while (nr--) {
		empty_dir(boxes[nr].dir);
		tsct_recording_free(&boxes[nr].rec);
	}
}
