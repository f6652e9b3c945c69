import { create, type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import type { MethodDefinition, ServiceDefinition } from "@grpc/grpc-js";
import {
  type EchoRequest,
  EchoRequestSchema,
  type EchoResponse,
  EchoResponseSchema,
} from "@muster/proto/muster/common/v1/probe_pb";

const serialize =
  <D extends DescMessage>(desc: D) =>
  (message: MessageShape<D>): Buffer => {
    const bytes = toBinary(desc, message);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  };

const echo: MethodDefinition<EchoRequest, EchoResponse> = {
  path: "/muster.common.v1.ProbeService/Echo",
  requestStream: false,
  responseStream: false,
  requestSerialize: serialize(EchoRequestSchema),
  requestDeserialize: (bytes) => fromBinary(EchoRequestSchema, bytes),
  responseSerialize: serialize(EchoResponseSchema),
  responseDeserialize: (bytes) => fromBinary(EchoResponseSchema, bytes),
};

export const echoService: ServiceDefinition = { echo };

export const echoRequest = (message: string): EchoRequest => create(EchoRequestSchema, { message });
export const echoResponse = (message: string): EchoResponse => create(EchoResponseSchema, { message });
