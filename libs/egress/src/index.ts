export { addressText, parseAddress } from "./address.ts";
export {
  type Egress,
  type EgressOptions,
  openEgress,
  type ProfileName,
  profiles,
  type SyslogFrames,
} from "./egress.ts";
export { type Exceptions, noExceptions, parseExceptions } from "./exceptions.ts";
export type { Exchange, ExchangeRequest } from "./exchange.ts";
export { type ExchangeError, failureOf } from "./failure.ts";
export { EgressLimit, type GuardedReply, type GuardedRequest, guardedFetch, guardedRequest } from "./fetch.ts";
export { type ForwardProxy, parseForwardProxy } from "./forward-proxy.ts";
export { EgressRefused, type Refusal, refusals } from "./refused.ts";
export { cAresLookup, createResolver, type Lookup, type Resolver } from "./resolver.ts";
export { parseClosedRanges, parseSinkRanges, type SinkType, sinkAddressCheck, sinkTypes } from "./sink-ranges.ts";
export { shownUrl, type Target, validateUrl } from "./validate-url.ts";
export { type Verdict, verdict } from "./verdict.ts";
