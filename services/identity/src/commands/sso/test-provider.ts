import { AppError, type CallContext } from "@muster/kit";
import { checkEndpoints, discover, discoveryFailed } from "../../clients/sso/discovery.ts";
import { fetchMetadata } from "../../clients/sso/saml-metadata.ts";
import type { IdpMetadata } from "../../crypto/saml/metadata.ts";
import type { SsoDeps } from "../../deps.ts";
import { endpointsOf, missingOf } from "../../rules/sso/endpoints.ts";
import type { ProviderRow, StoredCertificate } from "../../rules/sso/provider.ts";
import { compared } from "../../rules/sso/saml/certificate-grace.ts";
import { incomplete } from "./prepare-provider.ts";
import { metadataIn } from "./prepare-saml.ts";
import { storeMetadata } from "./refresh-metadata.ts";

export type Tested = {
  issuer: string;
  authorizationUrl: string;
  tokenUrl: string;
  userInfoUrl: string;
  jwksUrl: string;
  samlSsoUrl: string;
  certificates: StoredCertificate[];
  /** How the metadata differs from what was stored; null without a metadata URL. */
  metadata: MetadataReport | null;
};

/** Certificates that were stored just now, those that the metadata has stopped naming, and other differences. */
export type MetadataReport = {
  added: StoredCertificate[];
  missing: StoredCertificate[];
  omitted: string[];
  /** Fields that administrators decide on: public names and values. */
  differences: { field: string; current: string; found: string }[];
};

const nothing: Tested = {
  issuer: "",
  authorizationUrl: "",
  tokenUrl: "",
  userInfoUrl: "",
  jwksUrl: "",
  samlSsoUrl: "",
  certificates: [],
  metadata: null,
};

/**
 * Checks a provider as a sign-in would, and stores new certificates of its metadata. Throws `sso_incomplete_provider`,
 * `saml_metadata_invalid`, `unavailable` when it is being changed, and `sso_discovery_failed` with the step.
 */
export const testProvider = (deps: SsoDeps, context: CallContext, row: ProviderRow): Promise<Tested> =>
  row.type === "saml" ? testSaml(deps, context, row) : testOidc(deps, row);

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
async function testSaml(deps: SsoDeps, context: CallContext, row: ProviderRow): Promise<Tested> {
  const metadata = row.saml_metadata_url === null ? null : await metadataOf(deps, row, row.saml_metadata_url);
  const stored = metadata === null ? row.saml_certificates : await storeMetadata(deps, context, row, metadata);
  if (stored === null) throw new AppError("unavailable", "The provider is being changed by another request");
  const missing = missingOf({ ...row, saml_certificates: stored }, deps.now());
  if (missing.length > 0) throw incomplete(missing);
  await checkEndpoints(deps.egress, [row.saml_sso_url]);
  const report = metadata && {
    ...compared(row.saml_certificates, metadata.certificates),
    omitted: metadata.omitted,
    differences: differencesOf(row, metadata),
  };
  return { ...nothing, samlSsoUrl: row.saml_sso_url ?? "", certificates: stored, metadata: report };
}

async function metadataOf(deps: SsoDeps, row: ProviderRow, url: string): Promise<IdpMetadata> {
  const found = await metadataIn(deps, await fetchMetadata(deps.egress, url), row.saml_entity_id);
  if (found.entityId === row.saml_entity_id) return found;
  throw discoveryFailed("entity", "the metadata is of another entity");
}

function differencesOf(row: ProviderRow, { ssoUrl, wantsSignedRequests }: IdpMetadata): MetadataReport["differences"] {
  const wants = wantsSignedRequests && !row.saml_sign_requests;
  return [
    ...(ssoUrl === row.saml_sso_url ? [] : [{ field: "samlSsoUrl", current: row.saml_sso_url ?? "", found: ssoUrl }]),
    ...(wants ? [{ field: "samlSignRequests", current: "false", found: "true" }] : []),
  ];
}
