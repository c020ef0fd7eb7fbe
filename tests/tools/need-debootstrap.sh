#!/bin/sh
# One of the long tests installs into an empty Debian, which debootstrap makes.
# Present: say nothing. Missing, and we are root on a Debian-like system: install it.
# Otherwise: one line that says what to run.
set -eu

command -v debootstrap >/dev/null && exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "An empty Debian needs debootstrap: sudo apt-get install debootstrap" >&2
    exit 1
fi

export DEBIAN_FRONTEND=noninteractive
echo "Installing debootstrap ..."
apt-get install -qq -y --no-install-recommends debootstrap >/dev/null 2>&1 || {
    apt-get update -qq
    apt-get install -qq -y --no-install-recommends debootstrap >/dev/null
}
command -v debootstrap >/dev/null
