import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { secretBox } from "@muster/kit";
import { completeKeys, loadKeys, sealerNames } from "./keys.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "muster-keys-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("the encryption keys of a data folder", () => {
  it("are each service's own: none opens what another sealed", () => {
    const { secretEncryptionKeys } = completeKeys({});
    const location = "a column";
    for (const sealer of sealerNames) {
      const sealed = secretBox(secretEncryptionKeys[sealer], "test").seal(Buffer.from("secret"), location);
      for (const other of sealerNames.filter((name) => name !== sealer)) {
        expect(() => secretBox(secretEncryptionKeys[other], "test").open(sealed, location)).toThrow();
      }
    }
  });

  it("still open what the one key of an older folder sealed, and seal with new ones", async () => {
    const { secretEncryptionKeys: _, ...kept } = completeKeys({});
    const older = `k1:${Buffer.alloc(32, 5).toString("base64")}`;
    await mkdir(join(folder, "keys"));
    await writeFile(join(folder, "keys", "secrets.json"), JSON.stringify({ ...kept, secretEncryptionKey: older }));
    const location = "a column";
    const sealed = secretBox(older, "test").seal(Buffer.from("secret"), location);
    const { secretEncryptionKeys } = loadKeys(folder);
    for (const sealer of sealerNames) {
      const box = secretBox(secretEncryptionKeys[sealer], "test");
      expect(box.open(sealed, location).toString()).toBe("secret");
      expect(() => secretBox(older, "test").open(box.seal(Buffer.from("new"), location), location)).toThrow();
    }
    expect(loadKeys(folder).secretEncryptionKeys).toEqual(secretEncryptionKeys);
    expect(readFileSync(join(folder, "keys", "secrets.json"), "utf8")).not.toContain('"secretEncryptionKey"');
  });
});
