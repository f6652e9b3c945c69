import { PackagePlus } from "lucide-react";
import { useState } from "react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { Field } from "../parts/field.tsx";
import { type ErrorsOf, FormDialog } from "../parts/form-dialog.tsx";
import { type ManifestHead, manifestHead, urlsOf } from "../rules/manifest-head.ts";
import type { Chosen } from "./chosen.tsx";
import type { FormProps, Operation } from "./record-operation.ts";

/** Characters of a manifest, signatures included. */
const manifestMax = 65_536;

/** Registers a version from its signed manifest, and where each of its files is downloaded. */
function PublishVersion({ onClose, onDone }: FormProps<Chosen>) {
  const [manifest, setManifest] = useState("");
  const head = manifestHead(manifest);
  return (
    <FormDialog
      title="Publish a version"
      verb="Publish"
      running="Verifying …"
      isDisabled={head === null}
      onClose={onClose}
      send={async (form) => {
        const text = (name: string) => String(form.get(name) ?? "").trim();
        const urls = urlsOf(head?.names ?? [], text("folder"), (name) => text(`url ${name}`));
        const optional = { notesUrl: text("notesUrl") || null, rootNote: text("rootNote") || null };
        const made = await dataOf(api.POST("/api/v1/agent-versions", { body: { manifest, urls, ...optional } }));
        await onDone(`${made.component} ${made.version} is registered${made.signed ? ", signed" : ""}.`);
      }}
    >
      {(errorsOf) => (
        <>
          <ManifestFields manifest={manifest} change={setManifest} head={head} errorsOf={errorsOf} />
          {head ? <FileAddresses of={head} errorsOf={errorsOf} /> : null}
          <Field label="Release notes" hint="An address that people may open." errors={errorsOf("notesUrl")}>
            <input name="notesUrl" type="url" maxLength={2_048} />
          </Field>
          <details>
            <summary>The keys of the manifests change with it</summary>
            <Field
              label="Root note"
              hint="Signed by the old keys: it leads agents from them to the new ones."
              errors={errorsOf("rootNote")}
            >
              <textarea name="rootNote" rows={4} maxLength={manifestMax} spellCheck={false} />
            </Field>
          </details>
        </>
      )}
    </FormDialog>
  );
}

type ManifestFieldsProps = {
  manifest: string;
  change(text: string): void;
  head: ManifestHead | null;
  errorsOf: ErrorsOf;
};

/** The manifest as a file or as text, and what it says it is. */
function ManifestFields({ manifest, change, head, errorsOf }: ManifestFieldsProps) {
  return (
    <>
      <Field label="Manifest as a file" hint="As muster-release manifest writes it.">
        <input
          type="file"
          accept=".manifest,.json,.txt,.note"
          onChange={({ target }) =>
            void target.files?.[0]?.text().then((text) => change(text.slice(0, manifestMax + 1)))
          }
        />
      </Field>
      <Field
        label="Manifest"
        hint={
          head
            ? `${head.component} ${head.version}, ${head.names.length} ${head.names.length === 1 ? "file" : "files"}.`
            : "One line of JSON, then its signatures."
        }
        errors={
          errorsOf("manifest") ??
          (manifest !== "" && head === null ? ["This is no manifest: its first line must be its JSON."] : undefined)
        }
      >
        <textarea
          rows={5}
          required
          maxLength={manifestMax}
          spellCheck={false}
          value={manifest}
          onChange={({ target }) => change(target.value)}
        />
      </Field>
    </>
  );
}

/** Where the files of a manifest are: in one folder, or each somewhere else. */
const FileAddresses = ({ of: { names }, errorsOf }: { of: ManifestHead; errorsOf: ErrorsOf }) => (
  <>
    <Field label="Folder of its files" hint="HTTPS; each file's name is added." errors={errorsOf("urls")}>
      <input name="folder" type="url" maxLength={2_000} placeholder="https://releases.example.com/2.5.0" />
    </Field>
    <details open={names.some((name) => errorsOf(`urls.${name}`) !== undefined) || undefined}>
      <summary>Files that are elsewhere</summary>
      {names.map((name) => (
        <Field key={name} label={name} hint="Empty: in the folder." errors={errorsOf(`urls.${name}`)}>
          <input name={`url ${name}`} type="url" maxLength={2_048} />
        </Field>
      ))}
    </details>
  </>
);

export const publishVersion: Operation<Chosen> = {
  id: "release.publish",
  verb: "Publish",
  alsoCalled: ["Publish a version", "New release"],
  needs: "POST /api/v1/agent-versions",
  icon: PackagePlus,
  shown: "primary",
  form: PublishVersion,
  forgets: ["/api/v1/agent-versions"],
};
