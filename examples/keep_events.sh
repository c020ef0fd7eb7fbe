#!/bin/sh
# Every event of a table once and in order, a line each, with mosquitto's own tools:
#   keep_events.sh FILE HOST PORT bac/v1/SITE/TABLE
# Line n of FILE is the event at position n. Safe to kill and to start again.
set -eu
file=$1 host=$2 port=$3 root=$4

touch "$file"
here=$(wc -l <"$file")
head -n "$here" "$file" >"$file.whole" # a line that was cut off when we were killed goes
mv "$file.whole" "$file"
asked=0 asked_at=0 newest=0

request() { # command, fields
    body="{\"transaction\":\"keep-$$-$1-$here-$(date +%s%N)\",$2}"
    mosquitto_pub -h "$host" -p "$port" -q 1 -t "$root/request/cage/$1" -m "$body"
}

# The retained state comes at once and says how far the log has come. The heartbeat wakes us where
# an answer was lost.
mosquitto_sub -h "$host" -p "$port" -q 1 -F '%t %p' \
    -t "$root/event" -t "$root/response/cage/events" -t "$root/state" -t "$root/status/table" |
    while IFS= read -r message; do
        event=${message#* }
        position=${event#*\"position\":}
        position=${position%%[,\}]*}
        case $message in
        "$root/status/table "*) next=0 position=$newest ;;
        "$root/state "*) next=0 ;;
        *) next=$((here + 1)) ;;
        esac
        [ "$position" -le "$newest" ] || newest=$position
        if [ "$position" -le "$here" ]; then
            continue # it came before
        fi
        if [ "$position" -ne "$next" ]; then # something is missing: ask for it, not too often
            now=$(date +%s)
            if [ "$asked" -ne "$here" ] || [ $((now - asked_at)) -gt 2 ]; then
                asked=$here asked_at=$now
                request replay "\"from\":$((here + 1))"
            fi
            continue
        fi
        printf '%s\n' "$event" >>"$file"
        here=$position
        case $event in
        *'"type":"coup_settled"'*)
            sync "$file" # on disk first, then acknowledged
            request ack "\"consumer\":\"events\",\"position\":$here"
            ;;
        esac
    done
