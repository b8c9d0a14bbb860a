# Makes and runs a server of Postgres in a new temporary folder until its standard input ends, whatever ends the program at the other end; then
# stops it and removes the folder. `server.sh FOLDER_OF_PROGRAMS [FOLDER_OF_POOLER]`; the lines `stop` and `start` do that, and `pause` and `resume` stop
# its processes for a while. Prints the folder, then each state. The pooler has the port 6432, and gives each transaction one of three connections.
set -eu
trap '' INT TERM HUP
programs="$1"
folder="$(mktemp -d /tmp/tool-session.XXXXXX)"
trap 'rm -rf "$folder"' EXIT
as=""
# The server refuses to run as root.
if [ "$(id -u)" = 0 ]; then
    user=postgres
    id "$user" >/dev/null 2>&1 || user=nobody
    chown "$user" "$folder"
    as="setpriv --reuid=$user --regid=$(id -g "$user") --clear-groups"
    $as test -x "$programs/initdb" ||
        { echo "the user $user cannot run $programs/initdb; use a target folder that all users can read" >&2; exit 1; }
fi
cd "$folder"
control() {
    # Without the pipes of this script, which the server would keep open.
    $as "$programs/pg_ctl" -D "$folder/data" -l "$folder/log" -w -t 60 "$@" </dev/null >/dev/null 2>&1
}
start() {
    control -o "-c listen_addresses='' -c unix_socket_directories='$folder' -c fsync=${SESSION_FSYNC:-off} -c max_connections=300 -c deadlock_timeout=200ms" start
}
$as "$programs/initdb" -D "$folder/data" -U tester --auth=trust --encoding=UTF8 --locale=C --no-sync </dev/null >"$folder/initdb.log" 2>&1 ||
    { cat "$folder/initdb.log" >&2; exit 1; }
signal_processes() {
    [ -e data/postmaster.pid ] || return 0
    server="$(head -n 1 data/postmaster.pid)"
    # Some may have ended.
    kill -"$1" "$server" $(cat "/proc/$server/task/$server/children") 2>/dev/null || true
}
start || { cat "$folder/log" >&2; exit 1; }
pooler=""
if [ -n "${2:-}" ]; then
    cp -r "$2" "$folder/pooler"
    cat >"$folder/pooler.ini" <<END
[databases]
postgres = host=$folder dbname=postgres
[pgbouncer]
unix_socket_dir = $folder
listen_port = 6432
auth_type = trust
auth_file = $folder/users
pool_mode = transaction
default_pool_size = 3
max_client_conn = 1000
END
    echo '"tester" ""' >"$folder/users"
    chmod -R a+rX "$folder/pooler" "$folder/pooler.ini" "$folder/users"
    LD_LIBRARY_PATH="$folder/pooler" $as "$folder/pooler/pgbouncer" -q "$folder/pooler.ini" </dev/null >"$folder/pooler.log" 2>&1 &
    pooler=$!
    until "$programs/pg_isready" -q -h "$folder" -p 6432; do
        kill -0 "$pooler" 2>/dev/null || { cat "$folder/pooler.log" >&2; exit 1; }
        sleep 0.02
    done
fi
echo "$folder"
while read -r line; do
    case "$line" in
        stop) control -m immediate stop ;;
        start) start ;;
        pause) signal_processes STOP ;;
        resume) signal_processes CONT ;;
    esac
    echo "$line"
done
[ -z "$pooler" ] || kill "$pooler" || true
signal_processes CONT
control -m immediate stop || true
