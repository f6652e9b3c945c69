import type { DescMethod, DescMethodUnary, DescService } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext, MethodImpl, ServiceImpl } from "@connectrpc/connect";
import { rpcMethod } from "../protocol/rpc-method.ts";
import { createGuard, type Guard, type GuardDeps, type Incoming } from "./guard.ts";
import type { UnaryRoute } from "./short-path.ts";

type AnyHandler = (request: never, context: HandlerContext) => unknown;

/** A service with its implementation, as servePort takes it. */
export type Registration = { service: DescService; impl: Readonly<Record<string, AnyHandler>> };

/** Binds an implementation; a forgotten RPC does not compile. */
export function register<S extends DescService>(service: S, impl: ServiceImpl<S>): Registration {
  const bound = service.methods.map((method) => {
    const handler = (impl as unknown as Record<string, AnyHandler>)[method.localName];
    if (!handler) throw new Error(`${service.typeName}.${method.name} has no implementation`);
    return [method.localName, handler.bind(impl)] as const;
  });
  return { service, impl: Object.fromEntries(bound) };
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
  for (const { service, impl } of registrations) {
    for (const method of service.methods) {
      const handler = impl[method.localName] as AnyHandler;
      const guard = createGuard(deps, method);
      if (method.methodKind === "unary") {
        unary.set(rpcMethod(method).path, {
          method: method as DescMethodUnary,
          guard,
          handle: handler as UnaryRoute["handle"],
        });
      }
      stock.push((router) => {
        router.rpc(method, stockHandler(method, guard, handler));
      });
    }
  }
  return {
    unary,
    addTo: (router) => {
      for (const add of stock) add(router);
    },
  };
}

function stockHandler(method: DescMethod, guard: Guard, handler: AnyHandler): MethodImpl<DescMethod> {
  const guarded =
    method.methodKind === "unary" || method.methodKind === "client_streaming"
      ? (request: never, context: HandlerContext) =>
          guard.call(stockIncoming(context), () => handler(request, context) as Promise<unknown>)
      : (request: never, context: HandlerContext) =>
          guard.stream(stockIncoming(context), () => handler(request, context) as AsyncIterable<unknown>);
  return guarded as unknown as MethodImpl<DescMethod>;
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
