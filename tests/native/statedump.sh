# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Leaves out the events that the recorder itself wrote, from the text of babeltrace.
without_statedump() {
	grep -aEv ' (thread|last_pid|exec|cgroup|frame|stack): \{' || true
}
