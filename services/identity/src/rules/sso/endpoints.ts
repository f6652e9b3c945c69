import type { Discovered, ProviderRow } from "./provider.ts";

type Connection = Pick<
  ProviderRow,
  | "type"
  | "issuer"
  | "client_id"
  | "client_secret_sealed"
  | "discovered"
  | "authorization_url"
  | "token_url"
  | "user_info_url"
  | "jwks_url"
  | "saml_entity_id"
  | "saml_sso_url"
  | "saml_certificates"
>;

/**
 * The endpoints of a provider: as set by hand, else as discovered; null while an endpoint that sign-in needs is
 * missing.
 */
export function endpointsOf(row: Connection): Discovered | null {
  const { discovered } = row;
  const authorizationUrl = row.authorization_url ?? discovered?.authorizationUrl;
  const tokenUrl = row.token_url ?? discovered?.tokenUrl;
  const jwksUrl = row.jwks_url ?? discovered?.jwksUrl;
  if (!authorizationUrl || !tokenUrl || !jwksUrl || discovered === null) return null;
  return {
    ...discovered,
    authorizationUrl,
    tokenUrl,
    jwksUrl,
    userInfoUrl: row.user_info_url ?? discovered.userInfoUrl,
  };
}

/** What a provider lacks for sign-in, by the names that clients set it under; empty when it is complete. */
export function missingOf(row: Connection, now: Date): string[] {
  if (row.type === "saml") {
    const isValid = (end: string) => Date.parse(end) > now.getTime();
    return [
      ...(row.saml_entity_id === null ? ["samlEntityId"] : []),
      ...(row.saml_sso_url === null ? ["samlSsoUrl"] : []),
      ...(row.saml_certificates.some(({ notAfter }) => isValid(notAfter)) ? [] : ["samlCertificates"]),
    ];
  }
  return [
    ...(row.issuer === null || endpointsOf(row) === null ? ["issuer"] : []),
    ...(row.client_id === null ? ["clientId"] : []),
    ...(row.client_secret_sealed === null ? ["clientSecret"] : []),
  ];
}
