import { describe, expect, it } from "@jest/globals";
import { generateNoteKey, noteKeys, signNote } from "@muster/kit";
import { checkOffer, type Offer, offerIn, UpdateRefused } from "./offer.ts";

const signer = noteKeys(generateNoteKey("releases")).signer;
const sha256 = "a".repeat(64);
const file = { os: "linux", arch: "amd64", size: 10, sha256, name: "muster-agent-linux-amd64" };
const line = { version: "1.4.0", component: "agent", counter: 4, artifacts: [file] };
const noteOf = (manifest: object) => signNote(`${JSON.stringify(manifest)}\n`, signer);
const offer: Offer = {
  attemptId: "a1",
  component: "agent",
  version: "1.4.0",
  url: "https://muster.example/file",
  size: 10,
  sha256,
  manifest: noteOf(line),
  rootNotes: [],
  rollbackNote: null,
};
const orgId = "0192f000-0000-7000-8000-00000000000a";
const now = new Date("2026-01-01T00:00:00Z");
const facts = { keys: [signer], os: "linux", arch: "amd64", counter: 0, orgId, now };
const permission = { component: "agent", version: "1.4.0", counter: 9, scope: "*", expires: "2026-02-01T00:00:00Z" };

function reasonOf(change: Partial<Offer>, about: object = {}): string {
  try {
    checkOffer({ ...offer, ...change }, { ...facts, ...about });
    return "accepted";
  } catch (error) {
    if (error instanceof UpdateRefused) return error.reason;
    throw error;
  }
}

describe("an offer", () => {
  it("is accepted with the counter of its manifest, 0 when that has none", () => {
    expect(checkOffer(offer, facts)).toEqual({ counter: 4, artifact: file });
    const { counter: _counter, ...uncounted } = line;
    expect(checkOffer({ ...offer, manifest: noteOf(uncounted) }, facts).counter).toBe(0);
    expect(reasonOf({ manifest: noteOf(uncounted) }, { counter: 1 })).toBe("older_counter");
  });

  it("has the file of the machine's C library, gnu where neither names one", () => {
    const musl = { ...file, libc: "musl", size: 11 };
    const manifest = noteOf({ ...line, artifacts: [musl, file] });
    expect(reasonOf({ manifest })).toBe("accepted");
    expect(reasonOf({ manifest }, { libc: "gnu" })).toBe("accepted");
    expect(reasonOf({ manifest, size: 11 }, { libc: "musl" })).toBe("accepted");
    expect(reasonOf({ manifest }, { libc: "musl" })).toBe("bad_size");
    expect(reasonOf({}, { libc: "musl" })).toBe("wrong_component");
  });

  it.each(["v1.4.0", "1.4.0+build.7", "v1.4.0+x"])("fits a manifest of %s when it is of 1.4.0", (version) => {
    expect(reasonOf({ manifest: noteOf({ ...line, version }) })).toBe("accepted");
    expect(reasonOf({ version })).toBe("accepted");
  });

  it.each<[string, string, Partial<Offer>, object]>([
    ["another version", "wrong_component", { version: "1.4.1" }, {}],
    [
      "another platform before its expiry",
      "wrong_component",
      { manifest: noteOf({ ...line, expires: "2020-01-01T00:00:00Z" }) },
      { arch: "386" },
    ],
    [
      "an expiry before a lower counter",
      "expired",
      { manifest: noteOf({ ...line, expires: "2020-01-01T00:00:00Z" }) },
      { counter: 9 },
    ],
    ["an expiry that is no time", "expired", { manifest: noteOf({ ...line, expires: "soon" }) }, {}],
    ["a lower counter before another size", "older_counter", { size: 11 }, { counter: 5 }],
    ["another size before another digest", "bad_size", { size: 11, sha256: "b".repeat(64) }, {}],
    ["a file that would fill a disk", "bad_size", { size: 2 ** 40 }, {}],
    [
      "a program that would fill a disk",
      "bad_size",
      { manifest: noteOf({ ...line, artifacts: [{ ...file, program: { size: 2 ** 40, sha256 } }] }) },
      {},
    ],
    ["no manifest", "bad_signature", { manifest: null }, {}],
    ["a manifest that is no object", "bad_signature", { manifest: signNote("null\n", signer) }, {}],
    ["a counter that is no number", "bad_signature", { manifest: noteOf({ ...line, counter: "4" }) }, {}],
  ])("with %s is refused as %s", (_name, reason, change, about) => {
    expect(reasonOf(change, about)).toBe(reason);
  });

  it.each<[string, object]>([
    ["for all", {}],
    ["for its organization", { scope: orgId.toUpperCase() }],
    ["of the same version, otherwise written", { version: "v1.4.0+build.7" }],
  ])("is accepted with a lower counter and a rollback note %s", (_name, change) => {
    const about = { rollbackNote: noteOf({ ...permission, ...change }) };
    expect(checkOffer({ ...offer, ...about }, { ...facts, counter: 9 }).counter).toBe(4);
    expect(reasonOf(about, { counter: 10 })).toBe("older_counter");
  });

  it.each<[string, string]>([
    ["another component", noteOf({ ...permission, component: "helper" })],
    ["another version", noteOf({ ...permission, version: "1.3.0" })],
    ["another organization", noteOf({ ...permission, scope: "0192f000-0000-7000-8000-00000000000b" })],
    ["a time that has passed", noteOf({ ...permission, expires: "2026-01-01T00:00:00Z" })],
    ["no time", noteOf({ ...permission, expires: undefined })],
    ["a counter in words", noteOf({ ...permission, counter: "9" })],
    ["another key", signNote(`${JSON.stringify(permission)}\n`, noteKeys(generateNoteKey("releases")).signer)],
    ["nobody", `${JSON.stringify(permission)}\n\n`],
    ["no object", signNote("null\n", signer)],
  ])("is refused with a lower counter and a rollback note of %s", (_name, rollbackNote) => {
    expect(reasonOf({ rollbackNote }, { counter: 9 })).toBe("older_counter");
  });

  it("is none when a member that the agent needs is missing or malformed", () => {
    const { attemptId: _attemptId, ...rest } = offer;
    expect(offerIn({ updates: [rest] })?.version).toBe("1.4.0");
    for (const bad of [{ url: 1 }, { sha256: "../x" }, { size: 1.5 }, { version: null }, { component: "kernel" }]) {
      expect(offerIn({ updates: [{ ...rest, ...bad }] })).toBeNull();
    }
  });
});
