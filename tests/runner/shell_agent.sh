#!/bin/bash
# An agent in shell: asks the model, writes each answer to standard output, runs the command that it is told, and ends
# when it is told a text. What it does besides is its first argument.
#   agent: nothing else; retry: a refused call again and again; crash: ends badly; hang: never ends; orphan: leaves a
#   process in a session of its own; garbage: writes a log that is none; deaf: ignores interrupts
host=${ENDPOINT#http://}
results=""
ask() {
    body="{\"model\": \"$MODEL\", \"messages\": [{\"role\": \"user\", \"content\": \"hi\"}$results],
        \"tools\": [{\"type\": \"function\", \"function\": {\"name\": \"bash\", \"parameters\": {\"properties\": {\"command\": {\"type\": \"string\"}}}}}]}"
    exec 3<>"/dev/tcp/${host%:*}/${host#*:}" || return 1
    printf 'POST /v1/chat/completions HTTP/1.1\r\nHost: m\r\nAuthorization: Bearer %s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s' \
        "$TOKEN" "${#body}" "$body" >&3
    answer=$(cat <&3)
    exec 3>&-
    status=${answer#* }; status=${status%% *}
}
[ "$1" = deaf ] && trap '' INT
[ "$1" = garbage ] && head -c 3000 /dev/urandom
[ "$1" = orphan ] && { setsid sleep "$2" </dev/null >/dev/null 2>&1 & }
while ask; do
    if [ "$status" != 200 ]; then
        echo "refused with $status" >&2
        [ "$1" = retry ] && { sleep 0.1; continue; }
        exit 3
    fi
    command=$(printf '%s' "$answer" | sed -n 's/.*{\\"command\\": \\"\(.*\)\\"}.*/\1/p')
    [ -n "$command" ] || break
    sh -c "$(printf '%b' "$(printf '%b' "$command")")" # escaped twice: JSON in JSON
    results="$results, {\"role\": \"tool\", \"content\": \"done\"}"
done
case $1 in crash) exit 9 ;; hang | deaf) sleep "$2" ;; esac
