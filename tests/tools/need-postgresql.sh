#!/bin/sh
# The cage's ledger is tested on PostgreSQL too, on a private server that the suite starts itself.
# Present: say nothing. Missing, and we are root on a Debian-like system (CI): install it.
# Otherwise: one line that says what to run.
set -eu

# Distributions keep the server's programs out of the PATH.
there() {
    command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1
}

there && exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "The tests need PostgreSQL: sudo apt-get install postgresql (or your system's package)" >&2
    exit 1
fi

export DEBIAN_FRONTEND=noninteractive
echo "Installing PostgreSQL ..."
# An image without package lists needs the update; one that has them is spared it.
apt-get install -qq -y --no-install-recommends postgresql >/dev/null 2>&1 || {
    apt-get update -qq
    apt-get install -qq -y --no-install-recommends postgresql >/dev/null
}
there
