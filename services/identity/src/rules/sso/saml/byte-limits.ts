import { isUtf8 } from "node:buffer";

/** What a document may be before any parser sees it. Attributes count namespace declarations. */
export type ByteLimits = {
  bytes: number;
  elements: number;
  depth: number;
  attributes: number;
  attributesInAll: number;
};

/** Thousands of groups. The whole verification takes less than 400 ms for the worst document within these. */
export const responseLimits: ByteLimits = {
  bytes: 1024 * 1024,
  elements: 20_000,
  depth: 32,
  attributes: 64,
  attributesInAll: 80_000,
};

/** Metadata of large providers lists hundreds of claims; only administrators send it. */
export const metadataLimits: ByteLimits = {
  bytes: 1024 * 1024,
  elements: 20_000,
  depth: 32,
  attributes: 64,
  attributesInAll: 60_000,
};

const declaration =
  /^<\?xml version=(?:"1\.0"|'1\.0')(?: encoding=(?:"utf-8"|'utf-8'))?(?: standalone=(?:"yes"|"no"|'yes'|'no'))?\s{0,4}\?>/i;
const [less, more, slash, bang, question, equals, double, single] = [0x3c, 0x3e, 0x2f, 0x21, 0x3f, 0x3d, 0x22, 0x27];

/**
 * Why these bytes are not passed to the parser, or null. One pass: UTF-8 without a byte order mark, no `<!` and no `<?`
 * except the XML declaration, hence no DOCTYPE, entity, comment, CDATA or processing instruction; and no more elements
 * and attributes than allowed.
 */
export function byteError(bytes: Buffer, limits: ByteLimits): string | null {
  if (bytes.length > limits.bytes) return `${bytes.length} bytes, at most ${limits.bytes} are accepted`;
  if (!isUtf8(bytes)) return "not UTF-8";
  if (bytes[0] !== less) return "does not begin with an element";
  const declared = declaration.exec(bytes.toString("latin1", 0, 120))?.[0].length ?? 0;
  let [elements, depth, all] = [0, 0, 0];
  for (let at = declared; at < bytes.length; at++) {
    if (bytes[at] !== less) continue;
    const next = bytes[at + 1];
    if (next === bang) return "declarations, comments and CDATA sections are refused";
    if (next === question) return "processing instructions are refused";
    if (next === slash) {
      depth--;
      continue;
    }
    const tag = tagAt(bytes, at + 1);
    if (tag === null) return "malformed";
    elements++;
    depth++;
    all += tag.attributes;
    if (elements > limits.elements) return `more than ${limits.elements} elements`;
    if (depth > limits.depth) return `deeper than ${limits.depth} elements`;
    if (tag.attributes > limits.attributes) return `more than ${limits.attributes} attributes on one element`;
    if (all > limits.attributesInAll) return `more than ${limits.attributesInAll} attributes`;
    at = tag.end;
    if (bytes[at - 1] === slash) depth--;
  }
  return null;
}

/** Attributes of the start tag that begins here, and where its `>` stands; null when it has no end. */
function tagAt(bytes: Buffer, from: number): { attributes: number; end: number } | null {
  let quote = 0;
  let attributes = 0;
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === less) return null;
    if (quote !== 0) {
      if (byte === quote) quote = 0;
    } else if (byte === double || byte === single) quote = byte;
    else if (byte === equals) attributes++;
    else if (byte === more) return { attributes, end: at };
  }
  return null;
}
