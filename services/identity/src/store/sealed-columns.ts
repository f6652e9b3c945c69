import { type SealedColumn, sealedReplies } from "@muster/service";

/** What each kind of secret is sealed for: none opens in the place of another. */
export const secretPurposes = {
  families: "session",
  totp: "totp",
  mail: "mail",
  sso: "sso",
  replies: sealedReplies.purpose,
} as const;

/** Every column of identity that `secretBox` seals; what is missing here keeps an old key needed for ever. */
export const sealedColumns: readonly SealedColumn[] = [
  {
    table: "sessions",
    key: [["id", "uuid"]],
    column: "family_secret",
    purpose: secretPurposes.families,
    place: ([id = ""]) => familyPlace(id),
  },
  {
    table: "user_totp",
    key: [["user_id", "uuid"]],
    column: "secret",
    purpose: secretPurposes.totp,
    place: ([userId = ""]) => totpPlace(userId),
  },
  {
    table: "mail",
    key: [["id", "uuid"]],
    column: "sealed",
    purpose: secretPurposes.mail,
    place: ([id = ""]) => mailPlace(id),
  },
  {
    table: "sso_providers",
    key: [["id", "uuid"]],
    column: "client_secret_sealed",
    purpose: secretPurposes.sso,
    place: ([id = ""]) => clientSecretPlace(id),
  },
  {
    table: "sso_providers",
    key: [["id", "uuid"]],
    column: "saml_key_sealed",
    purpose: secretPurposes.sso,
    place: ([id = ""]) => samlKeyPlace(id),
  },
  {
    table: "sso_providers",
    key: [["id", "uuid"]],
    column: "saml_next_key_sealed",
    purpose: secretPurposes.sso,
    place: ([id = ""]) => samlNextKeyPlace(id),
  },
  {
    table: "sso_login_sessions",
    key: [["state_hash", "bytea"]],
    column: "secrets_sealed",
    purpose: secretPurposes.sso,
    // PostgreSQL's text of bytes is `\x…`.
    place: ([hash = ""]) => loginSecretsPlace(Buffer.from(hash.slice(2), "hex")),
  },
  {
    table: "sso_identities",
    key: [
      ["provider_id", "uuid"],
      ["user_id", "uuid"],
    ],
    column: "tokens_sealed",
    purpose: secretPurposes.sso,
    place: ([providerId = "", userId = ""]) => linkTokensPlace(providerId, userId),
  },
  sealedReplies,
];

/** Associated data of a family's secret: its table, column and row. */
export const familyPlace = (sessionId: string) => `sessions/${sessionId}/family_secret`;

/** Associated data of a TOTP secret: its table, column and row. */
export const totpPlace = (userId: string) => `user_totp/${userId}/secret`;

/** Associated data of a mail's content: its table, column and row. */
export const mailPlace = (id: string) => `mail/${id}/sealed`;

/** Where a provider's client secret and our private keys for it stand. */
export const clientSecretPlace = (providerId: string) => `sso_providers/${providerId}/client_secret_sealed`;
export const samlKeyPlace = (providerId: string) => `sso_providers/${providerId}/saml_key_sealed`;
export const samlNextKeyPlace = (providerId: string) => `sso_providers/${providerId}/saml_next_key_sealed`;

/** Where nonce and verifier of a login flow stand, or the result of an assertion. */
export const loginSecretsPlace = (stateHash: Buffer) =>
  `sso_login_sessions/${stateHash.toString("hex")}/secrets_sealed`;

/** Where the tokens stand that a provider gave for a user. */
export const linkTokensPlace = (providerId: string, userId: string) =>
  `sso_identities/${providerId}/${userId}/tokens_sealed`;
