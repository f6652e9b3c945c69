import { describe, expect, it } from "@jest/globals";
import { answersSince, guessedSignIns } from "./guessed-sign-ins.ts";

const now = new Date("2026-11-30T12:00:00.000Z");
const minutesAgo = (minutes: number) => new Date(now.getTime() - minutes * 60_000).toISOString();
type Change = { result?: "success" | "failure"; ipAddress?: string; userAgent?: string; details?: object };
const row = (minutes: number, change: Change = {}) => ({
  result: "failure" as const,
  timestamp: minutesAgo(minutes),
  ipAddress: "192.0.2.9",
  userAgent: "curl/8",
  details: { factor: "password" },
  ...change,
});
/** So many refused sign-ins, one a minute, the newest so many minutes ago. */
const refused = (count: number, minutes = 60, change: Change = {}) =>
  Array.from({ length: count }, (_, at) => row(minutes + at, change));

describe("refused sign-ins", () => {
  it.each([
    ["a few, as mistakes are", refused(9)],
    ["many over many days", Array.from({ length: 12 }, (_, at) => row(at * 720))],
    ["of more than a week ago", refused(30, 8 * 1_440)],
    ["none", [row(1, { result: "success" })]],
  ])("are no guesses: %s", (_, rows) => {
    expect(guessedSignIns(rows as never, now)).toBeNull();
  });

  it("are guesses where they are many within a day, and those before are none of them", () => {
    const rows = [row(5, { result: "success", ipAddress: "192.0.2.1" }), ...refused(12), row(3 * 1_440)];
    expect(guessedSignIns(rows as never, now)).toEqual({
      count: 12,
      firstAt: minutesAgo(71),
      lastAt: minutesAgo(60),
      sentence: "All came from 192.0.2.9 with curl/8, and no sign-in from there was accepted.",
      isSerious: false,
    });
  });

  it.each([
    [
      "an accepted one from the same address",
      [row(1, { result: "success" }), ...refused(10)],
      "All came from 192.0.2.9 with curl/8. A later sign-in from there was accepted.",
    ],
    [
      "a right password",
      [row(59, { details: { factor: "mfa" }, ipAddress: "192.0.2.10", userAgent: "curl/9" }), ...refused(10)],
      "They came from 2 addresses. The password was right in some, the code was wrong.",
    ],
  ])("are serious with %s", (_, rows, sentence) => {
    expect(guessedSignIns(rows as never, now)).toMatchObject({ sentence, isSerious: true });
  });
});

describe("what keeps a guesser out", () => {
  const did = (action: string, minutes: number, result: "success" | "denied" = "success") => ({
    action,
    result,
    timestamp: minutesAgo(minutes),
  });

  it.each([
    [[], "", false],
    [[did("user.password.change", 90), did("user.update", 3), did("user.sessions.end", 2, "denied")], "", false],
    [[did("user.sessions.end", 9)], "Since then all sessions were ended.", false],
    [
      [did("user.password.change", 3), did("user.sessions.end", 5), did("user.sessions.end", 9)],
      "Since then all sessions were ended and the password was changed.",
      true,
    ],
  ])("is what was done to the account afterwards: %j", (rows, words, isPasswordNew) => {
    expect(answersSince(minutesAgo(60), rows)).toEqual({ words, isPasswordNew });
  });
});
