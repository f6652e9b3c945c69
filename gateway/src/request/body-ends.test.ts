import { describe, expect, it } from "@jest/globals";
import { BodyEnds } from "./body-ends.ts";

const state = /[\w-]{1,64}/;

/** A body in chunks of that many bytes. */
function endsOf(text: string, chunkBytes: number): BodyEnds {
  const ends = new BodyEnds();
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += chunkBytes) ends.add(bytes.subarray(at, at + chunkBytes));
  return ends;
}

describe("a form too large to be kept", () => {
  const large = "A".repeat(100_000);
  it.each([
    ["behind the large field", `SAMLResponse=${large}&RelayState=abc-1_`, "abc-1_"],
    ["before the large field", `RelayState=abc&SAMLResponse=${large}`, "abc"],
    ["before a button", `SAMLResponse=${large}&RelayState=abc&submit=Continue`, "abc"],
    ["nowhere", `SAMLResponse=${large}`, null],
    ["under a longer name", `SAMLResponse=${large}&XRelayState=abc`, null],
    ["cut off by the head's end", `RelayState=${"a".repeat(3_000)}&SAMLResponse=${large}`, null],
    ["with another value", `SAMLResponse=${large}&RelayState=a%00b`, null],
  ])("has its small field read %s", (_case, text, value) => {
    for (const chunkBytes of [1_000, 7, 65_536, text.length]) {
      const ends = endsOf(text, chunkBytes);
      expect([ends.formField("RelayState", state), ends.bytes]).toEqual([value, text.length]);
    }
  });
});
