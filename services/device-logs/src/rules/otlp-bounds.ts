import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { LogRecordSchema } from "@muster/proto/opentelemetry/proto/logs/v1/logs_pb";
import { mendUtf8 } from "./utf8.ts";

/** Records of one request. */
export const maxOtlpRecords = 5_000;
/** Messages inside of a request, or objects of its JSON: each costs memory, and an empty one has two bytes. */
export const maxOtlpMessages = 250_000;
/** Nesting of a request: five levels of OTLP, the rest for values inside of values. */
export const maxOtlpDepth = 64;

/** What a request holds. Throws BoundsError when that is too much. */
export class OtlpBounds {
  #records = 0;
  #messages = 0;
  /** Bytes that were no UTF-8. */
  replaced = 0;

  enter(depth: number): void {
    if (depth > maxOtlpDepth) throw new BoundsError(`Nested deeper than ${maxOtlpDepth} levels`);
    this.#messages++;
    if (this.#messages > maxOtlpMessages) throw new BoundsError(`At most ${maxOtlpMessages} values`);
  }

  addRecords(count: number): void {
    this.#records += count;
    if (this.#records > maxOtlpRecords) throw new BoundsError(`At most ${maxOtlpRecords} log records`);
  }
}

export class BoundsError extends Error {}

/**
 * Counts what a message holds before it is decoded, since decoded it may be a hundred times as large, and makes its
 * texts valid UTF-8 in place. Throws Error for bytes that are no message.
 */
export function boundsOfBytes(desc: DescMessage, bytes: Uint8Array): OtlpBounds {
  const bounds = new OtlpBounds();
  readMessage(desc, { bytes, reader: new BinaryReader(bytes), bounds }, bytes.length, 1);
  return bounds;
}

type Reading = { bytes: Uint8Array; reader: BinaryReader; bounds: OtlpBounds };

function readMessage(desc: DescMessage, reading: Reading, end: number, depth: number): void {
  const { bytes, reader, bounds } = reading;
  bounds.enter(depth);
  if (desc === LogRecordSchema) bounds.addRecords(1);
  const fields = fieldsByNumber(desc);
  while (reader.pos < end) {
    const [number, wireType] = reader.tag();
    const field = fields.get(number);
    if (field === undefined || wireType !== WireType.LengthDelimited) {
      reader.skip(wireType, number);
      continue;
    }
    const length = reader.uint32();
    const stop = reader.pos + length;
    if (stop > end) throw new Error("a field ends after its message");
    if (field.message !== undefined) readMessage(field.message, reading, stop, depth + 1);
    else if (field.scalar === ScalarType.STRING) bounds.replaced += mendUtf8(bytes.subarray(reader.pos, stop));
    reader.pos = stop;
  }
}

const byNumber = new Map<DescMessage, ReadonlyMap<number, DescField>>();

function fieldsByNumber(desc: DescMessage): ReadonlyMap<number, DescField> {
  const found = byNumber.get(desc) ?? new Map(desc.fields.map((field) => [field.number, field]));
  byNumber.set(desc, found);
  return found;
}
