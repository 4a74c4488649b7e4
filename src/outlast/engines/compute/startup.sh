#!/bin/bash
# Boots a rented machine of outlast: counts this boot in the home, fetches the agent, runs it. At every boot, as root.
# Nothing is ever filled in here: what differs from job to job is asked of the metadata server, and never becomes code.
set -u
umask 077
export LC_ALL=C PATH=${PATH:-/usr/bin}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

base=${OUTLAST_BASE:-/var/lib/outlast}
server=http://${GCE_METADATA_HOST:-169.254.169.254}/computeMetadata/v1
log=$base/boot.log
boots_max=3
tries_max=120   # of five seconds each: rights take minutes to arrive

mkdir -p "$base" && rm -f "$base/pid" && exec >>"$log" 2>&1 </dev/null

say() { printf '%s outlast: %s\n' "$(date -u +%FT%TZ)" "$1" | tee /dev/ttyS0 2>/dev/null || true; }

metadata() {
  curl -sf --max-time 10 --retry 10 --retry-delay 2 --retry-connrefused -H 'Metadata-Flavor: Google' "$server/$1"
}

attribute() { metadata "instance/attributes/$1"; }

token() {
  metadata instance/service-accounts/default/token | sed -n 's/.*"access_token" *: *"\([^"]*\)".*/\1/p'
}

# call VERB URL [CURL'S WORDS...]: prints the status; the answer is in $base/answer. The token is in no argument list.
call() {
  local verb=$1 url=$2
  shift 2
  printf 'header = "Authorization: Bearer %s"\n' "$(token)" |
    curl -s --connect-timeout 10 --speed-limit 1 --speed-time 60 -K - -o "$base/answer" -w '%{http_code}' -X "$verb" "$@" "$url" || printf 000
}

# create NAME FILE: a record beside this launch's boots, unless it is there.
create() {
  call POST "$storage/upload/storage/v1/b/$bucket/o?uploadType=media&name=$boots$1&ifGenerationMatch=0" \
    -H 'Content-Type: application/octet-stream' --data-binary "@$2"
}

is_there() { [ "$(call GET "$storage/storage/v1/b/$bucket/o/$boots$1?fields=name")" = 200 ]; }

# The group recreates whatever stops by itself: only without it is this over.
end_group() {
  local try status
  for try in $(seq 1 60); do
    status=$(call DELETE "$group")
    say "asked for the end of the group: $status"
    [ "$status" = 404 ] && break
    sleep $((try < 5 ? 1 << try : 30))
  done
  poweroff_now
}

poweroff_now() {
  sync
  poweroff -f 2>/dev/null || poweroff || halt -f
  exit 1
}

# The last boots_max boots before $1 did not come up: the launch ends, and $2 says why.
end_if_spent() {
  local before
  [ "$1" -gt "$boots_max" ] || return 0
  for before in $(seq $(($1 - boots_max)) $(($1 - 1))); do
    is_there "$rank-$before-up" && return 0
  done
  create failed "$2" >/dev/null
  say "$boots_max boots in a row did not come up: the launch ends"
  end_group
}

# What went wrong in this boot is there for whoever asks why; then the group makes another machine.
give_up() {
  say "$1"
  if [ -n "${count:-}" ]; then
    tail -c 4000 "$log" >"$base/tail"
    create "$rank-$count-log" "$base/tail" >/dev/null
    end_if_spent $((count + 1)) "$base/tail"
  fi
  poweroff_now
}

name=$(metadata instance/name) || give_up 'the metadata server does not answer'
rank=${name##*-}
storage=$(attribute outlast-storage) || give_up 'no attribute outlast-storage'
bucket=$(attribute outlast-bucket) || give_up 'no attribute outlast-bucket'
boots=$(attribute outlast-boots) || give_up 'no attribute outlast-boots'
group=$(attribute outlast-group) || give_up 'no attribute outlast-group'
agent=$(attribute outlast-agent) || give_up 'no attribute outlast-agent'
digest=${agent##*%2F}

: >"$base/empty"
count=1
tries=0
while :; do
  status=$(create "$rank-$count" "$base/empty")
  case $status in
    200) break ;;
    412) count=$((count + 1)) ;;
    *)
      tries=$((tries + 1))
      say "boot $rank-$count could not be written: $status $(head -c 300 "$base/answer" | tr '\n' ' ')"
      if [ "$tries" -ge "$tries_max" ]; then
        say 'this machine has no right on the bucket, or there is no such bucket'
        case $status in 401 | 403 | 404) end_group ;; *) poweroff_now ;; esac
      fi
      sleep 5
      ;;
  esac
done
say "boot $count of rank $rank"

if [ "$count" -gt "$boots_max" ]; then
  call GET "$storage/storage/v1/b/$bucket/o/$boots$rank-$((count - 1))-log?alt=media" >/dev/null
  mv "$base/answer" "$base/before"
  end_if_spent "$count" "$base/before"
fi

python=
for one in python3 python3.13 python3.12 python3.11 python3.10; do
  if "$one" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    python=$(command -v "$one")
    break
  fi
done
[ -n "$python" ] || give_up 'this image has no Python 3.10 or newer'

root=$base/agent/$digest
if [ ! -e "$root/whole" ]; then
  status=$(call GET "$storage/storage/v1/b/$bucket/o/$agent?alt=media")
  [ "$status" = 200 ] || give_up "the agent could not be fetched: $status"
  printf '%s  %s\n' "$digest" "$base/answer" | sha256sum -c --status || give_up 'the agent is not what was shipped'
  rm -rf "$root" && mkdir -p "$root" || give_up 'no room for the agent'
  "$python" -m zipfile -e "$base/answer" "$root" || give_up 'the agent could not be unpacked'
  : >"$root/whole"
fi

say "starting the agent with $python"
cd /
# By itself, with its output in a file: whoever runs this script reads our output line by line, and stops at a long one.
PYTHONPATH=$root setsid "$python" -m outlast.machine.rented "$rank" "$count" "$base" >>"$base/agent.log" 2>&1
code=$?
case $code in
  0) end_group ;;
  10) say 'this machine has left; the group makes another one' && poweroff_now ;;
  *) cat "$base/agent.log" >>"$log" && give_up "the agent ended with $code" ;;
esac
