/** Why a URL or an address is not connected to. A closed list: clients see it as `reason`. */
export const refusals = {
  not_a_url: "Not an absolute URL",
  too_long: "Longer than 2,048 characters",
  not_https: "Only https is allowed",
  hostname_not_allowed: "The host name is local",
  address_not_public: "The address is not public",
  port_not_allowed: "No web server has this port",
  unresolvable: "The host name does not resolve",
  resolves_to_private: "The host name resolves to an address that is not public",
} as const;

export type Refusal = keyof typeof refusals;

/** Nothing was sent. `passing` when a later try may be answered otherwise: DNS changes, a URL does not. */
export class EgressRefused extends Error {
  readonly reason: Refusal;
  readonly passing: boolean;

  constructor(reason: Refusal, options: { cause?: unknown } = {}) {
    super(refusals[reason], options);
    this.name = "EgressRefused";
    this.reason = reason;
    this.passing = reason === "unresolvable" || reason === "resolves_to_private";
  }
}
