import { expect, it } from "@jest/globals";
import { clientWords } from "./client-words.ts";

const webkit = "AppleWebKit/537.36 (KHTML, like Gecko)";

it.each([
  ["Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:130.0) Gecko/20100101 Firefox/130.0", "Firefox on Windows"],
  [`Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${webkit} Chrome/128.0 Safari/537.36`, "Chrome on macOS"],
  [`Mozilla/5.0 (X11; Linux x86_64) ${webkit} Chrome/128.0 Safari/537.36 Edg/128.0`, "Edge on Linux"],
  [`Mozilla/5.0 (Linux; Android 14) ${webkit} Chrome/128.0 Mobile Safari/537.36`, "Chrome on Android"],
  ["curl/8.9.1", "curl/8.9.1"],
  ["muster/1.2 (linux x64)", "muster/1.2"],
  ["", null],
  [null, null],
])("a client %j is %s", (userAgent, words) => {
  expect(clientWords(userAgent)).toBe(words);
});
