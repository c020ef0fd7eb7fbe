#!/bin/sh
# The integration suite runs against a second broker, mosquitto, which no Python package carries, and
# runs an example that is written with its clients.
# Present: say nothing. Missing, and we are root on a Debian-like system (CI): install it.
# Otherwise: one line that says what to run.
set -eu

PATH="$PATH:/usr/local/sbin:/usr/sbin"

present() {
    command -v mosquitto >/dev/null && command -v mosquitto_sub >/dev/null &&
        command -v mosquitto_pub >/dev/null
}
present && exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "The tests need mosquitto: sudo apt-get install mosquitto mosquitto-clients (or your system's package)" >&2
    exit 1
fi

export DEBIAN_FRONTEND=noninteractive
echo "Installing mosquitto ..."
# An image without package lists needs the update; one that has them is spared it.
apt-get install -qq -y --no-install-recommends mosquitto mosquitto-clients >/dev/null 2>&1 || {
    apt-get update -qq
    apt-get install -qq -y --no-install-recommends mosquitto mosquitto-clients >/dev/null
}
present
