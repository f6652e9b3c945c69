import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { expect, it } from "@jest/globals";
import { manifestFile } from "./part-file.ts";

it("a manifest is a file without rows, compressed, by the digest of its text", async () => {
  const text = "über\n";
  const { content, ...facts } = await manifestFile(text);
  const sha256 = createHash("sha256").update(text).digest("hex");
  expect(facts).toEqual({ rows: 0, firstSeq: null, lastSeq: null, bytes: 6, sha256 });
  expect(gunzipSync(content).toString()).toBe(text);
});
