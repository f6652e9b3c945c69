import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";

type Layer = { descriptor: { digest: string }; diffId: string };
type Base = { layers: Layer[]; config: { Env?: string[]; Labels?: Record<string, string> } };
type Layout = {
  putLayer(folder: string, epoch: number): Promise<Layer>;
  putImage(image: { arch: string; config: object; layers: Layer[]; created: string; history: string[] }): object;
  putIndex(name: string, images: object[], annotations: object): string;
  end(): void;
  takeImage(from: string, arch: string): Base | null;
};
type Pins = {
  mirrors: string[];
  packages: { name: string; version: string; amd64?: { path: string; sha256: string } }[];
};
type Made = { pins: Pins; arch: string; node: string; mirrors: string[]; root: string; work: string; cache: string };
let parts: {
  Layout: new (folder: string) => Layout;
  makeBase(options: Made): Promise<void>;
  download(urls: string[], digest: string, cache: string, fetched: (url: string) => Promise<Buffer>): Promise<string>;
  configOf(release: object, base: Base["config"]): { Env: string[]; User: string; Labels: Record<string, string> };
  licenseReport(sboms: { components: object[] }[], version: string): string;
  withBase(sbom: { components: object[] }, pins: object | null, node: string): { components: { purl: string }[] };
};
const modules = ["images/layout", "images/base", "images/download", "images/config", "sbom", "licenses"];
beforeAll(async () => {
  const loaded: object[] = [];
  // One after the other: jest cannot link modules that share one at the same time.
  for (const name of modules) loaded.push(await import(`../${name}.mjs`));
  parts = Object.assign({}, ...loaded);
});

const folder = mkdtempSync(join(tmpdir(), "muster-images-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const put = (root: string, files: Record<string, string>, mode = 0o644) => {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
    chmodSync(join(root, path), mode);
  }
};
const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
const epoch = 1_700_000_000;
const created = "2023-11-14T22:13:20.000Z";

/** A layout with one image of a file, whose layer is made of a folder of that name. */
async function layoutOf(name: string, text: string, config: object = {}) {
  const out = join(folder, name);
  put(join(out, "files"), { "b/c": text, a: "1" });
  const layout = new parts.Layout(join(out, "layout"));
  const layer = await layout.putLayer(join(out, "files"), epoch);
  const image = layout.putImage({ arch: "amd64", config, layers: [layer], created, history: ["a"] });
  const digest = layout.putIndex("localhost/muster/a:1", [image], {});
  layout.end();
  return { layout: join(out, "layout"), digest, layer };
}

describe("the layout of images", () => {
  it("has the same digests for the same files, whenever and wherever it is made", async () => {
    const [one, two] = [await layoutOf("one", "x"), await layoutOf("two", "x")];
    expect(two.digest).toBe(one.digest);
    expect((await layoutOf("three", "y")).digest).not.toBe(one.digest);
    expect(readdirSync(join(one.layout, "blobs/sha256"))).toEqual(readdirSync(join(two.layout, "blobs/sha256")));
  });

  it("is known to containerd by the tag and by the digest, to others by the tag alone", async () => {
    const { layout, digest } = await layoutOf("names", "x");
    type Named = { digest: string; annotations: Record<string, string> };
    const { manifests }: { manifests: Named[] } = JSON.parse(readFileSync(join(layout, "index.json"), "utf8"));
    const names = (key: string) => manifests.map(({ annotations }) => annotations[key]);
    expect(manifests.map((each) => each.digest)).toEqual([digest, digest]);
    expect(names("io.containerd.image.name")).toEqual(["localhost/muster/a:1", `localhost/muster/a@${digest}`]);
    expect(names("org.opencontainers.image.ref.name")).toEqual(["localhost/muster/a:1", undefined]);
  });

  it("names each blob by its digest, and each layer by that of its tar, too", async () => {
    const { layout, layer } = await layoutOf("digests", "x");
    const blobs = join(layout, "blobs/sha256");
    for (const name of readdirSync(blobs)) expect(sha256(readFileSync(join(blobs, name)))).toBe(name);
    const packed = join(blobs, layer.descriptor.digest.slice("sha256:".length));
    const tar = execFileSync("gzip", ["-dc", packed]);
    expect(`sha256:${sha256(tar)}`).toBe(layer.diffId);
    expect(execFileSync("tar", ["-tv"], { input: tar, encoding: "utf8" })).toMatch(/^-rw-r--r-- 0\/0 +1 2023-11-14/m);
  });

  it("takes an image of another base, its configuration and its layers", async () => {
    const base = await layoutOf("base", "base", { Env: ["PATH=/opt/bin", "A=1=2"], Labels: { of: "base" } });
    const layout = new parts.Layout(join(folder, "on-base"));
    const image = layout.takeImage(base.layout, "amd64");
    expect(image?.layers).toEqual([
      { descriptor: expect.objectContaining(base.layer.descriptor), diffId: base.layer.diffId },
    ]);
    expect(layout.takeImage(base.layout, "arm64")).toBeNull();
    const config = parts.configOf(
      { service: "audit", version: "1.4.0", revision: "abc", created },
      image?.config ?? {},
    );
    expect(config.Env).toEqual(expect.arrayContaining(["PATH=/opt/bin", "A=1=2", "NODE_ENV=production"]));
    expect(config).toMatchObject({
      User: "10001:10001",
      Labels: { of: "base", "org.opencontainers.image.title": "muster-audit" },
    });
  });

  it("refuses a damaged layer of another base", async () => {
    const base = await layoutOf("damaged", "x");
    writeFileSync(join(base.layout, "blobs/sha256", base.layer.descriptor.digest.slice(7)), "");
    expect(() => new parts.Layout(join(folder, "on-damaged")).takeImage(base.layout, "amd64")).toThrow(/damaged/);
  });
});

/** A Debian package of files, in a cache under its digest. */
function packageOf(name: string, cache: string, fill: (root: string) => void) {
  const root = join(folder, `package-${name}`);
  put(root, { "DEBIAN/control": `Package: ${name}\nVersion: 1\nArchitecture: amd64\nMaintainer: a\nDescription: a\n` });
  fill(root);
  const file = join(folder, `${name}.deb`);
  execFileSync("dpkg-deb", ["--root-owner-group", "-Zgzip", "-b", root, file], { stdio: "pipe" });
  const digest = sha256(readFileSync(file));
  mkdirSync(cache, { recursive: true });
  execFileSync("cp", [file, join(cache, digest)]);
  return { name, version: "1", amd64: { path: `pool/${name}.deb`, sha256: digest } };
}

describe("the base of images", () => {
  const cache = join(folder, "cache");
  const base = async (name: string, packages: Pins["packages"], arch = "amd64") => {
    const [root, work] = [join(folder, name), join(folder, `${name}-work`)];
    writeFileSync(join(folder, "node"), "ELF");
    mkdirSync(work);
    await parts.makeBase({
      pins: { mirrors: [], packages },
      arch,
      node: join(folder, "node"),
      mirrors: [],
      root,
      work,
      cache,
    });
    return root;
  };

  it("has libraries, licenses and Node, and neither a shell nor a package manager", async () => {
    const libc = packageOf("libc6", cache, (root) => {
      put(root, { "lib/x86_64-linux-gnu/libc.so.6": "", "usr/share/doc/libc6/copyright": "GPL" });
      put(root, { "bin/sh": "", "usr/bin/dpkg": "", "usr/lib/x86_64-linux-gnu/gconv/a.so": "" }, 0o4755);
      put(root, { "usr/share/doc/libc6/changelog.gz": "", "etc/os-release": "ID=debian\n" });
      mkdirSync(join(root, "lib64"));
      symlinkSync("/lib/x86_64-linux-gnu/ld-2.so", join(root, "lib64/ld-linux-x86-64.so.2"));
    });
    const root = await base("root", [libc]);
    const files = readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isDirectory())
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
      .sort();
    expect(files).toEqual([
      "etc/group",
      "etc/nsswitch.conf",
      "etc/os-release",
      "etc/passwd",
      "lib/x86_64-linux-gnu/libc.so.6",
      "lib64/ld-linux-x86-64.so.2",
      "usr/bin/node",
      "usr/share/doc/libc6/copyright",
      "var/lib/dpkg/status.d/libc6",
    ]);
    expect(lstatSync(join(root, "tmp")).mode & 0o7777).toBe(0o1777);
    expect(lstatSync(join(root, "usr/bin/node")).mode & 0o7777).toBe(0o755);
    expect(lstatSync(join(root, "etc")).mode & 0o7777).toBe(0o755);
  });

  it("is refused for a platform that a package is not pinned for", async () => {
    const libc = packageOf("libc6-amd64", cache, () => undefined);
    await expect(base("arm", [libc], "arm64")).rejects.toMatchObject({ reason: "download", message: /linux\/arm64/ });
  });
});

describe("a pinned download", () => {
  const bytes = Buffer.from("a package");
  const digest = sha256(bytes);
  const cache = join(folder, "downloads");

  it("comes from the first mirror that has it, once", async () => {
    const requested: string[] = [];
    const fetched = async (url: string) => {
      requested.push(url);
      if (url === "one") throw new Error("HTTP 404");
      return bytes;
    };
    const file = await parts.download(["one", "two", "three"], digest, cache, fetched);
    expect(readFileSync(file)).toEqual(bytes);
    await parts.download(["one"], digest, cache, fetched);
    expect(requested).toEqual(["one", "two"]);
  });

  it("is refused with another digest, and not kept", async () => {
    const other = "0".repeat(64);
    const made = parts.download(["one"], other, cache, async () => bytes);
    await expect(made).rejects.toMatchObject({ reason: "download", message: new RegExp(`one has SHA-256 ${digest}`) });
    expect(existsSync(join(cache, other))).toBe(false);
  });

  it("is refused with each mirror's reason when no mirror has it", async () => {
    const made = parts.download(["one", "two"], "1".repeat(64), cache, async (url) =>
      Promise.reject(new Error(`no ${url}`)),
    );
    await expect(made).rejects.toMatchObject({ reason: "download", message: /one: no one; two: no two/ });
  });
});

describe("the bill of materials of an image", () => {
  it("names Node and the Debian packages of our base besides those of npm", () => {
    const pins = { distribution: "bookworm", packages: [{ name: "libc6", version: "2.36-9+deb12u14" }] };
    const purls = parts
      .withBase({ components: [{ purl: "pkg:npm/a@1" }] }, pins, "24.19.0")
      .components.map(({ purl }) => purl);
    expect(purls).toEqual([
      "pkg:npm/a@1",
      "pkg:generic/node@24.19.0",
      "pkg:deb/debian/libc6@2.36-9%2Bdeb12u14?distro=bookworm",
    ]);
    expect(parts.withBase({ components: [] }, null, "24.19.0").components).toHaveLength(1);
  });
});

describe("the report of licenses", () => {
  const of = (name: string, license: string, purl = `pkg:npm/${name}@1`) => ({
    name,
    version: "1",
    purl,
    licenses: [{ license: { id: license } }],
  });
  const report = (...components: object[]) => parts.licenseReport([{ components }, { components }], "1.4.0");

  it("lists each package of others once, and where Debian's are", () => {
    const libc = { name: "libc6", version: "2", purl: "pkg:deb/debian/libc6@2" };
    expect(
      report(
        of("b", "(Apache-2.0 AND BSD-3-Clause)"),
        of("a", "MIT"),
        of("own", "Apache-2.0", "pkg:npm/%40muster/own@1"),
        libc,
      ),
    ).toBe(
      "# What Muster 1.4.0 contains of others\n\n| Package | Version | License |\n|---|---|---|\n| a | 1 | MIT |\n" +
        "| b | 1 | (Apache-2.0 AND BSD-3-Clause) |\n| libc6 | 2 | usr/share/doc/libc6/copyright |\n",
    );
  });

  it.each(["AGPL-3.0-only", "MIT OR GPL-2.0", ""])("refuses the license %j", (license) => {
    expect(() => report(of("a", license))).toThrow(/a 1 has the license/);
  });
});
