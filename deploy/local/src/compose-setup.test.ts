import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "@jest/globals";
import { parse } from "yaml";

const folder = mkdtempSync(join(tmpdir(), "muster-compose-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const root = fileURLToPath(new URL("../../../", import.meta.url));
const program = join(root, "deploy/local/dist/compose-setup.js");

/** Runs the program with its mounts in a folder. */
function setup(name: string, ...args: string[]) {
  const mounts = ["keys", "made", "data"].flatMap((each) => [`--${each}`, join(folder, name, each)]);
  return spawnSync(process.execPath, [program, ...args, ...mounts], { encoding: "utf8" });
}

type Service = { environment?: Record<string, string>; volumes?: string[] };
const { services } = parse(readFileSync(join(root, "deploy/compose/compose.yaml"), "utf8"), { merge: true }) as {
  services: Record<string, Service>;
};

describe("the keys of a compose file", () => {
  it("are a file for each setting that a service reads, and the same after a second start", () => {
    expect(setup("one", "keys")).toMatchObject({ status: 0, stderr: "" });
    const before = readFileSync(join(folder, "one/keys/keys.json"), "utf8");
    for (const [name, { environment = {}, volumes = [] }] of Object.entries(services)) {
      const own = volumes.find((each) => each.endsWith(":/run/muster:ro"));
      if (own === undefined) continue;
      expect(own).toBe(`${name}-keys:/run/muster:ro`);
      const made = readdirSync(join(folder, "one/made", name)).filter((each) => each !== "callers");
      const read = Object.entries(environment)
        .filter(([setting]) => setting.endsWith("_FILE"))
        .map(([setting, file]) => `${setting}=${file}`);
      expect(read.sort()).toEqual(made.map((each) => `${each}_FILE=/run/muster/${each}`).sort());
    }
    expect(setup("one", "keys").status).toBe(0);
    expect(readFileSync(join(folder, "one/keys/keys.json"), "utf8")).toBe(before);
    expect(statSync(join(folder, "one/keys/keys.json")).mode & 0o777).toBe(0o600);
  });

  it("give nats-server a configuration without variables that it accepts", () => {
    expect(setup("nats", "keys").status).toBe(0);
    const conf = join(folder, "nats/made/nats/nats-server.conf");
    expect(readFileSync(conf, "utf8")).toContain("host: 0.0.0.0");
    const checked = spawnSync(process.env.MUSTER_TEST_NATS_BIN ?? "", ["-t", "-c", conf], { encoding: "utf8" });
    expect(checked.stderr).toMatch(/configuration file .* is valid/);
  });

  it("print the first administrator's password, or say that there is none", () => {
    expect(setup("none", "password")).toMatchObject({ status: 1 });
    expect(setup("none", "password").stderr).toMatch(/keys\.json is missing/);
    expect(setup("one", "password").stdout).toMatch(/^\S{12,}\n$/);
  });

  it("are never made over a file that is damaged", () => {
    expect(setup("damaged", "keys").status).toBe(0);
    writeFileSync(join(folder, "damaged/keys/keys.json"), "{");
    expect(setup("damaged", "keys")).toMatchObject({ status: 1 });
    expect(readFileSync(join(folder, "damaged/keys/keys.json"), "utf8")).toBe("{");
  });

  it.each([[[]], [["key"]], [["keys", "more"]]])("are refused for the arguments %j", (args) => {
    expect(setup("usage", ...args)).toMatchObject({ status: 2 });
    expect(setup("usage", ...args).stderr).toMatch(/^usage/);
  });
});
