/**
 * RFC 8785 text of a JSON value: keys by UTF-16 code units, numbers and strings as ECMAScript writes them. Throws on
 * numbers that JSON has not. Our own, because it is half the price of sealing a row (npm run bench -- audit-seal); the
 * tests hold it against the `canonicalize` package.
 */
export declare function canonicalJson(value: unknown): string;
//# sourceMappingURL=canonical-json.d.ts.map