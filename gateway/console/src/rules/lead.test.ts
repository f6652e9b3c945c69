import { describe, expect, it } from "@jest/globals";
import { leadChanges, withLead, withValues } from "./lead.ts";

const rows = (ids: string, value = 0) => [...ids].map((id) => ({ id, value }));
const ids = (of: readonly { id: string }[]) => of.map(({ id }) => id).join("");

describe("rows that lead a list", () => {
  it.each([
    ["abcd", "", "abcd"],
    ["abcd", "c", "cabd"],
    ["abcd", "xc", "xcabd"],
    ["", "x", "x"],
  ])("come before the rows %s, each once: %s", (all, lead, listed) => {
    expect(ids(withLead(rows(all), rows(lead)))).toBe(listed);
  });

  it("get their new values where they are", () => {
    expect(withValues(rows("ab"), rows("bz", 1))).toEqual([...rows("a"), ...rows("b", 1)]);
    expect(withValues(rows("ab"), undefined)).toEqual(rows("ab"));
  });

  it.each([
    ["ab", "ab", "", 0],
    ["ab", "abc", "", 1],
    ["ab", "b", "", 1],
    ["ab", "cd", "", 4],
    // A full answer: "a" may still be such a row, behind the last of them.
    ["abcde", "fbcde", "", 1],
    ["ab", "xab", "x", 0],
  ])("have changed from %s to %s, without the new ones %s, by %i", (before, now, fresh, count) => {
    expect(leadChanges({ before: rows(before), now: rows(now), fresh: rows(fresh), most: 5 })).toBe(count);
  });
});
