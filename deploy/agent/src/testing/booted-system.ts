import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "@muster/testing";
import { unmount } from "./small-disk.ts";

export type Ran = { code: number; output: string };

/** systemd as process 1 of namespaces of its own, over a view of this machine whose changes are seen inside alone. */
export type BootedSystem = {
  /** Runs a command of the shell as root inside. */
  run(command: string): Promise<Ran>;
  /** Ends all processes and boots again; what was written to the disk stays. */
  reboot(): Promise<void>;
  stop(): Promise<void>;
};

/**
 * Becomes process 1. The units of this machine are left out: they would start its databases, and write its settings.
 * Devices are few, and its kernel's are only read.
 */
const init = `set -eu
mount --make-rprivate /
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
cd "$1/root"
if [ ! -e "$1/installed" ]; then
  for target in multi-user basic sysinit; do
    printf '[Unit]\\nDescription=%s\\nAllowIsolate=yes\\n' $target >etc/systemd/system/$target.target
  done
  echo 'Wants=systemd-journald.service' >>etc/systemd/system/multi-user.target
  rm -rf etc/systemd/system/*.wants usr/lib/systemd/system/*.target.wants
  touch "$1/installed"
fi
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs dev
mkdir dev/pts dev/shm
for node in 'null 1 3' 'zero 1 5' 'full 1 7' 'random 1 8' 'urandom 1 9' 'tty 5 0'; do
  set -- $node && mknod -m 666 dev/$1 c $2 $3
done
mount -t devpts devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t tmpfs -o mode=1777 tmpfs dev/shm
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
# As systemd-tmpfiles makes it: the journal's files have its group.
mkdir -p run/log/journal
chroot . chgrp systemd-journal /run/log/journal
chmod 2755 run/log/journal
exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin \\
  chroot . /lib/systemd/systemd --unit=multi-user.target --show-status=0`;

/** Whether systemd is here, and namespaces are permitted. */
export const canBoot = (): boolean =>
  process.getuid?.() === 0 &&
  spawnSync("systemctl", ["--version"]).status === 0 &&
  spawnSync("unshare", ["--pid", "--fork", "--mount", "--uts", "--ipc", "--cgroup", "true"]).status === 0;

/** `files` are copied to the folder /packages inside. */
export async function bootSystem(folder: string, files: readonly string[]): Promise<BootedSystem> {
  mkdirSync(folder, { recursive: true });
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=1500m,mode=755", "tmpfs", folder]);
  for (const name of ["upper/packages", "work", "root"]) mkdirSync(join(folder, name), { recursive: true });
  execFileSync("cp", [...files, join(folder, "upper/packages")]);
  writeFileSync(join(folder, "init.sh"), init);
  let booted: { child: ChildProcess; pid: number };

  const run = (command: string): Promise<Ran> =>
    new Promise((resolve) => {
      const inside = ["-t", String(booted.pid), "-m", "-u", "-i", "-p", "-C", "-r", "-w", "sh", "-c", command];
      execFile("nsenter", inside, { env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" } }, (error, stdout, stderr) => {
        resolve({ code: error ? Number(error.code ?? 1) : 0, output: stdout + stderr });
      });
    });
  const boot = async () => {
    const namespaces = ["--fork", "--kill-child", "--pid", "--mount", "--uts", "--ipc", "--cgroup"];
    const child = spawn("unshare", [...namespaces, "sh", join(folder, "init.sh"), folder], { stdio: "inherit" });
    booted = { child, pid: await until("process 1", () => childOf(child.pid ?? 0)) };
    await until("systemd", async () => (await run("systemctl show --property=Version")).code === 0, 60_000);
    await until("its jobs", async () => (await run("systemctl list-jobs")).output.startsWith("No jobs"), 60_000);
  };
  const end = async () => {
    const ended = new Promise((resolve) => booted.child.once("exit", resolve));
    booted.child.kill("SIGKILL");
    await ended;
  };
  await boot();
  return {
    run,
    async reboot() {
      await end();
      await boot();
    },
    async stop() {
      await end();
      unmount(folder);
    },
  };
}

function childOf(pid: number): number | null {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return children === "" ? null : Number(children.split(" ")[0]);
}
