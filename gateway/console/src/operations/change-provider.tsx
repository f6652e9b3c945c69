import type { ItemOf } from "@muster/client";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { DefaultRole } from "../parts/default-role.tsx";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { ProviderAddress } from "../parts/provider-address.tsx";

type Provider = ItemOf<"/api/v1/sso/providers">;
type ChangeProviderProps = { of: Provider; onClose(): void; onDone(sentence: string): Promise<void> };

/** Changes a provider. What was not touched is not sent: a change ends every sign-in that has started. */
export function ChangeProvider({ of: provider, onClose, onDone }: ChangeProviderProps) {
  const isOidc = provider.type === "oidc";
  return (
    <FormDialog
      title={`Change ${provider.name}`}
      verb="Save"
      running="Contacting the provider …"
      onClose={onClose}
      send={async (form) => {
        const text = (name: string) => String(form.get(name) ?? "").trim();
        const wanted = {
          name: text("name"),
          allowedDomains: text("allowedDomains"),
          enforceSSO: form.has("enforceSSO"),
          trustIdpMfa: form.has("trustIdpMfa"),
          autoProvision: text("defaultRoleId") !== "",
          defaultRoleId: text("defaultRoleId") || null,
          ...(isOidc
            ? { issuer: text("issuer") || null, clientId: text("clientId") || null }
            : { samlMetadataUrl: text("samlMetadataUrl") || null, samlWantEncrypted: form.has("samlWantEncrypted") }),
        };
        const secrets = isOidc ? { clientSecret: text("clientSecret") } : { samlMetadataXml: text("samlMetadataXml") };
        const changed = Object.entries(wanted).filter(([name, value]) => provider[name as keyof Provider] !== value);
        const filled = Object.entries(secrets).filter(([, value]) => value !== "");
        const body = Object.fromEntries<unknown>([...changed, ...filled]);
        await dataOf(api.PATCH("/api/v1/sso/providers/{id}", { params: { path: { id: provider.id } }, body }));
        await onDone("Saved. Sign-ins in progress must be started again.");
      }}
    >
      {(errorsOf) => (
        <>
          <Field label="Name" errors={errorsOf("name")}>
            <input name="name" required maxLength={255} defaultValue={provider.name} autoComplete="off" />
          </Field>
          <ProviderAddress type={provider.type} provider={provider} errorsOf={errorsOf} />
          <DefaultRole orgId={provider.orgId ?? undefined} chosen={provider.defaultRoleId} errorsOf={errorsOf} />
          <Field label="E-mail domains" hint="Comma-separated; empty: all." errors={errorsOf("allowedDomains")}>
            <input name="allowedDomains" maxLength={10000} defaultValue={provider.allowedDomains} />
          </Field>
          <label>
            <input type="checkbox" name="enforceSSO" defaultChecked={provider.enforceSSO} /> Refuse passwords, once an
            administrator has signed in through it
          </label>
          <label>
            <input type="checkbox" name="trustIdpMfa" defaultChecked={provider.trustIdpMfa} /> Accept the provider's
            second factor
          </label>
          {isOidc ? null : (
            <label>
              <input type="checkbox" name="samlWantEncrypted" defaultChecked={provider.samlWantEncrypted} /> Assertions
              must be encrypted
            </label>
          )}
        </>
      )}
    </FormDialog>
  );
}
