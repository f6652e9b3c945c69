import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { openIdentity, prepareFolder } from "./identity-file.ts";
import { pathsOf } from "./paths.ts";

let folder: string;
let state: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "muster-identity-"));
  state = join(folder, "state");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const refused = (message: string) =>
  expect.objectContaining({ exitCode: 7, message: expect.stringContaining(message) });
/** A user of this machine who is not root: only root can give a folder away. */
const other = process.getuid?.() === 0 ? it : it.skip;

describe("the state folder", () => {
  it("is closed for everybody else", () => {
    mkdirSync(state, { mode: 0o777 });
    prepareFolder(state);
    expect(statSync(state).mode & 0o777).toBe(0o700);
  });

  it("is refused when it is a link, which somebody else may have put there", () => {
    mkdirSync(join(folder, "elsewhere"));
    symlinkSync(join(folder, "elsewhere"), state);
    expect(() => prepareFolder(state)).toThrow(refused("is no folder"));
  });

  other("is refused when it is another user's", () => {
    mkdirSync(state);
    chownSync(state, 12_345, 12_345);
    const uid = process.getuid;
    Object.assign(process, { getuid: () => 54_321 });
    try {
      expect(() => prepareFolder(state)).toThrow(refused("belongs to another user"));
    } finally {
      Object.assign(process, { getuid: uid });
    }
  });

  it("holds the token in a file of its own: a link at its path is replaced, not followed", () => {
    const victim = join(folder, "victim");
    writeFileSync(victim, "kept");
    mkdirSync(state);
    writeFileSync(join(state, "machine.json"), '{"hardwareId":"h","serialNumber":""}');
    for (const name of ["identity.json.new"]) symlinkSync(victim, join(state, name));
    const paths = pathsOf({ programFolder: folder, stateFolder: state });
    const file = openIdentity(paths);
    file.identity.token = "agt_token";
    file.save();
    expect(readFileSync(victim, "utf8")).toBe("kept");
    expect([statSync(paths.identity).mode & 0o777, JSON.parse(readFileSync(paths.identity, "utf8")).token]).toEqual([
      0o600,
      "agt_token",
    ]);
  });
});
