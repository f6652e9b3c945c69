import { createCipheriv, randomBytes } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { secretBox } from "./secret-box.ts";

const key = (id: string) => `${id}:${randomBytes(32).toString("base64")}`;

/** The first form of the envelope. */
function bareEnvelope(keys: string, plain: string, location: string): Buffer {
  const [id = "", material = ""] = keys.split(":");
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", Buffer.from(material, "base64"), nonce).setAAD(Buffer.from(location));
  const body = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([Buffer.from([1, id.length]), Buffer.from(id), nonce, cipher.getAuthTag(), body]);
}

describe("secret box", () => {
  it("opens what it sealed, in the same place only", () => {
    const box = secretBox(key("a"), "test");
    const sealed = box.seal(Buffer.from("family"), "sessions/1/family_secret");
    expect(box.open(sealed, "sessions/1/family_secret").toString()).toBe("family");
    expect(() => box.open(sealed, "sessions/2/family_secret")).toThrow();
    expect(sealed.includes("family")).toBe(false);
  });

  it("seals with the first key and opens with every key", () => {
    const [older, newer] = [key("old"), key("new")];
    const sealed = secretBox(older, "test").seal(Buffer.from("x"), "p");
    const both = secretBox(`${newer},${older}`, "test");
    expect(both.open(sealed, "p").toString()).toBe("x");
    expect(() => secretBox(newer, "test").open(both.seal(Buffer.from("y"), "p"), "p")).not.toThrow();
    expect(() => secretBox(newer, "test").open(sealed, "p")).toThrow("unknown key");
  });

  it("notices each altered byte", () => {
    const box = secretBox(key("a"), "test");
    const sealed = box.seal(Buffer.from("secret"), "p");
    for (let i = 0; i < sealed.length; i++) {
      const altered = Buffer.from(sealed);
      altered.writeUInt8(altered.readUInt8(i) ^ 1, i);
      expect(() => box.open(altered, "p")).toThrow();
    }
  });

  it("opens nothing that was sealed for another purpose", () => {
    const keys = key("a");
    const sealed = secretBox(keys, "session").seal(Buffer.from("x"), "p");
    expect(() => secretBox(keys, "webhook").open(sealed, "p")).toThrow();
  });

  it("reports what a new first key leaves to be sealed again", () => {
    const [older, newer] = [key("old"), key("new")];
    const sealed = secretBox(older, "test").seal(Buffer.from("x"), "p");
    const both = secretBox(`${newer},${older}`, "test");
    expect(both.isCurrent(sealed)).toBe(false);
    expect(both.isCurrent(both.seal(both.open(sealed, "p"), "p"))).toBe(true);
  });

  it("still opens what was sealed under the key itself", () => {
    const keys = key("a");
    const envelope = bareEnvelope(keys, "x", "p");
    const box = secretBox(keys, "test");
    expect(box.open(envelope, "p").toString()).toBe("x");
    expect(box.isCurrent(envelope)).toBe(false);
  });

  it.each(["", "a", "a:", "a:c2hvcnQ=", `:${randomBytes(32).toString("base64")}`])(
    "refuses the key list %j",
    (keys) => {
      expect(() => secretBox(keys, "test")).toThrow("SECRET_ENCRYPTION_KEY");
    },
  );
});
