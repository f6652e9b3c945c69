import { type Caller, clientNetwork } from "@muster/kit";
import type { Exchange, ExchangeOptions } from "./exchange.ts";
import type { Sharer } from "./shedding.ts";

/** Takes a slot of the route's class. Throws AppError `overloaded`. */
export function takeSlot({ shedder }: ExchangeOptions, exchange: Exchange): void {
  shedder.enter(exchange.served.load);
  exchange.hasSlot = true;
}

/**
 * Takes a slot from the fair share (docs/concepts.md#fair-share) of the request's owner. Throws AppError `overloaded`.
 */
export function takeShare(options: ExchangeOptions, exchange: Exchange, caller: Caller | null): void {
  if (exchange.served.load === "vital") return;
  const owner = ownerOf(options, exchange, caller);
  takeShareOf(options, exchange, owner, caller === null ? "network" : "organization");
}

export function takeShareOf({ shedder }: ExchangeOptions, exchange: Exchange, owner: string, who: Sharer): void {
  shedder.enterShare(exchange.served.load, owner, who);
  exchange.shareOf = owner;
}

/** Frees the slot of the class; a request without one is unaffected. */
export function releaseSlot({ shedder }: ExchangeOptions, exchange: Exchange): void {
  if (exchange.hasSlot) shedder.leave(exchange.served.load, exchange.shareOf);
  exchange.hasSlot = false;
  exchange.shareOf = null;
}

/** Frees all slots that a request holds. */
export function releaseSlots(options: ExchangeOptions, exchange: Exchange): void {
  releaseSlot(options, exchange);
  if (exchange.slotOfAgent !== null) options.shedder.leaveAgent(exchange.slotOfAgent);
  exchange.slotOfAgent = null;
  if (exchange.slotOfDirectory !== null) options.directorySlots.leave(exchange.slotOfDirectory);
  exchange.slotOfDirectory = null;
}

/**
 * Owner of the share: the organization, else the partner or the platform's user; for unauthenticated requests the
 * network.
 */
export function ownerOf(options: ExchangeOptions, exchange: Exchange, caller: Caller | null): string {
  return caller === null ? networkOf(options, exchange) : (caller.orgId ?? caller.partnerId ?? caller.actor.id);
}

export function networkOf({ clientAddress }: ExchangeOptions, { request, inbound }: Exchange): string {
  return clientNetwork(clientAddress(request.socket.remoteAddress, inbound));
}
