#!/bin/bash
# SPDX-License-Identifier: MIT
# Users share what a daemon has: the ids of a range of /etc/subuid, which its owner may take in a
# user namespace, have the owner's limits together; all users leave an eighth to root.
. "$(dirname "$0")/record.sh"

need_root "ids of a range of /etc/subuid, and limits of a mount namespace"
need unshare setpriv
chmod 755 "$work"
mkdir "$work/tree"
# 1/4 of 64 MiB for all channels; 1/8 of it for one user
echo 67108864 >"$work/tree/memory.max"
echo 0::/ >"$work/cgroup"
echo nobody:100000:16 >"$work/subuid"
export work daemon TSCTRACE_RUN_DIR=$work/run TSCTRACE_PROVIDER=daemon
: >"$work/log"
# shellcheck disable=SC2016 # expands in the shell of the namespace
unshare -m bash -c '
	mount --bind "$work/cgroup" /proc/$$/cgroup
	mount --bind "$work/tree" /sys/fs/cgroup
	mount --bind "$work/subuid" /etc/subuid
	exec "$daemon" --no-module' 2>"$work/log" & track server
until_in "$work/log" "clock synchronized"

# Makes channels of at least 1 MiB as a user, until one is refused or there are TIMES. Sets $made.
create() {	# UID TIMES
	local i
	made=0
	for ((i = 0; i < $2; i++)); do
		setpriv --reuid "$1" --clear-groups "$ctl" channel create "c$i" \
			--block-size 65536 --blocks "$blocks" >"$work/out" 2>"$work/err" || break
		made=$((made + 1))
	done
}
# Two channels fit into the 8 MiB of a user, three do not.
blocks=1
while [ $((2 * blocks * 2 * 64 * $(nproc --all))) -le $((7 * 1024)) ]; do
	blocks=$((2 * blocks))
done
create 1 9
own=$made
[ "$own" -ge 2 ] || fail "a user has $own channels: $(cat "$work/err")"
grep -q 'memory limit exceeded' "$work/err" || fail "another reason"
ok "a user"

sum=0
for id in $(seq 100000 100015) 65534; do
	create "$id" 1
	sum=$((sum + made))
done
[ "$sum" = "$own" ] || fail "16 ids and their owner have $sum channels, one user $own"
ok "ids of a range, and their owner"

create 2 9
create 3 9
[ "$made" = 0 ] || fail "$made channels of a user when others have taken all"
create 0 1
[ "$made" = 1 ] || fail "none is left for root: $(cat "$work/err")"
ok "the reserve of root"
echo "1..$passed"
