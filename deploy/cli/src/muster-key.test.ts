import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";

const program = fileURLToPath(new URL("../dist/muster-key.js", import.meta.url));
// CRC-32 of the 26 letters is 4c2750bd.
const wellFormed = "svc_abcdefghijklmnopqrstuvwxyzTCdQvQ";

function run(args: string[], input = ""): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], { input, encoding: "utf8" });
  return { status, output: stdout + stderr };
}

describe("muster-key check", () => {
  it.each([
    [wellFormed, 0, "svc_abcdefgh: well-formed"],
    [wellFormed.replace("a", "b"), 1, "svc_bbcdefgh: has a wrong checksum"],
    [`${wellFormed.slice(0, -1)}R`, 1, "svc_abcdefgh: has a wrong checksum"],
    [wellFormed.slice(0, -1), 1, "svc_abcdefgh: is not svc_ and 32 base64url characters"],
    ["password", 1, "(no key): does not begin with svc_"],
  ])("%s ends with %d: %s", (key, status, text) => {
    expect(run(["check", key])).toEqual({ status, output: `${text}\n` });
    expect(run(["check"], `${key}\n`)).toEqual({ status, output: `${text}\n` });
  });

  it("never shows a whole key", () => {
    expect(run(["check"], `${wellFormed}\r\n\n${wellFormed.replace("a", "b")}`).output).not.toContain("ijklmnop");
  });

  it.each([[[]], [["check"]], [["verify", wellFormed]], [["check", wellFormed, wellFormed]]])(
    "explains itself when asked for %j",
    (args) => {
      const { status, output } = run(args);
      expect([status, output.slice(0, 6)]).toEqual([2, "Usage:"]);
    },
  );
});
