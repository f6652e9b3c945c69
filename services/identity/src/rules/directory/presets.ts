export type DirectoryPreset = {
  id: string;
  name: string;
  /** Whether the product sends users and groups by SCIM; otherwise its groups come as claims of a sign-in. */
  scim: boolean;
  /** Address of its step-by-step page, below the documentation. */
  guide: string;
};

/** Products that docs/directory.md describes step by step. */
export const directoryPresets: readonly DirectoryPreset[] = [
  { id: "entra", name: "Microsoft Entra ID", scim: true, guide: "directory.md#entra-id" },
  { id: "okta", name: "Okta", scim: true, guide: "directory.md#okta" },
  { id: "onelogin", name: "OneLogin", scim: true, guide: "directory.md#onelogin" },
  { id: "google", name: "Google Workspace", scim: false, guide: "directory.md#google-workspace" },
  { id: "keycloak", name: "Keycloak", scim: false, guide: "directory.md#keycloak" },
];

export const isPreset = (id: string): boolean => directoryPresets.some((preset) => preset.id === id);
