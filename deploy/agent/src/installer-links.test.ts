import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { generateNoteKey, noteKeys } from "@muster/kit";
import { type FakePlatform, publish, scriptOf, startFakePlatform } from "./testing/fake-platform.ts";

// Installs as root into folders of its own: where that is not permitted, the test is skipped.
const isolated = spawnSync("unshare", ["-m", "mount", "-t", "tmpfs", "none", "/opt"]).status === 0 ? it : it.skip;
const signer = noteKeys(generateNoteKey("releases")).signer;

let folder: string;
let platform: FakePlatform;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "muster-links-"));
  platform = await startFakePlatform();
  platform.promoted = publish("1.0.0", scriptOf("1.0.0"), signer);
});
afterEach(async () => {
  await platform.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs a script as root where /opt, /var/lib, /usr/local/bin and /etc are its own. */
function inOwnFolders(script: string): Promise<string> {
  writeFileSync(
    join(folder, "script.sh"),
    `
    set -e
    cp -a /etc '${folder}/etc'
    mount --bind '${folder}/etc' /etc
    for place in /opt /var/lib /usr/local/bin; do mount -t tmpfs none $place; done
    export MUSTER_ENROLLMENT_KEY=${"0f".repeat(32)}
    install() { sh '${folder}/install.sh' --root-key '${signer.text}' </dev/null; }
    ${script}`,
  );
  return new Promise((resolve) => {
    const args = ["-m", "sh", join(folder, "script.sh")];
    execFile("unshare", args, { encoding: "utf8" }, (_error, stdout, stderr) => resolve(stdout + stderr));
  });
}

isolated(
  "root follows no link and ends no process that the agent's user names when it installs again",
  async () => {
    writeFileSync(join(folder, "install.sh"), await (await fetch(`${platform.url}/install.sh`)).text());
    const output = await inOwnFolders(`
    # Without a service manager it ends there; the files are in place by then.
    install || true
    echo "first: $(runuser -u muster-agent -- cat /var/lib/muster-agent/enrollment.key | wc -c)"
    mkdir /etc/victim
    echo kept >/etc/victim/file
    sleep 1000 >/dev/null 2>&1 & root_pid=$!
    trap 'kill $root_pid' EXIT
    started=$(sed 's/.*) //' /proc/$root_pid/stat | cut -d' ' -f20)
    runuser -u muster-agent -- sh -c '
      cd /opt/muster-agent && mv versions v && ln -s /etc/victim versions
      ln -s /etc/victim .current.new && ln -s /etc/victim .watchdog.new
      cd /var/lib/muster-agent && rm -f *.json *.key
      for name in machine.json machine.json.new enrollment.key enrollment.key.new identity.json status.json; do
        ln -s /etc/victim/file $name
      done
      echo "$1 $2" >watchdog.lock && echo "-1 1" >agent.lock' sh "$root_pid" "$started"
    install || true
    echo "alive: $(kill -0 $root_pid && echo yes)"
    echo "victim: $(ls /etc/victim) $(cat /etc/victim/file) $(stat -c %U /etc/victim /etc/victim/file | tr '\\n' ' ')"
    runuser -u muster-agent -- sh -c 'cd /opt/muster-agent && rm versions && mv v versions; rm /var/lib/muster-agent/*'
    install || true
    echo "again: $(readlink /opt/muster-agent/current | cut -c1-14) $(stat -c '%U %a' /var/lib/muster-agent/enrollment.key)"
    sh '${folder}/install.sh' --uninstall
    echo "left: $(ls -A /opt /var/lib /usr/local/bin | tr '\\n' ' ') $(ls -d /etc/muster-agent 2>/dev/null)"`);
    expect(output).toContain("first: 64");
    expect(output).toContain("alive: yes");
    expect(output).toContain("victim: file kept root root");
    expect(output).toContain("again: versions/1.0.0 muster-agent 600");
    expect(output).toMatch(/left: \/opt: +\/usr\/local\/bin: +\/var\/lib: *$/m);
  },
  120_000,
);
