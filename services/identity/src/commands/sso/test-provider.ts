import { checkEndpoints, discover, discoveryFailed } from "../../clients/sso/discovery.ts";
import { fetchMetadata } from "../../clients/sso/saml-metadata.ts";
import type { SsoDeps } from "../../deps.ts";
import { endpointsOf, missingOf } from "../../rules/sso/endpoints.ts";
import type { ProviderRow, StoredCertificate } from "../../rules/sso/provider.ts";
import { incomplete } from "./prepare-provider.ts";
import { metadataIn } from "./prepare-saml.ts";

export type Tested = {
  issuer: string;
  authorizationUrl: string;
  tokenUrl: string;
  userInfoUrl: string;
  jwksUrl: string;
  samlSsoUrl: string;
  certificates: StoredCertificate[];
};

const nothing: Tested = {
  issuer: "",
  authorizationUrl: "",
  tokenUrl: "",
  userInfoUrl: "",
  jwksUrl: "",
  samlSsoUrl: "",
  certificates: [],
};

/**
 * Checks a provider as a sign-in would, without changes. Throws `sso_incomplete_provider`, `saml_metadata_invalid`, and
 * `sso_discovery_failed` with the step.
 */
export const testProvider = (deps: SsoDeps, row: ProviderRow): Promise<Tested> =>
  row.type === "saml" ? testSaml(deps, row) : testOidc(deps, row);

/** Repeats the discovery, and checks the address of every endpoint that a sign-in would use. */
async function testOidc({ egress }: SsoDeps, row: ProviderRow): Promise<Tested> {
  if (row.issuer === null) throw incomplete(["issuer"]);
  const discovered = await discover(egress, row.issuer);
  const used = endpointsOf({ ...row, discovered }) ?? discovered;
  const { authorizationUrl, tokenUrl, jwksUrl } = used;
  await checkEndpoints(egress, [authorizationUrl, tokenUrl, used.userInfoUrl, jwksUrl]);
  return { ...nothing, issuer: row.issuer, authorizationUrl, tokenUrl, userInfoUrl: used.userInfoUrl ?? "", jwksUrl };
}

/** Reads the metadata again where there is a URL, and checks the certificates' dates and the sign-in address. */
async function testSaml(deps: SsoDeps, row: ProviderRow): Promise<Tested> {
  const missing = missingOf(row, deps.now());
  if (missing.length > 0) throw incomplete(missing);
  if (row.saml_metadata_url !== null) {
    const bytes = await fetchMetadata(deps.egress, row.saml_metadata_url);
    const found = await metadataIn(deps, bytes, row.saml_entity_id);
    if (found.entityId !== row.saml_entity_id) throw discoveryFailed("entity", "the metadata is of another entity");
    const isKnown = found.certificates.some((each) =>
      row.saml_certificates.some(({ fingerprint }) => fingerprint === each.fingerprint),
    );
    if (!isKnown) throw discoveryFailed("certificates", "the metadata names none of the certificates that are kept");
  }
  await checkEndpoints(deps.egress, [row.saml_sso_url]);
  return { ...nothing, samlSsoUrl: row.saml_sso_url ?? "", certificates: row.saml_certificates };
}
