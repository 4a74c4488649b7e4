# Makes what an image is saved of, on a machine that has no rights anywhere: an environment and the user's own set-up, or a job's disk as
# it was; then nobody's traces. It says how it went by guest attributes, and waits to be deleted.
# Nothing is ever filled in here: the user's files come from the metadata server as files, and never become part of this script.
set -u
umask 022
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_PROGRESS_BAR=off
export PATH=${PATH:-/usr/bin}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=${HOME:-/root}

root=${OUTLAST_BASE:+${OUTLAST_BASE%/var/lib/outlast}}
base=$root/var/lib/outlast-image
environment=$root/opt/outlast/environment
server=http://${GCE_METADATA_HOST:-169.254.169.254}/computeMetadata/v1
tail_bytes=6000

metadata() {
  curl -sf --max-time 20 --retry 10 --retry-delay 2 --retry-connrefused -H 'Metadata-Flavor: Google' "$server/$1"
}

attribute() { metadata "instance/attributes/$1"; }

# tell NAME FILE: a guest attribute, which whoever waits for this machine reads.
tell() {
  curl -sf --max-time 20 --retry 10 --retry-delay 2 --retry-connrefused -X PUT -H 'Metadata-Flavor: Google' \
    -H 'Content-Type: application/octet-stream' --data-binary "@$2" "$server/instance/guest-attributes/outlast/$1"
}

# Every line into the log and to the serial port: cut, since long ones break what reads there.
keep_log() {
  local line
  while IFS= read -r line || [ -n "$line" ]; do
    printf '%s\n' "$line" >>"$base/log"
    printf 'outlast-image: %.900s\n' "$line" 2>/dev/null >/dev/ttyS0
  done
}

find_python() {
  local one
  if [ -n "$wanted" ]; then
    command -v "python$wanted" && return
    return 1
  fi
  for one in python3 python3.13 python3.12 python3.11 python3.10 /opt/conda/bin/python3; do
    if "$one" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
      command -v "$one" && return
    fi
  done
  return 1
}

# A Python that the base does not have is fetched by uv, into a place of its own.
fetch_python() {
  local tools=$root/opt/outlast/tools
  export UV_PYTHON_INSTALL_DIR=$root/opt/outlast/python UV_PYTHON_INSTALL_BIN=0
  echo "this base has no python$wanted: uv fetches one"
  make_environment "$(wanted='' && find_python)" "$tools" && "$tools/bin/pip" install -q uv &&
    "$tools/bin/uv" python install "$wanted" &&
    "$tools/bin/uv" python find --managed-python --no-project "$wanted" >"$base/python"
}

# Debian keeps a part of venv in a package of its own. The base's packages are seen: CUDA's and torch's are large.
make_environment() {
  local python=$1 at=$2
  [ -n "$python" ] || return 1
  "$python" -m venv --clear --system-site-packages "$at" && return
  rm -rf "$at"
  apt-get update -q && apt-get install -qy "${python##*/}-venv" && "$python" -m venv --clear --system-site-packages "$at"
}

build() {
  local python
  python=$(find_python)
  if [ -z "$python" ] && [ -n "$wanted" ] && fetch_python; then
    python=$(cat "$base/python")
  fi
  [ -n "$python" ] || { echo "there is no Python ${wanted:-3.10 or newer} for the environment"; return 1; }
  echo "an environment of $python"
  mkdir -p "${environment%/*}" && make_environment "$python" "$environment" || return
  export VIRTUAL_ENV=$environment PATH=$environment/bin:$PATH
  if attribute outlast-requirements >"$base/requirements.txt" && [ -s "$base/requirements.txt" ]; then
    echo 'installing the requirements'
    "$environment/bin/python" -m pip install -r "$base/requirements.txt" || return
  fi
  if attribute outlast-setup >"$base/setup" && [ -s "$base/setup" ]; then
    echo 'running the set-up script'
    run_setup || { echo "the set-up script ended with $?"; return 1; }
  fi
}

# By its own first line, in a shell of its own, in a directory that is not kept.
run_setup() (
  chmod 700 "$base/setup" && mkdir -p "$base/work" && cd "$base/work" || exit 1
  [ "$(head -c 2 "$base/setup")" = '#!' ] && exec "$base/setup"
  exec bash "$base/setup"
)

# The log's keeper ends when nobody writes any more; what the set-up has left running may never stop.
close_log() {
  local try
  exec >/dev/null 2>&1
  for try in $(seq 1 50); do
    kill -0 "$keeper" 2>/dev/null || return
    sleep 0.1
  done
}

name=$(metadata instance/name) || exit 1
case $name in outlast-image-*) ;; *) exit 1 ;; esac
rm -rf "$base" && mkdir -p "$base" && chmod 700 "$base" || exit 1
: >"$base/log"
exec > >(keep_log) 2>&1 </dev/null
keeper=$!
nonce=$(attribute outlast-nonce)
wanted=$(attribute outlast-python)
[ "$(attribute outlast-task)" = save ] || build
code=$?
if [ "$code" = 0 ]; then
  if [ -x "$environment/bin/python" ]; then
    "$environment/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2], end="")' >"$base/environment" && tell environment "$base/environment"
  fi
  scrub
  printf '%s\n' "${!scrubbed[@]}" | sort >"$base/scrubbed"
  tell scrubbed "$base/scrubbed"
  echo 'done'
fi
close_log
if [ "$code" = 0 ]; then
  rm -rf "$base" "$root/opt/outlast/tools"
  mkdir -p "$root/run" && printf 'built %s' "$nonce" >"$root/run/outlast-image-result"
else
  tail -c "$tail_bytes" "$base/log" >"$base/tail" && tell log "$base/tail"
  mkdir -p "$root/run" && printf 'failed %s' "$nonce" >"$root/run/outlast-image-result"
fi
sync
tell result "$root/run/outlast-image-result"
