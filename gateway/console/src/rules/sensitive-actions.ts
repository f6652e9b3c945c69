/** What an auditor looks for among changes that succeeded, by the beginnings and ends of their codes. */
const marks: readonly (readonly [pattern: RegExp, mark: string])[] = [
  [/^(?:api_key|service_principal|enrollment_key|portal_link)\.|_secret$|_signing_key$|\.keys?\.|\.token\./, "keys"],
  [
    /^role\.|^user\.(?:permission|factors|mfa|passkey|disable|enable|invite|create|delete|device)\b|credentials/,
    "access",
  ],
  [/^sso\.|^directory\./, "sign-in"],
  [/^audit\.(?:retention|restore)\.|settings\.|log_limits|^policy\./, "policy"],
  [/^data\.|^partner\.delete$|^organization\.delete$/, "data"],
];

/** Why a change is worth an auditor's look, in a word; null for the everyday ones. */
export const sensitiveMark = (action: string): string | null =>
  marks.find(([pattern]) => pattern.test(action))?.[1] ?? null;
