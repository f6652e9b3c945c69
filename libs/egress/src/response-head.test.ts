import { describe, expect, it } from "@jest/globals";
import { ResponseHead } from "./response-head.ts";

/** What the parser gets of these pieces. */
function taken(...pieces: string[]): string {
  const head = new ResponseHead();
  return pieces.map((piece) => head.take(Buffer.from(piece)).toString()).join("");
}

const ok = "HTTP/1.1 200 OK\r\n";

describe("the head of a response", () => {
  it.each<[string, string, string]>([
    ["one length", `${ok}Content-Length: 2\r\n\r\nok`, `${ok}Content-Length: 2\r\n\r\nok`],
    [
      "equal lengths",
      `${ok}content-length: 2\r\nx: y\r\nContent-Length:2\r\n\r\nok`,
      `${ok}content-length: 2\r\nx: y\r\n\r\nok`,
    ],
    ["a list of one length", `${ok}Content-Length: 2,2\r\n\r\nok`, `${ok}content-length: 2\r\n\r\nok`],
    [
      "other lengths",
      `${ok}content-length: 2\r\ncontent-length: 3\r\n\r\n`,
      `${ok}content-length: 2\r\ncontent-length: 3\r\n\r\n`,
    ],
    [
      "other numerals",
      `${ok}content-length: 2\r\ncontent-length: 02\r\n\r\n`,
      `${ok}content-length: 2\r\ncontent-length: 02\r\n\r\n`,
    ],
    [
      "an interim one before",
      `HTTP/1.1 100 C\r\ncontent-length: 2\r\n\r\n${ok}content-length: 2\r\n\r\n`,
      `HTTP/1.1 100 C\r\ncontent-length: 2\r\n\r\n${ok}content-length: 2\r\n\r\n`,
    ],
    [
      "lines that end in LF",
      "HTTP/1.1 200\ncontent-length: 2\ncontent-length: 2\n\nok",
      "HTTP/1.1 200\ncontent-length: 2\n\nok",
    ],
    ["no HTTP", "220 smtp\r\ncontent-length: 2\r\n", "220 smtp\r\ncontent-length: 2\r\n"],
  ])("with %s reaches the parser alike, wherever it is divided", (_what, text, wanted) => {
    expect(taken(text)).toBe(wanted);
    const end = text.indexOf("\r\n\r\n") < 0 ? text.length : text.lastIndexOf("\r\n\r\n") + 4;
    for (let at = 1; at < end; at++) {
      expect([at, taken(text.slice(0, at), text.slice(at))]).toEqual([at, wanted]);
    }
  });

  it("passes on at once what is no length", () => {
    const head = new ResponseHead();
    for (const piece of ["H", "HTTP/1.1 2", "HTTP/1.1 200", "220 smtp"]) {
      expect(new ResponseHead().take(Buffer.from(piece)).toString()).toBe(/^H$/.test(piece) ? "" : piece);
    }
    expect(head.take(Buffer.from(`${ok}x-long: ${"y".repeat(9)}`)).toString()).toBe(`${ok}x-long: yyyyyyyyy`);
    expect(head.take(Buffer.from("yy")).toString()).toBe("yy");
  });

  it("is handed over as the same bytes when nothing is removed", () => {
    const bytes = Buffer.from(`${ok}content-length: 2\r\n\r\nok`);
    expect(new ResponseHead().take(bytes)).toBe(bytes);
  });
});
