// SPDX-License-Identifier: MIT
/* Keys and MACs: test vectors of standards and captures of other programs. A packet with
 * one changed bit is rejected. No key appears in a message or stays in freed memory. */
#include <malloc.h>

#include "packets.h"
#include "seed.h"
#include "suite.h"
#include "lib/ntp/auth.h"

#define AES128_KEY	"2b7e151628aed2a6abf7158809cf4f3c"
#define AES256_KEY	"603deb1015ca71be2b73aef0857d7781" \
	"1f352c073b6108d72d9810a30914dff4"

/* Key file that chronyd used while its packets were captured */
static const char keyfile[] =
	"# all kinds\n"
	"1 AES128 HEX:" AES128_KEY "\n"
	"2 AES256 HEX:" AES256_KEY "\n"
	"3 SHA256 ASCII:a-key-of-32-characters-for-sha256\n"
	"4 SHA384 ASCII:a-key-of-32-characters-for-sha384\n"
	"5 SHA512 HEX:00112233445566778899aabbccddeeff"
	"00112233445566778899aabbccddeeff\n"
	"6 SHA1 ASCII:a-key-for-sha1-of-29-chars-xy\n"
	"7 MD5 ASCII:a-key-for-md5-16\n"
	"8 untyped-means-MD5\n";

static int read_text(const char *text, size_t size, struct tsct_keys **keys,
		     char *why, size_t why_size)
{
	FILE *from = fmemopen((char *)text, size ? size : 1, "r");
	int ret;

	ck_assert_ptr_nonnull(from);
	if (!size)
		getc(from);
	ret = tsct_keys_read(from, "keys", keys, why, why_size);
	fclose(from);
	return ret;
}

static struct tsct_keys *keys_of(const char *text)
{
	struct tsct_keys *keys;
	char why[256];

	ck_assert_msg(!read_text(text, strlen(text), &keys, why, sizeof(why)),
		      "%s", why);
	return keys;
}

/* ---- known MACs ---------------------------------------------------------- */

/* A message of 64 bytes that both RFC 4493 (section 4, example 4) and NIST SP 800-38B
 * (D.3, example 12) use */
#define STANDARD	"6bc1bee22e409f96e93d7e117393172a" \
	"ae2d8a571e03ac9c9eb76fac45af8e51" "30c81c46a35ce411e5fbc1191a0a52ef" \
	"f69f2445df4f9b17ad2b417be66c3710"

/*
 * MACs of an NTP header of consecutive bytes: 23 (version 4) or 1b (version 3), 01, 02,
 * ... 2f. CMACs were computed by
 *   openssl mac -cipher AES-128-CBC -macopt hexkey:... -in FILE CMAC
 * and the others by python3's hashlib.new(type, key + header).hexdigest(), of which
 * version 4 uses the first 20 bytes.
 */
#define HASH_KEY	"ASCII:sixteen-byte-key,-and-more-of"

static const struct {
	const char *line, *packet, *digest;
} known[] = {
	{ "1 AES128 HEX:" AES128_KEY, STANDARD,
	  "51f0bebf7e3b9d92fc49741779363cfe" },
	{ "1 AES256 HEX:" AES256_KEY, STANDARD,
	  "e1992190549f6ed5696a2c056c315410" },
	{ "1 AES128 HEX:" AES128_KEY, "23", "1bd2840a9e13c1805bc675ffed40fa86" },
	{ "1 AES256 HEX:" AES256_KEY, "23", "717355ba35f0b23021048333c67b32d9" },
	{ "1 MD5 " HASH_KEY, "23",
	  "aa008cca92c1d6bc8b0e110ba0bd10b2" },
	{ "1 MD5 " HASH_KEY, "1b",
	  "7535dc7be6251ea7ffde7068cccdb729" },
	{ "1 SHA1 " HASH_KEY, "23",
	  "79f46b6ec3f67b3a7ac502a893f26253346fcc4c" },
	{ "1 SHA1 " HASH_KEY, "1b",
	  "42fb082e1bf6fe60df5a16f4834f1e4c4ecc0648" },
	{ "1 SHA256 " HASH_KEY, "23",
	  "3b1dcde5c266d4ebe591bb1cca2f1e53ea2e1976" },
	{ "1 SHA256 " HASH_KEY, "1b",
	  "7df2426a8cc4add1d52f14c81f43eb42af33293ece2ebcda3799278da159903a" },
	{ "1 SHA384 " HASH_KEY, "23",
	  "20f0e0d2e11c5985c2f2ce060a96daa8a9675de1" },
	{ "1 SHA384 " HASH_KEY, "1b",
	  "56cd6ed08a7c48b5a33ddf53df7567f98f3e9c2020d90f7983079413afd605d1"
	  "630f32882286ca78abbe134ec01e15ec" },
	{ "1 SHA512 " HASH_KEY, "23",
	  "62269dd1c4ce3085a39f274a364f6a51b27e55d4" },
	{ "1 SHA512 " HASH_KEY, "1b",
	  "98bd0f03b4103fb0820ce997490e7c54adef7d0b81b4b9cf7ba786e40ddb4dce"
	  "77930f2527b77fc128a9b6bccbe26971caa4b87538c892c2eff6c75a36dacb1e" },
};

/* Converts hexadecimal text to bytes. Text of one byte, "23" or "1b", stands for a
 * whole NTP header: that byte, then the bytes 1, 2, 3 to 47. */
static size_t packet_of(const char *text, __u8 *bytes)
{
	if (strlen(text) > 2)
		return from_hex(text, bytes);
	for (size_t i = 0; i < TSCT_NTP_HEADER; i++)
		bytes[i] = (__u8)i;
	from_hex(text, bytes);
	return TSCT_NTP_HEADER;
}

LOOP_TEST(test_known_macs, 0, ROWS(known))
{
	size_t len, size;
	struct tsct_keys *keys = keys_of(known[_i].line);
	__u8 bytes[TSCT_NTP_MAX];

	len = packet_of(known[_i].packet, bytes);
	size = strlen(known[_i].digest) / 2;
	ck_assert_uint_eq(tsct_mac_append(keys, 1, bytes, len),
			  len + 4 + size);
	check_hex(bytes + len, 4, "00000001");
	check_hex(bytes + len + 4, size, known[_i].digest);
	tsct_keys_free(keys);
}

/* Captured answers of chronyd 4.3, with the keys of `keyfile` */
static const char *const of_chronyd[] = {
	"1c0800e600000000000000007f7f0101eeabe236728165e80123456789abcdf2"
	"eeabe23903029721eeabe23903069b1e0000000376af1ddc92d51bdd5b88ac65"
	"a96968a791558ed45982f9365466bdc1d8b31a63",
	"1c0800e600000000000000007f7f0101eeabe236728165e80123456789abcdf4"
	"eeabe239a6d6b7bfeeabe239a6da8590000000054b4c1b4d204a0cbafb26d7cf"
	"da2988c120f2e0f3dd0cb1ab1e432d1134777fce80e4e1d633afe222b20a9bca"
	"9e0c37423a52b5efff13935dc30e2ff82a30b552",
	"240800e600000000000000007f7f0101eeabe236728165e80123456789abcdf0"
	"eeabe23aee8ab295eeabe23aee8bba8600000001ecccfc655682b85167977773"
	"d09f1715",
	"240800e600000000000000007f7f0101eeabe236728165e80123456789abcdf1"
	"eeabe23b40719a0beeabe23b4075344c000000022ed19b648e59404a7aa70148"
	"b205090d",
	"240800e600000000000000007f7f0101eeabe236728165e80123456789abcdf2"
	"eeabe23b925c4b27eeabe23b9260290800000003a4301b0861232021c67a5072"
	"6b8faaca3446ae18",
	"240800e600000000000000007f7f0101eeabe236728165e80123456789abcdf3"
	"eeabe23be4479b23eeabe23be44b6eaa00000004ff695d42a05c2f4b9600e2f7"
	"3830734ad8f2fc08",
	"240800e600000000000000007f7f0101eeabe236728165e80123456789abcdf4"
	"eeabe23c36334eebeeabe23c3637353200000005772842b24950272243695c03"
	"d69fe036bfed585c",
	"240800e600000000000000007f7f0101eeabe236728165e80123456789abcdf5"
	"eeabe23c88201f89eeabe23c8827ee2c0000000671769dda5b10d47d8e8e4491"
	"026599f364d50d8b",
	"240800e600000000000000007f7f0101eeabe236728165e80123456789abcdf6"
	"eeabe23cda0b05bbeeabe23cda9c5bf400000007a29acc942cac991ec7b09a97"
	"420051bb",
	"240800e600000000000000007f7f0101eeabe236728165e80123456789abcdf7"
	"eeabe23d2bf68f2deeabe23d2bfad8fc00000008e3c13cc66aa75cb87994afc6"
	"9b2552f1",
	/* captured requests of chronyd 4.3 */
	"2300002000000000000000000000000000000000000000000000000000000000"
	"00000000000000007697ed53ca7e5eb10000000173bb14be08aa8d42b86a5d79"
	"a50ae214",
	"1b00002000000000000000000000000000000000000000000000000000000000"
	"000000000000000075fa2e05f32e28bf000000036826a7f74c2ef62b62014d36"
	"fffe7bbcc868205e7e3e28c08e9b18390273afbc",
	"1b00002000000000000000000000000000000000000000000000000000000000"
	"000000000000000080a13ab4101a819400000005eb4aa3c011abf659d15ad57f"
	"14abeb141414b7ac438d76c9ac786f8be6f1ea91bb3242fb9ae9f7cd6b7b411b"
	"71054dad452cc2311dc8eaff88a07af26e0fa000",
};

/* Key file and captured packets of ntpd of ntpsec 1.2.2 */
static const char ntpsec_keys[] =
	"1 AES128 HEX:" AES128_KEY "\n"
	"3 SHA256 HEX:33333333333333333333333333333333"
	"33333333333333333333333333333333\n"
	"6 SHA1 a-key-for-sha1-29-c\n"
	"7 MD5 ASCII:a-key-for-md5-16\n";

static const char *const of_ntpsec[] = {
	"e40000e80000000000000006494e495400000000000000000123456789abcdf0"
	"eeabe27c2e075314eeabe27c2e0a7aca00000001274e36c2ddd62926abed086a"
	"3351904d",
	"e40000e80000000000000007494e495400000000000000000123456789abcdf2"
	"eeabe27d23c3dda9eeabe27d23ca4a5600000003daaa089688f9f132007aa403"
	"174e307a9906f60a",
	"e40000e80000000000000008494e495400000000000000000123456789abcdf5"
	"eeabe27ebe622985eeabe27ebe684cfa000000060e704719c6e0d9e640d687d3"
	"b1b953210aedb258",
	"e40000e80000000000000008494e495400000000000000000123456789abcdf6"
	"eeabe27f104da8c8eeabe27f10538b750000000715842c06dbafb0c89efb90d1"
	"45ba15f3",
};

/* A captured packet must be accepted unchanged, and rejected with any of its bits
 * changed. */
static void check_captured(const struct tsct_keys *keys, const char *text)
{
	struct tsct_ntp_packet packet;
	__u8 bytes[TSCT_NTP_MAX];
	size_t bit, len = from_hex(text, bytes);

	ck_assert_ptr_null(parse_exactly(bytes, len, &packet));
	ck_assert_int_eq(tsct_mac_check(keys, bytes, len, &packet), 0);
	for (bit = 0; bit < 8 * len; bit++) {
		bytes[bit / 8] ^= (__u8)(1 << bit % 8);
		MUST(parse_exactly(bytes, len, &packet) ||
		     tsct_mac_check(keys, bytes, len, &packet), "bit %zu of %s", bit, text);
		bytes[bit / 8] ^= (__u8)(1 << bit % 8);
	}
}

TEST(test_captured_packets)
{
	struct tsct_keys *keys = keys_of(keyfile);

	for (size_t i = 0; i < ROWS(of_chronyd); i++)
		check_captured(keys, of_chronyd[i]);
	tsct_keys_free(keys);
	keys = keys_of(ntpsec_keys);
	for (size_t i = 0; i < ROWS(of_ntpsec); i++)
		check_captured(keys, of_ntpsec[i]);
	tsct_keys_free(keys);
}

/* ---- checks of MACs ------------------------------------------------------ */

static const size_t digest_sizes[2][9] = {	/* sizes of digests in bytes, by NTP
						 * version (3, 4) and key */
	{ 0, 16, 16, 32, 48, 64, 20, 16, 16 },
	{ 0, 16, 16, 20, 20, 20, 20, 16, 16 },
};

static size_t build(unsigned int version, bool ext, __u8 *bytes)
{
	struct tsct_ntp_packet packet = { .version = (__u8)version, .mode = 3,
					  .has_ext = ext, .transmit = any64() };

	packet.ext.nonce = any64();
	return tsct_ntp_build(&packet, bytes);
}

static int check(const struct tsct_keys *keys, const __u8 *bytes, size_t len)
{
	struct tsct_ntp_packet packet;
	return parse_exactly(bytes, len, &packet) ? -EBADMSG :
		tsct_mac_check(keys, bytes, len, &packet);
}

/* Packets with each key, version, and extension field, cut and extended anywhere */
LOOP_TEST(test_every_mac_length, 1, 9)
{
	struct tsct_keys *keys = keys_of(keyfile);
	size_t len, whole, n;

	for (unsigned int version = 3; version <= 4; version++) {
		for (unsigned int ext = 0; ext <= version - 3; ext++) {
			__u8 bytes[TSCT_NTP_MAX] = { 0 };

			len = build(version, ext, bytes);
			whole = tsct_mac_append(keys, _i, bytes, len);
			ck_assert_uint_eq(whole, len + 4 +
				digest_sizes[version - 3][_i]);
			for (n = 0; n <= sizeof(bytes); n++)
				MUST(!check(keys, bytes, n) ==
				     (n == whole), "%zu", n);
		}
	}
	tsct_keys_free(keys);
}

/* A truncated digest is rejected, even if the bytes that remain are right. */
TEST(test_rejects_truncated_digests)
{
	struct tsct_keys *keys = keys_of(keyfile);
	struct tsct_ntp_packet packet;
	__u8 bytes[TSCT_NTP_MAX];
	size_t len = build(4, false, bytes), whole;

	whole = tsct_mac_append(keys, 3, bytes, len);
	ck_assert_ptr_null(tsct_ntp_parse(bytes, whole, &packet));
	for (unsigned int size = 0; size < 20; size++) {
		packet.mac_len = (__u16)size;
		ck_assert_int_eq(tsct_mac_check(keys, bytes, len + 4 + size,
						&packet), -EBADMSG);
		ck_assert_int_eq(tsct_mac_check(keys, bytes, whole, &packet),
				 -EBADMSG);
	}
	tsct_keys_free(keys);
}

TEST(test_rejects_wrong_macs)
{
	struct tsct_keys *keys = keys_of(keyfile);
	struct tsct_keys *others = keys_of("1 AES128 HEX:" "00" "7e151628aed2a6"
					   "abf7158809cf4f3c\n"
					   "2 SHA256 sixteen-byte-key\n");
	__u8 bytes[TSCT_NTP_MAX] = { 0 };
	size_t len = build(4, true, bytes), whole;

	ck_assert_int_eq(check(keys, bytes, len), -EBADMSG); /* a packet without MAC */
	/* a packet that ends with a crypto-NAK */
	ck_assert_int_eq(check(keys, bytes, len + 4), -EBADMSG);
	whole = tsct_mac_append(keys, 1, bytes, len);
	ck_assert_int_eq(check(keys, bytes, whole), 0);
	ck_assert_int_eq(check(others, bytes, whole), -EKEYREJECTED);
	ck_assert_int_eq(check(NULL, bytes, whole), -ENOKEY);
	bytes[len + 3] = 9;
	ck_assert_int_eq(check(keys, bytes, whole), -ENOKEY);
	whole = tsct_mac_append(keys, 2, bytes, len);
	ck_assert_int_eq(check(others, bytes, whole), -EBADMSG);
	/* A MAC made with another key than the packet's key id names is rejected. */
	bytes[len + 3] = 1;
	ck_assert_int_eq(check(keys, bytes, whole), -EKEYREJECTED);
	tsct_keys_free(keys);
	tsct_keys_free(others);
}

TEST(test_append_without_key_or_room)
{
	struct tsct_keys *keys = keys_of(keyfile);
	__u8 bytes[TSCT_NTP_MAX + 1] = { 3 << 3 };

	ck_assert_uint_eq(tsct_mac_append(keys, 9, bytes, 48), 0);
	ck_assert_uint_eq(tsct_mac_append(keys, 0, bytes, 48), 0);
	ck_assert_uint_eq(tsct_mac_append(NULL, 1, bytes, 48), 0);
	ck_assert_uint_eq(tsct_mac_append(keys, 1, bytes, 47), 0);
	for (size_t len = TSCT_NTP_MAX - 68; len <= TSCT_NTP_MAX; len++) {
		bytes[TSCT_NTP_MAX] = 0x55;
		ck_assert_uint_eq(tsct_mac_append(keys, 5, bytes, len),
				  len == TSCT_NTP_MAX - 68 ? TSCT_NTP_MAX : 0);
		ck_assert_uint_eq(bytes[TSCT_NTP_MAX], 0x55);
	}
	tsct_keys_free(keys);
}

/* ---- key files ---------------------------------------------------------------- */

#define SECRET	"Geheimnis"	/* key material: must not appear in any message */

static const struct {
	const char *text;
	int ret;
	unsigned int nr;
	const char *why;	/* text that the error message must contain; "": no
				 * message */
} files[] = {
	{ "", 0, 0, "" },
	{ "\n\n \t \n# 1 x\n! 2\n; 3\n  % 4\n", 0, 0, "" },
	{ "1 AES128 HEX:" AES128_KEY, 0, 1, "" },
	{ "1 AES128 HEX:2B7E151628AED2A6ABF7158809CF4F3C\r\n", 0, 1, "" },
	{ "\t1\tAES128 \t ASCII:0123456789abcdef \n", 0, 1, "" },
	{ "4294967295 AES128 0123456789abcdef", 0, 1, "" },
	{ "7 SHA1 HEX:00000000000000000000\n", 0, 1, "" },
	{ "1 MD5 0123456789# not a comment, too many words", -EINVAL, 0,
	  "more words than ID TYPE KEY" },
	{ "1 MD5 0123456789#!;%\n", 0, 1, "" },
	/* Key files that are loaded with a warning */
	{ "\n2 MD5 " SECRET "\n", 0, 1, "keys: line 2: key 2 has 72 bits" },
	{ "2 SHA256 HEX:00\n3 MD5 x\n4 MD5 y", 0, 3, "(and 2 more)" },
	{ "3 " SECRET SECRET, 0, 1, "key 3 has no type, which means MD5" },
	{ "3 SHA3-256 " SECRET SECRET "\n4 MD5 0123456789\n5 TIGER x", 0, 1,
	  "line 1: key 3 is not used" },
	/* key files that are rejected */
	{ "0 MD5 " SECRET, -EINVAL, 0, "id of 1 to 4294967295" },
	{ "4294967296 MD5 " SECRET, -EINVAL, 0, "id of 1 to 4294967295" },
	{ "99999999999999999999999 MD5 x", -EINVAL, 0, "id of 1 to" },
	{ "-1 MD5 " SECRET, -EINVAL, 0, "id of 1 to" },
	{ "1x MD5 " SECRET, -EINVAL, 0, "id of 1 to" },
	{ SECRET " MD5", -EINVAL, 0, "line 1: not ID [TYPE] KEY" },
	{ "\n\n12\n", -EINVAL, 0, "line 3: key 12 has an id, but no key" },
	{ "1 " SECRET " " SECRET, -EINVAL, 0, "its type is none of AES128" },
	{ "1 aes128 HEX:" AES128_KEY, -EINVAL, 0, "its type is none of" },
	{ "1 AES128 " SECRET, -EINVAL, 0, "but AES128 needs 16: write it as HEX: with 32" },
	{ "1 AES256 HEX:" AES128_KEY, -EINVAL, 0, "has 16 bytes, but AES256 needs" },
	{ "1 AES128 HEX:" AES128_KEY "0", -EINVAL, 0, "pairs of hex digits" },
	{ "1 AES128 HEX:" SECRET, -EINVAL, 0, "pairs of hex digits" },
	{ "1 MD5 HEX:", -EINVAL, 0, "pairs of hex digits" },
	{ "1 MD5 HEX:0g", -EINVAL, 0, "pairs of hex digits" },
	{ "1 MD5 ASCII:", -EINVAL, 0, "key 1 is empty" },
	{ "5 MD5 0123456789\n6 MD5 0123456789\n5 SHA1 " SECRET, -EINVAL, 0,
	  "line 3: key 5 is also in line 1" },
};

LOOP_TEST(test_key_files, 0, ROWS(files))
{
	struct tsct_keys *keys = (void *)1;
	char why[256];
	int ret = read_text(files[_i].text, strlen(files[_i].text), &keys,
			    why, sizeof(why));

	ck_assert_msg(ret == files[_i].ret, "'%s': %d, %s",
		      files[_i].text, ret, why);
	ck_assert_msg(strstr(why, files[_i].why) &&
		      !*why == !*files[_i].why, "'%s': '%s'",
		      files[_i].text, why);
	ck_assert_msg(!strstr(why, SECRET), "'%s'", why);
	ck_assert(!keys == !!ret);
	ck_assert_uint_eq(tsct_keys_nr(keys), files[_i].nr);
	tsct_keys_free(keys);
}

TEST(test_finds_keys)
{
	struct tsct_keys *keys = keys_of(keyfile);

	ck_assert_str_eq(tsct_keys_type(keys, 1), "AES128");
	ck_assert_str_eq(tsct_keys_type(keys, 8), "MD5");
	ck_assert(tsct_keys_have(keys, 5) && !tsct_keys_have(keys, 0));
	ck_assert(!tsct_keys_have(keys, 9) && !tsct_keys_have(NULL, 1));
	ck_assert_ptr_null(tsct_keys_type(keys, 9));
	ck_assert_ptr_null(tsct_keys_type(NULL, 1));
	ck_assert_uint_eq(tsct_keys_nr(NULL), 0);
	tsct_keys_free(keys);
	tsct_keys_free(NULL);
}

/* A key file may list its keys in any order; each look-up finds the right key. */
TEST(test_many_keys_in_any_order)
{
	enum { NR = 2000 };
	char *text = malloc(NR * 64), *at = text;
	struct tsct_keys *keys, *one;
	__u8 a[TSCT_NTP_MAX], b[TSCT_NTP_MAX];

	ck_assert_ptr_nonnull(text);
	for (unsigned int i = 0; i < NR; i++)
		at += sprintf(at, "%u SHA1 HEX:%040x\n",
			      (i * 1237 + 1) % 2003 * 7 + 1, i);
	keys = keys_of(text);
	ck_assert_uint_eq(tsct_keys_nr(keys), NR);
	for (unsigned int i = 0; i < NR; i += 97) {
		__u32 id = (i * 1237 + 1) % 2003 * 7 + 1;
		size_t len = build(4, true, a);

		memcpy(b, a, len);
		sprintf(text, "%u SHA1 HEX:%040x\n", id, i);
		one = keys_of(text);
		ck_assert_uint_eq(tsct_mac_append(keys, id, a, len), len + 24);
		ck_assert_uint_eq(tsct_mac_append(one, id, b, len), len + 24);
		ck_assert_mem_eq(a, b, len + 24);
		tsct_keys_free(one);
	}
	tsct_keys_free(keys);
	free(text);
}

TEST(test_rejects_nul_and_long_lines)
{
	static const char zero[] = "1 MD5 0123456789\n2 MD5 0123\0" "456\n";
	char text[4096], why[256];
	struct tsct_keys *keys;

	ck_assert_int_eq(read_text(zero, sizeof(zero) - 1, &keys, why,
				   sizeof(why)), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why, "line 2: the line contains a NUL byte"));
	memset(text, 'x', sizeof(text));
	memcpy(text, "1 MD5 ", 6);
	ck_assert_int_eq(read_text(text, 2048, &keys, why, sizeof(why)),
			 -EINVAL);
	ck_assert_ptr_nonnull(strstr(why, "longer than 2047 bytes"));
	ck_assert_int_eq(read_text(text, 2047, &keys, why, sizeof(why)), 0);
	tsct_keys_free(keys);
}

TEST(test_unreadable_key_file)
{
	FILE *folder = fopen("/", "r");
	struct tsct_keys *keys;
	char why[256];

	ck_assert_ptr_nonnull(folder);
	ck_assert_int_eq(tsct_keys_read(folder, "/", &keys, why, sizeof(why)),
			 -EISDIR);
	ck_assert_ptr_nonnull(strstr(why, strerror(EISDIR)));
	ck_assert_ptr_null(keys);
	fclose(folder);
}

/* The error message is cut and terminated for any size; at size 0 nothing is written. */
TEST(test_short_message_buffers)
{
	struct tsct_keys *keys;
	char why[128];

	for (size_t size = 0; size <= 100; size++) {
		memset(why, 0x55, sizeof(why));
		ck_assert_int_eq(read_text("1 x y", 5, &keys, why, size),
				 -EINVAL);
		ck_assert_int_eq(why[size], 0x55);
		ck_assert(!size || memchr(why, 0, size));
		memset(why, 0x55, sizeof(why));
		ck_assert_int_eq(read_text("1 x\n2 y", 7, &keys, why, size), 0);
		ck_assert_int_eq(why[size], 0x55);
		ck_assert(!size || memchr(why, 0, size));
		tsct_keys_free(keys);
	}
}

/* Loads random key files, and a valid key file with bytes changed or removed. */
TEST(test_random_key_files)
{
	unsigned int i, j, good = 0;

	for (i = 0; i < 3000; i++) {
		char text[sizeof(keyfile)], why[256];
		size_t size = 1 + any(sizeof(keyfile) - 1);
		struct tsct_keys *keys;
		int ret;

		memcpy(text, keyfile, sizeof(text));
		if (!any(4))
			for (j = 0; j < size; j++)
				text[j] = (char)any(256);
		for (j = any(4); j; j--)
			text[any(sizeof(text) - 1)] = any(2) ? ' ' :
				(char)any(256);
		ret = read_text(text, size, &keys, why, sizeof(why));
		MUST(!ret == !!keys && (!ret || ret == -EINVAL), "%d", ret);
		MUST(!ret || !strncmp(why, "keys: line ", 11), "%s", why);
		good += !ret;
		tsct_keys_free(keys);
	}
	ck_assert(good > 100 && good < 2900);
}

/* ---- keys in freed memory ------------------------------------------------ */

/* The linker redirects every free() of the library to this function: see
 * tests/Makefile. Memory that is freed must not contain a key. */
void __real_free(void *block);
void __wrap_free(void *block);

static __u8 mark[16];
static unsigned int nr_freed, nr_freed_with_key;

void __wrap_free(void *block)
{
	if (block && mark[0]) {
		nr_freed++;
		nr_freed_with_key += memmem(block, malloc_usable_size(block), mark,
					    sizeof(mark)) != NULL;
	}
	__real_free(block);
}

TEST(test_freed_memory_has_no_key)
{
	char text[4096], *at = text;
	struct tsct_keys *keys;
	void *copy;

	from_hex(AES128_KEY, mark);
	/* Uses a key of each kind, and so many keys that the key table has to grow. */
	for (unsigned int i = 1; i < 20; i++)
		at += sprintf(at, "%u %s HEX:" AES128_KEY "%s\n", i,
			      i % 3 ? i % 3 > 1 ? "SHA256" : "AES128" : "AES256",
			      i % 3 ? "" : AES128_KEY);
	keys = keys_of(text);
	tsct_keys_free(keys);
	ck_assert_uint_gt(nr_freed, 10);
	ck_assert_uint_eq(nr_freed_with_key, 0);
	/* Loads a key file with an error in its last line. */
	sprintf(at, "1 again\n");
	ck_assert_int_eq(read_text(text, strlen(text), &keys, (char[64]){ 0 },
				   64), -EINVAL);
	ck_assert_uint_eq(nr_freed_with_key, 0);
	/* Self-test: the check detects freed memory that contains a key. */
	copy = malloc(64);
	ck_assert_ptr_nonnull(copy);
	memset(copy, 0, 64);
	memcpy((char *)copy + 9, mark, sizeof(mark));
	/* keeps the compiler from removing the stores before free() */
	__asm__ volatile("" : : "r"(copy) : "memory");
	free(copy);
	ck_assert_uint_eq(nr_freed_with_key, 1);
}
