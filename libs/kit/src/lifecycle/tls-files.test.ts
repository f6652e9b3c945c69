import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { testCertificate } from "../../../testing/src/tls.ts";
import { ConfigError } from "../settings/config.ts";
import { tlsFiles } from "./tls-files.ts";

const names = { ca: "X_TLS_CA_PATH", cert: "X_TLS_CERT_PATH", key: "X_TLS_KEY_PATH" };
const server = testCertificate("server");
const other = testCertificate("other-name");
let folder: string;
let cert: string;
let key: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "muster-tls-"));
  cert = join(folder, "tls.crt");
  key = join(folder, "tls.key");
  writeFileSync(cert, server.cert);
  writeFileSync(key, server.key);
});

afterEach(() => {
  jest.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

/** As a Secret's volume does it: another file takes the name. */
function swap(path: string, contents: Buffer): void {
  writeFileSync(`${path}.new`, contents);
  renameSync(`${path}.new`, path);
}

/** Files are looked at once a second. */
function secondsLater(seconds: number): void {
  const nowMs = performance.now() + seconds * 1_000;
  jest.spyOn(performance, "now").mockReturnValue(nowMs);
}

describe("certificate files", () => {
  it("are read again when both of a pair have changed", () => {
    const files = tlsFiles({ cert, key }, names);
    expect(files.material().cert).toBe(server.cert.toString());
    const before = { version: files.version(), context: files.context() };
    swap(cert, other.cert);
    swap(key, other.key);
    secondsLater(2);
    expect(files.material().cert).toBe(other.cert.toString());
    expect(files.version()).toBe(before.version + 1);
    expect(files.context()).not.toBe(before.context);
  });

  it("stay in use as they were while only one of a pair has changed, and while one is missing", () => {
    const files = tlsFiles({ cert, key }, names);
    swap(cert, other.cert);
    secondsLater(2);
    expect(files.material().cert).toBe(server.cert.toString());
    rmSync(key);
    secondsLater(4);
    expect(files.material().key).toBe(server.key.toString());
    swap(key, other.key);
    secondsLater(6);
    expect(files.material().key).toBe(other.key.toString());
  });

  it("rewritten with the same contents are no new version", () => {
    const files = tlsFiles({ cert, key }, names);
    swap(cert, server.cert);
    secondsLater(2);
    expect(files.version()).toBe(1);
  });

  it.each([
    [
      "a file that is missing",
      () => ({ ca: join(folder, "none.pem") }),
      /X_TLS_CA_PATH: cannot read .*none\.pem \(ENOENT\)/,
    ],
    ["a certificate without its key", () => ({ cert }), /X_TLS_CERT_PATH and X_TLS_KEY_PATH are given together/],
    [
      "a key of another certificate",
      () => ({ cert, key: swapped(key, other.key) }),
      /X_TLS_CERT_PATH, X_TLS_KEY_PATH: .*belong/,
    ],
    ["a file that is no PEM", () => ({ cert: swapped(cert, Buffer.from("none")), key }), /X_TLS_CERT_PATH/],
  ])("are refused at start with %s, by the setting's name", (_name, paths, said) => {
    const start = () => tlsFiles(paths(), names);
    expect(start).toThrow(ConfigError);
    expect(start).toThrow(said);
  });
});

function swapped(path: string, contents: Buffer): string {
  swap(path, contents);
  return path;
}
