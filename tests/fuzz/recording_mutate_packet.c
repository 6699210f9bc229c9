// SPDX-License-Identifier: MIT
/*
 * Changes packets and files: packet headers, events, and the stream files that contain
 * them. recording_box.h describes the generated headers. Other wrong headers are made
 * by turning the last packet of a file into raw BYTES.
 */

/* ---- numbers in packet headers ------------------------------------------- */

/* Changes one number in the buffer `work`: @size bytes long, little-endian, at offset
 * @at. */
static void change_field(size_t at, size_t size)
{
	__u64 number = 0;

	memcpy(&number, work.at + at, size);
	switch (any(4)) {
	case 0: number += 8ULL * (any(9) - 4ULL); break;
	case 1: number += any(9) - 4ULL; break;
	default: number = odd_number();
	}
	memcpy(work.at + at, &number, size);
}

/* ---- events of a packet -------------------------------------------------- */

static void change_head(void)
{
	switch (any(8)) {
	case 0: work.at[0] = (__u8)any(4); break;
	case 1: work.at[1] = (__u8)any(4); break;
	case 2: work.at[2] = any(2) ? 0 : (__u8)(1U << any(8)); break;
	case 3: change_field(3, 8); break;
	case 4: change_field(19, 2); break;
	default: change_field(11, 8); break;
	}
}

/* Writes an event to @to: a header, encoded as if the previous event had a random tick,
 * and a payload. Returns the size of both. */
static size_t make_event(__u8 *to)
{
	struct tsct_delta delta;
	int len;

	tsct_delta_begin(&delta, odd_number());
	delta.tid = any(3);
	len = tsct_delta_put(&delta, to, any(4) ? any(3) : any(40),
			     delta.tick + any(1U << any(20)), any(3));
	if (len < 0)
		return 0;
	memset(to + len, "\0\1\377"[any(3)], 64);
	return (size_t)len + any(2) * any(64);
}

/* Replaces a number in the payload of an event, without changing the payload's size. */
static void change_payload(void)
{
	const size_t size = 1UL << any(4), left = work.len - PACKET_FIXED;

	if (left < size)
		return;
	if (any(4))
		change_field(PACKET_FIXED + any(left - size + 1), size);
	else
		memmove(work.at + PACKET_FIXED + any(left - size + 1),
			work.at + PACKET_FIXED + any(left - size + 1), size);
}

static void change_events(void)
{
	const size_t at = PACKET_FIXED +
		any((unsigned int)(work.len - PACKET_FIXED) + 1);
	const size_t left = work.len - at;
	__u8 event[TSCT_DELTA_ROOM + 64];
	size_t len = any(24);

	if (len > left)
		len = left;
	switch (any(4)) {
	case 0: splice(at, len, NULL, 0); break;
	case 1:
		memcpy(event, work.at + at, len);
		splice(at, 0, event, len);
		break;
	default: splice(at, any(2) ? len : 0, event, make_event(event));
	}
}

static void change_packet(struct section *s)
{
	load_work(s);
	if (work.len < PACKET_FIXED)
		splice(work.len, 0, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
		       PACKET_FIXED - work.len);
	switch (any(6)) {
	case 0:
	case 1: change_head(); break;
	case 2: change_events(); break;
	default: change_payload();
	}
	store_work(s);
}

/* ---- packet headers as raw bytes ----------------------------------------- */

/* bytes of a section before its events: class, location and packet header */
#define WHOLE	(2 + sizeof(struct tsct_packet))
#define FIELD(name) \
	{ 2 + offsetof(struct tsct_packet, name), \
	  sizeof(((struct tsct_packet *)NULL)->name) }

static const struct {
	size_t at, size;
} fields[] = {
	FIELD(stream_id), FIELD(begin), FIELD(end), FIELD(content_bits),
	FIELD(content_bits), FIELD(packet_bits), FIELD(packet_bits), FIELD(seq),
	FIELD(discarded), FIELD(cpu), FIELD(node),
};

static bool has_head(const struct section *s)
{
	static const __u32 magic = TSCT_CTF_MAGIC;

	return s->kind == SECTION_BYTES && s->len >= WHOLE &&
		!memcmp(s->at + 2, &magic, sizeof(magic));
}

static void change_whole_head(struct section *s)
{
	const unsigned int which = any(COUNT(fields));

	load_work(s);
	change_field(fields[which].at, fields[which].size);
	store_work(s);
}

static int hex(__u8 c)
{
	return is_digit(c) ? c - '0' : (c - 'a' + 10) & 15;
}

/* Sets @uuid to the recording's UUID in the metadata text @s (key trace_uuid); does not
 * change @uuid if the text has no such key. */
static void find_uuid(const struct section *s, __u8 uuid[16])
{
	static const char key[] = "trace_uuid = \"";
	const __u8 *at = NULL, *end = s->at + s->len;
	unsigned int i;

	if (s->len)
		at = memmem(s->at, s->len, key, strlen(key));
	if (!at)
		return;
	for (at += strlen(key), i = 0; i < 16 && at + 1 < end; i++, at += 2) {
		at += *at == '-';
		if (at + 1 < end)
			uuid[i] = (__u8)(hex(at[0]) << 4 | hex(at[1]));
	}
}

static bool same_file(const struct section *a, const struct section *b)
{
	return a->len >= 2 && b->len >= 2 && a->at[0] == b->at[0] &&
		a->at[1] == b->at[1] && b->kind != SECTION_TEXT &&
		b->kind != SECTION_NEXT;
}

static __u64 at_8(const __u8 *at)
{
	__u64 number;

	memcpy(&number, at, sizeof(number));
	return number;
}

/* Builds the packet header that make_files() generates after the preceding packets. */
static void fill_head(const struct section *s, const struct section *last,
		      struct tsct_packet *head)
{
	for (; s <= last; s++) {
		if (s->kind == SECTION_TEXT)
			find_uuid(s, head->uuid);
		if (s->kind != SECTION_PACKET || s->len < PACKET_FIXED ||
		    !same_file(last, s))
			continue;
		head->begin = at_8(s->at + 3);
		if (!(s->at[2] & BEGINS_AT))
			head->begin += head->end;
		head->end = head->begin + at_8(s->at + 11);
		head->seq++;
	}
	head->seq--;
}

/* Turns @one, if it is the last section of a stream file, from a PACKET into a BYTES
 * section: a packet header with one changed field, and the packet's events. @begin,
 * @end: range of sections of the recording that the file belongs to */
static void make_whole(struct section *begin, const struct section *end,
		       struct section *one)
{
	const size_t bits = (one->len - PACKET_FIXED + sizeof(struct tsct_packet)) * 8;
	struct tsct_packet head = {
		.magic = TSCT_CTF_MAGIC, .stream_id = one->at[0],
		.cpu = one->at[1], .content_bits = bits, .packet_bits = bits,
	};
	const struct section *s;

	for (s = one + 1; s < end; s++)
		if (same_file(one, s))
			return;
	fill_head(begin, one, &head);
	load_work(one);
	splice(2, PACKET_FIXED - 2, &head, sizeof(head));
	one->kind = SECTION_BYTES;
	store_work(one);
	change_whole_head(one);
}

/* ---- stream files -------------------------------------------------------- */

static void rename_file(struct section *s, __u8 class, __u8 location)
{
	input[s->at - input] = class;
	input[s->at - input + 1] = location;
}

/* Exchanges the packets of two random stream files: changes the class and the location
 * in each packet's section. The bytes of the sections must be in the array input[]. */
static void exchange_files(struct section *s, unsigned int nr)
{
	struct section *a = &s[any(nr)], *b = &s[any(nr)], *end = s + nr;
	__u8 of_a[2], of_b[2];

	if (!same_file(a, a) || !same_file(b, b))
		return;
	memcpy(of_a, a->at, 2);
	memcpy(of_b, b->at, 2);
	for (; s < end; s++) {
		if (!same_file(s, s))
			continue;
		if (!memcmp(s->at, of_a, 2))
			rename_file(s, of_b[0], of_b[1]);
		else if (!memcmp(s->at, of_b, 2))
			rename_file(s, of_a[0], of_a[1]);
	}
}

/* Copies some events of packet section @from to packet section @s. */
static void cross_packet(struct section *s, const struct section *from)
{
	size_t at, len, to;

	if (s->len < PACKET_FIXED || from->len <= PACKET_FIXED)
		return;
	load_work(s);
	at = PACKET_FIXED + any(from->len - PACKET_FIXED);
	len = 1 + any((unsigned int)(from->len - at));
	to = PACKET_FIXED + any((unsigned int)(work.len - PACKET_FIXED) + 1);
	splice(to, any(2) ? work.len - to : 0, from->at + at, len);
	store_work(s);
}
