// SPDX-License-Identifier: MIT
/* The store of channels: permissions and limits */
#include "lib/base/hash.h"
#include "lib/base/event_parse.h"
#include "lib/core/event_def.h"
#include "lib/core/ring.h"
#include "seed.h"
#include "short_memory.h"
#include "store_users.h"
#include "suite.h"

CASE("store", setup, teardown);

TEST(test_create_permissions)
{
	struct tsct_channel_create sound = a_channel("a"), arg;

#define REFUSE(errno_, change) do {					\
		arg = sound;						\
		change;							\
		ck_assert_int_eq(request(&anna, TSCT_IOC_CHANNEL_CREATE,	\
					 &arg), -(errno_));		\
	} while (0)
	REFUSE(EINVAL, arg.name[0] = 0);
	REFUSE(EINVAL, arg.name[0] = '/');
	REFUSE(EINVAL, arg.name[1] = ' ');
	REFUSE(EINVAL, memset(arg.name, 'a', sizeof(arg.name)));
	REFUSE(EINVAL, arg.policy = 2);
	REFUSE(EINVAL, arg.flags = 4);
	REFUSE(EINVAL, arg.block_size = 0);
	REFUSE(EINVAL, arg.block_size = 2048);
	REFUSE(EINVAL, arg.block_size = 4097);
	REFUSE(EINVAL, arg.block_size = ~0U);
	REFUSE(EINVAL, arg.blocks = 0);
	REFUSE(EINVAL, arg.blocks = 3);
	REFUSE(EINVAL, arg.blocks = ~0U);
	REFUSE(EINVAL, arg.blocks = 65536; arg.block_size = 65536);
	REFUSE(EINVAL, arg.blocks = 2; arg.policy = TSCT_POLICY_OVERWRITE);
	REFUSE(EINVAL, arg.roles = 0);
	REFUSE(EINVAL, arg.roles = 4);
	REFUSE(EINVAL, arg.reserved[2] = 1);
	REFUSE(EINVAL, arg.reserved0 = 1);
	REFUSE(EINVAL, arg.defs_size = 1);
	REFUSE(EINVAL, arg.defs_size = TSCT_DEFS_SIZE_MAX + TSCT_PAGE_SIZE);
	REFUSE(EOPNOTSUPP, arg.flags = TSCT_CHANNEL_KERNEL);
	ck_assert_int_eq(request(&anna, TSCT_IOC_CHANNEL_CREATE, &sound), 0);
	ck_assert_uint_eq(sound.id, 1);
	REFUSE(EBUSY, arg.id = 0);
	ck_assert_int_eq(create(&anna2, "a"), -EEXIST);
	ck_assert_int_eq(create(&ben, "a"), 0);
}

TEST(test_attach_permissions)
{
	const __u32 self = TSCT_UID_SELF, w = TSCT_ROLE_WRITE,
		r = TSCT_ROLE_READ;

	ck_assert_int_eq(attach(&anna, "a", self, w), -ENOENT);
	ck_assert_int_eq(attach(&anna, "", self, w), -EINVAL);
	ck_assert_int_eq(attach(&anna, "a", self, 0), -EINVAL);
	ck_assert_int_eq(attach_id(&anna, 7), -ENOENT);
	ck_assert_int_eq(create(&anna, "a"), 0);
	ck_assert_int_eq(attach(&ben, "a", self, w), -ENOENT);
	ck_assert_int_eq(attach(&ben, "a", 1001, w), -EACCES);
	ck_assert_int_eq(attach_id(&ben, 1), -EACCES);
	ck_assert_int_eq(attach(&anna2, "a", 1001, r), 0);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(attach(&root, "a", 1001, r), -EBUSY);
	ck_assert_int_eq(attach(&root, "a", 1001, w), 0);
	ck_assert_int_eq(attach(&root, "a", 1001, w), -EBUSY);
	tsct_store_release(&store, &anna2, true);
	tsct_store_release(&store, &root, true);
	ck_assert_int_eq(attach(&root, "a", 1001, r | w), 0);
	/* A channel is freed when its last holder releases it. */
	tsct_store_release(&store, &anna, true);
	ck_assert_uint_eq(store.nr_channels, 1);
	ck_assert_int_eq(attach_id(&anna, 1), 0);
	tsct_store_release(&store, &anna, true);
	tsct_store_release(&store, &root, true);
	ck_assert_uint_eq(store.nr_channels, 0);
}

/* The server allocates no more of the rings than it reads itself. The memory of a channel is freed
 * even if a client keeps the memfd open. */
TEST(test_memory_is_freed)
{
	const struct tsct_channel_header *h;
	struct stat stat;
	int kept;

	ck_assert_int_eq(create(&anna, "a"), 0);
	h = &anna.channel->header;
	kept = dup(fd);
	ck_assert_int_ge(kept, 0);
	ck_assert_int_eq(fstat(kept, &stat), 0);
	ck_assert_int_gt(stat.st_blocks, 0);
	ck_assert_uint_le(stat.st_blocks * 512ULL, h->defs_offset + TSCT_DEFS_SIZE +
			  h->ring_offset - h->consumer_offset + h->nr_cpus * 2 * TSCT_PAGE_SIZE);
	tsct_store_release(&store, &anna, true);
	ck_assert_int_eq(fstat(kept, &stat), 0);
	ck_assert_int_eq(stat.st_blocks, 0);
	close(kept);
	/* Without a server, the memory stays: a reader may use it. */
	ck_assert_int_eq(create(&anna, "a"), 0);
	kept = dup(fd);
	tsct_store_release(&store, &anna, false);
	ck_assert_int_eq(fstat(kept, &stat), 0);
	ck_assert_int_gt(stat.st_blocks, 0);
	close(kept);
}

/* CPUs that are only possible cost no rings. */
TEST(test_possible_cpus)
{
	store.nr_cpus = 255;
	ck_assert_int_eq(create(&anna, "a"), 0);
	ck_assert_uint_lt(store.bytes, 255 * anna.channel->header.ring_stride);
}

static int create_kept(struct tsct_store_peer *peer, const char *name)
{
	struct tsct_channel_create arg = a_channel(name);

	arg.flags = TSCT_CHANNEL_KEEP;
	return request(peer, TSCT_IOC_CHANNEL_CREATE, &arg);
}

static int remove_id(struct tsct_store_peer *peer, __u32 id)
{
	struct tsct_channel_remove arg = { .id = id };

	return request(peer, TSCT_IOC_CHANNEL_REMOVE, &arg);
}

/* A channel created with TSCT_CHANNEL_KEEP remains, with its event definitions, when
 * its last holder has closed it, until it is removed. */
TEST(test_kept_channels)
{
	struct tsct_channel_info info = { 0 };
	struct tsct_event_def def;
	__u64 bytes;

	ck_assert_int_eq(create_kept(&anna, "a"), 0);
	tsct_event_def_parse("e", 0, "a:u8", &def, NULL);
	ck_assert_int_eq(request(&anna, TSCT_IOC_DEFINE, &def), 0);
	tsct_store_release(&store, &anna, true);
	bytes = store.bytes;
	ck_assert_uint_eq(store.nr_channels, 1);
	ck_assert_uint_gt(bytes, 0);
	ck_assert_int_eq(request(&anna, TSCT_IOC_CHANNEL_NEXT, &info), 0);
	ck_assert_uint_eq(info.holders, 0);
	ck_assert_uint_eq(info.flags, TSCT_CHANNEL_KEEP);
	ck_assert_int_eq(create(&anna, "a"), -EEXIST);
	ck_assert_int_eq(attach_id(&anna, 1), 0);
	ck_assert_uint_eq(anna.channel->nr_defs, 1);
	/* A kept channel counts towards the limit of its creator. */
	store.bytes_user_max = bytes;
	ck_assert_int_eq(create(&anna2, "b"), -EDQUOT);
	ck_assert_int_eq(create(&ben, "b"), 0);
	tsct_store_release(&store, &anna, true);

	ck_assert_int_eq(remove_id(&ben, 1), -EACCES);
	ck_assert_int_eq(remove_id(&anna, 7), -ENOENT);
	ck_assert_int_eq(remove_id(&ben, 2), -EINVAL);
	ck_assert_int_eq(remove_id(&anna, 1), 0);
	ck_assert_uint_eq(store.nr_channels, 1);
	ck_assert_int_eq(remove_id(&anna, 1), -ENOENT);
}

/* After an open channel is removed, its name is free, and the clients that hold it can
 * still use it. */
TEST(test_removed_while_open)
{
	struct tsct_channel_info info = { 0 };

	ck_assert_int_eq(create_kept(&anna, "a"), 0);
	ck_assert_int_eq(remove_id(&root, 1), 0);
	ck_assert_int_eq(remove_id(&root, 1), -ENOENT);
	ck_assert_uint_eq(store.nr_channels, 1);
	ck_assert_int_eq(attach(&anna2, "a", TSCT_UID_SELF, TSCT_ROLE_WRITE),
			 -ENOENT);
	ck_assert_int_eq(request(&root, TSCT_IOC_CHANNEL_NEXT, &info), 0);
	ck_assert_uint_eq(info.flags, 0);
	ck_assert_int_eq(create(&anna2, "a"), 0);
	ck_assert_uint_eq(store.nr_channels, 2);
	tsct_store_release(&store, &anna, true);
	ck_assert_uint_eq(store.nr_channels, 1);
}

/* tsct_store_clear() frees kept channels, too. */
TEST(test_clear)
{
	struct tsct_channel_remove arg = { .id = 1, .reserved = { 0, 0, 1 } };

	ck_assert_int_eq(create_kept(&anna, "a"), 0);
	tsct_store_release(&store, &anna, true);
	ck_assert_int_eq(create_kept(&anna, "b"), 0);
	ck_assert_int_eq(request(&anna, TSCT_IOC_CHANNEL_REMOVE, &arg),
			 -EINVAL);
	tsct_store_clear(&store);
	ck_assert_uint_eq(store.nr_channels, 1);
	tsct_store_release(&store, &anna, true);
	tsct_store_clear(&store);
}

/* Statistics of rings with valid and invalid contents */
TEST(test_ring_statistics)
{
	struct tsct_channel_cpu arg = { .id = 1 };
	struct tsct_channel_info info = { 0 };
	struct tsct_producer *p;
	const struct tsct_channel_header *h;

	ck_assert_int_eq(request(&anna, TSCT_IOC_CHANNEL_CPU, &arg), -ENOENT);
	ck_assert_int_eq(create(&anna, "a"), 0);
	h = &anna.channel->header;
	ck_assert_int_eq(request(&ben, TSCT_IOC_CHANNEL_CPU, &arg), -ENOENT);
	arg.cpu = h->nr_cpus;
	ck_assert_int_eq(request(&anna, TSCT_IOC_CHANNEL_CPU, &arg), -EINVAL);
	arg.cpu = 0;
	arg.reserved[3] = 1;
	ck_assert_int_eq(request(&anna, TSCT_IOC_CHANNEL_CPU, &arg), -EINVAL);
	arg.reserved[3] = 0;
	ck_assert_int_eq(request(&anna, TSCT_IOC_CHANNEL_CPU, &arg), 0);
	ck_assert_uint_eq(arg.state, TSCT_CPU_READY);
	ck_assert_uint_eq(arg.events, 0);
	ck_assert_uint_eq(arg.written, TSCT_BLOCK_HEADER);
	ck_assert_uint_eq(arg.unread, 0);

	p = (void *)(anna.channel->map + h->ring_offset);
	p->head = 3 * TSCT_HEAD_ONE_EVENT | (TSCT_BLOCK_HEADER + 3 * 24);
	p->lost[TSCT_LOST_NESTED] = 5;
	ck_assert_int_eq(request(&root, TSCT_IOC_CHANNEL_CPU, &arg), 0);
	ck_assert_uint_eq(arg.events, 3);
	ck_assert_uint_eq(arg.unread, 72);
	ck_assert_uint_eq(arg.lost[TSCT_LOST_NESTED], 5);
	ck_assert_int_eq(request(&anna, TSCT_IOC_CHANNEL_NEXT, &info), 0);
	ck_assert_uint_eq(info.events, 3);
	ck_assert_uint_eq(info.unread, 72);
	ck_assert_uint_eq(info.lost[TSCT_LOST_NESTED], 5);
	p->head = ~0ULL;
	ck_assert_int_eq(request(&anna, TSCT_IOC_CHANNEL_CPU, &arg), 0);
	ck_assert_uint_le(arg.unread, h->data_size);
}

/* Each ring begins with a block header, also the rings of offline CPUs. */
TEST(test_rings_begin_with_header)
{
	const struct tsct_channel_header *h;
	const struct tsct_block *block;
	const char *ring;

	ck_assert_int_eq(create(&anna, "a"), 0);
	h = &anna.channel->header;
	for (__u32 cpu = 0; cpu < h->nr_cpus; cpu++) {
		ring = anna.channel->map + h->ring_offset +
			cpu * h->ring_stride;
		block = (const void *)(ring + TSCT_PAGE_SIZE);
		ck_assert_uint_eq(*(const __u64 *)ring, TSCT_BLOCK_HEADER);
		ck_assert_uint_eq(block->id, TSCT_ID_BLOCK);
		ck_assert_uint_eq(block->len, TSCT_BLOCK_HEADER);
	}
}

TEST(test_lists_accessible_channels)
{
	struct tsct_channel_info info = { 0 };

	ck_assert_int_eq(create(&anna, "a"), 0);
	ck_assert_int_eq(create(&ben, "b"), 0);
	ck_assert_int_eq(request(&ben, TSCT_IOC_CHANNEL_NEXT, &info), 0);
	ck_assert_str_eq(info.name, "b");
	ck_assert_uint_eq(info.uid, 1002);
	ck_assert_uint_eq(info.holders, 1);
	ck_assert_uint_eq(info.consumers, 0);
	ck_assert_int_eq(request(&ben, TSCT_IOC_CHANNEL_NEXT, &info), -ENOENT);
	info.id = 0;
	ck_assert_int_eq(request(&root, TSCT_IOC_CHANNEL_NEXT, &info), 0);
	ck_assert_str_eq(info.name, "a");
	ck_assert_int_eq(request(&root, TSCT_IOC_CHANNEL_NEXT, &info), 0);
	ck_assert_str_eq(info.name, "b");
}

TEST(test_limits)
{
	struct tsct_store_peer peers[60] = { 0 };
	char name[16];

	store.channels_user_max = 18;
	store.channels_max = 50;
	for (int i = 0; i < 60; i++) {
		peers[i].uid = 2000 + i / 20;
		snprintf(name, sizeof(name), "c%d", i);
		ck_assert_int_eq(create(&peers[i], name),
				 i % 20 < 18 && i < 48 ? 0 : -EDQUOT);
	}
	/* An eighth is left to root. */
	ck_assert_uint_eq(store.nr_channels, 44);
	ck_assert_int_eq(create(&root, "a"), 0);
	tsct_store_release(&store, &root, true);
	for (int i = 0; i < 60; i++)
		tsct_store_release(&store, &peers[i], true);
	ck_assert_int_eq(create(&anna, "a"), 0);
	store.bytes_max = 2 * store.bytes * 8 / 7 + 1;
	store.bytes_user_max = 2 * store.bytes - 1;
	ck_assert_int_eq(create(&anna2, "b"), -EDQUOT);
	ck_assert_int_eq(create(&ben, "b"), 0);
	store.bytes_user_max = ~0ULL;
	ck_assert_int_eq(create(&anna2, "b"), -EDQUOT);
	store.bytes_max = store.bytes * 3 / 2;
	ck_assert_int_eq(create(&anna2, "b"), -EDQUOT);
	ck_assert_int_eq(create(&root, "b"), 0);
}

/* Memory that a client takes by writing where there are no definitions yet is the client's. */
TEST(test_memory_beyond_definitions)
{
	const struct tsct_channel_header *h;
	__u64 bytes;

	ck_assert_int_eq(create(&anna, "a"), 0);
	h = &anna.channel->header;
	bytes = store.bytes;
	ck_assert_uint_lt(2 * bytes, h->defs_size - 2 * TSCT_DEFS_SIZE);
	memset(anna.channel->map + h->defs_offset + 2 * TSCT_DEFS_SIZE, 1, 2 * bytes);
	store.bytes_user_max = 3 * bytes - 1;
	ck_assert_int_eq(create(&anna2, "b"), -EDQUOT);
	ck_assert_int_eq(create(&ben, "b"), 0);
	ck_assert_uint_ge(store.bytes, 3 * bytes);
	tsct_store_release(&store, &anna, true);
	ck_assert_uint_eq(store.bytes, bytes);
}

/* On a machine with 512 CPUs, a user may have three channels of the default size. */
TEST(test_default_limits)
{
	struct tsct_channel_create arg = a_channel("a");
	struct tsct_store_peer peers[3] = { { .uid = 1001 }, { .uid = 1001 },
					    { .uid = 1001 } };

	ck_assert_uint_eq(tsct_user_bytes_default(1), 256 << 20);
	ck_assert_uint_eq(tsct_user_bytes_default(64), 256 << 20);
	ck_assert_uint_eq(tsct_user_bytes_default(512), 2ULL << 30);
	ck_assert_uint_eq(tsct_user_bytes_default(~0U), ~0U * 4ULL << 20);
	store.nr_cpus = 512;
	store.bytes_max = 64ULL << 30;
	store.bytes_user_max = tsct_user_bytes_default(store.nr_cpus);
	arg.block_size = 16384;
	arg.blocks = 64;
	for (int i = 0; i < 3; i++) {
		arg.name[0] = (char)('a' + i);
		ck_assert_int_eq(request(&peers[i], TSCT_IOC_CHANNEL_CREATE, &arg), 0);
	}
	for (int i = 0; i < 3; i++)
		tsct_store_release(&store, &peers[i], true);
}

TEST(test_define)
{
	struct tsct_event_def def, again;
	__u64 bytes;
	int nr = 0, error;
	char name[16];

	ck_assert_int_eq(tsct_event_def_parse("e", 0, "a:u8", &def, NULL), 0);
	ck_assert_int_eq(request(&anna, TSCT_IOC_DEFINE, &def), -ENOTCONN);
	ck_assert_int_eq(create(&anna, "a"), 0);
	ck_assert_int_eq(attach_id(&anna2, 1), 0);
	again = def;
	ck_assert_int_eq(request(&anna, TSCT_IOC_DEFINE, &def), 0);
	ck_assert_uint_eq(def.id, TSCT_ID_FIRST);
	ck_assert_int_eq(request(&anna2, TSCT_IOC_DEFINE, &again), 0);
	ck_assert_uint_eq(again.id, TSCT_ID_FIRST);
	ck_assert_int_eq(request(&anna2, TSCT_IOC_DEFINE, &again), -EINVAL);
	again.id = 0;
	again.kind = TSCT_KIND_END;
	ck_assert_int_eq(request(&anna2, TSCT_IOC_DEFINE, &again), 0);
	ck_assert_uint_eq(again.id, TSCT_ID_FIRST + 1);
	again.size++;
	again.id = 0;
	ck_assert_int_eq(request(&anna2, TSCT_IOC_DEFINE, &again), -EINVAL);
	/* The memory for more definitions is the user's. */
	bytes = store.bytes;
	store.bytes_user_max = bytes + TSCT_DEFS_SIZE;
	do {
		snprintf(name, sizeof(name), "n%d", nr++);
		tsct_event_def_parse(name, 0, "", &def, NULL);
		error = request(&anna, TSCT_IOC_DEFINE, &def);
	} while (!error);
	ck_assert_int_eq(error, -ENOSPC);
	ck_assert_int_eq(nr - 1, (2 * TSCT_DEFS_SIZE - 2 * 112) / 72);
	ck_assert_uint_le(anna.channel->header.defs_used, 2 * TSCT_DEFS_SIZE);
	ck_assert_uint_eq(store.bytes, bytes + TSCT_DEFS_SIZE);
	/* Ids above 16 bits come in a reply that no older client takes for an id. */
	store.bytes_user_max = store.bytes_max;
	for (; nr < TSCT_ID_MAX; nr++) {
		snprintf(name, sizeof(name), "n%d", nr);
		tsct_event_def_parse(name, 0, "", &def, NULL);
		ck_assert_int_eq(request(&anna, TSCT_IOC_DEFINE, &def), 0);
	}
	ck_assert_uint_eq(def.id, TSCT_ID_WIDE);
	ck_assert_uint_eq(def.size | (__u32)def.id_high << 16, TSCT_ID_FIRST + 2 + nr - 2);
}

/* Nobody can choose definitions that have the same hash: it depends on a secret of the channel.
 * Definitions that do have the same hash are different events nevertheless. */
TEST(test_hashes_of_definitions)
{
	struct tsct_event_def first, second;
	struct tsct_store_channel *a;

	tsct_event_def_parse("first", 0, "a:u8", &first, NULL);
	tsct_event_def_parse("second", 0, "a:u8", &second, NULL);
	ck_assert_int_eq(create(&anna, "a"), 0);
	ck_assert_int_eq(create(&ben, "b"), 0);
	a = anna.channel;
	ck_assert_uint_ne(a->secret, ben.channel->secret);
	ck_assert_int_eq(request(&anna, TSCT_IOC_DEFINE, &first), 0);
	ck_assert_ptr_null(tsct_index_get(&a->known, tsct_hash_event_def(0, &first), 0));
	ck_assert_ptr_nonnull(tsct_index_get(&a->known,
					     tsct_hash_event_def(a->secret, &first), 0));
	/* The first one gets the place of the second one. */
	tsct_index_put(&a->known, tsct_hash_event_def(a->secret, &second), 0, 1);
	ck_assert_int_eq(request(&anna, TSCT_IOC_DEFINE, &second), 0);
	ck_assert_uint_eq(first.id, TSCT_ID_FIRST);
	ck_assert_uint_eq(second.id, TSCT_ID_FIRST + 1);
	second.id = first.id = 0;
	ck_assert_int_eq(request(&anna, TSCT_IOC_DEFINE, &second), 0);
	ck_assert_int_eq(request(&anna, TSCT_IOC_DEFINE, &first), 0);
	ck_assert_uint_eq(first.id, TSCT_ID_FIRST);
	ck_assert_uint_eq(second.id, TSCT_ID_FIRST + 1);
}

TEST(test_unknown_requests)
{
	static const __u32 unsupported[] = {
		TSCT_IOC_CHECK, TSCT_IOC_CHECK_RUN, TSCT_IOC_CLOCK_STORE, TSCT_IOC_WRITE,
		TSCT_IOC_WATERMARK, TSCT_IOC_PREVIOUS, TSCT_IOC_PREVIOUS_READ,
	};
	char arg[TSCT_ARG_MAX] = "";

	for (int i = 0; i < ROWS(unsupported); i++)
		ck_assert_int_eq(request(&anna, unsupported[i], arg), -EOPNOTSUPP);
	ck_assert_int_eq(request(&anna, _IO(TSCT_IOC_MAGIC, 0xff), arg), -ENOTTY);
	ck_assert_int_eq(request(&anna, _IO('T', 0), arg), -ENOTTY);
	ck_assert_int_eq(tsct_store_request(&store, &anna, TSCT_IOC_INFO, arg,
					    sizeof(struct tsct_info) - 1, -1, &fd),
			 -EINVAL);
	ck_assert_int_eq(tsct_store_request(&store, &anna, TSCT_IOC_INFO, arg,
					    0, -1, &fd), -EINVAL);
}

static int sized_request(struct tsct_store_peer *peer, __u32 cmd, void *arg,
			 size_t size)
{
	return tsct_store_request(&store, peer,
				  _IOC(_IOC_DIR(cmd), _IOC_TYPE(cmd),
				       _IOC_NR(cmd), size), arg, size, -1, &fd);
}

/* Requests that a store does not support are known in every size of their arguments. */
LOOP_TEST(test_unsupported_sizes, 0, 8)
{
	static const struct { __u32 cmd; size_t size_min; } requests[] = {
		{ TSCT_IOC_CHECK, 64 }, { TSCT_IOC_CHECK_RUN, 64 },
		{ TSCT_IOC_THREAD, 24 }, { TSCT_IOC_CLOCK_STORE, 40 },
		{ TSCT_IOC_CLOCK_SNAPSHOT, 64 }, { TSCT_IOC_WRITE, 16 },
		{ TSCT_IOC_WATERMARK, 8 }, { TSCT_IOC_EVENT_SWITCH, 8 },
	};
	const __u32 cmd = requests[_i].cmd;
	const size_t least = requests[_i].size_min;
	static char arg[TSCT_ARG_MAX];

	for (size_t size = least; size <= TSCT_ARG_MAX; size++)
		ck_assert_int_eq(sized_request(&anna, cmd, arg, size), -EOPNOTSUPP);
	arg[TSCT_ARG_MAX - 1] = 1;
	ck_assert_int_eq(sized_request(&anna, cmd, arg, TSCT_ARG_MAX), -EOPNOTSUPP);
	ck_assert_int_eq(sized_request(&anna, cmd, arg, TSCT_ARG_MAX + 1), -E2BIG);
	ck_assert_int_eq(sized_request(&anna, cmd, arg, least - 1), -ENOTTY);
	ck_assert_int_eq(sized_request(&anna, cmd, arg, 0), -ENOTTY);
}

/* The server decides by its private copy of the channel's data, whatever clients write
 * into the memfd. */
TEST(test_overwritten_memory)
{
	struct tsct_channel_info info = { 0 };
	struct tsct_event_def def;
	__u64 size;
	char *map;

	ck_assert_int_eq(create(&anna, "a"), 0);
	size = anna.channel->header.file_size;
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(map, MAP_FAILED);
	memset(map, 0xff, size);
	tsct_event_def_parse("e", 0, "a:u8", &def, NULL);
	ck_assert_int_eq(request(&anna, TSCT_IOC_DEFINE, &def), 0);
	ck_assert_uint_eq(def.id, TSCT_ID_FIRST);
	ck_assert_int_eq(request(&anna, TSCT_IOC_CHANNEL_NEXT, &info), 0);
	ck_assert_str_eq(info.name, "a");
	ck_assert_uint_eq(info.bytes, size - anna.channel->header.defs_size + TSCT_DEFS_SIZE);
	ck_assert_int_eq(ftruncate(fd, size - 1), -1);
	ck_assert_int_eq(ftruncate(fd, size + 1), -1);
	munmap(map, size);
}

LOOP_TEST(test_random_requests, 0, 5)
{
	static const __u32 cmds[] = {
		TSCT_IOC_INFO, TSCT_IOC_CHANNEL_CREATE,
		TSCT_IOC_CHANNEL_ATTACH, TSCT_IOC_CHANNEL_NEXT, TSCT_IOC_DEFINE,
		TSCT_IOC_CHANNEL_REMOVE, TSCT_IOC_CHANNEL_CPU,
	};
	struct tsct_store_peer *peers[] = { &root, &anna, &anna2, &ben };
	union {
		struct tsct_channel_create create;
		struct tsct_event_def def;
		unsigned char bytes[TSCT_ARG_MAX];
	} arg;

	for (int i = 0; i < 3000; i++) {
		memset(&arg, 0, sizeof(arg));
		if (any(2))
			arg.create = a_channel("x");
		else
			tsct_event_def_parse("e", 0, "a:u8", &arg.def, NULL);
		for (int j = any(3); j > 0; j--)
			arg.bytes[any(120)] = any(256);
		/* few blocks, because the test is not about memory limits */
		arg.create.blocks &= 0xf;
		request(peers[any(4)], cmds[any(7)], &arg);
		if (!any(5))
			tsct_store_release(&store, peers[any(4)], true);
	}
}

/* ---- adoption ---------------------------------------------------------- */

/* Channels whose memory comes back after a restart of the provider, also hostile ones */

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

/* While memory is short, a channel does not come back without its definitions. */
TEST(test_adopt_without_memory)
{
	struct tsct_channel_adopt arg;
	int err = -ENOMEM;

	restart();
	for (unsigned int enough = 0; err; enough++) {
		ck_assert_int_eq(err, -ENOMEM);
		arg = (struct tsct_channel_adopt) { .roles = TSCT_ROLE_WRITE };
		allocations = enough;
		err = tsct_store_request(&store, &anna, TSCT_IOC_CHANNEL_ADOPT, &arg,
					 sizeof(arg), memory, &fd);
		allocations = UINT_MAX;
	}
	ck_assert_int_eq(define(&anna, "second"), TSCT_ID_FIRST + 1);
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

	restart();
	for (size_t i = 0; i < ROWS(wrong); i++)
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
	int *const fds[] = { &file, &null, &plain, &loose };

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
	for (int i = 0; i < ROWS(fds); i++)
		ck_assert_msg(adopt(&anna, *fds[i], TSCT_ROLE_WRITE, NULL) == -EPROTO, "file %d", i);
	ck_assert_int_eq(fcntl(loose, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	ck_assert_int_eq(adopt(&anna, loose, TSCT_ROLE_WRITE, NULL), -EPROTO);
	ck_assert_int_eq(fcntl(loose, F_ADD_SEALS, F_SEAL_GROW), 0);
	ck_assert_int_eq(adopt(&anna, loose, TSCT_ROLE_WRITE, NULL), 0);
	tsct_store_release(&store, &anna, false);
	ck_assert_int_eq(fcntl(loose, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
	ck_assert_int_eq(adopt(&anna, loose, TSCT_ROLE_WRITE, NULL), -EPROTO);
	for (int i = 0; i < ROWS(fds); i++)
		close(*fds[i]);
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
