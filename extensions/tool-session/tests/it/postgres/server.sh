# Makes and runs a server of Postgres in a new temporary folder until its standard input ends, whatever ends the program at the other end; then
# stops it and removes the folder. `server.sh FOLDER_OF_PROGRAMS`; the lines `stop` and `start` do that. Prints the folder, then each state.
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
fi
cd "$folder"
control() {
    # Without the pipes of this script, which the server would keep open.
    $as "$programs/pg_ctl" -D "$folder/data" -l "$folder/log" -w -t 60 "$@" </dev/null >/dev/null 2>&1
}
start() {
    control -o "-c listen_addresses='' -c unix_socket_directories='$folder' -c fsync=off -c max_connections=300 -c deadlock_timeout=200ms" start
}
$as "$programs/initdb" -D "$folder/data" -U tester --auth=trust --encoding=UTF8 --locale=C --no-sync </dev/null >"$folder/initdb.log" 2>&1 ||
    { cat "$folder/initdb.log" >&2; exit 1; }
start || { cat "$folder/log" >&2; exit 1; }
echo "$folder"
while read -r line; do
    case "$line" in
        stop) control -m immediate stop ;;
        start) start ;;
    esac
    echo "$line"
done
control -m immediate stop || true
