import { describe, expect, it } from "@jest/globals";
import { generateNoteKey, noteKeys, signNote, uuidv7 } from "@muster/kit";
import { openRollbackNote, type Rollback, refusalOfNote } from "./rollback-note.ts";

const { signer } = noteKeys(generateNoteKey("releases"));
const now = new Date("2024-02-29T12:00:00Z");
const orgId = uuidv7();
const fields = { component: "agent", version: "v1.2.0", counter: 5, scope: "*", expires: "2024-03-01T00:00:00Z" };
const note = (change: object = {}, by = signer) => signNote(`${JSON.stringify({ ...fields, ...change })}\n`, by);

describe("a rollback note", () => {
  it("is read when a known key signed it", () => {
    expect(openRollbackNote(note(), [signer])).toMatchObject({ component: "agent", version: "1.2.0", counter: 5 });
  });

  it.each([
    ["of another key", note({}, noteKeys(generateNoteKey("stranger")).signer), "is signed by no known key"],
    ["without a signature", JSON.stringify(fields), "is not a signed note"],
    ["of no component", note({ component: "kernel" }), "has a bad component"],
    ["of no version", note({ version: "latest" }), "has a bad version"],
    ["without an end", note({ expires: undefined }), "has a bad expires"],
    ["for nobody", note({ scope: "x" }), "has a bad scope"],
  ])("%s is refused", (_, text, reason) => {
    expect(() => openRollbackNote(text, [signer])).toThrow(reason);
  });

  it.each<[string, object, Partial<Rollback>, string | null]>([
    ["permits its version", {}, {}, null],
    ["permits its organization", { scope: orgId }, {}, null],
    ["is not for another organization", { scope: uuidv7() }, {}, "is for another organization"],
    ["of one organization is not for a partner", { scope: orgId }, { orgId: null }, "is for another organization"],
    ["is not for another component", {}, { component: "watchdog" }, "is for agent 1.2.0"],
    ["is not for another version", {}, { version: "1.1.0" }, "is for agent 1.2.0"],
    ["ends at its time in another zone", { expires: "2024-02-29T14:00:00+02:00" }, {}, "has expired"],
    ["permits until its time in another zone", { expires: "2024-02-29T14:00:01+02:00" }, {}, null],
    ["ends at its time", { expires: "2024-02-29T12:00:00Z" }, {}, "has expired"],
  ])("%s", (_, change, of, reason) => {
    const against: Rollback = { component: "agent", version: "1.2.0", orgId, now, ...of };
    expect(refusalOfNote(openRollbackNote(note(change), [signer]), against)).toBe(reason);
  });
});
