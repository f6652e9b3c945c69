import { describe, expect, it } from "@jest/globals";
import { plainDocument } from "./plain-document.ts";

const read = (bytes: string | Buffer) => plainDocument(Buffer.from(bytes as string)).toString();
const utf16 = (text: string) => Buffer.from(text, "utf16le");

describe("a document", () => {
  it.each<[string, string | Buffer, string]>([
    ["without its declaration", '<?xml version="1.0" encoding="UTF-8"?>\n<a/>', "<a/>"],
    ["without comments", "<a><!-- <b/> --><c/></a><!---->", "<a><c/></a>"],
    ["without a comment that begins like its end", "<a><!--> b --><c/></a>", "<a><c/></a>"],
    ["without processing instructions", '<?x y="?"?><a><?z?></a>', "<a></a>"],
    ["with what has no end", "<a/><!-- b", "<a/><!-- b"],
    ["of UTF-16 with a byte order mark", Buffer.concat([Buffer.from([0xff, 0xfe]), utf16("<ä/>")]), "<ä/>"],
    ["of UTF-16 without one", utf16("<ä/>"), "<ä/>"],
    ["of UTF-16, big-endian", utf16("<ä/>").swap16(), "<ä/>"],
    [
      "of the encoding that it declares",
      Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?><ä/>', "latin1"),
      "<ä/>",
    ],
  ])("is read %s", (_what, bytes, expected) => {
    expect(read(bytes)).toBe(expected);
  });

  it.each<[string, string | Buffer, string]>([
    ["that is not what it declares", Buffer.from("<ä/>", "latin1"), "not UTF-8"],
    ["of another encoding", '<?xml version="1.0" encoding="EBCDIC-CP-US"?><a/>', "ebcdic-cp-us"],
  ])("%s is refused with the encoding's name", (_what, bytes, name) => {
    expect(() => read(bytes)).toThrow(new RegExp(name, "i"));
  });
});
