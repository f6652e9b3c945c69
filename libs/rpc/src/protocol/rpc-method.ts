import type { DescMethod } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import type { Attributes } from "@opentelemetry/api";

/** What both sides need to know of a method, worked out once. */
export type RpcMethod = {
  /** "package.Service/Method": name of spans, label of metrics, key of the issuer table. */
  rpc: string;
  path: string;
  /** Whether repeating the call is harmless (idempotency_level). */
  repeatable: boolean;
  attributes: Attributes;
};

const methods = new WeakMap<DescMethod, RpcMethod>();

export function rpcMethod(method: DescMethod): RpcMethod {
  let described = methods.get(method);
  if (!described) {
    const rpc = `${method.parent.typeName}/${method.name}`;
    described = {
      rpc,
      path: `/${rpc}`,
      repeatable:
        method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS ||
        method.idempotency === MethodOptions_IdempotencyLevel.IDEMPOTENT,
      attributes: {
        "rpc.system": "connect_rpc",
        "rpc.service": method.parent.typeName,
        "rpc.method": method.name,
      },
    };
    methods.set(method, described);
  }
  return described;
}
