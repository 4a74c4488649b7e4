#!/bin/bash
# What an image must not carry from the machine that it is made of. Functions only: image.sh, which stands behind this, calls `scrub`.

# take WHAT PATH...: removes what is there, and remembers WHAT if there was anything.
take() {
  local what=$1 path found=
  shift
  for path in "$@"; do
    if [ -e "$path" ] || [ -L "$path" ]; then
      rm -rf --one-file-system -- "$path" && found=yes
    fi
  done
  [ -z "$found" ] || scrubbed[$what]=yes
}

# clear_out WHAT DIRECTORY...: the directories stay, with what is mounted in them.
clear_out() {
  local what=$1 directory
  shift
  for directory in "$@"; do
    [ -d "$directory" ] || continue
    [ -z "$(find "$directory" -xdev -mindepth 1 ! -type d -print -quit)" ] || scrubbed[$what]=yes
    find "$directory" -xdev -mindepth 1 ! -type d -delete 2>/dev/null
  done
}

# A file of settings stays, unless an address in it has a password.
take_if_secret() {
  local path
  for path in "$@"; do
    grep -Eqs '://[^/[:space:]]*@' "$path" && take 'tokens' "$path"
  done
}

scrub_home() {
  local home=$1
  take 'ssh keys' "$home/.ssh"
  take 'histories' "$home"/.{bash,zsh,python,node_repl,psql,mysql,sqlite,rediscli}_history "$home/.lesshst" "$home/.viminfo" \
    "$home/.wget-hsts" "$home/.local/share/fish" "$home/.local/state/bash" "$home"/.ipython/profile_*/history.sqlite*
  take 'tokens' "$home"/.config/{gcloud,gh,kaggle,rclone,wandb,hub} "$home/.config/git/credentials" "$home/.git-credentials" \
    "$home/.netrc" "$home/.docker" "$home/.aws" "$home/.azure" "$home/.boto" "$home/.gsutil" "$home/.s3cfg" "$home/.kube" \
    "$home/.kaggle" "$home/.huggingface" "$home/.cache/huggingface/token" "$home/.cache/huggingface/stored_tokens" "$home/.pypirc" \
    "$home/.npmrc" "$home/.pgpass" "$home/.my.cnf" "$home/.vault-token" "$home/.gnupg" "$home/.local/share/uv/credentials" \
    "$home/.local/share/jupyter/runtime" "$home/.jupyter"
  take_if_secret "$home/.pip/pip.conf" "$home/.config/pip/pip.conf" "$home/.config/uv/uv.toml"
  take 'package caches' "$home/.cache/pip" "$home/.cache/uv"
}

scrub() {
  local home
  declare -gA scrubbed=()
  shopt -s nullglob dotglob
  for home in "$root/root" "$root"/home/*; do
    scrub_home "$home"
  done
  take 'ssh keys' "$root"/etc/ssh/ssh_host_*
  take 'tokens' "$root/etc/boto.cfg"
  take_if_secret "$root/etc/pip.conf" "$root/etc/uv/uv.toml"
  take "the agent's state" "$root/var/lib/outlast"
  clear_out 'logs' "$root/var/log" "$root/var/lib/systemd/coredump" "$root/var/crash"
  clear_out 'temporary files' "$root/tmp" "$root/var/tmp"
  take "the machine's identity" "$root/var/lib/dbus/machine-id" "$root/etc/default/instance_configs.cfg" "$root/var/lib/cloud" \
    "$root/var/lib/systemd/random-seed" "$root"/var/lib/dhcp/*
  if [ -s "$root/etc/machine-id" ]; then
    : >"$root/etc/machine-id" && scrubbed["the machine's identity"]=yes
  fi
  shopt -u nullglob dotglob
}
