import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { compileDecoder, type Decode } from "./decoder.ts";
import { compileEncoder, type Encode } from "./encoder.ts";
import { planOf } from "./plan.ts";
import { WireReader } from "./wire-reader.ts";
import { WireWriter } from "./wire-writer.ts";

type Codec = { encode: Encode; decode: Decode };

const compiled = new WeakMap<DescMessage, Codec | null>();
const writer = new WireWriter();

/**
 * The bytes of a message, or of what `create` would make one of: those that `toBinary` returns; throws its errors.
 * @param schema Its type: code for it is compiled when it is written or read for the first time.
 */
export function encode<Desc extends DescMessage>(schema: Desc, message: MessageInitShape<Desc>): Uint8Array {
  const codec = codecOf(schema);
  if (codec) {
    try {
      codec.encode(writer, message);
      return writer.finish();
    } catch {
      // Whatever the compiled code was not made for is the library's to write, or to refuse.
      writer.reset();
    }
  }
  return toBinary(schema, create(schema, message));
}

/** The message that `fromBinary` returns; throws its errors. Fields of bytes are views of `bytes`. */
export function decode<Desc extends DescMessage>(schema: Desc, bytes: Uint8Array): MessageShape<Desc> {
  const codec = codecOf(schema);
  if (codec) {
    try {
      return codec.decode(new WireReader(bytes), bytes.length) as MessageShape<Desc>;
    } catch {
      // Whatever the compiled code was not made for is the library's to read, or to refuse.
    }
  }
  return fromBinary(schema, bytes);
}

function codecOf(schema: DescMessage): Codec | null {
  let codec = compiled.get(schema);
  if (codec === undefined) {
    const plan = planOf(schema);
    codec = plan && { encode: compileEncoder(plan), decode: compileDecoder(plan) };
    compiled.set(schema, codec);
  }
  return codec;
}
