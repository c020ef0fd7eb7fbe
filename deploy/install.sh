#!/bin/sh
# Install baccarat-table on a Debian controller; again, to bring it up to date. Removes nothing.
#
#   sh deploy/install.sh                     from a checkout, as root
#   sh deploy/install.sh --table b7          and enable the services of table b7
#   sh deploy/install.sh --back              take the build before this one again
#   sh deploy/install.sh --back --restore    and the logs and ledgers of before the upgrade; asks
#   sh deploy/install.sh --root DIR          into a folder that is another machine's root
#
# Needs Python 3.11 with venv, which PYTHON=/path/to/python3 may name, and packages that the lock
# names: from PyPI, or from where pip is told.
set -eu

root= table= back= restore= python=${PYTHON:-python3}
while [ $# -gt 0 ]; do
    case $1 in
        --root | --table) [ $# -gt 1 ] || { echo "install.sh: $1 wants a value" >&2; exit 2; } ;;
    esac
    case $1 in
        --root) root=$2; shift 2 ;;
        --table) table=$2; shift 2 ;;
        --back) back=yes; shift ;;
        --restore) restore=yes; shift ;;
        *) echo "install.sh: no option $1; there are --root DIR, --table NAME, --back, --restore" >&2; exit 2 ;;
    esac
done
here=$(cd "$(dirname "$0")" && pwd)
[ -n "$root" ] || [ "$(id -u)" = 0 ] || { echo "install.sh: run it as root, or with --root" >&2; exit 2; }

say() { printf 'install.sh: %s\n' "$*"; }
put() { install -D -m "$3" "$here/$1" "$root$2"; }

old=$root/opt/baccarat
new=$root/opt/baccarat.new
rooms=$(sed -n 's/^packages = \[\(.*\)\]$/\1/p' "$here/../pyproject.toml" | tr -d '",')
[ -n "$rooms" ] || { say "pyproject.toml names no packages" >&2; exit 1; }
# shellcheck disable=SC2086 # a word a room
build=$(cd "$here/.." && find pyproject.toml requirements/runtime.txt requirements/build.txt $rooms -type f ! -name '*.pyc' \
    -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -c 1-64)

# A build that cannot read every event that is there must not be started: the log would refuse it
# anyway, and so it is said before anything has changed.
takes() {
    for log in "$root"/var/lib/baccarat/*/log/table.sqlite; do
        [ -e "$log" ] || continue
        said=$("$1/bin/python" -I -m baccarat log verify "$log" 2>&1) || {
            printf '%s\n' "$said" >&2
            say "the build in $1 does not take $log; nothing was changed" >&2
            return 1
        }
    done
}
# Logs and ledgers as they are before a build is changed: the way back, once a later build has
# written what the build before cannot read. SQLite copies a ledger in use as one.
keep() {
    kept=/var/backups/baccarat/before-$(date -u +%Y%m%dT%H%M%SZ)
    for log in "$root"/var/lib/baccarat/*/log/table.sqlite; do
        [ -e "$log" ] || continue
        home=${log%/log/table.sqlite}
        to=$root$kept/${home##*/}
        install -d -m 0700 "$to"
        "$new/bin/python" -I -m baccarat log backup "$log" "$to/table.sqlite" >/dev/null || return 1
        [ ! -e "$home/cage/cage.sqlite" ] || copy "$home/cage/cage.sqlite" "$to/cage.sqlite" || return 1
        say "$kept/${home##*/}: log and ledger as they are now"
    done
    [ ! -d "$root$kept" ] || echo "$kept" >"$old/kept"
}
copy() {
    "$new/bin/python" -I -c 'import sqlite3, sys
sqlite3.connect(sys.argv[1]).backup(sqlite3.connect(sys.argv[2]))' "$1" "$2"
}
# What goes out of the tables' own logs on that way: read here, before anything moves.
since() {
    "$old/bin/python" -I -c 'import sqlite3, sys
kept, log = (sqlite3.connect(each) for each in sys.argv[1:3])
(end,) = kept.execute("SELECT coalesce(max(position), 0) FROM event").fetchone()
sql = """SELECT count(*), count(CASE type WHEN ? THEN 1 END), min(at)
    FROM event WHERE position > ?"""
events, settled, first = log.execute(sql, ("coup_settled", end)).fetchone()
print(f"{events} events since position {end}, {settled} of them settlements, from {first or chr(45)}")' "$1" "$2"
}
restore() {
    [ -n "$kept" ] && [ -d "$root$kept" ] || { say "the upgrade kept no logs" >&2; return 2; }
    for to in "$root$kept"/*; do
        said=$("$old.before/bin/python" -I -m baccarat log verify "$to/table.sqlite" 2>&1) || {
            printf '%s\n' "$said" >&2
            say "the build before does not take $to/table.sqlite; nothing was changed" >&2
            return 1
        }
        say "${to##*/} loses $(since "$to/table.sqlite" "$root/var/lib/baccarat/${to##*/}/log/table.sqlite")"
    done
    say "the logs of now stay beside them as table.sqlite.replaced-N; type yes to go back:"
    read -r answer || answer=
    [ "$answer" = yes ] || { say "nothing was changed" >&2; return 1; }
    for to in "$root$kept"/*; do
        home=$root/var/lib/baccarat/${to##*/}
        log=$home/log/table.sqlite
        said=$("$old/bin/python" -I -m baccarat log restore --replace "$to/table.sqlite" "$log" 2>&1) || {
            printf '%s\n' "$said" >&2
            return 1
        }
        replaced=$(printf '%s\n' "$said" | sed -n 's/: the log that was there$//p')
        [ -z "$replaced" ] || chown -R --reference="$replaced" "${log%/*}"
        say "undo: baccarat log restore --replace ${replaced#"$root"} ${log#"$root"}"
        ledger=$home/cage/cage.sqlite
        [ -e "$to/cage.sqlite" ] || continue
        mv "$ledger" "$ledger.replaced-$(date -u +%Y%m%dT%H%M%SZ)"
        install -m 0600 "$to/cage.sqlite" "$ledger"
        chown --reference="$home/cage" "$ledger"
    done
}
# A unit is shown no home (ProtectHome=): a Python there runs for a technician, and for no service.
seen_by_services() {
    lives=$("$python" -c 'import sys; print(sys.base_prefix)')
    case $lives in
        /home/* | /root/* | /run/user/*)
            say "$python lives in $lives, where no service may look;" \
                "say PYTHON=/usr/bin/python3 sh $0" >&2
            return 1
            ;;
    esac
}
program() {
    [ -n "$root" ] || seen_by_services || exit 2
    rm -rf "$new"
    say "the program, into /opt/baccarat"
    "$python" -m venv "$new"
    "$new/bin/python" -m pip install --quiet --require-hashes -r "$here/../requirements/runtime.txt"
    # What makes the wheel is by hash as well, and does not stay.
    "$new/bin/python" -m pip install --quiet --require-hashes -r "$here/../requirements/build.txt" \
        --target "$new/build-tools"
    PYTHONPATH=$new/build-tools "$new/bin/python" -m pip install --quiet --no-build-isolation \
        --no-deps "$here/.."
    rm -rf "$new/build-tools"
    takes "$new" || { rm -rf "$new"; exit 1; }
    [ ! -e "$old" ] || keep || { rm -rf "$new"; exit 1; }
    # A venv knows its own path in its scripts; they are told the one it will have.
    grep -rlIF "$new" "$new/bin" | while read -r file; do
        sed -i "s|$new|/opt/baccarat|g" "$file"
    done
    install -D -m 0755 "$here/libexec/backup" "$new/libexec/backup"
    echo "$build" >"$new/build"
    if [ -e "$old" ]; then
        rm -rf "$old.before"
        mv "$old" "$old.before"
    fi
    mv "$new" "$old"
    rm -rf "$old.undone"
}
# A build keeps its units beside it, so that they go back with it.
units() {
    for unit in "$1"/*; do install -D -m 0644 "$unit" "$root/etc/systemd/system/${unit##*/}"; done
}
reload() { [ -n "$root" ] || [ ! -d /run/systemd/system ] || systemctl daemon-reload; }
is_back() {
    [ ! -d "$old/systemd" ] || units "$old/systemd"
    reload
    say "the build before is in /opt/baccarat$1"
    exit 0
}
if [ -n "$back" ]; then
    # Cut short by a power cut between two of its moves, it goes on from there, and loses no build.
    if [ ! -e "$old.undone" ]; then
        :
    elif [ ! -e "$old" ]; then
        mv -T "$old.undone" "$old"
    elif [ ! -e "$old.before" ]; then
        mv -T "$old.undone" "$old.before"
        is_back " since the last --back, which was cut short"
    else
        rm -rf "$old.undone"
    fi
    [ -x "$old.before/bin/python" ] || { say "there is no build before this one" >&2; exit 2; }
    kept=$(cat "$old.before/kept" 2>/dev/null || true)
    if [ -n "$restore" ]; then
        restore || exit $?
    elif ! takes "$old.before"; then
        [ -z "$kept" ] || say "the logs of before the upgrade are in $kept;" \
            "stop the services, then --back --restore goes back to them" >&2
        exit 1
    fi
    [ ! -e "$old" ] || mv -T "$old" "$old.undone"
    mv -T "$old.before" "$old"
    [ ! -e "$old.undone" ] || mv -T "$old.undone" "$old.before"
    is_back "; start the services again between two coups"
fi
if [ "$(cat "$old/build" 2>/dev/null)" = "$build" ]; then
    say "/opt/baccarat is this build already"
else
    program
fi

say "units, users, folders, rules"
rm -rf "$old/systemd"
cp -R "$here/systemd" "$old/systemd"
units "$old/systemd"
put sysusers.d/baccarat.conf /usr/lib/sysusers.d/baccarat.conf 0644
put tmpfiles.d/baccarat.conf /usr/lib/tmpfiles.d/baccarat.conf 0644
put udev/70-baccarat-shoe.rules /etc/udev/rules.d/70-baccarat-shoe.rules 0644
(cd "$here/../docs" && find operate alarms -name '*.md') | while read -r page; do
    put "../docs/$page" "/usr/share/doc/baccarat/$page" 0644
done
put completions/baccarat.bash /usr/share/bash-completion/completions/baccarat 0644
put completions/_baccarat /usr/share/zsh/vendor-completions/_baccarat 0644
put completions/baccarat.fish /usr/share/fish/vendor_completions.d/baccarat.fish 0644
systemd-sysusers ${root:+--root="$root"} baccarat.conf
systemd-tmpfiles ${root:+--root="$root"} --create baccarat.conf

[ -z "$root" ] || { say "done, in $root"; exit 0; }
now=--now
reload
if [ ! -d /run/systemd/system ]; then
    now= # in the making of an image, say
    say "systemd does not run here: what is enabled starts when it does"
fi
udevadm control --reload 2>/dev/null || say "udev does not run here: its rules hold from the next start"
[ -n "$table" ] || { say "done; write /etc/baccarat/TABLE.toml, then run this with --table TABLE"; exit 0; }
/opt/baccarat/bin/baccarat config check "/etc/baccarat/$table.toml"
for service in table shoe displays scoreboard cage metrics; do
    case $service in
        displays | scoreboard | cage | metrics) grep -q "^\[$service\]" "/etc/baccarat/$table.toml" || continue ;;
    esac
    systemctl enable $now "baccarat-$service@$table"
done
systemctl enable $now "baccarat-backup@$table.timer"
say "table $table starts after every power cut${now:+, and runs}"
