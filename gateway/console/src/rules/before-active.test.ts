import { expect, it } from "@jest/globals";
import { stepsBeforeActive } from "./before-active.ts";

const now = new Date("2026-03-01T12:00:00.000Z");
const saml = { type: "saml", samlCertificates: [{ notAfter: "2027-01-01T00:00:00.000Z" }] };
const provider = { ...saml, autoProvision: true, defaultRoleId: "role" as string | null };
const [certificate, role, signIn] = ["A valid certificate", "A role for new people", "A sign-in that succeeded"];

it.each([
  ["nothing for one that is ready", {}, ["failed", "success"], []],
  ["a sign-in before there is one", {}, ["failed"], [signIn]],
  [
    "a certificate where the last has ended",
    { samlCertificates: [{ notAfter: now.toISOString() }] },
    [],
    [certificate, signIn],
  ],
  ["a certificate where there is none", { samlCertificates: [] }, ["success"], [certificate]],
  ["no certificate of OpenID Connect", { type: "oidc", samlCertificates: [] }, ["success"], []],
  ["a role where people get accounts", { defaultRoleId: null }, ["success"], [role]],
  ["no role where people are invited", { defaultRoleId: null, autoProvision: false }, ["success"], []],
])("a provider that is tested lacks %s", (_what, changes, outcomes, lacking) => {
  const steps = stepsBeforeActive({ ...provider, ...changes }, outcomes, now);
  expect(steps.filter(({ isDone }) => !isDone).map(({ name }) => name)).toEqual(lacking);
});
