#!/usr/bin/env bash
# Run a command against a PostgreSQL of its own: scripts/postgres.sh COMMAND [ARGUMENT...]
#
# The command finds the server's address in STEELYARD_TEST_POSTGRES. The cluster lives in a temporary folder, listens on
# a free port of the loopback interface only, runs as a user that is not root, and is gone when the command has ended,
# however it ended. PostgreSQL is installed with apt when it is not there; no other cluster is made or touched.
set -euo pipefail

if [ $# -eq 0 ]; then
    echo "usage: $0 COMMAND [ARGUMENT...]" >&2
    exit 2
fi

find_bin() {
    local candidate
    for candidate in $(ls -d /usr/lib/postgresql/*/bin /usr/pgsql-*/bin 2>/dev/null | sort -V -r); do
        if [ -x "$candidate/initdb" ] && [ -x "$candidate/postgres" ]; then
            echo "$candidate"
            return
        fi
    done
    if command -v initdb >/dev/null && command -v pg_ctl >/dev/null; then
        dirname "$(readlink -f "$(command -v initdb)")"
    fi
}

install_postgres() {
    if ! command -v apt-get >/dev/null; then
        echo "$0: PostgreSQL is not installed and there is no apt-get to install it with" >&2
        exit 1
    fi
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        as_root=(sudo)
    fi
    echo "$0: installing PostgreSQL" >&2
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql-common >&2
    # The package would otherwise make and start a cluster of its own.
    "${as_root[@]}" sed -i 's/^#\? *create_main_cluster.*/create_main_cluster = false/' /etc/postgresql-common/createcluster.conf
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql >&2
}

bin=$(find_bin)
if [ -z "$bin" ]; then
    install_postgres
    bin=$(find_bin)
fi
if [ -z "$bin" ]; then
    echo "$0: initdb and postgres are not to be found" >&2
    exit 1
fi

# The server refuses to run as root.
server=()
if [ "$(id -u)" -eq 0 ]; then
    owner=postgres
    id -u "$owner" >/dev/null 2>&1 || owner=nobody
    server=(setpriv --reuid="$owner" --regid="$(id -g "$owner")" --clear-groups)
fi

folder=$(mktemp -d "${TMPDIR:-/tmp}/steelyard-postgres.XXXXXX")
cleanup() {
    "${server[@]}" "$bin/pg_ctl" -D "$folder/data" -m immediate -w stop >/dev/null 2>&1 || true
    rm -rf "$folder"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
chmod 755 "$folder"
if [ ${#server[@]} -gt 0 ]; then
    chown "$owner" "$folder"
fi

cd "$folder"
"${server[@]}" "$bin/initdb" -D "$folder/data" -U steelyard -A trust -E UTF8 --locale=C --no-sync >"$folder/initdb.log" 2>&1 || {
    cat "$folder/initdb.log" >&2
    exit 1
}
for attempt in 1 2 3 4 5; do
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    # Writes need not survive a power cut: the tests kill clients, never the machine.
    options="-c listen_addresses=127.0.0.1 -c port=$port -c unix_socket_directories=$folder -c fsync=off -c max_connections=60"
    if "${server[@]}" "$bin/pg_ctl" -D "$folder/data" -l "$folder/data/log" -o "$options" -w -t 60 start >/dev/null; then
        started=yes
        break
    fi
done
if [ "${started:-}" != yes ]; then
    cat "$folder/data/log" >&2
    exit 1
fi
cd "$OLDPWD"

export STEELYARD_TEST_POSTGRES="postgresql://steelyard@127.0.0.1:$port/postgres"
"$@"
