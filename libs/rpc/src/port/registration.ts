import type { DescService } from "@bufbuild/protobuf";
import {
  type ConnectRouter,
  createServiceImplSpec,
  type HandlerContext,
  type MethodImplSpec,
  type ServiceImpl,
  type ServiceImplSpec,
} from "@connectrpc/connect";
import { rpcMethod } from "../protocol/rpc-method.ts";
import { createGuard, type Guard, type GuardDeps, type Incoming } from "./guard.ts";
import type { UnaryRoute } from "./short-path.ts";

/** A service with its implementation, as servePort takes it. */
export type Registration = ServiceImplSpec;

/** Binds an implementation; a forgotten RPC does not compile. */
export function register<S extends DescService>(service: S, impl: ServiceImpl<S>): Registration {
  for (const { localName, name } of service.methods) {
    if (!(localName in impl)) throw new Error(`${service.typeName}.${name} has no implementation`);
  }
  return createServiceImplSpec<S>(service, impl);
}

export type Routes = {
  /** Unary methods by request path, for the short path. */
  unary: ReadonlyMap<string, UnaryRoute>;
  /** All methods, for the stock adapter. */
  addTo(router: ConnectRouter): void;
};

/** Puts the guard around every method; both protocol paths then run the same thing. */
export function guardedRoutes(registrations: readonly Registration[], deps: GuardDeps): Routes {
  const unary = new Map<string, UnaryRoute>();
  const stock: ((router: ConnectRouter) => void)[] = [];
  for (const { methods } of registrations) {
    for (const spec of Object.values(methods)) {
      const guard = createGuard(deps, spec.method);
      if (spec.kind === "unary") {
        unary.set(rpcMethod(spec.method).path, { method: spec.method, guard, handle: spec.impl });
      }
      stock.push((router) => addGuarded(router, spec, guard));
    }
  }
  return {
    unary,
    addTo: (router) => {
      for (const add of stock) add(router);
    },
  };
}

function addGuarded(router: ConnectRouter, spec: MethodImplSpec, guard: Guard): void {
  switch (spec.kind) {
    case "unary":
      router.rpc(spec.method, (request, context) =>
        guard.call(stockIncoming(context), () => spec.impl(request, context)),
      );
      break;
    case "client_streaming":
      router.rpc(spec.method, (requests, context) =>
        guard.call(stockIncoming(context), () => spec.impl(requests, context)),
      );
      break;
    case "server_streaming":
      router.rpc(spec.method, (request, context) =>
        guard.stream(stockIncoming(context), () => spec.impl(request, context)),
      );
      break;
    case "bidi_streaming":
      router.rpc(spec.method, (requests, context) =>
        guard.stream(stockIncoming(context), () => spec.impl(requests, context)),
      );
      break;
  }
}

function stockIncoming(context: HandlerContext): Incoming {
  const leftMs = context.timeoutMs();
  let interrupt: ((reason: unknown) => void) | undefined;
  context.signal.addEventListener("abort", () => interrupt?.(context.signal.reason), { once: true });
  return {
    context,
    deadlineMs: leftMs === undefined ? null : performance.now() + leftMs,
    header: (name) => context.requestHeader.get(name) ?? undefined,
    onInterrupt(fn) {
      interrupt = fn;
      if (context.signal.aborted) fn(context.signal.reason);
    },
  };
}
