import { lastCertificateEnd } from "./ending.ts";

type Provider = Parameters<typeof lastCertificateEnd>[0] & { autoProvision: boolean; defaultRoleId: string | null };
/** Something that is to be so before a provider is activated, and what to do where it is not. */
export type Step = { name: string; isDone: boolean; todo: string };

/** What its record says of a provider before it is activated; `outcomes` are those of its newest sign-ins. */
export function stepsBeforeActive(provider: Provider, outcomes: readonly string[], now: Date): readonly Step[] {
  const end = lastCertificateEnd(provider);
  const certificate = {
    name: "A valid certificate",
    isDone: end !== null && new Date(end) > now,
    todo: "Change its metadata to one with a certificate that has not ended.",
  };
  return [
    ...(provider.type === "saml" ? [certificate] : []),
    {
      name: "A role for new people",
      isDone: !provider.autoProvision || provider.defaultRoleId !== null,
      todo: "Choose it under Change; without one they need an invitation.",
    },
    {
      name: "A sign-in that succeeded",
      isDone: outcomes.includes("success"),
      todo: "Link your own account in your profile: that runs every check.",
    },
  ];
}
