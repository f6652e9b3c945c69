import { chmodSync, mkdtempSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { type Credentials, credentialsOf } from "./credentials.ts";

const url = "https://muster.test";
const session = { email: "ada@example.com", accessToken: "a1", refreshToken: "r1" };
let folder: string;
let kept: Credentials;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "muster-credentials-"));
  kept = credentialsOf({ MUSTER_CONFIG_DIR: join(folder, "inner") });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("credentials", () => {
  it("are stored by address, in a file and a folder that only their owner can read", async () => {
    await kept.keep(url, session, true);
    await kept.keep("https://other.test", { ...session, refreshToken: "r9" });
    expect([kept.current(), kept.session(url), kept.session("https://other.test")?.refreshToken]).toEqual([
      url,
      session,
      "r9",
    ]);
    expect([statSync(kept.file).mode & 0o777, statSync(join(folder, "inner")).mode & 0o777]).toEqual([0o600, 0o700]);
    await kept.keep(url, null);
    expect(kept.session(url)).toBeNull();
  });

  it("remember the newest release that was shown", async () => {
    expect(await kept.announceOnce("1.5.0")).toBe(true);
    await kept.keep(url, session);
    expect([await kept.announceOnce("1.5.0"), await kept.announceOnce("1.6.0")]).toEqual([false, true]);
    expect(kept.session(url)).toEqual(session);
  });

  it("are refused when others can read them", async () => {
    await kept.keep(url, session);
    chmodSync(kept.file, 0o644);
    expect(() => kept.session(url)).toThrow("can be read by others");
  });

  it("are refused by the file's name when they are no JSON", async () => {
    await kept.keep(url, session);
    writeFileSync(kept.file, "{");
    expect(() => kept.session(url)).toThrow(`${kept.file} is not JSON`);
  });

  it("are exchanged once, however many processes find them expired together", async () => {
    await kept.keep(url, session);
    let exchanges = 0;
    const exchange = async () => {
      exchanges += 1;
      await new Promise((resolve) => setTimeout(resolve, 20));
      return { accessToken: "a2", refreshToken: "r2" };
    };
    // Each represents a process: they share nothing but the file.
    const processes = Array.from({ length: 5 }, () => credentialsOf({ MUSTER_CONFIG_DIR: join(folder, "inner") }));
    const pairs = await Promise.all(processes.map((each) => each.refreshWith(url)(session, exchange)));
    expect(exchanges).toBe(1);
    expect(pairs).toEqual(Array(5).fill(expect.objectContaining({ accessToken: "a2", refreshToken: "r2" })));
    expect(kept.session(url)).toEqual({ email: session.email, accessToken: "a2", refreshToken: "r2" });
  });

  it("are forgotten when the API refuses them, and kept when the API does not answer", async () => {
    await kept.keep(url, session);
    expect(await kept.refreshWith(url)(session, async () => "later")).toBe("later");
    expect(kept.session(url)).toEqual(session);
    expect(await kept.refreshWith(url)(session, async () => "ended")).toBe("ended");
    expect(kept.session(url)).toBeNull();
  });

  it("are not locked for ever by a killed process", async () => {
    await kept.keep(url, session);
    writeFileSync(`${kept.file}.lock`, "1");
    const past = new Date(Date.now() - 60_000);
    utimesSync(`${kept.file}.lock`, past, past);
    await kept.keep(url, null);
    expect(kept.session(url)).toBeNull();
  });
});
