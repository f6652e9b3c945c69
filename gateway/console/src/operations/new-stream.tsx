import { Plus } from "lucide-react";
import { useState } from "react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { Field } from "../parts/field.tsx";
import { type ErrorsOf, FormDialog } from "../parts/form-dialog.tsx";
import { SecretOnce } from "../parts/secret-once.tsx";
import { envelopes, type StreamType, streamBody, streamTypeOf, streamTypes } from "../rules/stream-body.ts";
import { type Chosen, inOrganization } from "./chosen.tsx";
import type { FormProps, Operation } from "./record-operation.ts";

const choices = (of: Readonly<Record<string, string>>) =>
  Object.entries(of).map(([value, words]) => (
    <option key={value} value={value}>
      {words}
    </option>
  ));

/** Makes a stream of any type, and shows the secret of a webhook's this once. */
function NewStream({ of: { orgId }, onClose, onDone }: FormProps<{ orgId: string }>) {
  const [type, setType] = useState<StreamType>("https");
  const [secret, setSecret] = useState<string | null>(null);
  if (secret !== null) {
    return (
      <SecretOnce
        title="The stream is active"
        secret={secret}
        note="This secret signs each row. Your receiver verifies it; it is shown only once."
        onClose={onClose}
      />
    );
  }
  return (
    <FormDialog
      title="New stream"
      verb="Create"
      running="Creating …"
      onClose={onClose}
      send={async (form) => {
        const made = await dataOf(api.POST("/api/v1/audit-logs/streams", { body: streamBody(form, orgId) }));
        await onDone();
        if (made.secret) setSecret(made.secret);
        else onClose();
      }}
      isKeptOpen
    >
      {(errorsOf) => (
        <>
          <Field label="Name" errors={errorsOf("name")}>
            <input name="name" required maxLength={255} autoComplete="off" />
          </Field>
          <Field label="To" errors={errorsOf("type")}>
            <select name="type" value={type} onChange={({ target }) => setType(streamTypeOf(target.value))}>
              {choices(streamTypes)}
            </select>
          </Field>
          {type === "s3" ? <BucketFields errorsOf={errorsOf} /> : null}
          {type === "https" || type === "webhook" || type === "syslog" ? (
            <Address type={type} errors={errorsOf("url")} />
          ) : null}
          {type === "https" ? <HttpsFields errorsOf={errorsOf} /> : null}
          <Field label="Format" errors={errorsOf("format")}>
            <select name="format">
              <option value="muster">as exports have them: they can be verified</option>
              <option value="ocsf">OCSF 1.5, for a SIEM</option>
            </select>
          </Field>
          {type === "https" || type === "s3" || type === "syslog" ? <Authority errors={errorsOf("ca")} /> : null}
          <label>
            <input type="checkbox" name="fromStart" /> Begin with the first retained row instead of the next one
          </label>
        </>
      )}
    </FormDialog>
  );
}

type Errors = readonly string[] | undefined;

const Address = ({ type, errors }: { type: StreamType; errors: Errors }) =>
  type === "syslog" ? (
    <Field label="Address" hint="TLS, to a public host." errors={errors}>
      <input name="url" required maxLength={4096} placeholder="tls://siem.example.com:6514" spellCheck={false} />
    </Field>
  ) : (
    <Field label="Address" hint="HTTPS, to a public host." errors={errors}>
      <input name="url" type="url" required maxLength={4096} placeholder="https://siem.example.com/rows" />
    </Field>
  );

const HttpsFields = ({ errorsOf }: { errorsOf: ErrorsOf }) => (
  <>
    <Field label="Envelope" errors={errorsOf("envelope")}>
      <select name="envelope">{choices(envelopes)}</select>
    </Field>
    <Field
      label="Headers"
      hint="Name: value, one per line. They are sealed and never shown again."
      errors={errorsOf("headers")}
    >
      <textarea name="headers" rows={2} spellCheck={false} autoComplete="off" placeholder="Authorization: …" />
    </Field>
  </>
);

const Authority = ({ errors }: { errors: Errors }) => (
  <details open={errors ? true : undefined}>
    <summary>Its certificate is of a private authority</summary>
    <Field label="Certificate of the authority" hint="PEM; only this one is accepted then." errors={errors}>
      <textarea name="ca" rows={4} maxLength={65_536} spellCheck={false} />
    </Field>
  </details>
);

const BucketFields = ({ errorsOf }: { errorsOf: ErrorsOf }) => {
  const errors = (name: string) => errorsOf(`s3.${name}`);
  return (
    <>
      {errorsOf("s3") ? <p role="alert">{errorsOf("s3")?.join(" ")}</p> : null}
      <Field label="Bucket" errors={errors("bucket")}>
        <input name="bucket" required maxLength={63} spellCheck={false} autoComplete="off" />
      </Field>
      <Field label="Region" errors={errors("region")}>
        <input name="region" required maxLength={32} placeholder="eu-central-1" spellCheck={false} />
      </Field>
      <Field label="Endpoint" hint="Of another storage than AWS." errors={errors("endpoint")}>
        <input name="endpoint" type="url" maxLength={2048} placeholder="https://s3.example.com" />
      </Field>
      <Field label="Prefix" hint="Of every object's name." errors={errors("prefix")}>
        <input name="prefix" maxLength={500} placeholder="audit/" spellCheck={false} />
      </Field>
      <Field label="Access key id" errors={errors("accessKeyId")}>
        <input name="accessKeyId" required maxLength={128} spellCheck={false} autoComplete="off" />
      </Field>
      <Field label="Secret access key" hint="It is sealed and never shown again." errors={errors("secretAccessKey")}>
        <input name="secretAccessKey" type="password" required maxLength={256} autoComplete="off" />
      </Field>
      <label>
        <input type="checkbox" name="pathStyle" /> The path names the bucket instead of the host
      </label>
    </>
  );
};

export const newStream: Operation<Chosen> = {
  id: "stream.make",
  verb: "New stream",
  needs: "POST /api/v1/audit-logs/streams",
  icon: Plus,
  shown: "primary",
  form: inOrganization({ title: "New stream", what: "A stream" }, NewStream),
  forgets: ["/api/v1/audit-logs/streams"],
};
