import { describe, expect, it } from "@jest/globals";
import { errorCodes } from "@muster/kit";
import { failureSentence, isPassing, waiting } from "./failure-sentence.ts";
import { linkToken } from "./link-token.ts";
import { attemptIn, ssoReasonSentence } from "./sso-reasons.ts";

describe("the sentence of a failure", () => {
  it.each([
    [{ code: "invalid_credentials", error: "Invalid", retryAfterSeconds: null }, "E-mail or password is wrong."],
    [{ code: "rate_limited", error: "", retryAfterSeconds: 12 }, "Too many attempts. Try again in 12 seconds."],
    [{ code: "some_new_code", error: "Not now", retryAfterSeconds: null }, "Not now."],
    [{ code: "constructor", error: "Odd.", retryAfterSeconds: null }, "Odd."],
  ])("a failure %j reads %s", (failure, sentence) => {
    expect(failureSentence(failure)).toBe(sentence);
  });

  it.each([...errorCodes])("the code %s has a sentence", (code) => {
    const sentence = failureSentence({ code, error: "Something was refused", retryAfterSeconds: 3 });
    expect(sentence).toMatch(/^[A-Z][^_]*\.$/);
  });

  it.each([
    [0.2, "1 second"],
    [119, "119 seconds"],
    [180, "3 minutes"],
    [7_200, "2 hours"],
  ])("waits %d s in words: %s", (seconds, words) => {
    expect(waiting(seconds)).toBe(words);
  });
});

it.each([
  [0, true],
  [429, true],
  [500, true],
  [503, true],
  [403, false],
  [404, false],
])("a failure with the status %d may pass by itself: %s", (status, expected) => {
  expect(isPassing({ status })).toBe(expected);
});

describe("the token of a mail's link", () => {
  it.each([
    [{ hash: "#token=abc", search: "" }, "abc"],
    [{ hash: "", search: "?token=abc" }, "abc"],
    [{ hash: "#token=new", search: "?token=old" }, "new"],
    [{ hash: "", search: "" }, ""],
  ])("a link %j has the token %j", (address, token) => {
    expect(linkToken(address)).toBe(token);
  });
});

it("an unknown reason has a sentence, too", () => {
  expect(ssoReasonSentence("toString")).toBe("The sign-in through the identity provider failed.");
});

it.each([
  ["attempt=0198b1de-0000-7000-8000-000000000001", "0198b1de-0000-7000-8000-000000000001"],
  ["attempt=call+0800-EVIL", null],
  ["attempt=0198b1de-0000-7000-8000-000000000001%20call%200800", null],
  ["", null],
])("the id of a failed sign-in in %j is %j", (address, id) => {
  expect(attemptIn(new URLSearchParams(address))).toBe(id);
});
