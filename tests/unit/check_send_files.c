// SPDX-License-Identifier: MIT
/* test-wing: cluster */
/* Files of a recording that are sent from one node to another, and what a hostile node
 * may send instead */
#include "tools/wings/cluster/send_files.c"
#include "tools/shared/message.c"
#include "seed.h"
#include "suite.h"

static char dir[64], from[96], to[96], final[96];

static void begin(void)
{
	strcpy(dir, "/tmp/check_send_files.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(from, sizeof(from), "%s/from", dir);
	snprintf(to, sizeof(to), "%s/.to", dir);
	snprintf(final, sizeof(final), "%s/to", dir);
	ck_assert_int_eq(mkdir(from, 0700), 0);
}

static void end(void)
{
	remove_recording(from);
	remove_recording(to);
	remove_recording(final);
	ck_assert_int_eq(rmdir(dir), 0);
}

static void make_file(const char *name, const char *data, size_t len)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", from, name);
	file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(data, 1, len, file), len);
	fclose(file);
}

static void check_file(const char *name, const char *data, size_t len)
{
	char path[256], *got = malloc(len + 1);
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", final, name);
	file = fopen(path, "re");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fread(got, 1, len + 1, file), len);
	ck_assert(!memcmp(got, data, len));
	fclose(file);
	free(got);
}

/* Passes on all messages in the queue. Returns the first error. */
static int receive_all(struct receive_files *r, struct byte_queue *q)
{
	struct message_reader in = { 0 };
	struct control_message m;
	int err = message_reader_add(&in, q->at + q->begin, byte_queue_len(q));

	byte_queue_free(q);
	while (!err && message_next(&in, &m) > 0) {
		if (!strcmp(m.type, "file"))
			err = receive_files_begin(r, json_string_value(
					json_object_get(m.json, "name")),
				json_integer_value(json_object_get(m.json, "size")));
		else if (!strcmp(m.type, "data"))
			err = receive_files_data(r, m.data, m.len);
		json_decref(m.json);
	}
	message_reader_free(&in);
	return err;
}

CASE("files", begin, end);

TEST(round_trip)
{
	const size_t len = 3 << 20;
	char *noise = malloc(len), *zeros = calloc(1, len);
	struct byte_queue q = { 0 };
	struct receive_files *r;
	struct send_files *s;
	unsigned int files;
	__u64 bytes;
	size_t i, sent = 0;
	int ret = 1;

	for (i = 0; i < len; i++)
		noise[i] = (char)any(256);
	make_file("noise_0", noise, len);
	make_file("zeros_0", zeros, len);
	make_file("empty", "", 0);
	make_file("metadata", "/* CTF */\n", 10);
	make_file(".hidden", "x", 1);
	ck_assert_int_eq(send_files_count(from, &files, &bytes), 0);
	ck_assert_uint_eq(files, 4);
	ck_assert_uint_eq(bytes, 2 * len + 10);
	ck_assert_int_eq(send_files_open(from, &s), 0);
	ck_assert_int_eq(receive_files_open(to, &r), 0);
	while (ret > 0) {
		ret = send_files_step(s, &q);
		ck_assert_int_ge(ret, 0);
		sent += byte_queue_len(&q);
		ck_assert_int_eq(receive_all(r, &q), 0);
	}
	send_files_close(s);
	ck_assert_uint_lt(sent, len + len / 50);	/* zeros take no room */
	ck_assert_int_eq(access(final, F_OK), -1);
	ck_assert_int_eq(receive_files_commit(r, final), 0);
	receive_files_close(r);
	check_file("noise_0", noise, len);
	check_file("zeros_0", zeros, len);
	check_file("empty", "", 0);
	check_file("metadata", "/* CTF */\n", 10);
	ck_assert_int_eq(access(to, F_OK), -1);
	free(noise);
	free(zeros);
}

/* Compresses @len bytes. Returns the number of compressed bytes. */
static size_t compress_bytes(const char *data, size_t len, char *out, size_t room)
{
	uLongf n = room;

	ck_assert_int_eq(compress2((Bytef *)out, &n, (const Bytef *)data, len, 9), Z_OK);
	return n;
}

TEST(hostile_data)
{
	static char zeros[1 << 20], data[65536];
	struct receive_files *r;
	size_t n = compress_bytes(zeros, sizeof(zeros), data, sizeof(data));

	ck_assert_int_eq(receive_files_open(to, &r), 0);
	ck_assert_int_eq(receive_files_data(r, data, n), -EPROTO);	/* no file */
	ck_assert_int_eq(receive_files_begin(r, "a", 1000), 0);
	ck_assert_int_eq(receive_files_data(r, data, n), -EPROTO);	/* more than 1000 */
	ck_assert_int_eq(receive_files_begin(r, "b", 10), -EPROTO);	/* a is incomplete */
	ck_assert_int_eq(receive_files_commit(r, final), -EPROTO);
	receive_files_close(r);
	ck_assert_int_eq(access(to, F_OK), -1);		/* nothing incomplete is left */

	ck_assert_int_eq(receive_files_open(to, &r), 0);
	ck_assert_int_eq(receive_files_begin(r, "a", sizeof(zeros) + 1), 0);
	ck_assert_int_eq(receive_files_data(r, data, n), -EPROTO);	/* too short */
	receive_files_close(r);

	ck_assert_int_eq(receive_files_open(to, &r), 0);
	ck_assert_int_eq(receive_files_begin(r, "a", sizeof(zeros)), 0);
	data[n] = 'x';
	ck_assert_int_eq(receive_files_data(r, data, n + 1), -EPROTO);	/* bytes after it */
	receive_files_close(r);

	ck_assert_int_eq(receive_files_open(to, &r), 0);
	ck_assert_int_eq(receive_files_begin(r, "a", sizeof(zeros)), 0);
	ck_assert_int_eq(receive_files_data(r, data, n), 0);
	ck_assert_int_eq(receive_files_begin(r, "a", 1), -EPROTO);	/* twice */
	ck_assert_int_eq(receive_files_data(r, "no zlib", 7), -EPROTO);
	receive_files_close(r);
}

TEST(damaged_data)
{
	static char text[5000], data[8192], copy[8192];
	struct receive_files *r;
	size_t n, i, unnoticed = 0;
	int err;

	for (i = 0; i < sizeof(text); i++)
		text[i] = "abcdefg\n"[i * i % 8];
	n = compress_bytes(text, sizeof(text), data, sizeof(data));
	for (i = 0; i < n; i++) {
		memcpy(copy, data, n);
		copy[i] ^= 1 << i % 8;
		ck_assert_int_eq(receive_files_open(to, &r), 0);
		ck_assert_int_eq(receive_files_begin(r, "a", sizeof(text)), 0);
		err = receive_files_data(r, copy, n);
		if (!err)	/* it waits for more */
			err = receive_files_commit(r, final);
		/* The last byte has bits that mean nothing. */
		if (err)
			ck_assert_int_eq(err, -EPROTO);
		else
			check_file("a", text, sizeof(text));
		unnoticed += !err;
		receive_files_close(r);
		remove_recording(final);
	}
	ck_assert_uint_le(unnoticed, 1);
}

TEST(existing)
{
	struct receive_files *r;

	ck_assert_int_eq(receive_files_open(from, &r), -EEXIST);
	ck_assert_int_eq(symlink("/etc", to), 0);
	ck_assert_int_eq(receive_files_open(to, &r), -EEXIST);
	ck_assert_int_eq(unlink(to), 0);
}
