import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { digest, saying } from "./testing/installation.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "muster-packages-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Makes a package of a small program in a folder of its own; returns its name and its bytes. */
function made(kind: "Deb" | "Rpm", arch: string, into: string): [string, string] {
  const [out, program] = [join(folder, into, "out"), join(folder, into, "program")];
  mkdirSync(out, { recursive: true });
  const text = saying("1.4.0-rc.1");
  writeFileSync(program, text, { mode: 0o755 });
  const release = { size: text.length, sha256: digest(text), counter: 4 };
  const options = { version: "1.4.0-rc.1", arch, program, release, folder: out, work: join(folder, into, "work") };
  const module = pathToFileURL(join(import.meta.dirname, "..", `${kind.toLowerCase()}.mjs`)).href;
  const script = `import { make${kind} } from ${JSON.stringify(module)}; make${kind}(${JSON.stringify(options)});`;
  execFileSync(process.execPath, ["--input-type=module", "--eval", script]);
  const [name = ""] = readdirSync(out);
  return [name, digest(readFileSync(join(out, name)))];
}

const where = (tool: string) => (spawnSync(tool, ["--version"]).status === 0 ? it : it.skip);

where("dpkg-deb").each([["amd64"], ["arm64"]])("the same program makes the same Debian package for %s", (arch) => {
  const first = made("Deb", arch, "one");
  expect(first[0]).toBe(`muster-agent_1.4.0-rc.1_${arch}.deb`);
  expect(made("Deb", arch, "two")).toEqual(first);
});

where("rpmbuild").each([
  ["amd64", "x86_64"],
  ["arm64", "aarch64"],
])("the same program makes the same RPM package for %s", (arch, machine) => {
  const first = made("Rpm", arch, "one");
  expect(first[0]).toBe(`muster-agent-1.4.0~rc.1-1.${machine}.rpm`);
  expect(made("Rpm", arch, "two")).toEqual(first);
  const scripts = execFileSync("rpm", ["-qp", "--scripts", join(folder, "one", "out", first[0])], { encoding: "utf8" });
  expect(scripts).toContain("target=versions/1.4.0-rc.1-");
  expect(scripts).not.toMatch(/@[A-Z_]+@/);
});
