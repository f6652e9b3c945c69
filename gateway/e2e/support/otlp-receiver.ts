import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import grpc from "@grpc/grpc-js";

export type SeenSpan = { service: string; trace: string; span: string; parent: string; name: string; kind: number };

/** An OTLP collector over gRPC that keeps the spans it gets. */
export async function startOtlpReceiver(): Promise<{ url: string; spans: SeenSpan[]; close(): void }> {
  const spans: SeenSpan[] = [];
  const server = new grpc.Server();
  const asItIs = (bytes: Buffer) => bytes;
  server.addService(
    {
      Export: {
        path: "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
        requestStream: false,
        responseStream: false,
        requestSerialize: asItIs,
        requestDeserialize: asItIs,
        responseSerialize: asItIs,
        responseDeserialize: asItIs,
      },
    },
    {
      Export(call: { request: Buffer }, answer: (error: null, response: Buffer) => void) {
        spans.push(...spansOf(call.request));
        answer(null, Buffer.alloc(0));
      },
    },
  );
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  return { url: `http://127.0.0.1:${port}`, spans, close: () => server.forceShutdown() };
}

type Fields = Map<number, (Uint8Array | bigint)[]>;

/** A message's fields by number: bytes, or numbers; what has a fixed width is not needed here. */
function fields(bytes: Uint8Array): Fields {
  const found: Fields = new Map();
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, wire] = reader.tag();
    if (wire === WireType.LengthDelimited) found.set(number, [...(found.get(number) ?? []), reader.bytes()]);
    else if (wire === WireType.Varint) found.set(number, [...(found.get(number) ?? []), BigInt(reader.uint64())]);
    else reader.skip(wire);
  }
  return found;
}

const messages = (from: Fields, number: number) => ((from.get(number) ?? []) as Uint8Array[]).map(fields);
const bytesOf = (from: Fields, number: number) => Buffer.from((from.get(number)?.[0] as Uint8Array) ?? []);

/** opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest, with the fields that the tests read. */
function spansOf(request: Uint8Array): SeenSpan[] {
  return messages(fields(request), 1).flatMap((ofResource) => {
    const attributes = messages(ofResource, 1).flatMap((resource) => messages(resource, 1));
    const name = attributes.find((each) => bytesOf(each, 1).toString() === "service.name");
    const service = name ? (messages(name, 2).map((value) => bytesOf(value, 1).toString())[0] ?? "") : "";
    return messages(ofResource, 2)
      .flatMap((ofScope) => messages(ofScope, 2))
      .map((span) => ({
        service,
        trace: bytesOf(span, 1).toString("hex"),
        span: bytesOf(span, 2).toString("hex"),
        parent: bytesOf(span, 4).toString("hex"),
        name: bytesOf(span, 5).toString(),
        kind: Number(span.get(6)?.[0] ?? 0),
      }));
  });
}
