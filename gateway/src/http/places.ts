import { type Caller, clientNetwork } from "@muster/kit";
import type { Exchange, ExchangeOptions } from "./exchange.ts";
import type { Sharer } from "./shedding.ts";

/** Takes a place of the route's class. Throws AppError `overloaded`. */
export function takePlace({ shedder }: ExchangeOptions, exchange: Exchange): void {
  shedder.enter(exchange.served.load);
  exchange.hasPlace = true;
}

/** Takes a place from the share of the request's owner. Throws AppError `overloaded`. */
export function takeShare(options: ExchangeOptions, exchange: Exchange, caller: Caller | null): void {
  if (exchange.served.load === "vital") return;
  const owner = ownerOf(options, exchange, caller);
  takeShareOf(options, exchange, owner, caller === null ? "network" : "organization");
}

export function takeShareOf({ shedder }: ExchangeOptions, exchange: Exchange, owner: string, who: Sharer): void {
  shedder.enterShare(exchange.served.load, owner, who);
  exchange.shareOf = owner;
}

/** Frees the place of the class; a request without one is unaffected. */
export function leavePlace({ shedder }: ExchangeOptions, exchange: Exchange): void {
  if (exchange.hasPlace) shedder.leave(exchange.served.load, exchange.shareOf);
  exchange.hasPlace = false;
  exchange.shareOf = null;
}

/** Frees all places that a request holds. */
export function leavePlaces(options: ExchangeOptions, exchange: Exchange): void {
  leavePlace(options, exchange);
  if (exchange.placeOfAgent !== null) options.shedder.leaveAgent(exchange.placeOfAgent);
  exchange.placeOfAgent = null;
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
