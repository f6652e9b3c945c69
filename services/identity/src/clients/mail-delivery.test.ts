import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createLogger, type Logger } from "@muster/kit";
import { mailDelivery } from "./mail-delivery.ts";

const publicUrl = "https://muster.example.test";
const link = `${publicUrl}/reset-password#token=pwr_secret`;
const mail = {
  id: "018f0000-0000-7000-8000-000000000001",
  kind: "password_reset",
  to: { address: "ada@example.com", name: "Ada" },
  subject: "Set a new Muster password",
  text: `Hello\n\n${link}\n`,
  html: "",
};

let folder: string;
beforeAll(async () => {
  folder = join(await mkdtemp(join(tmpdir(), "muster-mail-")), "mail");
});
afterAll(() => rm(join(folder, ".."), { recursive: true, force: true }));

/** What is logged, as text. */
function listening(): { log: Logger; said: () => string } {
  const lines: unknown[] = [];
  const note = (...words: unknown[]) => void lines.push(words);
  const log = { ...createLogger("test", "error"), info: note, warn: note, error: note } as unknown as Logger;
  return { log, said: () => JSON.stringify(lines) };
}

describe("without SMTP_URL", () => {
  it("mail becomes a file that only its owner can read, and the log names the file, not the link", async () => {
    const { log, said } = listening();
    await mailDelivery({ NODE_ENV: "development", MAIL_DIR: folder }, publicUrl, log)?.send(mail);
    const [name = ""] = await readdir(folder);
    const text = await readFile(join(folder, name), "utf8");
    expect(text).toContain(`To: Ada <ada@example.com>\nSubject: Set a new Muster password\n\nHello\n\n${link}`);
    expect((await stat(join(folder, name))).mode & 0o077).toBe(0);
    expect([said().includes(name), said().includes("pwr_secret")]).toEqual([true, false]);
  });

  it("without a folder the log shows the link, in development only", async () => {
    const { log, said } = listening();
    await mailDelivery({ NODE_ENV: "development" }, publicUrl, log)?.send(mail);
    expect(said()).toContain(link);
  });

  it("no mail is sent in production: mail stays queued, and the log reports it once", () => {
    const { log, said } = listening();
    expect(mailDelivery({ NODE_ENV: "production" }, publicUrl, log)).toBeNull();
    expect(said()).toContain("no SMTP_URL");
  });
});

describe("settings of mail", () => {
  it.each([
    [{ NODE_ENV: "production", MAIL_DIR: "/x" }, "MAIL_DIR"],
    [{ NODE_ENV: "production", SMTP_URL: "mail.example.com" }, "SMTP_URL"],
    [{ NODE_ENV: "development", SMTP_URL: "http://mail.example.com" }, "SMTP_URL"],
  ])("%j are refused, naming %s", (settings, name) => {
    expect(() => mailDelivery(settings, publicUrl, createLogger("test", "error"))).toThrow(name);
  });
});
