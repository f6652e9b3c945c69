import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { programName } from "../paths.ts";
import { digest, type Installation, newInstallation, offerOf, saying } from "../testing/installation.ts";
import { hasRelease, isWhole, nameRelease, proveRelease, pruneReleases, unverifiedFolder } from "./release-folder.ts";

let at: Installation;
beforeEach(() => {
  at = newInstallation();
});
afterEach(() => at.remove());

/** A downloaded file of these bytes, proved and placed. Returns its folder. */
async function install(version: string, bytes: Buffer, change = {}): Promise<string> {
  const { offer, accepted } = offerOf(version, bytes, change);
  const part = join(unverifiedFolder(at.paths, offer), "part");
  writeFileSync(part, bytes);
  await proveRelease(offer, accepted, part);
  return nameRelease(at.paths, offer, accepted, part);
}

const packedOf = (script: string) => {
  const packed = gzipSync(script);
  return { packed, change: { encoding: "gzip", program: { size: script.length, sha256: digest(script) } } };
};

describe("a downloaded version", () => {
  it("gets its name once it was proved, packed or not, and is found again", async () => {
    const plain = await install("1.1.0", Buffer.from(saying("1.1.0")));
    const { packed, change } = packedOf(saying("1.2.0"));
    const other = await install("1.2.0", packed, change);
    expect(readdirSync(at.paths.versions).sort()).toEqual([plain, other].map((each) => each.slice(9)));
    expect(readFileSync(join(at.folder, other, programName), "utf8")).toBe(saying("1.2.0"));
    expect(await isWhole(join(at.folder, other))).toBe(true);
    const { offer, accepted } = offerOf("1.2.0", packed, change);
    expect(await hasRelease(at.paths, offer, accepted)).toBe(true);
    writeFileSync(join(at.folder, other, programName), saying("6.6.6"));
    expect(await hasRelease(at.paths, offer, accepted)).toBe(false);
    // A damaged one is replaced.
    await install("1.2.0", packed, change);
    expect(await hasRelease(at.paths, offer, accepted)).toBe(true);
  });

  const large = "#!/bin/sh\n".padEnd(10_000_000, "#");
  it.each<[string, string, () => Promise<string>]>([
    ["says another version", "1.0.9", () => install("1.1.0", Buffer.from(saying("1.0.9")))],
    ["does not start", "does not start: 3", () => install("1.1.0", Buffer.from("#!/bin/sh\nexit 3\n"))],
    ["is no program", "does not start", () => install("1.1.0", Buffer.from("\x7fELF no program"))],
    [
      "holds more than its manifest says",
      "are packed",
      () => install("1.1.0", gzipSync(large), { encoding: "gzip", program: { size: 100, sha256: digest(large) } }),
    ],
    [
      "holds another program",
      "is another one",
      () =>
        install("1.1.0", packedOf(saying("1.1.0")).packed, {
          encoding: "gzip",
          program: { size: saying("1.1.0").length, sha256: digest("x") },
        }),
    ],
    ["cannot be unpacked", "cannot be unpacked", () => install("1.1.0", Buffer.from("no gzip"), packedOf("x").change)],
    [
      "is packed in another way",
      "packed as br",
      () => install("1.1.0", Buffer.from("x"), { ...packedOf("x").change, encoding: "br" }),
    ],
  ])("is never named when it %s", async (_name, message, tried) => {
    await expect(tried()).rejects.toThrow(message);
    expect(readdirSync(at.paths.versions).every((name) => name.endsWith(".unverified"))).toBe(true);
  });

  it("is not written through a link at its path", async () => {
    const { offer } = offerOf("1.1.0", Buffer.from("x"));
    const elsewhere = join(at.folder, "elsewhere");
    mkdirSync(elsewhere);
    const folder = unverifiedFolder(at.paths, offer);
    rmSync(folder, { recursive: true });
    symlinkSync(elsewhere, folder);
    expect(unverifiedFolder(at.paths, offer)).toBe(folder);
    await install("1.1.0", Buffer.from(saying("1.1.0")));
    writeFileSync(join(elsewhere, "kept"), "");
    expect(readdirSync(elsewhere)).toEqual(["kept"]);
  });

  it("has no folder when its version is a path", () => {
    const { offer } = offerOf("../../../tmp/of-a-path", Buffer.from("x"));
    expect(() => unverifiedFolder(at.paths, offer)).toThrow("is no version");
    expect(existsSync(join(dirname(at.folder), "of-a-path"))).toBe(false);
  });
});

it("versions without a link are removed, with what was not proved", async () => {
  const [one, two] = [at.addVersion("1.0.0", saying("1.0.0")), at.addVersion("1.1.0", saying("1.1.0"))];
  at.addVersion("0.9.0", saying("0.9.0"));
  unverifiedFolder(at.paths, offerOf("1.2.0", Buffer.from("x")).offer);
  pruneReleases(at.paths, [one, two, null]);
  expect(
    readdirSync(at.paths.versions)
      .map((name) => `versions/${name}`)
      .sort(),
  ).toEqual([one, two]);
});
