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
 * A document as `byteFault` wants it, from whatever carries it: a URL's body, a file, or pasted text. Accepts byte
 * order marks, UTF-16, the encodings that a declaration commonly names, and white space around the document. Throws
 * SamlRefused with the name of an encoding that is not accepted.
 */
export function plainDocument(bytes: Buffer): Buffer {
  const encoding = encodingOf(bytes);
  let text: string;
  try {
    text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new SamlRefused(`the document is refused unread: not ${encoding.toUpperCase()}`, { cause });
  }
  return Buffer.from(text.trim().replace(declaration, "").trimEnd());
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
