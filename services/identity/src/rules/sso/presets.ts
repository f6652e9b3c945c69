/** Names of the claims or attributes that a user is read from; several of one field are tried in order. */
export type AttributeMapping = {
  email: string;
  name: string;
  firstName?: string;
  lastName?: string;
  groups?: string;
};

export type ProviderType = "oidc" | "saml";

export type SsoPreset = {
  id: string;
  type: ProviderType;
  name: string;
  /** Of the issuer for OpenID Connect, of the SSO URL for SAML, with placeholders such as {tenant}. */
  urlTemplate: string;
  scopes: string;
  mapping: AttributeMapping;
};

const openid = "openid profile email";
const claims: AttributeMapping = { email: "email", name: "name", firstName: "given_name", lastName: "family_name" };
const withGroups: AttributeMapping = { ...claims, groups: "groups" };

const claimUri = (name: string) => `http://schemas.xmlsoap.org/ws/2005/05/identity/claims/${name}`;
const samlClaims: AttributeMapping = {
  email: claimUri("emailaddress"),
  name: claimUri("name"),
  firstName: claimUri("givenname"),
  lastName: claimUri("surname"),
  groups: "http://schemas.microsoft.com/ws/2008/06/identity/claims/groups",
};
const plainSaml: AttributeMapping = { email: "email", name: "name", firstName: "firstName", lastName: "lastName" };

/** What fills in scopes and mapping of a new provider. */
export const ssoPresets: readonly SsoPreset[] = [
  {
    id: "oidc-directory",
    type: "oidc",
    name: "Entra ID (OpenID Connect)",
    urlTemplate: "https://login.microsoftonline.com/{tenant}/v2.0",
    scopes: openid,
    mapping: claims,
  },
  {
    id: "oidc-workforce",
    type: "oidc",
    name: "Okta (OpenID Connect)",
    urlTemplate: "https://{domain}",
    scopes: `${openid} groups`,
    mapping: withGroups,
  },
  {
    id: "oidc-workspace",
    type: "oidc",
    name: "Google Workspace (OpenID Connect)",
    urlTemplate: "https://accounts.google.com",
    scopes: openid,
    mapping: claims,
  },
  {
    id: "oidc-customer",
    type: "oidc",
    name: "Auth0 (OpenID Connect)",
    urlTemplate: "https://{domain}/",
    scopes: openid,
    mapping: claims,
  },
  {
    id: "saml-directory",
    type: "saml",
    name: "Entra ID (SAML)",
    urlTemplate: "https://login.microsoftonline.com/{tenant}/saml2",
    scopes: "",
    mapping: samlClaims,
  },
  {
    id: "saml-workforce",
    type: "saml",
    name: "Okta (SAML)",
    urlTemplate: "https://{domain}/app/{appId}/sso/saml",
    scopes: "",
    mapping: plainSaml,
  },
  {
    id: "saml-onelogin",
    type: "saml",
    name: "OneLogin (SAML)",
    urlTemplate: "https://{domain}/trust/saml2/http-post/sso/{appId}",
    scopes: "",
    mapping: { ...plainSaml, email: "User.email", firstName: "User.FirstName", lastName: "User.LastName" },
  },
  {
    id: "saml-adfs",
    type: "saml",
    name: "ADFS (SAML)",
    urlTemplate: "https://{adfs-server}/adfs/ls/",
    scopes: "",
    mapping: samlClaims,
  },
  {
    id: "saml-workspace",
    type: "saml",
    name: "Google Workspace (SAML)",
    urlTemplate: "https://accounts.google.com/o/saml2/idp?idpid={idpId}",
    scopes: "",
    mapping: plainSaml,
  },
];

/** For a provider without a preset or a mapping of its own. */
export const defaultScopes: Readonly<Record<ProviderType, string>> = { oidc: openid, saml: "" };
export const defaultMapping: Readonly<Record<ProviderType, AttributeMapping>> = {
  oidc: { email: "email", name: "name" },
  saml: samlClaims,
};

/** Other names of the default SAML attributes, tried after the first. */
export const samlOids: Readonly<Record<keyof AttributeMapping, string | null>> = {
  email: "urn:oid:0.9.2342.19200300.100.1.3",
  name: "urn:oid:2.16.840.1.113730.3.1.241",
  firstName: "urn:oid:2.5.4.42",
  lastName: "urn:oid:2.5.4.4",
  groups: null,
};

export const findPreset = (id: string) => ssoPresets.find((preset) => preset.id === id) ?? null;
