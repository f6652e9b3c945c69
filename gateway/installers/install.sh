#!/bin/sh
# Installs the Muster agent on Linux and macOS, or removes it.
#
#   curl -fsSL https://HOST/install.sh | sudo sh
#   curl -fsSL https://HOST/install.sh | sudo sh -s -- --key-file FILE
#
#   --url URL        the platform; by default the host that served this script
#   --key-file FILE  holds the enrollment key; removed after use. Without it: MUSTER_ENROLLMENT_KEY, else the terminal
#   --ca-file FILE   certificate of the platform's authority (PEM)
#   --root-key KEY   verifier key of release manifests, where the program has none built in
#   --prefix DIR     installs into DIR, for this user (needs --no-service)
#   --no-service     starts the watchdog in the background instead of a service
#   --uninstall      stops and removes agent, service and state
#
# It ends with 0 once the machine is online. Killed at any moment it leaves a machine as before, or one on which the
# same line finishes what it began.
set -eu
umask 022

# The whole script is read before any of it runs: a download that was cut does nothing.
main() {

url='@PUBLIC_URL@'
key_file='' ca_file='' root_key='' prefix='' service=yes action=install
user=muster-agent

say() { printf 'muster-agent: %s\n' "$*"; }
fail() { printf 'muster-agent: %s\n' "$*" >&2; exit 1; }

while [ $# -gt 0 ]; do
  case $1 in
    --url | --key-file | --ca-file | --root-key | --prefix)
      [ $# -ge 2 ] || fail "$1 needs a value"
      case $1 in
        --url) url=${2%/} ;;
        --key-file) key_file=$2 ;;
        --ca-file) ca_file=$2 ;;
        --root-key) root_key=$2 ;;
        --prefix) prefix=${2%/} ;;
      esac
      shift 2
      ;;
    --no-service) service=no && shift ;;
    --uninstall) action=uninstall && shift ;;
    *) fail "unknown option $1" ;;
  esac
done

if [ -n "$prefix" ]; then
  [ "$service" = no ] || fail '--prefix needs --no-service'
  case $prefix in /*) ;; *) fail '--prefix is an absolute path' ;; esac
  program=$prefix state=$prefix/state config=$prefix/config.json
else
  [ "$(id -u)" = 0 ] || fail 'run it as root, such as with sudo, or with --prefix DIR --no-service'
  program=/opt/muster-agent state=/var/lib/muster-agent config=/etc/muster-agent/config.json
fi
unit=/etc/systemd/system/muster-agent.service
openrc=/etc/init.d/muster-agent
plist=/Library/LaunchDaemons/com.muster.agent.plist
# Where the download is unpacked: not in /tmp, where programs may not be permitted to run.
home=${prefix:-/opt}
# The user whose the installed files are; empty for the one who runs this script.
owner=''
[ "$service" = no ] || [ "$(uname -s)" != Linux ] || owner=$user

has() { command -v "$1" >/dev/null 2>&1; }
# In folders of the agent's user root does nothing itself: the links that this user may have put there would lead it on.
as_owner() {
  if [ -z "$owner" ]; then "$@"
  elif has runuser; then runuser -u "$owner" -- "$@"
  else su -s /bin/sh "$owner" -c 'exec "$0" "$@"' -- "$@"
  fi
}
# Stores the input as a file of the agent's user alone.
store() { as_owner sh -c 'umask 077 && rm -f "$1.new" && cat >"$1.new" && mv -f "$1.new" "$1"' sh "$1"; }
has_systemd() { [ -d /run/systemd/system ] && has systemctl; }

# The process of a lock file, if it still is the one that took it, of the user whose the folder is: a number is used
# again, and that user may write any number.
pid_of() {
  [ -f "$1" ] && [ -r "$1" ] || return 1
  read -r found started <"$1" || [ -n "${found:-}" ] || return 1
  case $found in 0* | *[!0-9]*) return 1 ;; esac
  kill -0 "$found" 2>/dev/null || return 1
  if [ -d /proc/self ]; then
    [ "$(sed 's/.*) //' "/proc/$found/stat" | cut -d' ' -f20)" = "$started" ] || return 1
    [ "$(stat -c %u "/proc/$found")" = "$(stat -c %u "$state")" ] || return 1
  fi
  echo "$found"
}

end_processes() {
  for lock in watchdog.lock agent.lock; do
    pid=$(pid_of "$state/$lock") || continue
    kill "$pid" 2>/dev/null || true
    tries=0
    while kill -0 "$pid" 2>/dev/null && [ $tries -lt 150 ]; do
      tries=$((tries + 1))
      sleep 0.1
    done
    kill -9 "$pid" 2>/dev/null || true
  done
}

uninstall() {
  if [ "$service" = yes ]; then
    if [ -f "$unit" ]; then
      systemctl disable --now muster-agent 2>/dev/null || true
      rm -f "$unit"
      systemctl daemon-reload 2>/dev/null || true
    fi
    if [ -f "$openrc" ]; then
      rc-service muster-agent stop 2>/dev/null || true
      rc-update del muster-agent default 2>/dev/null || true
      rm -f "$openrc"
    fi
    if [ -f "$plist" ]; then
      launchctl bootout system "$plist" 2>/dev/null || true
      rm -f "$plist"
    fi
  fi
  end_processes
  for name in versions current previous watchdog watchdog-previous .current.new .previous.new .watchdog.new .watchdog-previous.new; do
    rm -rf "${program:?}/$name"
  done
  rm -rf "${state:?}" "$home"/.muster-agent.??????
  rm -f "$config" "$config.new" "$(dirname "$config")/ca.pem"
  if [ -z "$prefix" ]; then
    rm -f /usr/local/bin/muster-agent /usr/local/bin/muster-agent.new
    rmdir /etc/muster-agent 2>/dev/null || true
    if has userdel && id "$user" >/dev/null 2>&1; then userdel "$user" 2>/dev/null || true; fi
  fi
  rmdir "$program" 2>/dev/null || true
  say 'removed. The device stays in the console until it is decommissioned there.'
}

if [ "$action" = uninstall ]; then
  uninstall
  exit 0
fi

case $(uname -s) in
  Linux) os=linux ;;
  Darwin) os=darwin ;;
  *) fail "there is no agent for $(uname -s)" ;;
esac
case $(uname -m) in
  x86_64 | amd64) arch=amd64 ;;
  aarch64 | arm64) arch=arm64 ;;
  *) fail "there is no agent for $(uname -m)" ;;
esac
libc='' query='' hint='' invert=-v
if [ "$os" = linux ] && ! (getconf GNU_LIBC_VERSION >/dev/null 2>&1); then
  case $(ldd --version 2>&1 || true) in
    *musl*) libc=/musl invert='' query=libc=musl hint=': it needs libstdc++ (apk add libstdc++)' ;;
    *) fail 'there is no agent for systems with neither glibc nor musl' ;;
  esac
fi

case $url in
  https://*) ;;
  http://localhost | http://localhost:* | http://127.* | http://\[::1\]*) ;;
  http*://*) fail "$url: only https, but to this machine" ;;
  *) fail 'name the platform with --url https://HOST' ;;
esac

if has curl; then
  get() { curl -fsSL --proto-redir =https --max-redirs 3 ${ca_file:+--cacert "$ca_file"} -o "$2" "$1"; }
elif has wget; then
  get() { wget -q --max-redirect=3 ${ca_file:+--ca-certificate="$ca_file"} -O "$2" "$1"; }
else
  fail 'curl or wget is needed'
fi
if has sha256sum; then
  digest() { sha256sum "$1" | cut -d' ' -f1; }
else
  digest() { shasum -a 256 "$1" | cut -d' ' -f1; }
fi

# The enrollment key: never an argument of a program, which every user of this machine could read.
key=''
read_key() {
  if [ -n "$key_file" ]; then
    [ -r "$key_file" ] || fail "$key_file is not readable"
    key=$(tr -d ' \r\n' <"$key_file")
  elif [ -n "${MUSTER_ENROLLMENT_KEY:-}" ]; then
    key=$MUSTER_ENROLLMENT_KEY
    unset MUSTER_ENROLLMENT_KEY
  elif [ -r /dev/tty ] && (: </dev/tty) 2>/dev/null; then
    printf 'Enrollment key: ' >/dev/tty
    stty -echo </dev/tty 2>/dev/null || true
    read -r key </dev/tty || true
    stty echo </dev/tty 2>/dev/null || true
    printf '\n' >/dev/tty
  else
    fail 'no enrollment key: use --key-file FILE, or export MUSTER_ENROLLMENT_KEY and sudo --preserve-env=MUSTER_ENROLLMENT_KEY'
  fi
  case $key in *[!0-9a-fA-F]*) fail 'an enrollment key has 64 hexadecimal digits' ;; esac
  [ ${#key} = 64 ] || fail 'an enrollment key has 64 hexadecimal digits'
}

# A member of the artifact of this system in the manifest's line of JSON.
member() {
  printf '%s' "$artifact" | sed -n "s/.*\"$1\":\"\\{0,1\\}\\([^\",}]*\\).*/\\1/p"
}

enrolled=no
[ -f "$state/identity.json" ] && enrolled=yes
[ "$enrolled" = yes ] && [ -z "$key_file" ] && [ -z "${MUSTER_ENROLLMENT_KEY:-}" ] || read_key

mkdir -p "$home"
# Of installations that were killed.
find "$home" -maxdepth 1 -name '.muster-agent.??????' -mmin +60 -exec rm -rf {} + 2>/dev/null || true
temp=$(mktemp -d "$home/.muster-agent.XXXXXX")
trap 'rm -rf "$temp"; [ -z "$prefix" ] || rmdir "$prefix" 2>/dev/null || true' EXIT
trap 'exit 1' HUP INT TERM
chmod 755 "$temp"

say "asking $url for the agent of $os/$arch$libc"
get "$url/api/v1/agents/download/$os/$arch/manifest${query:+?$query}" "$temp/manifest" ||
  fail "$url has no agent for $os/$arch$libc, or does not answer: is a release promoted there?"
line=$(head -n 1 "$temp/manifest")
version=$(printf '%s' "$line" | sed -n 's/.*"version":"\([0-9A-Za-z.-]*\)".*/\1/p')
# One artifact a line, without the object inside, so that its size and digest are those of the file.
artifact=$(printf '%s' "$line" | sed 's/"program":{[^}]*}//g; s/{/\n{/g' | grep "\"os\":\"$os\"" | grep "\"arch\":\"$arch\"" |
  grep $invert '"libc":"musl"' | head -n 1) || true
[ -n "$version" ] && [ -n "$artifact" ] || fail "the manifest has no agent for $os/$arch$libc"
case $version in *[!0-9A-Za-z.-]* | *..*) fail 'the manifest names no version' ;; esac
size=$(member size) sha256=$(member sha256) encoding=$(member encoding)

get "$url/api/v1/agents/download/$os/$arch?component=agent&version=$version${query:+&$query}" "$temp/file" || fail 'the download failed'
[ "$(wc -c <"$temp/file" | tr -d ' ')" = "$size" ] || fail 'the download has another size than the manifest says'
[ "$(digest "$temp/file")" = "$sha256" ] || fail 'the download has another digest than the manifest says'
case $encoding in
  gzip) gunzip -c <"$temp/file" >"$temp/program" ;;
  '') mv "$temp/file" "$temp/program" ;;
  *) fail "the download is packed as $encoding" ;;
esac
chmod 755 "$temp/program"
"$temp/program" --version >/dev/null || fail "the program does not start here$hint"

"$temp/program" verify --manifest "$temp/manifest" ${root_key:+--root-key "$root_key"} "$temp/program" ||
  fail 'the program is not the one of the manifest, or nobody whom it trusts signed it'
inner=$(digest "$temp/program")
counter=$(printf '%s' "$line" | sed -n 's/.*"counter":\([0-9]*\).*/\1/p')
printf '{"version":"%s","size":%s,"sha256":"%s","counter":%s,"component":"agent"}' \
  "$version" "$(wc -c <"$temp/program" | tr -d ' ')" "$inner" "${counter:-0}" >"$temp/release.json"

if [ -n "$owner" ] && ! id "$owner" >/dev/null 2>&1; then
  if has useradd; then
    useradd --system --home-dir "$state" --no-create-home --shell /usr/sbin/nologin "$owner"
  else
    adduser -S -D -H -h "$state" -s /sbin/nologin "$owner"
  fi
fi
mkdir -p "$program" "$state" "$(dirname "$config")"
[ -z "$owner" ] || chown "$owner" "$program" "$state"
chmod 700 "$state"

folder=versions/$version-$(printf %.12s "$inner")
if [ "$(as_owner cat "$program/$folder/muster-agent" 2>/dev/null | digest -)" != "$inner" ]; then
  # Whole before it has its name; a damaged one makes room. Of the disk these files alone: others may write much.
  as_owner sh -c 'cd "$1" && mkdir -p versions && rm -rf "$2.unverified" "$2" &&
    for left in versions/*.unverified; do [ -e "$left/part" ] || rm -rf "$left"; done && mkdir "$2.unverified" &&
    cp "$3/program" "$2.unverified/muster-agent" && chmod 755 "$2.unverified/muster-agent" &&
    cp "$3/release.json" "$2.unverified/release.json" &&
    { sync "$2.unverified/muster-agent" "$2.unverified/release.json" "$2.unverified" 2>/dev/null || sync; } &&
    mv "$2.unverified" "$2"' sh "$program" "$folder" "$temp"
fi

end_processes
# A link leads to another version from one moment to the next.
link() {
  as_owner sh -c 'cd "$1" && rm -f ".$3.new" && ln -s "$2" ".$3.new" &&
    { mv -fT ".$3.new" "$3" 2>/dev/null || mv -fh ".$3.new" "$3"; }' sh "$program" "$folder" "$1"
}
as_owner rm -f "$state/update.json"
link current
link watchdog

json_text() { printf '%s' "$1" | sed 's/[\\"]/\\&/g'; }
if [ -n "$ca_file" ]; then
  cp "$ca_file" "$(dirname "$config")/ca.pem"
  ca_file=$(dirname "$config")/ca.pem
fi
{
  printf '{\n  "url": "%s"' "$(json_text "$url")"
  [ -z "$ca_file" ] || printf ',\n  "caFile": "%s"' "$(json_text "$ca_file")"
  [ -z "$root_key" ] || printf ',\n  "rootKeys": ["%s"]' "$(json_text "$root_key")"
  [ "$service" = yes ] || printf ',\n  "service": false'
  if [ "$os" = linux ] && ! has journalctl; then
    for file in /var/log/syslog /var/log/messages; do
      if [ -r "$file" ]; then printf ',\n  "eventLogs": {"file": "%s"}' "$file" && break; fi
    done
  fi
  printf '\n}\n'
} >"$config.new"
# The settings of an earlier installation stay.
if [ -f "$config" ] && [ "$enrolled" = yes ]; then rm "$config.new"; else mv "$config.new" "$config"; fi

# What runs as root from here on is this download: the installed files are the agent's own user's.
if ! as_owner test -f "$state/machine.json"; then
  "$temp/program" machine "$temp/machine.json" --config "$config"
  store "$state/machine.json" <"$temp/machine.json"
fi
if [ -n "$key" ]; then
  printf '%s' "$key" | store "$state/enrollment.key"
  # Another key is another enrollment.
  as_owner rm -f "$state/identity.json"
fi
as_owner rm -f "$state/status.json"

if [ "$service" = yes ]; then
  if [ "$os" = linux ]; then
    cat >/usr/local/bin/muster-agent.new <<'COMMAND'
#!/bin/sh
# As the agent's user: its program is that user's, and root runs nothing that another user can replace.
program=/opt/muster-agent/current/muster-agent
[ "$(id -u)" = 0 ] || exec "$program" "$@"
if command -v runuser >/dev/null 2>&1; then exec runuser -u muster-agent -- "$program" "$@"; fi
exec su -s /bin/sh muster-agent -c 'exec "$0" "$@"' -- "$program" "$@"
COMMAND
    chmod 755 /usr/local/bin/muster-agent.new
    mv /usr/local/bin/muster-agent.new /usr/local/bin/muster-agent
  fi
  if [ "$os" = linux ] && has_systemd; then
    cat >"$unit" <<'UNIT'
@UNIT@
UNIT
    systemctl daemon-reload
    systemctl enable --quiet muster-agent
    systemctl restart muster-agent
  elif [ "$os" = linux ] && has rc-service; then
    cat >"$openrc" <<'OPENRC'
#!/sbin/openrc-run
description="Muster agent"
supervisor=supervise-daemon
command=/opt/muster-agent/watchdog/muster-agent
command_args=supervise
command_user=muster-agent
respawn_delay=1
depend() { need net; }
OPENRC
    chmod 755 "$openrc"
    rc-update add muster-agent default
    rc-service muster-agent restart
  elif [ "$os" = darwin ]; then
    cat >"$plist" <<'PLIST'
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict>
  <key>Label</key><string>com.muster.agent</string>
  <key>ProgramArguments</key><array><string>/opt/muster-agent/watchdog/muster-agent</string><string>supervise</string></array>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><true/>
  <key>AbandonProcessGroup</key><true/>
</dict></plist>
PLIST
    launchctl bootout system "$plist" 2>/dev/null || true
    launchctl bootstrap system "$plist"
  else
    fail 'this system has neither systemd, OpenRC nor launchd: use --no-service and start the watchdog yourself'
  fi
else
  ("$program/watchdog/muster-agent" supervise --config "$config" </dev/null >/dev/null 2>&1 &)
fi
[ -z "$key_file" ] || rm -f "$key_file"

tries=0
while [ $tries -lt 150 ]; do
  # Not before there is one: each start of the program takes time from the agent's.
  if as_owner test -f "$state/status.json" && as_owner "$temp/program" status --config "$config" >"$temp/status" 2>&1; then
    say "$version is $(sed -n 's/^state *//p' "$temp/status")"
    exit 0
  fi
  tries=$((tries + 1))
  sleep 0.2
done
as_owner "$temp/program" status --config "$config" >&2 || true
as_owner "$temp/program" doctor --config "$config" >&2 || true
fail "installed, but not online after 30 s: the lines above say what to do"
}

main "$@"
