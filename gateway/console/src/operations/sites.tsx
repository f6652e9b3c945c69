import type { ItemOf } from "@muster/client";
import { Pencil, Tags, Trash2 } from "lucide-react";
import { api } from "../api/api.ts";
import { dataOf, useGet } from "../api/queries.ts";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { SiteForm } from "../parts/site-form.tsx";
import { labelChanges, labelsText } from "../rules/labels.ts";
import type { FormProps, Operation } from "./record-operation.ts";

type Site = ItemOf<"/api/v1/orgs/sites">;

const of = ({ id }: Site) => ({ path: { id } });
const forgets = ["/api/v1/orgs/sites", "/api/v1/devices"] as const;

/** What can be done with a site. */
export const siteOperations: readonly Operation<Site>[] = [
  {
    id: "site.change",
    verb: "Change",
    needs: "PATCH /api/v1/orgs/sites/{id}",
    icon: Pencil,
    shown: "button",
    form: ({ of: site, ...props }) => <SiteForm site={site} {...props} />,
    forgets,
  },
  {
    id: "site.labels",
    verb: "Labels",
    needs: "PATCH /api/v1/orgs/sites/{id}/labels",
    icon: Tags,
    shown: "button",
    form: ChangeLabels,
    forgets,
  },
  {
    id: "site.delete",
    verb: "Delete",
    needs: "DELETE /api/v1/orgs/sites/{id}",
    icon: Trash2,
    tone: "danger",
    asks: {
      title: ({ name }) => `Delete ${name}?`,
      says: ({ id }) => <WhatStays siteId={id} />,
      typed: ({ name }) => name,
    },
    run: async (site) => void (await dataOf(api.DELETE("/api/v1/orgs/sites/{id}", { params: of(site) }))),
    done: ({ name }) => `${name} is deleted.`,
    forgets,
    leaves: "/sites",
  },
];

/** What becomes of the devices and of the people of a site that goes. */
function WhatStays({ siteId }: { siteId: string }) {
  const { data } = useGet("/api/v1/devices", { params: { query: { siteId, limit: "1" } } });
  const count = data?.pagination.total;
  return (
    <>
      {count ? `Its ${count.toLocaleString()} devices stay, without a site. ` : "No device is there. "}
      People who are limited to this site alone see nothing any more.
    </>
  );
}

function ChangeLabels({ of: site, onClose, onDone }: FormProps<Site>) {
  return (
    <FormDialog
      title={`Labels of ${site.name}`}
      verb="Save"
      running="Saving …"
      onClose={onClose}
      send={async (form) => {
        const labels = labelChanges(site.labels, String(form.get("labels")));
        await dataOf(api.PATCH("/api/v1/orgs/sites/{id}/labels", { params: of(site), body: { labels } }));
        await onDone("Saved.");
      }}
    >
      {(errorsOf) => (
        <Field label="Labels" hint="One per line: name=value. At most 32." errors={errorsOf("labels")}>
          <textarea name="labels" rows={8} spellCheck={false} defaultValue={labelsText(site.labels)} />
        </Field>
      )}
    </FormDialog>
  );
}
