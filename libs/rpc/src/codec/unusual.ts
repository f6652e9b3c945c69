/**
 * What a compiled codec throws at anything that it was not compiled for: an unknown field, another wire type, a value
 * of another type. The library then does the work, or reports the error.
 */
export class Unusual extends Error {}

/** A shared instance: its stack trace, the expensive part of an error, is never read. */
export const unusual = new Unusual("left to @bufbuild/protobuf");
