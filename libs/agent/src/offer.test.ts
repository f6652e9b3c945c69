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
};
const facts = { keys: [signer], os: "linux", arch: "amd64", counter: 0, now: new Date("2026-01-01T00:00:00Z") };

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
    ["no manifest", "bad_signature", { manifest: null }, {}],
    ["a manifest that is no object", "bad_signature", { manifest: signNote("null\n", signer) }, {}],
    ["a counter that is no number", "bad_signature", { manifest: noteOf({ ...line, counter: "4" }) }, {}],
  ])("with %s is refused as %s", (_name, reason, change, about) => {
    expect(reasonOf(change, about)).toBe(reason);
  });

  it("is none when a member that the agent needs is missing or malformed", () => {
    const { attemptId: _attemptId, ...rest } = offer;
    expect(offerIn({ updates: [rest] })?.version).toBe("1.4.0");
    for (const bad of [{ url: 1 }, { sha256: "../x" }, { size: 1.5 }, { version: null }, { component: "kernel" }]) {
      expect(offerIn({ updates: [{ ...rest, ...bad }] })).toBeNull();
    }
  });
});
