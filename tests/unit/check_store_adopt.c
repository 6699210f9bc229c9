// SPDX-License-Identifier: MIT
/* Channels whose memory comes back after a restart of the provider, also hostile ones */
#include "lib/core/event_def.h"
#include "seed.h"
#include "store_users.h"
#include "suite.h"

#define ROUNDS	3000

static int memory;		/* memfd of a channel that its program still has */
static char kept_label[TSCT_STORE_LABEL_MAX];
static int nr_kept;

/* Ends the store as a killed provider does: nothing is freed but by its process's end. */
static void restart(void)
{
	tsct_store_release(&store, &root, false);
	tsct_store_release(&store, &anna, false);
	tsct_store_release(&store, &anna2, false);
	tsct_store_release(&store, &ben, false);
	store.fd_store.keep = NULL;
	while (!TAILQ_EMPTY(&store.channels)) {
		struct tsct_store_channel *channel = TAILQ_FIRST(&store.channels);

		TAILQ_REMOVE(&store.channels, channel, list);
		tsct_store_channel_free(channel);
	}
	tsct_store_init(&store, "daemon", tsct_source_choose(NULL, 0));
}

static void keep(void *arg, const char *label, int memfd, bool kept)
{
	ck_assert_ptr_eq(arg, &nr_kept);
	snprintf(kept_label, sizeof(kept_label), "%s", label);
	ck_assert_int_ge(memfd, 0);
	nr_kept += kept ? 1 : -1;
}

static int adopt(struct tsct_store_peer *peer, int sent, __u32 roles, __u32 *ret_id)
{
	struct tsct_channel_adopt arg = { .roles = roles };
	int err;

	sent_fd = sent;
	err = request(peer, TSCT_IOC_CHANNEL_ADOPT, &arg);
	sent_fd = -1;
	if (!err && ret_id)
		*ret_id = arg.id;
	return err;
}

static int define(struct tsct_store_peer *peer, const char *name)
{
	struct tsct_event_def def;

	ck_assert_int_eq(tsct_event_def_parse(name, 0, "a:u32", &def, NULL), 0);
	return request(peer, TSCT_IOC_DEFINE, &def) ?: def.id;
}

static void setup_memory(void)
{
	setup();
	ck_assert_int_eq(create(&ben, "other"), 0);
	ck_assert_int_eq(create(&anna, "a"), 0);
	memory = dup(fd);
	ck_assert_int_eq(define(&anna, "first"), TSCT_ID_FIRST);
	ck_assert_int_eq(define(&anna, "second"), TSCT_ID_FIRST + 1);
}

static void teardown_memory(void)
{
	close(memory);
	teardown();
}

CASE("adopt", setup_memory, teardown_memory);

TEST(test_adopt)
{
	__u32 id = 0;

	restart();
	ck_assert_int_eq(adopt(&anna, -1, TSCT_ROLE_WRITE, NULL), -EINVAL);
	ck_assert_int_eq(adopt(&anna, memory, 0, NULL), -EINVAL);
	ck_assert_int_eq(adopt(&anna, memory, 4, NULL), -EINVAL);
	ck_assert_int_eq(adopt(&ben, memory, TSCT_ROLE_WRITE, NULL), -EACCES);
	ck_assert_int_eq(adopt(&root, memory, TSCT_ROLE_WRITE, NULL), -EACCES);
	ck_assert_uint_eq(store.nr_channels, 0);
	ck_assert_int_eq(adopt(&anna, memory, TSCT_ROLE_WRITE, &id), 0);
	ck_assert_uint_eq(id, 2);
	ck_assert_int_eq(adopt(&anna, memory, TSCT_ROLE_WRITE, NULL), -EBUSY);
	/* The same memory is the same channel. */
	ck_assert_int_eq(adopt(&ben, memory, TSCT_ROLE_WRITE, NULL), -EACCES);
	ck_assert_int_eq(adopt(&anna2, memory, TSCT_ROLE_READ, &id), 0);
	ck_assert_int_eq(adopt(&root, memory, TSCT_ROLE_READ, &id), -EBUSY);
	ck_assert_int_eq(adopt(&root, memory, TSCT_ROLE_WRITE, &id), 0);
	ck_assert_uint_eq(id, 2);
	ck_assert_uint_eq(store.nr_channels, 1);
	ck_assert_int_eq(define(&anna, "second"), TSCT_ID_FIRST + 1);
	ck_assert_int_eq(define(&anna, "third"), TSCT_ID_FIRST + 2);
	/* New channels get later ids. */
	ck_assert_int_eq(create(&ben, "b"), 0);
	ck_assert_uint_eq(ben.channel->header.id, 3);
}

TEST(test_names_and_ids_that_are_taken)
{
	__u32 id = 0;

	restart();
	ck_assert_int_eq(create(&anna2, "a"), 0);
	ck_assert_int_eq(adopt(&anna, memory, TSCT_ROLE_WRITE, NULL), -EEXIST);
	tsct_store_release(&store, &anna2, true);
	ck_assert_int_eq(create(&anna2, "b"), 0);
	ck_assert_uint_eq(anna2.channel->header.id, 2);
	ck_assert_int_eq(adopt(&anna, memory, TSCT_ROLE_WRITE, &id), 0);
	ck_assert_uint_eq(id, 3);
	store.bytes_max = store.bytes;
	tsct_store_release(&store, &anna2, true);
	tsct_store_release(&store, &anna, false);
	store.bytes_max = 1;
	ck_assert_int_eq(adopt(&anna, memory, TSCT_ROLE_WRITE, NULL), -EDQUOT);
}

TEST(test_kept)
{
	struct tsct_channel_create arg = a_channel("box");
	struct tsct_channel_remove gone;
	int box;

	store.fd_store = (struct tsct_fd_store) { keep, &nr_kept };
	nr_kept = 0;
	arg.flags = TSCT_CHANNEL_KEEP;
	ck_assert_int_eq(request(&anna2, TSCT_IOC_CHANNEL_CREATE, &arg), 0);
	ck_assert_str_eq(kept_label, "channel-3-1001-box");
	ck_assert_int_eq(nr_kept, 1);
	box = dup(fd);
	restart();
	ck_assert_int_eq(tsct_store_restore(&store, kept_label, box), 0);
	ck_assert_int_eq(tsct_store_restore(&store, kept_label, box), -EEXIST);
	ck_assert_int_eq(tsct_store_restore(&store, "channel-4-1001-box", box), -EEXIST);
	store.fd_store = (struct tsct_fd_store) { keep, &nr_kept };
	ck_assert_int_eq(attach(&anna, "box", TSCT_UID_SELF, TSCT_ROLE_WRITE), 0);
	ck_assert_uint_eq(anna.channel->header.id, 3);
	/* The store's end leaves the memory as it is. */
	tsct_store_release(&store, &anna, true);
	tsct_store_clear(&store);
	ck_assert_int_eq(tsct_store_restore(&store, kept_label, box), 0);
	gone = (struct tsct_channel_remove) { .id = 3 };
	ck_assert_int_eq(request(&anna, TSCT_IOC_CHANNEL_REMOVE, &gone), 0);
	ck_assert_int_eq(nr_kept, 0);
	/* A program that still maps it gives it back, but it is no longer kept. */
	ck_assert_int_eq(adopt(&anna, box, TSCT_ROLE_WRITE, NULL), -EPROTO);
	ck_assert_int_eq(tsct_store_restore(&store, kept_label, box), -EPROTO);
	close(box);
}

TEST(test_labels)
{
	static const char *const wrong[] = {
		"", "channel", "channel-", "channel-0-1-a", "channel-1-1-", "channel-1-1",
		"channel-1-1-a/b", "channel-1-1-a b", "channel-4294967295-1-a", "else-1-1-a",
		"channel-1-1-0123456789012345678901234567890123456789",
	};
	size_t i;

	restart();
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert_int_eq(tsct_store_restore(&store, wrong[i], memory), -EPROTO);
	ck_assert_uint_eq(store.nr_channels, 0);
	/* The label decides, not the memory. */
	ck_assert_int_eq(tsct_store_restore(&store, "channel-9-1002-mine", memory), 0);
	ck_assert_int_eq(attach(&anna, "a", TSCT_UID_SELF, TSCT_ROLE_WRITE), -ENOENT);
	ck_assert_int_eq(attach(&ben, "mine", TSCT_UID_SELF, TSCT_ROLE_WRITE), 0);
	ck_assert_uint_eq(ben.channel->header.uid, 1002);
	ck_assert_uint_eq(ben.channel->header.id, 9);
}

TEST(test_files_that_are_no_channels)
{
	char path[] = "/tmp/tsctrace-XXXXXX", page[4096];
	struct tsct_channel_header h;
	int file = mkstemp(path), null = open("/dev/null", O_RDWR), plain, loose;

	restart();
	unlink(path);
	plain = memfd_create("plain", MFD_ALLOW_SEALING);
	ck_assert_int_eq(ftruncate(plain, 4096), 0);
	/* A copy of a channel that its owner can still shrink */
	ck_assert_int_eq(pread(memory, page, sizeof(page), 0), sizeof(page));
	memcpy(&h, page, sizeof(h));
	loose = memfd_create("loose", MFD_ALLOW_SEALING);
	ck_assert_int_eq(ftruncate(loose, (off_t)h.file_size), 0);
	ck_assert_int_eq(pwrite(loose, page, sizeof(page), 0), sizeof(page));
	ck_assert_int_eq(ftruncate(file, (off_t)h.file_size), 0);
	ck_assert_int_eq(pwrite(file, page, sizeof(page), 0), sizeof(page));
	ck_assert_int_eq(adopt(&anna, file, TSCT_ROLE_WRITE, NULL), -EPROTO);
	ck_assert_int_eq(adopt(&anna, null, TSCT_ROLE_WRITE, NULL), -EPROTO);
	ck_assert_int_eq(adopt(&anna, plain, TSCT_ROLE_WRITE, NULL), -EPROTO);
	ck_assert_int_eq(adopt(&anna, loose, TSCT_ROLE_WRITE, NULL), -EPROTO);
	ck_assert_int_eq(fcntl(loose, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	ck_assert_int_eq(adopt(&anna, loose, TSCT_ROLE_WRITE, NULL), -EPROTO);
	ck_assert_int_eq(fcntl(loose, F_ADD_SEALS, F_SEAL_GROW), 0);
	ck_assert_int_eq(adopt(&anna, loose, TSCT_ROLE_WRITE, NULL), 0);
	tsct_store_release(&store, &anna, false);
	ck_assert_int_eq(fcntl(loose, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
	ck_assert_int_eq(adopt(&anna, loose, TSCT_ROLE_WRITE, NULL), -EPROTO);
	close(loose);
	close(plain);
	close(null);
	close(file);
}

/* The owner of a channel can write all of its memory before it comes back. */
TEST(test_hostile_memory)
{
	struct tsct_channel_info info;
	char page[4096], defs[4096], junk;
	int i, j, err, restored = 0;
	off_t at;

	ck_assert_int_eq(pread(memory, page, sizeof(page), 0), sizeof(page));
	ck_assert_int_eq(pread(memory, defs, sizeof(defs), 4096), sizeof(defs));
	seed_with(0);
	restart();
	for (i = 0; i < ROUNDS; i++) {
		pwrite(memory, page, sizeof(page), 0);
		pwrite(memory, defs, sizeof(defs), 4096);
		for (j = any(4); j >= 0; j--) {
			at = any(3) ? any(240) : any(8192);
			junk = any(2) ? (char)any(256) : (char)((int)any(3) - 1);
			pwrite(memory, &junk, 1, at);
		}
		if (any(2))
			err = adopt(&anna, memory, TSCT_ROLE_WRITE, NULL);
		else
			err = tsct_store_restore(&store, "channel-5-1001-a", memory);
		if (err) {
			ck_assert(err == -EPROTO || err == -EACCES || err == -EDQUOT);
			continue;
		}
		restored++;
		if (!anna.channel)
			ck_assert_int_eq(attach_id(&anna, 5), 0);
		ck_assert_uint_eq(anna.channel->header.uid, 1001);
		memset(&info, 0, sizeof(info));
		ck_assert_int_eq(request(&anna, TSCT_IOC_CHANNEL_NEXT, &info), 0);
		ck_assert_int_ge(define(&anna, "again"), TSCT_ID_FIRST);
		anna.channel->kept = 0;
		tsct_store_release(&store, &anna, false);
		ck_assert_uint_eq(store.nr_channels, 0);
	}
	ck_assert_int_gt(restored, ROUNDS / 20);
	ck_assert_int_lt(restored, ROUNDS);
}
