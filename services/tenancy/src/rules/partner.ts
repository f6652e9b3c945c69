import { type FieldErrors, validationError } from "@muster/kit";

export const partnerTypes = ["msp", "enterprise", "internal"] as const;
export const partnerPlans = ["free", "starter", "community", "pro", "enterprise", "unlimited"] as const;

export type PartnerType = (typeof partnerTypes)[number];
export type PartnerPlan = (typeof partnerPlans)[number];

export type NewPartner = {
  name: string;
  slug: string;
  type: PartnerType;
  plan: PartnerPlan;
  maxOrganizations: number | null;
  maxDevices: number | null;
  billingEmail: string | null;
};

// The unreserved characters of RFC 3986, beginning with a letter or digit: never "." or "..".
const slugPattern = /^[A-Za-z0-9][A-Za-z0-9._~-]*$/;

/** The fields of a new partner with the interface's defaults; throws `validation_failed` naming each bad field. */
export function newPartner(input: {
  name: string;
  slug: string;
  type: string;
  plan: string;
  maxOrganizations?: number | undefined;
  maxDevices?: number | undefined;
  billingEmail?: string | undefined;
}): NewPartner {
  const errors: FieldErrors = {};
  const type = partnerTypes.find((t) => t === (input.type || "msp"));
  const plan = partnerPlans.find((p) => p === (input.plan || "free"));
  if (input.name.trim() === "" || input.name.length > 255) errors.name = ["1 to 255 characters"];
  if (!slugPattern.test(input.slug) || input.slug.length > 100) {
    errors.slug = ["1 to 100 letters, digits and - . _ ~, beginning with a letter or digit"];
  }
  if (!type) errors.type = [`One of ${partnerTypes.join(", ")}`];
  if (!plan) errors.plan = [`One of ${partnerPlans.join(", ")}`];
  if ((input.maxOrganizations ?? 0) < 0) errors.maxOrganizations = ["0 or more"];
  if ((input.maxDevices ?? 0) < 0) errors.maxDevices = ["0 or more"];
  if ((input.billingEmail ?? "").length > 255) errors.billingEmail = ["At most 255 characters"];
  if (!type || !plan || Object.keys(errors).length > 0) throw validationError(errors);
  return {
    name: input.name,
    slug: input.slug,
    type,
    plan,
    maxOrganizations: input.maxOrganizations ?? null,
    maxDevices: input.maxDevices ?? null,
    billingEmail: input.billingEmail ?? null,
  };
}
