import { describe, expect, it } from "@jest/globals";
import { refusedSignIns, signInRuns, signInWords } from "./sign-in-words.ts";

const accepted = (id: string, details = {}) =>
  ({ id, result: "success", errorMessage: null, ipAddress: "192.0.2.1", userAgent: "curl/8", details }) as const;
const refused = (id: string, errorMessage = "wrong password", ipAddress = "192.0.2.9") =>
  ({ id, result: "failure", errorMessage, ipAddress, userAgent: "curl/8", details: {} }) as const;

it("sign-ins in a row that ended alike from one address are one", () => {
  const rows = [
    accepted("a"),
    accepted("b"),
    refused("c"),
    refused("d"),
    refused("e", "wrong code"),
    accepted("f"),
    refused("g"),
    refused("h", "wrong password", "192.0.2.10"),
  ];
  expect(signInRuns(rows).map(({ first, count }) => [first.id, count])).toEqual([
    ["a", 2],
    ["c", 2],
    ["e", 1],
    ["f", 1],
    ["g", 1],
    ["h", 1],
  ]);
});

describe("a sign-in in words", () => {
  it.each([
    [accepted("a"), 1, "Signed in", ""],
    [accepted("a"), 4, "Signed in 4 times", ""],
    [accepted("a", { mfa: true }), 1, "Signed in", "with a second factor"],
    [
      accepted("a", { mfa: true, method: "sso", providerName: "Entra" }),
      1,
      "Signed in",
      "through Entra, with a second factor",
    ],
    [accepted("a", { mfa: false, method: "sso" }), 1, "Signed in", "through a provider"],
    [refused("a"), 1, "Refused", "wrong password"],
    [refused("a", "wrong code"), 1_200, "Refused 1,200 times", "wrong code"],
  ])("%j, %i times, is %s %s", (row, count, did, how) => {
    expect(signInWords(row, count)).toEqual({ did, how });
  });

  it.each([
    [[accepted("a"), refused("b"), refused("c")], "2 of the last 3 sign-ins were refused."],
    [[accepted("a"), refused("b")], "1 of the last 2 sign-ins was refused."],
    [[refused("a")], "The last sign-in was refused."],
    [[accepted("a")], null],
  ])("in %j the refused ones are counted: %s", (rows, sentence) => {
    expect(refusedSignIns(rows)).toBe(sentence);
  });
});
