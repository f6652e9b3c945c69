import { type SealedColumn, sealedReplies } from "@muster/service";

/** What each kind of secret is sealed for: none opens as another. */
export const secretPurposes = {
  families: "session",
  totp: "totp",
  mail: "mail",
  sso: "sso",
  unsubscribe: "unsubscribe",
  replies: sealedReplies.purpose,
} as const;

/** Every column of identity that `secretBox` seals; what is missing here keeps an old key needed for ever. */
export const sealedColumns: readonly SealedColumn[] = [
  {
    table: "sessions",
    key: [["id", "uuid"]],
    column: "family_secret",
    purpose: secretPurposes.families,
    location: ([id = ""]) => familyLocation(id),
  },
  {
    table: "user_totp",
    key: [["user_id", "uuid"]],
    column: "secret",
    purpose: secretPurposes.totp,
    location: ([userId = ""]) => totpLocation(userId),
  },
  {
    table: "mail",
    key: [["id", "uuid"]],
    column: "sealed",
    purpose: secretPurposes.mail,
    location: ([id = ""]) => mailLocation(id),
  },
  {
    table: "sso_providers",
    key: [["id", "uuid"]],
    column: "client_secret_sealed",
    purpose: secretPurposes.sso,
    location: ([id = ""]) => clientSecretLocation(id),
  },
  {
    table: "sso_providers",
    key: [["id", "uuid"]],
    column: "saml_key_sealed",
    purpose: secretPurposes.sso,
    location: ([id = ""]) => samlKeyLocation(id),
  },
  {
    table: "sso_providers",
    key: [["id", "uuid"]],
    column: "saml_next_key_sealed",
    purpose: secretPurposes.sso,
    location: ([id = ""]) => samlNextKeyLocation(id),
  },
  {
    table: "sso_login_sessions",
    key: [["state_hash", "bytea"]],
    column: "secrets_sealed",
    purpose: secretPurposes.sso,
    // PostgreSQL's text of bytes is `\x…`.
    location: ([hash = ""]) => loginSecretsLocation(Buffer.from(hash.slice(2), "hex")),
  },
  {
    table: "sso_identities",
    key: [
      ["provider_id", "uuid"],
      ["user_id", "uuid"],
    ],
    column: "tokens_sealed",
    purpose: secretPurposes.sso,
    location: ([providerId = "", userId = ""]) => linkTokensLocation(providerId, userId),
  },
  sealedReplies,
];

/** Associated data of a family's secret: its table, column and row. */
export const familyLocation = (sessionId: string) => `sessions/${sessionId}/family_secret`;

/** Associated data of a TOTP secret: its table, column and row. */
export const totpLocation = (userId: string) => `user_totp/${userId}/secret`;

/** Associated data of a mail's content: its table, column and row. */
export const mailLocation = (id: string) => `mail/${id}/sealed`;

/** Locations of a provider's client secret and our private keys for it. */
export const clientSecretLocation = (providerId: string) => `sso_providers/${providerId}/client_secret_sealed`;
export const samlKeyLocation = (providerId: string) => `sso_providers/${providerId}/saml_key_sealed`;
export const samlNextKeyLocation = (providerId: string) => `sso_providers/${providerId}/saml_next_key_sealed`;

/** Location of a login flow's nonce and verifier, or of an assertion's result. */
export const loginSecretsLocation = (stateHash: Buffer) =>
  `sso_login_sessions/${stateHash.toString("hex")}/secrets_sealed`;

/** Location of the tokens that a provider issued for a user. */
export const linkTokensLocation = (providerId: string, userId: string) =>
  `sso_identities/${providerId}/${userId}/tokens_sealed`;
