export { addressText, parseAddress } from "./address.ts";
export { type Egress, type EgressOptions, openEgress, type ProfileName, profiles } from "./egress.ts";
export { type Exceptions, noExceptions, parseExceptions } from "./exceptions.ts";
export type { Exchange, ExchangeError, ExchangeRequest } from "./exchange.ts";
export { EgressLimit, type GuardedReply, type GuardedRequest, guardedFetch, guardedRequest } from "./fetch.ts";
export { judgeUrl, shownUrl, type Target } from "./judge-url.ts";
export { EgressRefused, type Refusal, refusals } from "./refused.ts";
export { cAresLookup, createResolver, type Lookup, type Resolver } from "./resolver.ts";
export { type Verdict, verdict } from "./verdict.ts";
