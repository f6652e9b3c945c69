import type { ItemOf } from "@muster/client";
import { CircleX, KeyRound, RotateCcwKey } from "lucide-react";
import { api } from "../api/api.ts";
import { dataOf, useGet } from "../api/queries.ts";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { SecretOnce } from "../parts/secret-once.tsx";
import { type FormProps, type Operation, shown } from "./record-operation.ts";

type Principal = ItemOf<"/api/v1/service-principals">;

const of = ({ id }: Principal) => ({ path: { id } });
const isActive = ({ status }: Principal) => status === "active";
const forgets = ["/api/v1/service-principals", "/api/v1/api-keys"] as const;

/** What can be done with a service principal. */
export const principalOperations: readonly Operation<Principal>[] = [
  {
    id: "principal.rotate",
    verb: "New key",
    needs: "POST /api/v1/service-principals/{id}/rotate",
    icon: RotateCcwKey,
    isOffered: isActive,
    asks: {
      title: ({ name }) => `A new key for ${name}?`,
      says: () => "The previous key is refused at once: the program fails until it has the new one.",
    },
    run: async (principal) => {
      const { key } = await dataOf(api.POST("/api/v1/service-principals/{id}/rotate", { params: of(principal) }));
      return shown((close) => <PrincipalKey secret={key} onClose={close} />);
    },
    forgets,
  },
  {
    id: "principal.adopt",
    verb: "Adopt a key",
    needs: "POST /api/v1/service-principals/{id}/migrate-key",
    icon: KeyRound,
    isOffered: isActive,
    form: AdoptKey,
    forgets,
  },
  {
    id: "principal.disable",
    verb: "Disable",
    needs: "POST /api/v1/service-principals/{id}/disable",
    icon: CircleX,
    tone: "danger",
    isOffered: isActive,
    asks: {
      title: ({ name }) => `Disable ${name}?`,
      says: () => "Each of its keys is refused at once and permanently. The principal and its audit rows stay.",
      typed: ({ name }) => name,
    },
    run: async (principal) =>
      void (await dataOf(api.POST("/api/v1/service-principals/{id}/disable", { params: of(principal) }))),
    done: ({ name }) => `${name} is disabled.`,
    forgets,
  },
];

/** The key of a principal, shown this once. */
export const PrincipalKey = ({ secret, onClose }: { secret: string; onClose(): void }) => (
  <SecretOnce
    title="The principal's key"
    secret={secret}
    note="The program sends it as X-API-Key; it is shown only once."
    onClose={onClose}
  />
);

/** A principal adopts an API key that is in use: its program keeps the key. */
function AdoptKey({ of: principal, onClose, onDone }: FormProps<Principal>) {
  const query = { orgId: principal.orgId, status: "active", limit: "100" } as const;
  const keys = useGet("/api/v1/api-keys", { params: { query } });
  const free = (keys.data?.data ?? []).filter(({ principalId }) => principalId === null);
  return (
    <FormDialog
      title={`Adopt a key for ${principal.name}`}
      verb="Adopt"
      running="Adopting …"
      isDisabled={free.length === 0}
      onClose={onClose}
      send={async (form) => {
        const body = { keyId: String(form.get("keyId")) };
        await dataOf(api.POST("/api/v1/service-principals/{id}/migrate-key", { params: of(principal), body }));
        await onDone(`${principal.name} has the key.`);
      }}
    >
      {(errorsOf) => (
        <>
          <p className="soft">
            The key keeps working, with the scopes that both it and the principal have. The principal's previous key is
            revoked.
          </p>
          <Field
            label="API key"
            {...(keys.data && free.length === 0 ? { hint: "No active key of the organization is free." } : {})}
            errors={errorsOf("keyId")}
          >
            <select name="keyId" required>
              {free.map(({ id, name, keyPrefix }) => (
                <option key={id} value={id}>
                  {name} ({keyPrefix}…)
                </option>
              ))}
            </select>
          </Field>
        </>
      )}
    </FormDialog>
  );
}
