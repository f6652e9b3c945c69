import { labelChanges, labelsText } from "./labels.ts";

export const systems = ["windows", "linux", "darwin"] as const;
export const architectures = ["amd64", "arm64", "386"] as const;
export type System = (typeof systems)[number];
export type Architecture = (typeof architectures)[number];

/** Whose devices a ring includes: of any of these, or of all when it names none. */
export const owners = ["partnerIds", "orgIds", "siteIds", "groupIds"] as const;
export type Owner = (typeof owners)[number];

/** A ring as the form has it; `key` is its identity while it has no name yet. */
export type RingDraft = Record<Owner, readonly string[]> & {
  key: string;
  name: string;
  labels: string;
  os: readonly System[];
  arch: readonly Architecture[];
  range: string;
};

type Ring = Record<Owner, readonly string[]> & {
  name: string;
  labels: Readonly<Record<string, string>>;
  os: readonly System[];
  arch: readonly Architecture[];
  agentVersionRange: string | null;
};

export const newRing = (key: string, name: string): RingDraft => ({
  key,
  name,
  partnerIds: [],
  orgIds: [],
  siteIds: [],
  groupIds: [],
  labels: "",
  os: [],
  arch: [],
  range: "",
});

/** A ring of the API as the form has it. */
export const draftOf = ({ labels, agentVersionRange, ...ring }: Ring, key: string): RingDraft => ({
  ...ring,
  key,
  labels: labelsText(labels),
  range: agentVersionRange ?? "",
});

/** A ring of the form as the API takes it. */
export function ringOf({ key: _key, name, labels, range, os, arch, ...ids }: RingDraft) {
  const wanted = Object.entries(labelChanges({}, labels)).map(([label, value]) => [label, value ?? ""]);
  return {
    name: name.trim(),
    partnerIds: [...ids.partnerIds],
    orgIds: [...ids.orgIds],
    siteIds: [...ids.siteIds],
    groupIds: [...ids.groupIds],
    os: [...os],
    arch: [...arch],
    labels: Object.fromEntries(wanted) as Record<string, string>,
    ...(range.trim() ? { agentVersionRange: range.trim() } : {}),
  };
}

export const limitNames = [
  "percent",
  "openRings",
  "maxInFlight",
  "haltAfterFailures",
  "haltPercent",
  "soakSeconds",
  "waveSuccessPercent",
] as const;
export type Limits = { [Name in (typeof limitNames)[number]]?: number };

/** The limits of a form; an empty field is left to the platform. */
export const limitsOf = (form: FormData): Limits =>
  Object.fromEntries(
    limitNames
      .map((name) => [name, String(form.get(name) ?? "").trim()] as const)
      .filter(([, text]) => text !== "")
      .map(([name, text]) => [name, Number(text)]),
  );

/** Where an error text of the API is about: `rings.1.labels` is the second ring. */
export const errorsOfRing = (errors: Readonly<Record<string, string[]>>, at: number): string[] =>
  Object.entries(errors)
    .filter(([field]) => field === `rings.${at}` || field.startsWith(`rings.${at}.`))
    .flatMap(([, texts]) => texts);
