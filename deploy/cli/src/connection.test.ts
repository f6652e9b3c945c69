import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { listProfiles, useProfile } from "./commands/profiles.ts";
import { connect, targetOf } from "./connection.ts";
import type { Io } from "./io.ts";

let folder: string;
let io: Io;
let out: PassThrough;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "muster-profiles-"));
  out = new PassThrough();
  const env = { MUSTER_CONFIG_DIR: folder };
  io = { env, stdin: new PassThrough(), stdout: out, stderr: new PassThrough() };
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function signIn(profile: string, url: string) {
  const target = targetOf(io, { profile, url });
  await target.credentials.nameProfile(profile, target.url);
  await target.credentials.keep(
    target.key,
    { accessToken: "a", refreshToken: profile, email: `${profile}@a.test` },
    true,
  );
}

describe("a profile", () => {
  it("has an address and a session of its own, also at the same deployment", async () => {
    await signIn("one", "https://muster.test/api/v1/");
    await signIn("two", "https://muster.test");
    const [one, two] = [targetOf(io, { profile: "one" }), targetOf(io, { profile: "two" })];
    expect([one.url, two.url]).toEqual(["https://muster.test", "https://muster.test"]);
    expect(one.credentials.session(one.key)?.email).toBe("one@a.test");
    expect(two.credentials.session(two.key)?.email).toBe("two@a.test");
    expect(targetOf(io, {}).profile).toBe("two");
    await useProfile(io, "one");
    expect(targetOf(io, {}).profile).toBe("one");
    listProfiles(io, { json: true });
    expect(JSON.parse(String(out.read()))).toEqual([
      { name: "one", url: "https://muster.test", email: "one@a.test", current: true },
      { name: "two", url: "https://muster.test", email: "two@a.test", current: false },
    ]);
    await expect(useProfile(io, "three")).rejects.toThrow('no profile "three"');
  });

  it("sends its session to no other address", async () => {
    await signIn("one", "https://muster.test");
    expect(() => connect(io, { profile: "one", url: "https://evil.test" })).toThrow("not signed in");
    expect(() => connect({ ...io, env: { ...io.env, MUSTER_URL: "https://evil.test" } }, {})).toThrow("not signed in");
    expect(targetOf({ ...io, env: { ...io.env, MUSTER_URL: "https://evil.test" } }, { profile: "one" }).url).toBe(
      "https://muster.test",
    );
  });

  it.each(["", "a b", "../x", "a@b", "x".repeat(65), "__proto__"])("is not named %j", (profile) => {
    expect(() => targetOf(io, { profile })).toThrow("no name of a profile");
  });
});
