#!/bin/sh
# Remove the program. Logs, journals, configurations, secrets and backups stay: they are evidence.
set -eu
root=
[ "${1:-}" != --root ] || root=$2
if [ -z "$root" ]; then
    systemctl list-units --plain --no-legend --all 'baccarat-*' | while read -r unit _; do
        systemctl disable --now "$unit" || true
    done
fi
rm -f "$root"/etc/systemd/system/baccarat-broker.service "$root"/etc/systemd/system/baccarat-*@.service "$root"/etc/systemd/system/baccarat-*@.timer
rm -f "$root/usr/lib/sysusers.d/baccarat.conf" "$root/usr/lib/tmpfiles.d/baccarat.conf"
rm -f "$root/etc/udev/rules.d/70-baccarat-shoe.rules"
# As install.sh put them: baccarat.bash, _baccarat, baccarat.fish.
rm -f "$root/usr/share/bash-completion/completions/baccarat" \
    "$root/usr/share/zsh/vendor-completions/_baccarat" \
    "$root/usr/share/fish/vendor_completions.d/baccarat.fish"
rm -rf "$root/opt/baccarat" "$root/opt/baccarat.before" "$root/usr/share/doc/baccarat"
[ -n "$root" ] || systemctl daemon-reload
echo "remove.sh: the program is gone; /etc/baccarat, /var/lib/baccarat and /var/backups/baccarat stay"
