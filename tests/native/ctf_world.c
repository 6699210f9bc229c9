// SPDX-License-Identifier: MIT
/*
 * Two nodes whose true times are known: a, the master, has a recording; of b, there are the
 * history of its clocks, and the values of its MONOTONIC at events, of which ctf_make.py makes a
 * CTF trace. Events alternate between both.
 *
 *	ctf_world DIR EVENTS STEP_NS SUSPEND_NS	after half the time, b sleeps for SUSPEND_NS, and its
 *						CLOCK_REALTIME is set by STEP_NS
 *
 * Writes DIR/a, DIR/history/, and DIR/stamps: "TRUE_NS REALTIME_NS MONOTONIC_NS" for each event
 * of b. Prints the boot id of b.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/history/history.h"
#include "helper.h"
#include "world.h"

#define BEGIN_NS	WORLD_BEGIN_NS
#define LENGTH_NS	60000000000LL
#define LINE_NS		2000000000LL
#define SEED		5
#define MASTER		(0x4d00 + ((uint64_t)SEED << 32))
#define HZ		2500000000.0
#define B_COUNT		7777777777ULL	/* counter of b at the begin */
#define B_OFFSET_NS	7000000LL	/* CLOCK_REALTIME of b minus true time, at the begin */
#define B_RATE		20e-6		/* and its relative rate */
#define B_MONOTONIC_NS	(BEGIN_NS - 123456789012LL)	/* REALTIME - MONOTONIC, before the step */
#define LINE_ERROR_NS	500
#define CLUSTER_ERROR_NS 300

static const __u8 boot_b[16] = "\xb0\xb1\xb2\xb3\xb4\xb5\xb6\xb7\xb8\xb9\xba\xbb\xbc\xbd\xbe\xbf";
static struct random source;
static FILE *history;
static int64_t step, suspend;	/* of b, ns */

/* Returns the time since the begin on b's clocks, ns. */
static int64_t elapsed_b(int64_t ns)
{
	return ns + (int64_t)floor((double)ns * B_RATE);
}

static uint64_t cycles_b(int64_t ns)
{
	return B_COUNT + (uint64_t)(ns * 5 / 2);
}

static int64_t random_error(int64_t most)
{
	return (int64_t)(random_u64(&source) % (uint64_t)(2 * most - 1)) - most + 1;
}

static void put(struct tsct_history_record *record, unsigned int kind, uint32_t epoch)
{
	tsct_history_seal(record, kind, epoch);
	if (fwrite(record, sizeof(*record), 1, history) != 1)
		abort();
}

/* Writes lines, each off by less than its bound, and what holds for them. @late: after the step */
static void put_epoch(int64_t from, int64_t until, uint32_t epoch, bool late)
{
	const int64_t ahead = late ? step : 0, slept = late ? suspend : 0;
	struct tsct_history_record pairing = {
		.pairing = {
			.real_min_ns = B_MONOTONIC_NS + ahead + slept - 5,
			.real_max_ns = B_MONOTONIC_NS + ahead + slept + 5,
			.boot_min_ns = slept - 5, .boot_max_ns = slept + 5,
			.utc_error_ns = 50000,
		},
	};
	int64_t at, off = random_error(LINE_ERROR_NS - 10), next;

	/* Lines meet. */
	for (at = from; at < until; at += LINE_NS, off = next) {
		struct tsct_history_record real = {
			.segment = {
				.base_cycles = cycles_b(at), .until_cycles = cycles_b(at + LINE_NS),
				.base_ns = BEGIN_NS + B_OFFSET_NS + elapsed_b(at) + ahead + off,
				.error_ps = LINE_ERROR_NS * 1000, .epoch = epoch,
				.status = TSCT_STATUS_SYNCHRONIZED,
			},
		};

		next = random_error(LINE_ERROR_NS - 10);
		real.segment.mult = (__u64)llrint((double)(elapsed_b(at + LINE_NS) -
			elapsed_b(at) + next - off) / LINE_NS * 1e9 / HZ * 0x1p56);
		struct tsct_history_record cluster = real;

		cluster.segment.mult = (__u64)llrint(1e9 / HZ * 0x1p56);
		cluster.segment.base_ns = BEGIN_NS + at + random_error(CLUSTER_ERROR_NS - 10);
		cluster.segment.error_ps = CLUSTER_ERROR_NS * 1000;
		cluster.segment.epoch = 1;
		cluster.segment.cause = 3;
		cluster.segment.reserved = MASTER;
		cluster.segment.reserved0 = 1;
		put(&real, TSCT_HISTORY_REAL, epoch);
		put(&cluster, TSCT_HISTORY_CLUSTER, 1);
	}
	put(&pairing, TSCT_HISTORY_PAIRING, epoch);
}

static void write_history(const char *dir)
{
	struct tsct_history_record header = {
		.header = {
			.magic = TSCT_HISTORY_MAGIC, .version = TSCT_HISTORY_VERSION,
			.record_size = sizeof(header), .source = TSCT_SOURCE_TSC,
		},
	};
	char path[4096];
	int i, len = snprintf(path, sizeof(path), "%s/history", dir);

	memcpy(header.header.boot_id, boot_b, 16);
	if (mkdir(path, 0755))
		abort();
	len += snprintf(path + len, sizeof(path) - (size_t)len, "/");
	for (i = 0; i < 16; i++)
		len += snprintf(path + len, sizeof(path) - (size_t)len, "%02x", boot_b[i]);
	snprintf(path + len, sizeof(path) - (size_t)len, ".0");
	history = fopen(path, "w");
	if (!history)
		abort();
	put(&header, TSCT_HISTORY_HEADER, 0);
	put_epoch(0, LENGTH_NS / 2, 1, false);
	put_epoch(LENGTH_NS / 2 + suspend, LENGTH_NS, step || suspend ? 2 : 1, true);
	if (fclose(history))
		abort();
}

static void write_events(const char *dir, uint64_t events)
{
	struct tsct_recording rec;
	struct tsct_recording_writer *writer;
	char path[4096];
	int64_t at = LENGTH_NS / 60, real, slept = 0;
	uint64_t i, payload[2];
	FILE *stamps;

	world_describe(&rec, SEED, 0);
	world_set_clock(&rec, 1000, 1000 + (uint64_t)(LENGTH_NS * 5 / 2), BEGIN_NS, HZ);
	if (tsct_recording_define(&rec, 0, WORLD_WORK, "work", WORLD_FIELDS))
		abort();
	world_set_sync(&rec, SEED, 0, "auto");
	writer = world_open(dir, "a", &rec);
	snprintf(path, sizeof(path), "%s/stamps", dir);
	stamps = fopen(path, "w");
	if (!stamps)
		abort();
	for (i = 0; i < events; i++) {
		at += 1000 + (int64_t)(random_u64(&source) %
				       (LENGTH_NS * 3 / 2 / events));
		if (at >= LENGTH_NS / 2 && !slept)
			at += slept = suspend;
		if (i % 2) {
			real = BEGIN_NS + B_OFFSET_NS + elapsed_b(at);
			fprintf(stamps, "%lld %lld %lld\n", (long long)(BEGIN_NS + at),
				(long long)(real + (at >= LENGTH_NS / 2 ? step : 0)),
				(long long)(real - B_MONOTONIC_NS - slept));
			continue;
		}
		payload[0] = (uint64_t)(BEGIN_NS + at);
		payload[1] = i;
		world_write_event(writer, 0, 0, 1000 + (uint64_t)(at * 5 / 2), 1, WORLD_WORK,
				  payload, sizeof(payload));
	}
	if (at >= LENGTH_NS || fclose(stamps))
		abort();
	world_close(writer, &rec);
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	step = atoll(argv[3]);
	suspend = atoll(argv[4]);
	source = random_stream(SEED, 1);
	write_history(argv[1]);
	write_events(argv[1], (uint64_t)atoll(argv[2]));
	for (int i = 0; i < 16; i++)
		printf("%02x", boot_b[i]);
	putchar('\n');
	return 0;
}
