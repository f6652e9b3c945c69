import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const namespaces = ["pid", "ipc", "uts", "mount"].map((type) => ({ type }));
const standard = [
  { destination: "/proc", type: "proc", source: "proc" },
  { destination: "/dev", type: "tmpfs", source: "tmpfs", options: ["nosuid", "mode=755", "size=65536k"] },
  { destination: "/dev/shm", type: "tmpfs", source: "shm", options: ["nosuid", "noexec", "nodev", "mode=1777"] },
];
const bind = ({ source, target, readOnly }) => ({
  destination: target,
  type: "bind",
  source,
  options: ["bind", readOnly ? "ro" : "rw"],
});

/** config.json of a container (OCI Runtime Specification 1.0): without capabilities, in a network namespace by name. */
function configOf({ name, root, args, env, user, cwd, mounts, tmpfs, readOnly }) {
  const [uid, gid = uid] = user.split(":").map(Number);
  const none = { bounding: [], effective: [], permitted: [] };
  const folders = tmpfs.map((destination) => ({ destination, type: "tmpfs", source: "tmpfs", options: ["mode=1777"] }));
  return {
    ociVersion: "1.0.2",
    hostname: name,
    root: { path: root, readonly: readOnly },
    process: { args, env, cwd, user: { uid, gid }, capabilities: none, noNewPrivileges: true, terminal: false },
    mounts: [...standard, ...folders, ...mounts.map(bind)],
    linux: {
      namespaces: [...namespaces, { type: "network", path: `/run/netns/${name}` }],
      cgroupsPath: `/muster-check-${process.ppid}/${name}`,
    },
  };
}

/** A container of a service; its output goes to a file. `ended` settles with its exit code. */
export class Container {
  #state;
  #id;
  ended;

  /** @param {{ name: string, work: string }} described with what config.json says of it */
  constructor(described) {
    this.#id = described.name;
    this.#state = join(described.work, "state");
    const bundle = join(described.work, "bundles", this.#id);
    mkdirSync(bundle, { recursive: true });
    writeFileSync(join(bundle, "config.json"), JSON.stringify(configOf(described)));
    this.log = join(bundle, "log");
    const output = openSync(this.log, "a");
    const child = spawn("runc", ["--root", this.#state, "run", "--bundle", bundle, this.#id], {
      stdio: ["ignore", output, output],
    });
    this.ended = new Promise((end) => child.once("exit", (code) => end(code ?? 1)));
  }

  /** The exit code of a command in it. */
  exec(args, env) {
    const set = env.flatMap((each) => ["--env", each]);
    return spawnSync("runc", ["--root", this.#state, "exec", ...set, this.#id, ...args], { stdio: "ignore" }).status;
  }

  async stop() {
    spawnSync("runc", ["--root", this.#state, "kill", this.#id, "TERM"], { stdio: "ignore" });
    await this.ended;
    spawnSync("runc", ["--root", this.#state, "delete", "--force", this.#id], { stdio: "ignore" });
  }

  output() {
    return readFileSync(this.log, "utf8").split("\n").slice(-15).join("\n");
  }
}
