/** Shorter replies fit into a packet or two anyway. */
const fromCharacters = 2_048;

/**
 * Whether a reply is compressed for clients that accept it. Replies with secrets never are: their length would leak
 * information.
 */
export const mayCompress = ({ noStore }: { noStore?: true }, text: string): boolean =>
  text.length >= fromCharacters && !noStore;

/** Whether Accept-Encoding names gzip with a weight above 0 (RFC 9110 section 12.5.3). */
export function takesGzip(acceptEncoding: string | null): boolean {
  if (acceptEncoding === null) return false;
  for (const item of acceptEncoding.toLowerCase().split(",")) {
    const [coding, ...parameters] = item.split(";").map((part) => part.trim());
    if (coding === "gzip") return !parameters.some((each) => /^q\s*=\s*0(\.0{0,3})?$/.test(each));
  }
  return false;
}

const asIs: readonly string[] = ["Vary", "Accept-Encoding"];
const gzipped: readonly string[] = ["Content-Encoding", "gzip", ...asIs];

/** Header lines of a reply that may be compressed. */
export const varying = (isGzip: boolean): readonly string[] => (isGzip ? gzipped : asIs);
