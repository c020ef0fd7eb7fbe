#!/bin/sh
# The pages that a person prints are printed by the suite in a real browser, with a real font.
# Present: say nothing. Missing, and we are root on a Debian-like system (CI): install them.
# Otherwise: one line that says what to run.
set -eu

command -v chromium >/dev/null && exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "The tests need chromium: sudo apt-get install chromium fonts-dejavu-core (or your system's packages)" >&2
    exit 1
fi

export DEBIAN_FRONTEND=noninteractive
echo "Installing chromium ..."
# An image without package lists needs the update; one that has them is spared it.
apt-get install -qq -y --no-install-recommends chromium fonts-dejavu-core >/dev/null 2>&1 || {
    apt-get update -qq
    apt-get install -qq -y --no-install-recommends chromium fonts-dejavu-core >/dev/null
}
command -v chromium >/dev/null
