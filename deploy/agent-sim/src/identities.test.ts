import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { openIdentities } from "./identities.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "muster-sim-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const make = { hostname: "sim", os: "mixed", versions: { agent: "1.0.0" } } as const;

describe("identities", () => {
  it("are the same after a restart, with the token that was saved last, for their owner's eyes only", () => {
    const file = join(folder, "deep", "state.jsonl");
    const first = openIdentities(file, 3, make);
    const [one] = first.all;
    if (!one) throw new Error("no identity");
    for (const token of ["a", "b"]) {
      one.token = token;
      first.save(one);
    }
    expect(statSync(file).mode & 0o777).toBe(0o600);
    appendFileSync(file, '{"n":1,"hardw');
    const again = openIdentities(file, 2, make);
    expect(again.all).toEqual(first.all.slice(0, 2));
    expect(again.all[0]?.token).toBe("b");
    // The third stays for a later start with more agents.
    expect(openIdentities(file, 3, make).all).toEqual(first.all);
    expect(readFileSync(file, "utf8").trim().split("\n")).toHaveLength(3);
  });
});
