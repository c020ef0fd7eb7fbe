#!/bin/sh
# The units are judged by systemd's own tools, and the install script makes users and folders by them.
# Present: say nothing. Missing, and we are root on a Debian-like system (CI): install it.
# Otherwise: one line that says what to run. systemd itself need not run.
set -eu

present() {
    command -v systemd-analyze >/dev/null && command -v systemd-sysusers >/dev/null &&
        command -v systemd-tmpfiles >/dev/null
}
present && exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "The tests need systemd's tools: sudo apt-get install systemd (or your system's package)" >&2
    exit 1
fi

export DEBIAN_FRONTEND=noninteractive
echo "Installing systemd's tools ..."
apt-get install -qq -y --no-install-recommends systemd >/dev/null 2>&1 || {
    apt-get update -qq
    apt-get install -qq -y --no-install-recommends systemd >/dev/null
}
present
