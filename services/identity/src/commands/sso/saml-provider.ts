import { createPrivateKey } from "node:crypto";
import type { OwnEntity } from "../../crypto/saml/service-provider.ts";
import type { Verification } from "../../crypto/saml/verify-response.ts";
import type { SsoDeps } from "../../deps.ts";
import type { ProviderRow } from "../../rules/sso/provider.ts";
import { anyFormat, emailFormat } from "../../rules/sso/saml/saml-user.ts";
import { samlKeyLocation, samlNextKeyLocation } from "../../store/sealed-columns.ts";
import { incomplete } from "./prepare-provider.ts";

type Deps = Pick<SsoDeps, "own" | "sealing">;

/**
 * Our service provider as one identity provider sees it: a separate entity per provider, so that no assertion is valid
 * at two of them.
 */
function ownEntity({ own }: Deps, row: ProviderRow): OwnEntity {
  return {
    entityId: own.samlMetadataUrl(row.id),
    acsUrl: own.acsUrl,
    certificate: row.saml_sp_certificate ?? "",
    nextCertificate: row.saml_next_certificate,
    signsRequests: row.saml_sign_requests,
    wantsEncrypted: row.saml_want_encrypted,
    // A provider that has no address in its NameID answers a request for one with an error.
    nameIdFormat: row.subject_attribute === null ? emailFormat : anyFormat,
  };
}

function privateKeyOf({ sealing }: Deps, row: ProviderRow): string {
  if (row.saml_key_sealed === null) throw new Error("a SAML provider has no key of ours");
  return sealing.open(row.saml_key_sealed, samlKeyLocation(row.id)).toString();
}

/** Our keys that an assertion may be encrypted for: the next one beside the present one. */
function decryptionKeys(deps: Deps, row: ProviderRow): string[] {
  const { id, saml_next_key_sealed: next } = row;
  const present = privateKeyOf(deps, row);
  return next === null ? [present] : [present, deps.sealing.open(next, samlNextKeyLocation(id)).toString()];
}

// Loaded with the first SAML provider: a tenth of a second, and 5 MB.
const serviceProvider = () => import("../../crypto/saml/service-provider.ts");

export async function samlMetadata(deps: Deps, row: ProviderRow): Promise<string> {
  const { ownMetadata } = await import("../../crypto/saml/own-metadata.ts");
  return ownMetadata(ownEntity(deps, row));
}

/** The redirect URL for sign-in, and the id of the request. Throws `sso_incomplete_provider`. */
export async function samlRequest(
  deps: Deps,
  row: ProviderRow,
  state: string,
): Promise<{ url: string; requestId: string }> {
  const { saml_entity_id: entityId, saml_sso_url: ssoUrl } = row;
  if (entityId === null || ssoUrl === null) throw incomplete(["samlEntityId", "samlSsoUrl"]);
  const { authnRequest } = await serviceProvider();
  return authnRequest(ownEntity(deps, row), { entityId, ssoUrl }, { state, privateKey: privateKeyOf(deps, row) });
}

/** What an answer to a request must be. */
export function samlVerification(deps: Deps, row: ProviderRow, requestId: string, now: Date): Verification {
  const { entityId: audience, acsUrl: recipient } = ownEntity(deps, row);
  return {
    expected: {
      issuer: row.saml_entity_id ?? "",
      audience,
      recipient,
      requestId,
      subjectAttribute: row.subject_attribute,
    },
    certificates: row.saml_certificates,
    decryption: row.saml_want_encrypted ? decryptionKeys(deps, row).map((pem) => createPrivateKey(pem)) : null,
    now,
  };
}
