import { expect, it } from "@jest/globals";
import { lastAnswer, lastRefused } from "./last-answer.ts";

const delivered = { status: "delivered", responseStatus: 204, errorMessage: null };
const refused = { status: "retrying", responseStatus: 500, errorMessage: null };
const silent = { status: "failed", responseStatus: null, errorMessage: "connection refused" };
const fresh = { status: "pending", responseStatus: null, errorMessage: null };

it.each([
  ["the newest delivery that failed says what the receiver answers", [fresh, refused, silent], "It answers 500."],
  ["one without an answer says why", [delivered, silent], "It does not answer: connection refused."],
  ["deliveries that did not fail say nothing", [fresh, delivered], ""],
  ["no delivery says nothing", [], ""],
])("%s", (_name, deliveries, sentence) => {
  expect(lastAnswer(lastRefused(deliveries))).toBe(sentence);
});
