import { describe, expect, it } from "@jest/globals";
import { generateNoteKey, noteKeys, signNote } from "@muster/kit";
import { createVerify, distrusted, type TrustedFacts } from "./release-trust.ts";

const [old, next] = [noteKeys(generateNoteKey("old")).signer, noteKeys(generateNoteKey("next")).signer];
const release = (version: string, counter: number, day: number, change: Partial<TrustedFacts> = {}): TrustedFacts => ({
  id: version,
  component: "agent",
  version,
  manifest: signNote("{}\n", old),
  counter,
  createdAt: new Date(Date.UTC(2024, 0, day)),
  yanked: false,
  ...change,
});
const reasons = (releases: TrustedFacts[], keys = [old], unsigned = false) =>
  Object.fromEntries(distrusted(releases, { verify: createVerify()(keys), unsigned }));

describe("a release", () => {
  it("is refused when none of the present keys signed it, whatever was true when it was registered", () => {
    const releases = [release("1.0.0", 1, 1), release("1.1.0", 2, 2, { manifest: null })];
    const unknown = "is not signed by a known key";
    expect(reasons(releases, [old])).toEqual({ "1.1.0": unknown });
    expect(reasons(releases, [next])).toEqual({ "1.0.0": unknown, "1.1.0": unknown });
    expect(reasons(releases, [])).toEqual({ "1.0.0": unknown, "1.1.0": unknown });
    expect(reasons(releases, [next], true)).toEqual({});
  });

  it("is verified anew by other keys", () => {
    const verifyWith = createVerify();
    const facts = release("1.0.0", 1, 1);
    expect([verifyWith([old])(facts), verifyWith([next])(facts), verifyWith([old])(facts)]).toEqual([
      true,
      false,
      true,
    ]);
  });

  it("is refused when an older version that was registered before has a higher counter", () => {
    const text = "has the counter 3, lower than 5 of 1.0.0: agents refuse it";
    expect(reasons([release("1.0.0", 5, 1), release("1.1.0", 3, 2)])).toEqual({ "1.1.0": text });
    expect(reasons([release("1.0.0", 5, 1), release("1.1.0", 5, 2)])).toEqual({});
    expect(reasons([release("1.0.0", 5, 1, { yanked: true }), release("1.1.0", 3, 2)])).toEqual({});
    expect(reasons([release("1.0.0", 5, 1, { component: "helper" }), release("1.1.0", 3, 2)])).toEqual({});
  });

  it("stays accepted when a fix of an older version is published after it", () => {
    expect(reasons([release("2.0.0", 5, 1), release("1.0.1", 6, 2)])).toEqual({});
  });
});
