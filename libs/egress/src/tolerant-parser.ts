import { HTTPParserError, type Pool, parserOf, type ResponseParser } from "@muster/kit/undici";
import { ResponseHead } from "./response-head.ts";

/** Interim answers (1xx) before the final one. */
const maxInterim = 32;

/**
 * Makes a pool's connections accept what HTTP allows and undici's parser refuses: a 100 Continue that was not asked
 * for, and a length that is stated twice. The parser stays undici's; three methods of each connection's are wrapped, so
 * that calls among our own services keep the strict one
 * (docs/decisions/0027-egress-validates-the-address-that-it-connects-to.md).
 */
export function tolerate(pool: Pool): void {
  pool.on("connect", (_origin, targets) => {
    const client = targets.at(-1);
    const parser = client && parserOf(client);
    if (parser) wrap(parser);
  });
}

function wrap(parser: ResponseParser): void {
  const { createError, execute, onHeadersComplete } = parser;
  const head = new ResponseHead();
  let interim = 0;
  parser.execute = (chunk) => {
    // With a status it reads the body; before and between answers it has none.
    const bytes = parser.statusCode === 0 ? head.take(chunk) : chunk;
    if (bytes.length > 0 || chunk.length === 0) execute.call(parser, bytes);
  };
  parser.createError = (code, rest) => {
    // A length in a head that cannot be parsed would hide why: the body is shorter than that, as there is none yet.
    if (parser.statusCode === 0) parser.contentLength = "";
    return createError.call(parser, code, rest);
  };
  parser.onHeadersComplete = (status, upgrade, shouldKeepAlive) => {
    interim = status < 200 ? interim + 1 : 0;
    if (interim > maxInterim) throw new HTTPParserError("More than 32 interim answers");
    // undici refuses 100 and no other interim status: 102 stands for it.
    return onHeadersComplete.call(parser, status === 100 ? 102 : status, upgrade, shouldKeepAlive);
  };
}
