import { describe, expect, it } from "@jest/globals";
import { generateNoteKey, noteKeys, signNote } from "@muster/kit";
import { parseChecksums } from "./checksums.ts";
import { openManifest } from "./manifest.ts";
import { compareVersions, isPrerelease, parseVersion } from "./version.ts";

const now = new Date("2024-02-29T12:00:00Z");
const { signer } = noteKeys(generateNoteKey("releases.example.test"));
const artifact = { os: "linux", arch: "amd64", size: 3, sha256: "a".repeat(64), name: "agent-linux-amd64" };
const line = (change: object = {}) =>
  `${JSON.stringify({ version: "1.2.0", component: "agent", counter: 4, artifacts: [artifact], ...change })}\n`;

describe("a manifest", () => {
  it("is accepted when a known key signed it", () => {
    expect(openManifest(signNote(line(), signer), [signer], now, false)).toMatchObject({
      signed: true,
      manifest: { version: "1.2.0", component: "agent", counter: 4 },
    });
  });

  it.each([
    ["is not signed", line(), true],
    ["is signed by a foreign key", signNote(line(), noteKeys(generateNoteKey("stranger")).signer), true],
    ["was changed after signing", signNote(line(), signer).replace("1.2.0", "1.2.1"), true],
    ["has expired", signNote(line({ expires: "2024-02-29T12:00:00Z" }), signer), true],
    [
      "names files of unknown systems alone",
      signNote(line({ artifacts: [{ ...artifact, os: "plan9" }] }), signer),
      false,
    ],
    ["names a platform twice", signNote(line({ artifacts: [artifact, artifact] }), signer), false],
    [
      "names a libc of Windows",
      signNote(line({ artifacts: [{ ...artifact, os: "windows", libc: "musl" }] }), signer),
      false,
    ],
    ["names an unknown libc", signNote(line({ artifacts: [{ ...artifact, libc: "uclibc" }] }), signer), false],
    ["names no file", signNote(line({ artifacts: [] }), signer), false],
    ["is of no component", signNote(line({ component: "kernel" }), signer), false],
    ["is no version", signNote(line({ version: "latest" }), signer), false],
    [
      "names a file outside of its folder",
      signNote(line({ artifacts: [{ ...artifact, name: "../x" }] }), signer),
      false,
    ],
  ])("is refused when it %s", (_name, text, untrusted) => {
    expect(() => openManifest(text, [signer], now, false)).toThrow(
      expect.objectContaining({ name: "ManifestError", untrusted }),
    );
  });

  it("with two files for one platform is refused by their names", () => {
    const text = line({ artifacts: [artifact, { ...artifact, name: "other" }] });
    expect(() => openManifest(signNote(text, signer), [signer], now, false)).toThrow(
      "names two files for linux/amd64: agent-linux-amd64 and other",
    );
  });

  it("has a file for each C library of a system", () => {
    const musl = { ...artifact, libc: "musl", name: "agent-linux-amd64-musl" };
    const { manifest } = openManifest(line({ artifacts: [artifact, musl] }), [], now, true);
    expect(manifest.artifacts.map(({ name, libc }) => [name, libc])).toEqual([
      ["agent-linux-amd64", "gnu"],
      ["agent-linux-amd64-musl", "musl"],
    ]);
    expect(() => openManifest(line({ artifacts: [musl, musl] }), [], now, true)).toThrow(
      "two files for linux/amd64/musl",
    );
  });

  it("is refused where there is no key to check it with, signed or not, unless releases may be unsigned", () => {
    for (const text of [line(), signNote(line(), signer)]) {
      expect(() => openManifest(text, [], now, false)).toThrow(
        expect.objectContaining({ name: "ManifestError", untrusted: true }),
      );
    }
  });

  it("is accepted unsigned where no keys are set and releases may be unsigned", () => {
    expect(openManifest(line(), [], now, true)).toMatchObject({ signed: false });
  });
});

describe("a version", () => {
  it.each([
    ["1.2.0", "1.2.0"],
    ["v1.2.0", "1.2.0"],
    ["1.2.0+a", "1.2.0"],
    ["1.2.0-rc.1", "1.2.0-rc.1"],
    ["vv1.2.0", null],
    ["1.2", null],
    ["=1.2.0", null],
    [" 1.2.0", null],
    ["latest", null],
    ["01.2.0", null],
  ])("%s is read as %s", (text, expected) => {
    expect(parseVersion(text)).toBe(expected);
  });

  it("is compared by numbers, a pre-release before its release", () => {
    expect(compareVersions("1.10.0", "1.9.0")).toBeGreaterThan(0);
    expect(compareVersions("1.2.0-rc.1", "1.2.0")).toBeLessThan(0);
    expect([isPrerelease("1.2.0-rc.1"), isPrerelease("1.2.0")]).toEqual([true, false]);
  });
});

describe("checksums.txt", () => {
  it("names a program for musl by its ending", () => {
    const libcOf = (name: string) => [...parseChecksums(`${"a".repeat(64)}  ${name}\n`).values()].flat()[0]?.libc;
    expect(["muster-agent-linux-amd64-musl", "agent_linux_arm64_musl", "agent-linux-amd64"].map(libcOf)).toEqual([
      "musl",
      "musl",
      "gnu",
    ]);
    expect(libcOf("muster-agent-windows-amd64-musl.exe")).toBeUndefined();
  });

  it("lists the binaries by component and platform; other files are ignored", () => {
    const text = `${"A".repeat(64)}  muster-agent-linux-amd64\n${"b".repeat(64)} *watchdog_windows_386.exe\n${"c".repeat(64)}  README.md\n`;
    expect([...parseChecksums(text)]).toEqual([
      [
        "agent",
        [{ os: "linux", arch: "amd64", libc: "gnu", name: "muster-agent-linux-amd64", sha256: "a".repeat(64) }],
      ],
      [
        "watchdog",
        [{ os: "windows", arch: "386", libc: "gnu", name: "watchdog_windows_386.exe", sha256: "b".repeat(64) }],
      ],
    ]);
  });
});
