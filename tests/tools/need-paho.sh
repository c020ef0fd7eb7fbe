#!/bin/sh
# The integrator's example in C is compiled and run by the suite, with paho's client and SQLite.
# Present: say nothing. Missing, and we are root on a Debian-like system (CI): install it.
# Otherwise: one line that says what to run.
set -eu

PACKAGES="gcc libc6-dev libpaho-mqtt-dev libsqlite3-dev"

present() {
    command -v cc >/dev/null &&
        printf '#include <MQTTClient.h>\n#include <sqlite3.h>\n' | cc -E - >/dev/null 2>&1
}
present && exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "The tests need a C compiler with paho and SQLite: sudo apt-get install $PACKAGES (or your system's packages)" >&2
    exit 1
fi

export DEBIAN_FRONTEND=noninteractive
echo "Installing a C compiler with paho and SQLite ..."
# An image without package lists needs the update; one that has them is spared it.
apt-get install -qq -y --no-install-recommends $PACKAGES >/dev/null 2>&1 || {
    apt-get update -qq
    apt-get install -qq -y --no-install-recommends $PACKAGES >/dev/null
}
present
