/** The relying party of passkeys: its domain, and the origins whose pages may use them. */
export type RelyingParty = { id: string; origins: readonly string[] };

/** The relying party of these settings: the host of the public address, and every origin that pages are served from. */
export function relyingPartyOf(settings: {
  publicUrl: string;
  id?: string | undefined;
  origins: readonly string[];
}): RelyingParty {
  const { origin, hostname } = new URL(settings.publicUrl);
  return { id: settings.id ?? hostname, origins: [...new Set([origin, ...settings.origins])] };
}
