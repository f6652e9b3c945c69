import { Link } from "@tanstack/react-router";
import { type BodyOf, useGet } from "../../api/queries.ts";
import { HeadOperations } from "../../operations/operation-buttons.tsx";
import { partnerOperations } from "../../operations/partners.tsx";
import { Facts, Json, Section } from "../../parts/facts.tsx";
import { to, toRecord } from "../../parts/links.ts";
import { LongCode } from "../../parts/long-text.tsx";
import { useWhyNot } from "../../parts/me.tsx";
import { troubleFirst } from "../../parts/owner-columns.tsx";
import { OwnerTable, shownOwners } from "../../parts/owner-table.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { RecordState } from "../../parts/record-state.tsx";
import { Sides } from "../../parts/sides.tsx";
import { Time } from "../../parts/time.tsx";
import { useRecordId } from "../../parts/use-filters.ts";

type Partner = BodyOf<"/api/v1/orgs/partners/{id}">;

/** One partner, for the platform: its customers, those in trouble first, and what it may have. */
export function PartnerPage() {
  const id = useRecordId("/partners/$id");
  const partner = useGet("/api/v1/orgs/partners/{id}", { params: { path: { id } } });
  const maySeeDevices = useWhyNot("GET /api/v1/devices/summary") === null;
  const query = { partnerId: id, ...(maySeeDevices ? troubleFirst : {}), limit: String(shownOwners) };
  const organizations = useGet("/api/v1/orgs/organizations", { params: { query } });
  if (!partner.data) return <RecordState title="Partner" of={partner} />;
  const { data } = partner;
  return (
    <>
      <PageTitle
        title={data.name}
        status={data.status === "active" ? undefined : data.status}
        actions={<HeadOperations of={data} operations={partnerOperations} name={data.name} />}
      />
      <Sides
        main={
          <OwnerTable
            title="Organizations"
            noun="Organization"
            action={<Link {...to("/orgs", { partnerId: id })}>All organizations</Link>}
            empty="It has no organization yet."
            of={organizations}
            nameOf={(org) => <Link {...toRecord("/orgs/$id", { id: org.id }, { orgId: org.id })}>{org.name}</Link>}
            ownerOf={(org) => ({ orgId: org.id })}
          />
        }
        side={<PartnerFacts of={data} organizationCount={organizations.data?.pagination.total ?? null} />}
      />
      {Object.keys(data.settings).length > 0 ? (
        <Section title="Settings">
          <Json value={data.settings} label="Settings of the partner" />
        </Section>
      ) : null}
    </>
  );
}

const counted = (count: number, most: number | null) =>
  `${count.toLocaleString()}${most === null ? "" : ` of at most ${most.toLocaleString()}`}`;

function PartnerFacts({ of, organizationCount }: { of: Partner; organizationCount: number | null }) {
  return (
    <Section title="Facts">
      <Facts
        of={[
          ["Status", of.status],
          ["Slug", of.slug],
          ["Type", of.type],
          ["Plan", of.plan],
          ["Organizations", organizationCount === null ? null : counted(organizationCount, of.maxOrganizations)],
          ["Devices at most", of.maxDevices?.toLocaleString() ?? "unlimited"],
          ["Billing e-mail", of.billingEmail],
          ["Created", <Time key="made" at={of.createdAt} />],
          ["Id", <LongCode key="id" of={of.id} what="id" />],
        ]}
      />
    </Section>
  );
}
