import { Link } from "@tanstack/react-router";
import { type BodyOf, useGet } from "../../api/queries.ts";
import { HeadOperations } from "../../operations/operation-buttons.tsx";
import { partnerOperations } from "../../operations/partners.tsx";
import { Facts, Json, Section } from "../../parts/facts.tsx";
import { to } from "../../parts/links.ts";
import { PageTitle } from "../../parts/page-title.tsx";
import { RecordState } from "../../parts/record-state.tsx";
import { Time } from "../../parts/time.tsx";
import { useRecordId } from "../../parts/use-filters.ts";

type Partner = BodyOf<"/api/v1/orgs/partners/{id}">;

/** One partner, as the platform's administrators see it. */
export function PartnerPage() {
  const id = useRecordId("/partners/$id");
  const partner = useGet("/api/v1/orgs/partners/{id}", { params: { path: { id } } });
  const organizations = useGet("/api/v1/orgs/organizations", { params: { query: { partnerId: id, limit: "1" } } });
  if (!partner.data) return <RecordState title="Partner" of={partner} />;
  const { data } = partner;
  const count = organizations.data?.pagination.total;
  const cap = (most: number | null) => most?.toLocaleString() ?? "unlimited";
  return (
    <>
      <PageTitle
        title={data.name}
        status={data.status}
        actions={<HeadOperations of={data} operations={partnerOperations} name={data.name} />}
      />
      <PartnerFacts data={data} cap={cap} count={count} id={id} />
      {Object.keys(data.settings).length > 0 ? (
        <Section title="Settings">
          <Json value={data.settings} label="Settings of the partner" />
        </Section>
      ) : null}
    </>
  );
}

function PartnerFacts({
  data,
  cap,
  count,
  id,
}: {
  data: Partner;
  cap(most: number | null): string;
  count: number | null | undefined;
  id: string;
}) {
  return (
    <Section title="Facts">
      <Facts
        of={[
          ["Slug", data.slug],
          ["Type", data.type],
          ["Plan", data.plan],
          [
            "Organizations",
            <Link key="orgs" {...to("/orgs", { partnerId: id })}>
              {count?.toLocaleString() ?? "See them"}
            </Link>,
          ],
          ["Organizations at most", cap(data.maxOrganizations)],
          ["Devices at most", cap(data.maxDevices)],
          ["Billing e-mail", data.billingEmail],
          ["Created", <Time key="made" at={data.createdAt} />],
          ["Id", <code key="id">{id}</code>],
        ]}
      />
    </Section>
  );
}
