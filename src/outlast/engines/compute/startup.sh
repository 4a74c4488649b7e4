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
tries_max=${OUTLAST_TRIES_MAX:-120}
pause_seconds=${OUTLAST_PAUSE_SECONDS:-5}   # between two tries: rights take minutes to arrive
said=

mkdir -p "$base" && rm -f "$base/pid" && exec >>"$log" 2>&1 </dev/null

# What it says is kept in memory too: a full disk keeps nothing.
say() {
  local line
  line="$(date -u +%FT%TZ) outlast: $1"
  said=$said$line$'\n'
  printf '%s\n' "$line" | tee /dev/ttyS0 2>/dev/null || true
}

# The end of the log, whole, or of what was said where the log could not be written.
last_words() {
  local kept
  kept=$(tail -c 4000 "$log" 2>/dev/null)
  case $kept in *"$1"*) printf '%s' "$kept" ;; *) printf '%s' "$said" | tail -c 4000 ;; esac
}

metadata() {
  curl -sf --max-time 10 --retry 10 --retry-delay 2 --retry-connrefused -H 'Metadata-Flavor: Google' "$server/$1"
}

room() { df -Ph "$base" 2>&1 | tail -n 1; }

attribute() { metadata "instance/attributes/$1"; }

token() {
  metadata instance/service-accounts/default/token | sed -n 's/.*"access_token" *: *"\([^"]*\)".*/\1/p'
}

# call VERB URL [CURL'S WORDS...]: prints the status; the answer is in $base/answer. The token is in no argument list.
call() {
  local verb=$1 url=$2 status
  shift 2
  status=$(curl -s --connect-timeout 10 --speed-limit 1 --speed-time 60 -K <(printf 'header = "Authorization: Bearer %s"\n' "$(token)") \
    -o "$base/answer" -w '%{http_code}' -X "$verb" "$@" "$url")
  case $? in 0 | 23) printf '%s' "$status" ;; *) printf 000 ;; esac   # 23: it was answered, but a full disk keeps no answer
}

# What the last answer says: Google's own words, which name a right that is missing.
words() {
  local found
  found=$(sed -n 's/.*"message" *: *"\([^"]*\)".*/\1/p' "$base/answer" 2>/dev/null | head -n 1)
  printf '%s' "${found:-$(tr '\n' ' ' <"$base/answer" 2>/dev/null)}" | head -c 400
}

# create NAME: a record beside this launch's boots, unless it is there, of what comes in.
create() {
  call POST "$storage/upload/storage/v1/b/$bucket/o?uploadType=media&name=$boots$1&ifGenerationMatch=0" \
    -H 'Content-Type: application/octet-stream' --data-binary @-
}

is_there() { [ "$(call GET "$storage/storage/v1/b/$bucket/o/$boots$1?fields=name")" = 200 ]; }

# For whoever looks at this machine: the only place that needs no right.
tell() {
  curl -sf --max-time 10 -X PUT -H 'Metadata-Flavor: Google' --data-binary @- "$server/instance/guest-attributes/outlast/$1" >/dev/null || true
}

# The group recreates whatever stops by itself: only without it is this over. Who may not delete it may be allowed to empty it. Who may
# do neither asks for some minutes, since rights arrive late, and powers off. Made again it asks once, and is off again within a minute or two:
# until somebody looks, or its time is over, little more than its disk is paid for.
end_group() {
  local try status why refused=0
  for try in $(seq 1 60); do
    status=$(call DELETE "$group")
    say "asked for the end of the group: $status"
    case $status in
      404) break ;;
      401 | 403)
        why="this machine may not end its group: $status $(words)"
        say "$why"
        if [ "$refused" = 0 ] && [ "$(printf '%s' "$why" | create stuck)" = 412 ]; then refused=9; fi   # so did one before it
        refused=$((refused + 1))
        status=$(call POST "$group/resize?size=0&requestId=$(cat /proc/sys/kernel/random/uuid)" --data-binary '')
        say "asked for an empty group: $status"
        [ "$refused" -lt 10 ] || break
        ;;
    esac
    sleep $((try < 5 ? 1 << try : 30))
  done
  poweroff_now
}

# This machine is not needed any more: its group deletes it, and is so much smaller from then on. By itself it does not power off, since
# the group would make it again. What is refused is said where somebody looks, and comes back from here: as long as the machine is paid
# for, its agent watches what all of them cost, and has it ask again now and then.
leave_group() {
  local try=0 status zone request why
  zone=$(metadata instance/zone) || give_up 'the metadata server does not say which zone this is'
  while :; do
    request=$(cat /proc/sys/kernel/random/uuid)
    status=$(printf '{"instances": ["zones/%s/instances/%s"]}' "${zone##*/}" "$name" |
      call POST "$group/deleteInstances?requestId=$request" -H 'Content-Type: application/json' --data-binary @-)
    say "asked to leave the group: $status"
    case $status in
      200) sleep "$((pause_seconds * 24))" ;;
      404) poweroff_now ;;
      401 | 403)
        why="this machine is not needed any more, and may not leave its group: $status $(words)"
        say "$why"
        printf '%s' "$why" | create "$rank-$count-spare" >/dev/null
        return
        ;;
      *) try=$((try + 1)) && sleep $((try < 5 ? 1 << try : 30)) ;;
    esac
  done
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
  printf '%s' "$2" | create failed >/dev/null
  say "$boots_max boots in a row did not come up: the launch ends"
  end_group
}

# What went wrong in this boot is there for whoever asks why; then the group makes another machine.
give_up() {
  say "$1"
  if [ -n "${count:-}" ]; then
    local why
    why=$(last_words "$1")
    printf '%s' "$why" | create "$rank-$count-log" >/dev/null
    end_if_spent $((count + 1)) "$why"
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
stays=$(attribute outlast-stays) || stays=
digest=${agent##*%2F}

count=1
tries=0
while :; do
  status=$(create "$rank-$count" </dev/null)
  case $status in
    200) break ;;
    412) count=$((count + 1)) ;;
    *)
      tries=$((tries + 1))
      say "boot $rank-$count could not be written: $status $(words)"
      tail -c 1000 <<<"$said" | tell waits
      if [ "$tries" -ge "$tries_max" ]; then
        case $status in
          401 | 403 | 404)
            say 'this machine has no right on the bucket, or there is no such bucket'
            tail -c 1000 <<<"$said" | tell failed
            sleep $((pause_seconds * 12))   # whoever looks ends it, with these words
            end_group
            ;;
          *)
            # Nobody can be told anything. Where money limits how long a machine runs, Google ends it, and its group does not make it again.
            [ -n "$stays" ] || poweroff_now
            sleep $((pause_seconds * 11))
            ;;
        esac
      fi
      sleep "$pause_seconds"
      ;;
  esac
done
say "boot $count of rank $rank"

if [ "$count" -gt "$boots_max" ]; then
  call GET "$storage/storage/v1/b/$bucket/o/$boots$rank-$((count - 1))-log?alt=media" >/dev/null
  end_if_spent "$count" "$(cat "$base/answer" 2>/dev/null)"
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
  [ "$status" = 200 ] || give_up "the agent could not be fetched: $status $(words)"
  printf '%s  %s\n' "$digest" "$base/answer" | sha256sum -c --status || give_up "the agent is not what was shipped, or has no room: $(room)"
  rm -rf "$root" && mkdir -p "$root" || give_up "no room for the agent: $(room)"
  "$python" -m zipfile -e "$base/answer" "$root" || give_up "the agent could not be unpacked: $(room)"
  : >"$root/whole"
fi

say "starting the agent with $python"
cd /
while :; do
  # By itself, with its output in a file: whoever runs this script reads our output line by line, and stops at a long one.
  PYTHONPATH=$root setsid "$python" -m outlast.machine.rented "$rank" "$count" "$base" >>"$base/agent.log" 2>&1
  code=$?
  case $code in
    0) end_group ;;
    10) say 'this machine has left; the group makes another one' && poweroff_now ;;
    20) leave_group ;;
    *) cat "$base/agent.log" >>"$log" && give_up "the agent ended with $code" ;;
  esac
  sleep "$pause_seconds"
done
