import { EgressRefused } from "@muster/egress";
import { AppError, validationError } from "@muster/kit";
import { fetchMetadata } from "../../clients/sso/saml-metadata.ts";
import { distinct, readCertificate } from "../../crypto/saml/certificates.ts";
import type { IdpMetadata } from "../../crypto/saml/metadata.ts";
import type { SsoDeps } from "../../deps.ts";
import type { StoredCertificate } from "../../rules/sso/provider.ts";
import type { ProviderFields } from "../../rules/sso/provider-fields.ts";
import { SamlRefused } from "../../rules/sso/saml/refused.ts";
import { samlKeyLocation } from "../../store/sealed-columns.ts";
import type { ProviderValues } from "../../store/sso/providers.ts";

/**
 * The SAML columns after a change. Metadata fills in what the change does not name itself, and its certificates join
 * those that were set by hand; the first change makes our own key. Throws `validation_failed`, `saml_metadata_invalid`,
 * `sso_discovery_failed`.
 */
export async function putSaml(
  deps: SsoDeps,
  id: string,
  fields: Partial<ProviderFields>,
  values: ProviderValues,
): Promise<void> {
  if (fields.samlEntityId !== undefined) values.saml_entity_id = fields.samlEntityId;
  if (fields.samlSsoUrl !== undefined) values.saml_sso_url = fields.samlSsoUrl;
  if (fields.samlWantEncrypted !== undefined) values.saml_want_encrypted = fields.samlWantEncrypted;
  if (fields.subjectAttribute !== undefined) values.subject_attribute = fields.subjectAttribute;
  if (fields.samlSignRequests !== undefined) values.saml_sign_requests = fields.samlSignRequests;
  if (fields.samlCertificates !== undefined) values.saml_certificates = certificatesOf(fields.samlCertificates);
  await putMetadata(deps, fields, values);
  if (values.saml_key_sealed === null) {
    const { newOwnKey } = await import("../../crypto/saml/own-key.ts");
    const { privateKey, certificate } = await newOwnKey(deps.now());
    values.saml_key_sealed = deps.sealing.seal(Buffer.from(privateKey), samlKeyLocation(id));
    values.saml_sp_certificate = certificate;
  }
}

function certificatesOf(texts: readonly string[]): StoredCertificate[] {
  const read = texts.map((text) => readCertificate(text, "manual"));
  const at = read.findIndex((each) => typeof each === "string");
  if (at >= 0) throw validationError({ [`samlCertificates.${at}`]: [String(read[at])] });
  return distinct(read.filter((each) => typeof each !== "string"));
}

async function putMetadata(deps: SsoDeps, fields: Partial<ProviderFields>, values: ProviderValues): Promise<void> {
  const { samlMetadataUrl: url, samlMetadataXml: xml } = fields;
  if (url !== undefined) {
    values.saml_metadata_url = url;
    values.saml_metadata_at = url === null ? null : deps.now();
    values.saml_metadata_error = null;
    values.saml_metadata_omitted = [];
  }
  if (url && xml) throw validationError({ samlMetadataXml: ["Set it or samlMetadataUrl, not both"] });
  if (!url && !xml) return;
  const bytes = url ? await fetchMetadata(deps.egress, url) : Buffer.from(xml ?? "");
  const found = await metadataIn(deps, bytes, values.saml_entity_id);
  values.saml_metadata_omitted = found.omitted;
  values.saml_entity_id = fields.samlEntityId ?? found.entityId;
  values.saml_sso_url = fields.samlSsoUrl ?? found.ssoUrl;
  values.saml_sign_requests ||= found.wantsSignedRequests;
  const manual = values.saml_certificates.filter(({ source }) => source === "manual");
  values.saml_certificates = distinct([...manual, ...found.certificates]);
}

/**
 * Metadata whose sign-in address may be used; of several identity providers in it that with the id `wanted`. Throws
 * `saml_metadata_invalid` with the reason.
 */
export async function metadataIn(
  { now, checkUrl }: Pick<SsoDeps, "now" | "checkUrl">,
  bytes: Buffer,
  wanted: string | null,
): Promise<IdpMetadata> {
  const { readMetadata } = await import("../../crypto/saml/metadata.ts");
  try {
    const found = readMetadata(bytes, now(), wanted);
    checkUrl(found.ssoUrl);
    return found;
  } catch (error) {
    if (!(error instanceof SamlRefused || error instanceof EgressRefused)) throw error;
    throw new AppError("saml_metadata_invalid", `The metadata cannot be used: ${error.message}`, {
      facts: { reason: error.message },
      cause: error,
    });
  }
}
