# Places the packaged version as the installer does, unless the agent has updated itself beyond it.
program=/opt/muster-agent state=/var/lib/muster-agent config=/etc/muster-agent/config.json
packed=/usr/lib/muster-agent/muster-agent
target=versions/@VERSION@-@DIGEST@

id muster-agent >/dev/null 2>&1 ||
  useradd --system --home-dir $state --no-create-home --shell /usr/sbin/nologin muster-agent
mkdir -p $program $state
chown muster-agent $program $state
chmod 700 $state
# In folders of the agent's user root does nothing itself: the links that this user may have put there would lead it on.
as_agent() { runuser -u muster-agent -- "$@"; }
# Whether a version is newer than the packaged one: a pre-release, with a tilde for its hyphen, is older than its release.
is_newer() {
  [ "$1" != "@VERSION@" ] &&
    [ "$(printf '%s\n%s\n' "$1" "@VERSION@" | sed 's/-/~/' | sort -V | tail -n 1 | sed 's/~/-/')" = "$1" ]
}
current=$(readlink $program/current 2>/dev/null | sed 's#^versions/##; s/-[0-9a-f]*$//')
if [ -n "$current" ] && is_newer "$current"; then
  rm -f $packed
else
  if [ -f $packed ]; then
    if ! as_agent test -f $state/machine.json; then
      $packed machine /usr/lib/muster-agent/machine.json
      as_agent sh -c 'umask 077 && cat >"$1.new" && mv -f "$1.new" "$1"' sh $state/machine.json \
        </usr/lib/muster-agent/machine.json
      rm /usr/lib/muster-agent/machine.json
    fi
    as_agent cmp -s "$program/$target/muster-agent" $packed ||
      as_agent sh -c 'cd "$1" && mkdir -p versions && rm -rf "$2.unverified" "$2" && mkdir "$2.unverified" &&
        cp "$3/muster-agent" "$3/release.json" "$2.unverified" && sync && mv "$2.unverified" "$2"' \
        sh $program "$target" /usr/lib/muster-agent
    # The program is there once.
    rm $packed
  fi
  for name in current watchdog; do
    as_agent sh -c 'cd "$1" && rm -f ".$3.new" && ln -s "$2" ".$3.new" && mv -fT ".$3.new" "$3"' \
      sh $program "$target" $name
  done
fi
if [ ! -f $config ] && [ -n "$MUSTER_URL" ]; then
  printf '{\n  "url": "%s"\n}\n' "$(printf '%s' "$MUSTER_URL" | sed 's/[\\"]/\\&/g')" >$config
fi
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl enable --quiet muster-agent
  if [ -f $config ]; then systemctl restart muster-agent; fi
fi
[ -f $config ] || echo "muster-agent: write $config as {\"url\": \"https://HOST\"}, then run: muster-agent enroll"
