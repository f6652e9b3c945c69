import type { ItemOf } from "@muster/client";
import { Field } from "./field.tsx";
import type { ErrorsOf } from "./form-dialog.tsx";

type Provider = ItemOf<"/api/v1/sso/providers">;

type ProviderAddressProps = {
  type: "oidc" | "saml";
  /** Of the preset's issuer, with placeholders. */
  template?: string | null;
  provider?: Provider;
  errorsOf: ErrorsOf;
};

/** The provider's address, and our identifiers at the provider. */
export const ProviderAddress = ({ type, template = null, provider, errorsOf }: ProviderAddressProps) =>
  type === "oidc" ? (
    <>
      <Field
        label="Issuer"
        hint={template ? `Such as ${template}` : "Its address; what is behind it is read now."}
        errors={errorsOf("issuer")}
      >
        <input name="issuer" type="url" maxLength={500} spellCheck={false} defaultValue={provider?.issuer ?? ""} />
      </Field>
      <Field label="Client id" errors={errorsOf("clientId")}>
        <input name="clientId" maxLength={500} autoComplete="off" defaultValue={provider?.clientId ?? ""} />
      </Field>
      <Field
        label="Client secret"
        hint={provider?.hasClientSecret ? "Empty: the stored one stays." : "Kept sealed, never shown again."}
        errors={errorsOf("clientSecret")}
      >
        <input name="clientSecret" type="password" maxLength={1000} autoComplete="off" />
      </Field>
    </>
  ) : (
    <>
      <Field label="Metadata address" hint="Read now, and daily from then on." errors={errorsOf("samlMetadataUrl")}>
        <input
          name="samlMetadataUrl"
          type="url"
          maxLength={500}
          spellCheck={false}
          defaultValue={provider?.samlMetadataUrl ?? ""}
        />
      </Field>
      <Field label="Or the metadata itself" hint="XML, as the provider gave it." errors={errorsOf("samlMetadataXml")}>
        <textarea name="samlMetadataXml" rows={4} maxLength={1048576} spellCheck={false} />
      </Field>
    </>
  );
