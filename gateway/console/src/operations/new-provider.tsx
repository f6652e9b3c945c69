import { Plus } from "lucide-react";
import { useState } from "react";
import { api } from "../api/api.ts";
import { dataOf, useGet } from "../api/queries.ts";
import { DefaultRole } from "../parts/default-role.tsx";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { NamedOptions } from "../parts/options.tsx";
import { ProviderAddress } from "../parts/provider-address.tsx";
import { type Chosen, ofTenant } from "./chosen.tsx";
import type { FormProps, Operation } from "./record-operation.ts";

/** Makes a provider of an organization, or without one the partner's own. It begins inactive. */
function NewProvider({ of: { orgId }, onClose, onDone }: FormProps<Chosen>) {
  const [type, setType] = useState<"oidc" | "saml">("oidc");
  const [presetId, setPreset] = useState("");
  const presets = useGet("/api/v1/sso/presets");
  const offered = (presets.data?.data ?? []).filter((preset) => preset.type === type);
  const preset = offered.find(({ id }) => id === presetId);
  return (
    <FormDialog
      title="New identity provider"
      verb="Create"
      running="Contacting the provider …"
      isDisabled={!presets.data}
      onClose={onClose}
      send={async (form) => {
        const text = (name: string) => String(form.get(name) ?? "").trim();
        const filled = Object.fromEntries(
          ["issuer", "clientId", "clientSecret", "samlMetadataUrl", "samlMetadataXml", "allowedDomains"]
            .map((name) => [name, text(name)] as const)
            .filter(([, value]) => value !== ""),
        );
        const roleId = text("defaultRoleId");
        const body = {
          type,
          name: text("name"),
          ...(orgId ? { orgId } : { ownerScope: "partner" as const }),
          ...(presetId ? { preset: presetId } : {}),
          ...filled,
          ...(roleId ? { autoProvision: true, defaultRoleId: roleId } : {}),
        };
        await dataOf(api.POST("/api/v1/sso/providers", { body }));
        await onDone(`${body.name} is made; nobody signs in through it yet.`);
      }}
    >
      {(errorsOf) => (
        <>
          <p className="soft">
            {orgId ? "For the people of the chosen organization." : "For the people of your partner."} It begins
            inactive: nobody signs in through it before you say so.
          </p>
          <Field label="Name" hint="People read it on the sign-in button." errors={errorsOf("name")}>
            <input name="name" required maxLength={255} autoComplete="off" />
          </Field>
          <Field label="Protocol" errors={errorsOf("type")}>
            <select
              value={type}
              onChange={(event) => {
                setType(event.target.value as typeof type);
                setPreset("");
              }}
            >
              <option value="oidc">OpenID Connect</option>
              <option value="saml">SAML 2.0</option>
            </select>
          </Field>
          <Field label="Preset" hint="Fills in scopes and the names of attributes." errors={errorsOf("preset")}>
            <select value={presetId} onChange={(event) => setPreset(event.target.value)}>
              <option value="">none</option>
              <NamedOptions of={offered} />
            </select>
          </Field>
          <ProviderAddress type={type} template={preset?.issuerTemplate ?? null} errorsOf={errorsOf} />
          <DefaultRole orgId={orgId} errorsOf={errorsOf} />
          <Field label="E-mail domains" hint="Comma-separated; empty: all." errors={errorsOf("allowedDomains")}>
            <input name="allowedDomains" maxLength={10000} placeholder="acme.example" />
          </Field>
        </>
      )}
    </FormDialog>
  );
}

export const newProvider: Operation<Chosen> = {
  id: "provider.make",
  verb: "New provider",
  alsoCalled: ["New identity provider"],
  needs: "POST /api/v1/sso/providers",
  icon: Plus,
  shown: "primary",
  form: ofTenant({ title: "New provider", what: "A provider" }, NewProvider),
  forgets: ["/api/v1/sso/providers"],
};
