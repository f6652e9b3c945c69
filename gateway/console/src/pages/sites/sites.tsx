import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { actionsColumn } from "../../operations/operation-buttons.tsx";
import { siteOperations } from "../../operations/sites.tsx";
import { ChooseFirst } from "../../parts/form-dialog.tsx";
import { LabelList } from "../../parts/label-list.tsx";
import { toRecord } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe } from "../../parts/me.tsx";
import { organizationColumn } from "../../parts/name-of.tsx";
import { Operation } from "../../parts/operation.tsx";
import { SiteForm } from "../../parts/site-form.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";

/** The sites of the organizations that the user may see. */
export function Sites() {
  const [{ orgId }] = useFilters();
  const me = useMe();
  const chosenOrgId = me.orgId ?? orgId;
  const [isMaking, make] = useState(false);
  const close = () => make(false);
  const create = (
    <Operation name="POST /api/v1/orgs/sites" isPrimary onClick={() => make(true)}>
      New site
    </Operation>
  );
  return (
    <>
      <ListPage
        title="Sites"
        section="tenants"
        path="/api/v1/orgs/sites"
        filters={["orgId", "search"]}
        text={{ name: "search", label: "Name" }}
        actions={create}
        columns={[
          {
            id: "name",
            title: "Name",
            cell: ({ id, name }) => <Link {...toRecord("/sites/$id", { id }, { orgId })}>{name}</Link>,
          },
          ...(chosenOrgId === undefined ? [organizationColumn] : []),
          { id: "zone", title: "Time zone", width: "13rem", cell: ({ timezone }) => timezone },
          { id: "labels", title: "Labels", isMinor: true, cell: ({ labels }) => <LabelList of={labels} /> },
          {
            id: "made",
            title: "Created",
            width: "9rem",
            isMinor: true,
            cell: ({ createdAt }) => <Time at={createdAt} />,
          },
          actionsColumn(siteOperations, ({ name }) => name),
        ]}
        empty={
          <EmptyState title="No site yet.">
            <p>A site is a location of devices: an office, a shop, a data centre.</p>
            {create}
          </EmptyState>
        }
      />
      {isMaking ? (
        chosenOrgId ? (
          <SiteForm orgId={chosenOrgId} onClose={close} />
        ) : (
          <ChooseFirst title="New site" what="A site" onClose={close} />
        )
      ) : null}
    </>
  );
}
