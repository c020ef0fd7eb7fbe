#!/bin/sh
# The second verifier is JavaScript, and its tests run it in node; nothing is installed by npm.
# Present: say nothing. Missing, and we are root on a Debian-like system (CI): install it.
# Otherwise: one line that says what to run.
set -eu

# Node 18 is Debian 12's, and the oldest that has Ed25519.
present() {
    command -v node >/dev/null && node -e 'process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)'
}
present && exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "The tests need node 18 or newer: sudo apt-get install nodejs (or your system's package)" >&2
    exit 1
fi

export DEBIAN_FRONTEND=noninteractive
echo "Installing node ..."
apt-get install -qq -y --no-install-recommends nodejs >/dev/null 2>&1 || {
    apt-get update -qq
    apt-get install -qq -y --no-install-recommends nodejs >/dev/null
}
present
