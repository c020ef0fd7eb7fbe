#!/bin/sh
# The pages that a person prints are printed by the suite in a real browser, with real fonts. Its
# build without windows is faster where a page is only looked at; the suite runs without it, too.
# Present: say nothing. Missing, and we are root on a Debian-like system (CI): install them.
# Otherwise: one line that says what to run.
set -eu

# The screens are in Chinese too: without a font for it, a browser draws boxes.
if command -v chromium >/dev/null && fc-list :lang=zh-cn | grep -q .; then
    FOUND=yes
    if command -v chromium-headless-shell >/dev/null; then exit 0; fi
fi

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    if [ "${FOUND:-}" ]; then exit 0; fi
    echo "The tests need chromium: sudo apt-get install chromium fonts-dejavu-core fonts-noto-cjk (or your system's packages)" >&2
    exit 1
fi

export DEBIAN_FRONTEND=noninteractive
PACKAGES="chromium fontconfig fonts-dejavu-core fonts-noto-cjk"
echo "Installing chromium ..."
install() {
    apt-get install -qq -y --no-install-recommends -o Acquire::http::Timeout=10 "$@" >/dev/null 2>&1
}
# An image without package lists needs the update; one that has them is spared it.
[ "${FOUND:-}" ] || install $PACKAGES || { apt-get update -qq && install $PACKAGES; }
install chromium-headless-shell || true # not every system has it
command -v chromium >/dev/null
