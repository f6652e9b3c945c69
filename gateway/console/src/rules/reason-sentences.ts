/** Reasons of the API's addresses and updates, as what happened and what to do. */
const sentences: Readonly<Record<string, string>> = {
  not_a_url: "This is no address: it begins with https:// and a host name.",
  not_https: "Use https: the address must begin with https://.",
  too_long: "The address is longer than 2,048 characters.",
  hostname_not_allowed: "The host name is local: use one that others can reach.",
  address_not_public: "The address is not public: use one that is reached from the internet.",
  port_not_allowed: "No web server has this port: use 443.",
  unresolvable: "The host name does not resolve: check its spelling, or its DNS.",
  resolves_to_private: "The host name resolves to an address that is not public.",
  bad_digest: "The file that arrived was not the one that was released.",
  checksum_mismatch: "The file that arrived was not the one that was released.",
  bad_signature: "The file was not signed by a key that the device trusts.",
  bad_size: "The file that arrived was not as long as the released one.",
  download_failed: "The file could not be downloaded.",
  failed: "Its agent reported that it failed.",
  rolled_back: "The new version did not stay up, and the one before was restored.",
  silent: "It was not heard of again in time, and the one before was restored.",
  silent_after_return: "It installed the version, and was not heard of again.",
  locked: "A file was in use each time.",
  older_version: "It runs an older version than it was offered.",
  another_version: "It runs another version than it was offered.",
  expired: "It did not answer the offer in time.",
  gone: "The receiver answered 410: it is gone for good.",
  exhausted: "No delivery succeeded for days.",
  idp_error: "The provider answered with an error.",
  token_invalid: "The provider's answer could not be verified.",
  assertion_invalid: "The provider's answer could not be verified.",
};

/** A reason of the API as a sentence; a text that is one already stays. */
export function reasonSentence(reason: string | null): string {
  if (reason === null) return "";
  const own = Object.hasOwn(sentences, reason) ? sentences[reason] : undefined;
  if (own) return own;
  if (!/^[a-z]+(_[a-z]+)*$/.test(reason)) return reason;
  const words = reason.replaceAll("_", " ");
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}

/** An error text of a field: `Invalid webhook URL: not_https` is the sentence for its reason. */
export function fieldSentence(text: string): string {
  const [, before, reason = ""] = /^(.*): ([a-z]+(?:_[a-z]+)*)$/.exec(text) ?? [];
  return before === undefined ? text : `${before}. ${reasonSentence(reason)}`;
}
