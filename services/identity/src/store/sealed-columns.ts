import { type SealedColumn, sealedReplies } from "@muster/service";

/** What each kind of secret is sealed for: none opens in the place of another. */
export const secretPurposes = {
  families: "session",
  totp: "totp",
  mail: "mail",
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
  sealedReplies,
];

/** Where a family's secret stands, authenticated with it. */
export const familyPlace = (sessionId: string) => `sessions/${sessionId}/family_secret`;

/** Where a TOTP secret stands, authenticated with it. */
export const totpPlace = (userId: string) => `user_totp/${userId}/secret`;

/** Where a mail's content stands, authenticated with it. */
export const mailPlace = (id: string) => `mail/${id}/sealed`;
