import { type ComponentProps, useState } from "react";
import { FormDialog } from "./form-dialog.tsx";
import { SecretOnce } from "./secret-once.tsx";

/** A form that replaces the secret of a key, which is then shown this once. */
export function RotateKeyForm({
  name,
  note,
  rotate,
  onClose,
  onDone,
  children,
}: {
  name: string;
  /** Where the new secret is used. */
  note: string;
  /** Resolves to the new secret. */
  rotate(form: FormData): Promise<string>;
  onClose(): void;
  onDone(said: string): Promise<void>;
  children: ComponentProps<typeof FormDialog>["children"];
}) {
  const [secret, setSecret] = useState<string | null>(null);
  if (secret !== null) return <SecretOnce title="The new key" secret={secret} note={note} onClose={onClose} />;
  return (
    <FormDialog
      title={`Rotate ${name}?`}
      verb="Rotate"
      running="Rotating …"
      isKeptOpen
      onClose={onClose}
      send={async (form) => {
        const made = await rotate(form);
        await onDone(`${name} has a new key.`);
        setSecret(made);
      }}
    >
      {children}
    </FormDialog>
  );
}
