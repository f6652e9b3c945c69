import { SamlRefused } from "./refused.ts";

/** Labels of the WHATWG encoding standard by the names that XML documents declare. */
const encodings: Readonly<Record<string, string>> = {
  "utf-8": "utf-8",
  utf8: "utf-8",
  "us-ascii": "utf-8",
  ascii: "utf-8",
  "iso-8859-1": "windows-1252",
  "windows-1252": "windows-1252",
  // Declared by a text that was transcoded on its way: its bytes are UTF-8.
  "utf-16": "utf-8",
  "utf-16le": "utf-8",
  "utf-16be": "utf-8",
  unicode: "utf-8",
};
const declared = /^\s{0,64}<\?xml\s[^>]{0,120}?encoding\s{0,4}=\s{0,4}["']([\w.-]{1,40})["']/;
const declaration = /^<\?xml\s[^>]{0,200}\?>\s*/;

/**
 * A document as `byteError` wants it, from whatever carries it: a URL's body, a file, or pasted text. Accepts byte
 * order marks, UTF-16, the encodings that a declaration commonly names, white space around the document, comments and
 * processing instructions, of which nothing remains. Throws SamlRefused with the name of an encoding that is not
 * accepted.
 */
export function plainDocument(bytes: Buffer): Buffer {
  const encoding = encodingOf(bytes);
  let text: string;
  try {
    text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new SamlRefused(`the document is refused unread: not ${encoding.toUpperCase()}`, { cause });
  }
  return Buffer.from(bare(text.trim().replace(declaration, "")).trim());
}

/**
 * The text without comments and processing instructions. What looks like one in an attribute's value cannot be: `<`
 * does not stand there in XML. One without an end stays, and is refused then.
 */
function bare(text: string): string {
  const kept: string[] = [];
  let from = 0;
  for (let at = text.indexOf("<"); at >= 0; at = text.indexOf("<", at + 1)) {
    const end = text.startsWith("<!--", at) ? "-->" : text.startsWith("<?", at) ? "?>" : null;
    if (end === null) continue;
    const until = text.indexOf(end, at + (end === "-->" ? 4 : 2));
    if (until < 0) break;
    kept.push(text.slice(from, at));
    from = until + end.length;
    at = from - 1;
  }
  return kept.concat(text.slice(from)).join("");
}

/** By the byte order mark, the first two bytes, or the declaration (https://www.w3.org/TR/xml/#sec-guessing). */
function encodingOf(bytes: Buffer): string {
  const start = bytes.length < 2 ? 0 : bytes.readUInt16BE(0);
  if (start === 0xfeff || start === 0x003c) return "utf-16be";
  if (start === 0xfffe || start === 0x3c00) return "utf-16le";
  const head = bytes.toString("latin1", 0, 512).replace(/^\u00ef\u00bb\u00bf/, "");
  const name = declared.exec(head)?.[1]?.toLowerCase() ?? "utf-8";
  if (!Object.hasOwn(encodings, name)) {
    throw new SamlRefused(`the document is refused unread: the encoding ${name} is not accepted`);
  }
  return encodings[name] ?? "utf-8";
}
