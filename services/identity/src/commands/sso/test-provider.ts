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
 * Asks a provider as sign-in would, and changes nothing. Throws `sso_incomplete_provider`, `saml_metadata_invalid`, and
 * `sso_discovery_failed` with the step.
 */
export const testProvider = (deps: SsoDeps, row: ProviderRow): Promise<Tested> =>
  row.type === "saml" ? testSaml(deps, row) : testOidc(deps, row);

/** Asks the issuer anew, and looks where every endpoint that sign-in would use leads. */
async function testOidc({ egress }: SsoDeps, row: ProviderRow): Promise<Tested> {
  if (row.issuer === null) throw incomplete(["issuer"]);
  const discovered = await discover(egress, row.issuer);
  const used = endpointsOf({ ...row, discovered }) ?? discovered;
  const { authorizationUrl, tokenUrl, jwksUrl } = used;
  await checkEndpoints(egress, [authorizationUrl, tokenUrl, used.userInfoUrl, jwksUrl]);
  return { ...nothing, issuer: row.issuer, authorizationUrl, tokenUrl, userInfoUrl: used.userInfoUrl ?? "", jwksUrl };
}

/** Reads the metadata anew where there is a URL, and looks at the certificates' dates and at where people are sent. */
async function testSaml(deps: SsoDeps, row: ProviderRow): Promise<Tested> {
  const missing = missingOf(row, deps.now());
  if (missing.length > 0) throw incomplete(missing);
  if (row.saml_metadata_url !== null) {
    const found = metadataIn(deps, await fetchMetadata(deps.egress, row.saml_metadata_url));
    if (found.entityId !== row.saml_entity_id) throw discoveryFailed("entity", "the metadata is of another entity");
    const isKnown = found.certificates.some((each) =>
      row.saml_certificates.some(({ fingerprint }) => fingerprint === each.fingerprint),
    );
    if (!isKnown) throw discoveryFailed("certificates", "the metadata names none of the certificates that are kept");
  }
  await checkEndpoints(deps.egress, [row.saml_sso_url]);
  return { ...nothing, samlSsoUrl: row.saml_sso_url ?? "", certificates: row.saml_certificates };
}
